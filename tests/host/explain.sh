#!/usr/bin/env bash
# host: given, 50 s
# kubectl explain in a virtual cluster shows the host's texts: of a real kube-apiserver, for every kind that both serve, the
# same words on both sides; of the tenant's own custom resource its own; none while the host is away, and nobody waits long.
# HOST_KUBECONFIG names the host, HOST_NAME its folder in testhost (to stop its API server for a while).
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/host/support/checks.sh
server_of_host() { pgrep -f "secure-port=$(cat "$(dirname "$HOST_KUBECONFIG")/port")"; }
cleanup() {
  server_of_host | xargs -r kill -CONT 2>/dev/null
  show_logs_of_failure
  sublet delete rag -n explain --yes --force --timeout 20s >/dev/null 2>&1
  rm -rf "$work"
}
trap cleanup EXIT
tenant() { sublet connect rag -n explain -- "$KUBECTL" "$@"; }
# kubectl keeps what it reads by server and hash: a folder of its own for each question forgets it.
anew() { tenant --cache-dir "$(mktemp -d "$work/cache-XXXX")" "$@"; }

check "create" "$(sublet create rag -n explain --host-kubeconfig "$HOST_KUBECONFIG" 2>"$work/err")" "virtualcluster/rag created"
words=$(host explain pods.spec.containers) # the host first: its documents are written when somebody asks for the first time
check "pods.spec.containers in the host's words" "$(anew explain pods.spec.containers)" "$words"
check "which are some" "$(tenant explain pods.spec.containers | grep -c 'List of containers belonging to the pod')" 1
kinds=0
for kind in pods services configmaps secrets nodes persistentvolumeclaims namespaces deployments.apps statefulsets.apps jobs.batch \
  cronjobs.batch ingresses.networking.k8s.io networkpolicies.networking.k8s.io storageclasses.storage.k8s.io \
  roles.rbac.authorization.k8s.io horizontalpodautoscalers.autoscaling poddisruptionbudgets.policy leases.coordination.k8s.io \
  events.events.k8s.io customresourcedefinitions.apiextensions.k8s.io priorityclasses.scheduling.k8s.io \
  validatingadmissionpolicies.admissionregistration.k8s.io resourceclaims.resource.k8s.io; do
  for flag in "" --recursive; do
    # shellcheck disable=SC2086  # none, or one
    tenant explain $kind $flag >"$work/ours" 2>&1
    # shellcheck disable=SC2086
    host explain $kind $flag >"$work/theirs" 2>&1
    if cmp -s "$work/ours" "$work/theirs"; then kinds=$((kinds + 1)); else flunk "kubectl explain $kind $flag differs: $(diff "$work/theirs" "$work/ours" | head -n 5)"; fi
  done
done
check "of 23 kinds all is the same" "$kinds" 46

host apply -f - >/dev/null <<'Y'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hidden.explain.example}
spec:
  group: explain.example
  scope: Namespaced
  names: {plural: hidden, kind: Hidden}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: Of the host alone.}}}]
Y
tenant apply -f - >/dev/null <<'Y'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.explain.example}
spec:
  group: explain.example
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: A widget., properties: {spec: {type: object, properties: {size: {type: integer, description: How large it is.}}}}}}}]
Y
until_is "a custom resource keeps its own words" 30 1 sh -c "sublet connect rag -n explain -- '$KUBECTL' explain widgets.spec.size | grep -c 'How large it is'"
check "and the host's is not known here" "$(anew get --raw /openapi/v3 | grep -c hidden)$(anew explain hidden 2>&1 | grep -c "doesn't have a resource type")" 01
host delete crd hidden.explain.example >/dev/null

server_of_host | xargs kill -STOP
started=$SECONDS
anew explain deployments.spec.replicas >"$work/out" 2>&1
check "while the host is away it says what the type is" "$(grep -c 'FIELD: replicas <integer>' "$work/out")" 1
check "and waits some seconds at most" "$([ $((SECONDS - started)) -le 15 ] && echo short)" short
server_of_host | xargs kill -CONT
until_is "and has the words again afterwards" 60 1 sh -c "sublet connect rag -n explain -- '$KUBECTL' --cache-dir \"\$(mktemp -d '$work/cache-XXXX')\" explain deployments.spec.replicas | grep -c 'Number of desired pods'"
check "delete" "$(sublet delete rag -n explain --yes 2>/dev/null)" "virtualcluster/rag deleted"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
