#!/usr/bin/env bash
# Custom resources on the embedded host, as a user, in two virtual clusters side by side with the same names: the host's
# definition comes, objects cross under their own names with what they name, the operator's word comes back, a mistake is
# refused at once, the syncer's account can no more than the table says, and nothing stays.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh
both_go() {
  for team in team-a team-b; do sublet delete rag -n $team --yes --force >/dev/null 2>&1; done
  cleanup
}
trap both_go EXIT
in_a() { sublet connect rag -n team-a -- "$KUBECTL" --request-timeout=30s "$@"; }
in_b() { sublet connect rag -n team-b -- "$KUBECTL" --request-timeout=30s "$@"; }
h() { "$KUBECTL" --request-timeout=30s --kubeconfig "$SUBLET_STATE_DIR/host/admin.kubeconfig" "$@"; }
definition() {  # definition PLURAL KIND SCOPE
  cat <<Y
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: $1.example.com}
spec:
  group: example.com
  scope: $3
  names: {plural: $1, kind: $2, singular: ${2,,}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Phase, type: string, jsonPath: .status.phase}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, maximum: 9, default: 1}
              secretName: {type: string}
              targetNamespace: {type: string}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
Y
}
cat >"$work/values.yaml" <<'Y'
sync:
  toHost:
    customResources:
      widgets.example.com:
        enabled: true
        patches:
        - {path: spec.secretName, reference: {apiVersion: v1, kind: Secret}}
      later.example.com: {enabled: true}
  fromHost:
    secrets: {enabled: true, mappings: {byName: {"shared/pull": "given/registry"}}}
    customResources: {makers.example.com: {enabled: true, scope: Cluster}}
Y
# The host comes up with the first virtual cluster.
check "the host" "$(code sublet create first)" 0
{ definition widgets Widget Namespaced; echo ---; definition makers Maker Cluster; } | h apply -f - >/dev/null
h wait --for=condition=Established crd/widgets.example.com crd/makers.example.com >/dev/null
printf 'apiVersion: example.com/v1\nkind: Maker\nmetadata: {name: acme}\nspec: {size: 2}\n' | h apply -f - >/dev/null
h create namespace shared >/dev/null
h create secret generic pull -n shared --from-literal=k=1 >/dev/null
h create secret generic other -n shared --from-literal=k=1 >/dev/null
for team in team-a team-b; do
  check "create rag in $team" "$(code sublet create rag -n $team -f "$work/values.yaml")" 0
done
contains "a definition that the host lacks is told" "$(cat "$work/err")" "the host has no CustomResourceDefinition later.example.com that could cross"

object() { printf 'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, labels: {app: web}}\nspec: {size: 3, secretName: key}\n'; }
for tenant in in_a in_b; do
  until_is "the definition is there ($tenant)" True $tenant get crd widgets.example.com -o jsonpath='{.status.conditions[?(@.type=="Established")].status}'
  until_is "and the host's cluster-wide objects ($tenant)" 2 $tenant get maker acme -o jsonpath='{.spec.size}'
  $tenant create secret generic key --from-literal=k=$tenant >/dev/null
  object | $tenant apply -f - >/dev/null
done
for team in team-a team-b; do
  until_is "one crosses ($team)" "3 key-x-default-x-rag" h get widget w-x-default-x-rag -n $team -o jsonpath='{.spec.size} {.spec.secretName}'
  until_is "with the Secret that it names ($team)" "key-x-default-x-rag" h get secret key-x-default-x-rag -n $team -o jsonpath='{.metadata.name}'
done
check "its labels under reserved keys" "$(h get widget w-x-default-x-rag -n team-a -o jsonpath='{.metadata.labels.app}{.metadata.labels.t\.sublet\.dev/app}')" web
h patch widget w-x-default-x-rag -n team-a --subresource=status --type=merge -p '{"status":{"phase":"Ready","secret":"key-x-default-x-rag"}}' >/dev/null
until_is "the operator's word comes back, in the tenant's names" "Ready key" in_a get widget w -o jsonpath='{.status.phase} {.status.secret}'
check "in the definition's columns" "$(in_a get widget w --no-headers | tr -s ' ')" "w Ready"
check "to nobody else" "$(in_b get widget w -o jsonpath='{.status}')" ""
in_b patch widget w --type=merge -p '{"spec":{"size":5}}' >/dev/null
until_is "a change follows" 5 h get widget w-x-default-x-rag -n team-b -o jsonpath='{.spec.size}'
check "in its own place" "$(h get widget w-x-default-x-rag -n team-a -o jsonpath='{.spec.size}')" 3
printf 'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: odd}\nspec: {targetNamespace: kube-system}\n' | in_a create -f - >"$work/out" 2>&1
contains "a namespace of the host is refused at once" "$(cat "$work/out")" "spec.targetNamespace: a namespace means another one on the host"
printf 'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: big}\nspec: {size: 99}\n' | in_a create -f - >"$work/out" 2>&1
contains "the definition's schema is asked" "$(cat "$work/out")" "should be less than or equal to 9"
in_a delete crd widgets.example.com >"$work/out" 2>&1 && check "a tenant cannot delete the host's definition" yes no
contains "the definition is the host's" "$(cat "$work/out")" "only there it can be changed"
in_a patch maker acme --type=merge -p '{"spec":{"size":1}}' >"$work/out" 2>&1
contains "and so is what came from there" "$(cat "$work/out")" "only there it can be changed"

until_is "a Secret that the template maps is there" MQ== in_a get secret registry -n given -o jsonpath='{.data.k}'
in_a patch secret registry -n given --type=merge -p '{"data":{"k":"Mg=="}}' >"$work/out" 2>&1
contains "to read" "$(cat "$work/out")" "only there it can be changed"
h patch secret pull -n shared --type=merge -p '{"data":{"k":"Mw=="}}' >/dev/null
until_is "it follows the host's" Mw== in_a get secret registry -n given -o jsonpath='{.data.k}'
check "the syncer may read that one" "$(h auth can-i get secret/pull -n shared --as system:serviceaccount:team-a:sublet-syncer-rag)" yes
check "and no other" "$(h auth can-i get secret/other -n shared --as system:serviceaccount:team-a:sublet-syncer-rag 2>/dev/null)" no
old=$(in_a get namespace given -o jsonpath='{.metadata.uid}')
# kubectl's own --wait never ends when the name comes back between its two reads: its watch begins at the new one.
in_a delete namespace given --wait=false >/dev/null
another() { local now; now=$(in_a get namespace given -o jsonpath='{.metadata.uid}' 2>/dev/null); [ -n "$now" ] && [ "$now" != "$old" ]; }
until_true "a namespace with one in it can go, and comes back" another
until_is "with the Secret" Mw== in_a get secret registry -n given -o jsonpath='{.data.k}'

# A definition that comes to the host later: the syncer begins anew by itself.
definition later Later Namespaced | h apply -f - >/dev/null
until_is "a later definition comes" True in_a get crd later.example.com -o jsonpath='{.status.conditions[?(@.type=="Established")].status}'
printf 'apiVersion: example.com/v1\nkind: Later\nmetadata: {name: l}\nspec: {size: 4}\n' | in_a apply -f - >/dev/null
until_is "and its objects cross" 4 h get later l-x-default-x-rag -n team-a -o jsonpath='{.spec.size}'
in_a delete later l >/dev/null
until_is "and go" "" h get later l-x-default-x-rag -n team-a --ignore-not-found -o name

check "deleting one" "$(sublet delete rag -n team-a --yes 2>/dev/null)" "virtualcluster/team-a/rag deleted"
check "leaves nothing of it" "$(h get widgets,later,secrets -n team-a -o name)" ""
check "and takes nothing of the other" "$(h get widgets -n team-b -o name)" "widget.example.com/w-x-default-x-rag"
check "deleting the other" "$(sublet delete rag -n team-b --yes 2>/dev/null)" "virtualcluster/rag deleted"
check "leaves nothing" "$(h get widgets -A -o name)" ""
check "nor rights elsewhere" "$(h get roles,rolebindings -n shared -o name)" ""
echo "$failures failed"
[ "$failures" -eq 0 ]
