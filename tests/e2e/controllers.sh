#!/usr/bin/env bash
# Who runs workloads: `controllers:` of the template. With none nobody does, though the API server keeps its own objects;
# with upstream a kube-controller-manager must be there ($KUBE_CONTROLLER_MANAGER: then it is shown to do the work).
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

k() { "$KUBECTL" --request-timeout=60s "$@"; }

echo 'controllers: nobody' >"$work/wrong.yaml"
check "another word is refused" "$(code sublet create wrong -f "$work/wrong.yaml")" 2
contains "with its line" "$(cat "$work/err")" 'wrong.yaml:1:14: controllers: must be one of builtin, upstream, none, not "nobody"'

echo 'controllers: none' >"$work/none.yaml"
check "create without controllers" "$(code sublet create quiet -f "$work/none.yaml" --connect)" 0
check "a deployment is stored" "$(code k create deployment web --image=nginx)" 0
check "the service kubernetes is deleted" "$(code k delete service kubernetes)" 0
until_is "and restored: that is the API server's own" 1 count service kubernetes
check "nobody has acted on the deployment" "$(count replicasets)" 0

echo 'controllers: upstream' >"$work/upstream.yaml"
mkdir -p "$work/bin"
for program in bash sublet subletd env; do ln -sf "$(command -v "$program")" "$work/bin/$program"; done
check "upstream's without the program" "$(PATH=$work/bin code sublet create theirs -f "$work/upstream.yaml")" 1
contains "says what is missing" "$(cat "$work/err")" \
  'controllers: upstream needs the program kube-controller-manager'

if [ -n "${KUBE_CONTROLLER_MANAGER:-}" ]; then
  ln -sf "$KUBE_CONTROLLER_MANAGER" "$work/bin/kube-controller-manager"
  check "with it" "$(PATH=$work/bin:$PATH code sublet create theirs -f "$work/upstream.yaml" --connect)" 0
  check "a deployment" "$(code k create deployment web --image=nginx --replicas=2)" 0
  check "rolls out" "$(code k rollout status deployment web --timeout=120s)" 0
  contains "by upstream's hand" "$(k get replicasets -o jsonpath='{.items[0].metadata.managedFields[*].manager}')" \
    kube-controller-manager
  until_is "which leads by a lease" 1 count leases -n kube-system --field-selector metadata.name=kube-controller-manager
  check "a token secret" "$(printf '%s\n' 'apiVersion: v1' 'kind: Secret' 'type: kubernetes.io/service-account-token' \
    'metadata: {name: t, annotations: {kubernetes.io/service-account.name: default}}' | k apply -f -)" 'secret/t created'
  filled() { [ -n "$(k get secret t -o jsonpath='{.data.token}')" ] && echo yes; }
  until_is "is filled by ours" yes filled
fi

echo "$failures failed"
[ "$failures" = 0 ]
