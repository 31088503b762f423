#!/usr/bin/env bash
# The main job against the real host: the same steps as examples/demo.sh, with a kube-apiserver, controller manager and
# KWOK's GPU nodes underneath (HOST_KUBECONFIG). KAI does not run on this stand, so that what belongs to it is done by
# hand and is marked as such: as_kai binds a pod and writes the record that KAI's binder writes. Everything before that
# is the truth about a host that KAI has not looked at yet: the pod waits, in the tenant too.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/host/support/checks.sh
team() { echo "team-${1#rag-}"; }
cleanup() {
  show_logs_of_failure
  for name in rag-legal rag-sales; do
    sublet delete "$name" -n "$(team "$name")" --yes --force --timeout 20s >/dev/null 2>&1
  done
  rm -rf "$work"
}
trap cleanup EXIT

tenant() { # tenant NAME command...: kubectl in a virtual cluster
  local name=$1
  shift
  sublet connect "$name" --namespace "$(team "$name")" -- "$KUBECTL" "$@"
}
create() { sublet create "$1" --namespace "$(team "$1")" -f templates/gpu-fraction.yaml --host-kubeconfig "$HOST_KUBECONFIG" 2>>"$work/err"; }
host_pod() { host get pod "$1" -n "$2" -o jsonpath="$3"; }
# as_kai POD NAMESPACE NODE GROUP: what KAI's binder does to a fraction pod, by hand.
as_kai() {
  host label pod "$1" -n "$2" "runai-gpu-group=$4" >/dev/null &&
    printf '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"%s"},"target":{"apiVersion":"v1","kind":"Node","name":"%s"}}' "$1" "$3" |
    host create --raw "/api/v1/namespaces/$2/pods/$1/binding" -f - >/dev/null
}

node=$(host get nodes -l nvidia.com/gpu.present=true -o jsonpath='{.items[0].metadata.name}')
check "the host has a GPU node" "$(host get node "$node" -o jsonpath='{.status.allocatable.nvidia\.com/gpu}')" 8
check "the host has the RuntimeClass" "$(host get runtimeclass nvidia -o jsonpath='{.handler}')" nvidia

check "a virtual cluster from the template" "$(create rag-legal)" "virtualcluster/rag-legal created"
check "the RuntimeClass in the tenant" "$(tenant rag-legal get runtimeclass nvidia -o name)" "runtimeclass.node.k8s.io/nvidia"
check "apply in the tenant" "$(tenant rag-legal apply -f examples/gpu-sharing-pod.yaml 2>>"$work/err")" "pod/gpu-sharing-pod created"

pod=gpu-sharing-pod-x-default-x-rag-legal
until_is "the host has the pod under its translated name" 30 "pod/$pod" host get pod "$pod" -n team-legal -o name
check "with KAI's annotation" "$(host_pod "$pod" team-legal '{.metadata.annotations.gpu-fraction}')" 0.5
check "without the dead spelling" "$(host_pod "$pod" team-legal '{.metadata.annotations.nvidia\.com/gpu-fraction}')" ""
check "in the tenant's own queue" "$(host_pod "$pod" team-legal '{.metadata.labels.kai\.scheduler/queue}')" rag-legal
check "without a whole-GPU limit" "$(host_pod "$pod" team-legal '{.spec.containers[0].resources.limits.nvidia\.com/gpu}')" ""
check "without a whole-GPU request" "$(host_pod "$pod" team-legal '{.spec.containers[0].resources.requests.nvidia\.com/gpu}')" ""
check "with the RuntimeClass" "$(host_pod "$pod" team-legal '{.spec.runtimeClassName}')" nvidia
check "for KAI's scheduler" "$(host_pod "$pod" team-legal '{.spec.schedulerName}')" kai-scheduler
check "without a token of the host" "$(host_pod "$pod" team-legal '{.spec.automountServiceAccountToken}')" false
check "the tenant still has what it wrote" "$(tenant rag-legal get pod gpu-sharing-pod -o jsonpath='{.metadata.annotations.nvidia\.com/gpu-fraction} {.spec.containers[0].resources.limits.nvidia\.com/gpu}')" "0.5 1"

# Nobody schedules it: the host's kube-scheduler must not, for the pod is not its own.
check "before KAI the host pod waits" "$(host_pod "$pod" team-legal '{.status.phase} {.spec.nodeName}')" "Pending "
check "and so does the tenant's" "$(tenant rag-legal get pod gpu-sharing-pod -o jsonpath='{.status.phase} {.spec.nodeName}')" "Pending "

as_kai "$pod" team-legal "$node" group-a || flunk "the stand-in for KAI could not bind"
until_is "bound in KAI's stead, the pod runs in the tenant" 40 "Running $node" tenant rag-legal get pod gpu-sharing-pod -o jsonpath='{.status.phase} {.spec.nodeName}'
check "kubectl wait agrees" "$(tenant rag-legal wait --for=condition=Ready pod/gpu-sharing-pod --timeout=30s)" "pod/gpu-sharing-pod condition met"
until_is "the tenant sees its GPU group" 10 group-a tenant rag-legal get pod gpu-sharing-pod -o jsonpath='{.metadata.labels.runai-gpu-group}'
until_is "the tenant has the GPU node" 10 "$node" tenant rag-legal get node "$node" -o jsonpath='{.metadata.name}'

check "a second team" "$(create rag-sales)" "virtualcluster/rag-sales created"
sed 's/kai.scheduler\/queue: test/&\n    runai-gpu-group: stolen/' examples/gpu-sharing-pod.yaml | tenant rag-sales apply -f - >/dev/null 2>>"$work/err"
second=gpu-sharing-pod-x-default-x-rag-sales
until_is "has its pod on the host" 30 "pod/$second" host get pod "$second" -n team-sales -o name
check "in a queue of its own" "$(host_pod "$second" team-sales '{.metadata.labels.kai\.scheduler/queue}')" rag-sales
check "and cannot choose whose GPU it shares" "$(host_pod "$second" team-sales '{.metadata.labels.runai-gpu-group}')" ""
as_kai "$second" team-sales "$node" group-a || flunk "the stand-in for KAI could not bind"
until_is "bound in KAI's stead, it runs beside the first" 40 "Running group-a" tenant rag-sales get pod gpu-sharing-pod -o jsonpath='{.status.phase} {.metadata.labels.runai-gpu-group}'

left() { host get pods,services,configmaps,secrets,serviceaccounts -A -l "sublet.dev/managed-by${1:+=$1}" -o name; }
check "deleting the second team's" "$(sublet delete rag-sales --namespace team-sales --yes 2>>"$work/err")" "virtualcluster/rag-sales deleted"
check "leaves nothing of it" "$(left rag-sales; host get namespace team-sales --ignore-not-found -o name)" ""
check "and not a word less of the first" "$(host_pod "$pod" team-legal '{.status.phase}')" Running
check "deleting the first" "$(sublet delete rag-legal --namespace team-legal --yes 2>>"$work/err")" "virtualcluster/rag-legal deleted"
check "leaves nothing at all" "$(left; host get namespace team-legal --ignore-not-found -o name)" ""
[ "$failed" -eq 0 ] || cat "$work/err" >&2
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
