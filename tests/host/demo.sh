#!/usr/bin/env bash
# host: own, 120 s
# The main job against a real host with real KAI: the same steps as examples/demo.sh, on a kube-apiserver whose one GPU is a
# KWOK node's, with KAI's admission, podgrouper, scheduler and binder beside it (testhost up --kai). That host is this
# script's own, for its webhook judges every pod and its one GPU makes sure that two halves share and a third does not fit. The
# one thing that is not KAI's doing is tools/testhost/kai-reservation-stage.yaml.
set -uo pipefail
cd "$(dirname "$0")/../.."
stand="kai-$$" own_home=$HOME # checks.sh sets another HOME, and testhost's folders are below it
testhost() { HOME=$own_home tools/testhost/testhost "$@"; }
trap 'testhost down --name "$stand"' EXIT
if ! testhost up --name "$stand" --kai --nodes 2 --gpu-nodes 1 --gpus-per-node 1; then
  echo "FAILED: there is no host with KAI; testhost said why" >&2
  echo "0 passed, 1 failed"
  exit 1
fi
HOST_KUBECONFIG=$(testhost env --name "$stand" | sed 's/^export KUBECONFIG=//')
. tests/host/support/checks.sh
team() { echo "team-${1#rag-}"; }
cleanup() {
  show_logs_of_failure
  [ "$failed" -eq 0 ] || tail -n 15 "$(dirname "$HOST_KUBECONFIG")"/logs/kai-*.log >&2
  local keep=()
  [ "$failed" -eq 0 ] || { mkdir -p build/test-host-logs/kai; keep=(--keep-logs build/test-host-logs/kai); }
  for name in rag-legal rag-sales; do
    sublet delete "$name" -n "$(team "$name")" --yes --force --timeout 20s >/dev/null 2>&1
  done
  testhost down --name "$stand" "${keep[@]}"
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
queue() { # queue NAME GPUS: what the operator of the host makes for a team; so many GPUs are its own, more is borrowed
  host create -f - <<Y
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: $1}
spec:
  parentQueue: default
  resources:
    gpu: {quota: $2, limit: -1, overQuotaWeight: 1}
    cpu: {quota: 0, limit: -1, overQuotaWeight: 1}
    memory: {quota: 0, limit: -1, overQuotaWeight: 1}
Y
}
reason_of_third() {
  tenant rag-legal get pod third -o jsonpath='{.status.conditions[?(@.type=="PodScheduled")].message}' | grep -oF "didn't have enough resources: GPUs"
}
scheduled='{.status.conditions[?(@.type=="PodScheduled")].status}'
group='{.metadata.labels.runai-gpu-group}'

node=$(host get nodes -l nvidia.com/gpu.present=true -o jsonpath='{.items[0].metadata.name}')
check "the host has one GPU" "$(host get node "$node" -o jsonpath='{.status.allocatable.nvidia\.com/gpu}')" 1
check "the host has the RuntimeClass" "$(host get runtimeclass nvidia -o jsonpath='{.handler}')" nvidia
check "the operator makes the first team's queue" "$(queue rag-legal 0)" "queue.scheduling.run.ai/rag-legal created"

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

# KAI's way with it, as far as it can be seen from outside.
until_is "bound by KAI, the pod runs in the tenant" 60 "Running $node" tenant rag-legal get pod gpu-sharing-pod -o jsonpath='{.status.phase} {.spec.nodeName}'
check "kubectl wait agrees" "$(tenant rag-legal wait --for=condition=Ready pod/gpu-sharing-pod --timeout=30s)" "pod/gpu-sharing-pod condition met"
gpu=$(host_pod "$pod" team-legal "$group")
check "KAI's binder says which GPU, and has reserved it" "$(host get pods -n kai-resource-reservation -o jsonpath="{.items[*]$(echo "$group" | tr -d '{}')}")" "${gpu:-a group}"
until_is "the tenant sees its GPU group" 10 "$gpu Fraction" tenant rag-legal get pod gpu-sharing-pod -o jsonpath="$group {.metadata.annotations.received-resource-type}"
check "KAI's grouper put it into the team's queue" "$(host get podgroups -n team-legal -o jsonpath='{.items[*].spec.queue}')" rag-legal
until_is "the tenant has KAI's events" 10 Bound tenant rag-legal get events --field-selector involvedObject.name=gpu-sharing-pod,reason=Bound -o jsonpath='{.items[0].reason}'
until_is "the tenant has the GPU node" 10 "$node" tenant rag-legal get node "$node" -o jsonpath='{.metadata.name}'
injected='{.spec.containers[0].env[?(@.name=="NVIDIA_VISIBLE_DEVICES")].name}{.spec.containers[0].envFrom[-1:].configMapRef.name}'
prefix=$(host_pod "$pod" team-legal '{.metadata.annotations.runai/shared-gpu-configmap}')
check "KAI's webhook gave the host's pod environment" "$(host_pod "$pod" team-legal "$injected")" "NVIDIA_VISIBLE_DEVICES${prefix:-its prefix}-0-evar"
check "which the tenant's pod does not show" "$(tenant rag-legal get pod gpu-sharing-pod -o jsonpath="$injected{.metadata.annotations.runai/shared-gpu-configmap}")" ""
check "nor has the tenant the ConfigMaps behind it" "$(tenant rag-legal get configmaps -o name)" "configmap/kube-root-ca.crt"
tenant rag-legal label pod gpu-sharing-pod tier=front >/dev/null
until_is "a label of the tenant's follows, and KAI's stays" 10 "front $gpu" host_pod "$pod" team-legal "{.metadata.labels.t\\.sublet\\.dev/tier} $group"

queue rag-sales 1 >/dev/null
check "a second team" "$(create rag-sales)" "virtualcluster/rag-sales created"
sed 's/kai.scheduler\/queue: test/&\n    runai-gpu-group: stolen/' examples/gpu-sharing-pod.yaml | tenant rag-sales apply -f - >/dev/null 2>>"$work/err"
second=gpu-sharing-pod-x-default-x-rag-sales
until_is "has its pod on the host, in a queue of its own" 30 rag-sales host_pod "$second" team-sales '{.metadata.labels.kai\.scheduler/queue}'
until_is "and the pod runs on the first one's GPU, for KAI put it there" 60 "Running $gpu" tenant rag-sales get pod gpu-sharing-pod -o jsonpath="{.status.phase} $group"

sed 's/name: gpu-sharing-pod/name: third/' examples/gpu-sharing-pod.yaml | tenant rag-legal apply -f - >/dev/null 2>>"$work/err"
until_is "a third half does not fit" 60 "Pending False" tenant rag-legal get pod third -o jsonpath="{.status.phase} $scheduled"
until_is "and its team reads KAI's reason" 10 "didn't have enough resources: GPUs" reason_of_third
until_is "in an event too" 10 Unschedulable tenant rag-legal get events --field-selector involvedObject.name=third,reason=Unschedulable -o jsonpath='{.items[0].reason}'

# A new syncer reads everything anew: had it anything to repair in what KAI did to the pods, it would write. The new pod
# reaches the host after those that were there before. (KAI itself may write to the waiting one at any time.)
before=$(host_pod "$pod" team-legal '{.metadata.resourceVersion}')
kill -9 "$(pgrep -f "subletd syncer .*$SUBLET_STATE_DIR/clusters/team-legal/rag-legal")"
tenant rag-legal run after --image=nginx --overrides='{"spec":{"nodeSelector":{"nvidia.com/nowhere":"x"}}}' >/dev/null
until_is "a new syncer goes on" 30 pod/after-x-default-x-rag-legal host get pod after-x-default-x-rag-legal -n team-legal -o name
check "and fights KAI over nothing" "$(host_pod "$pod" team-legal '{.metadata.resourceVersion}')" "$before"
check "nor over the waiting pod" "$(host_pod third-x-default-x-rag-legal team-legal '{.metadata.annotations.pod-group-name}' | grep -o '^pg-third')" pg-third

left() { host get pods,services,configmaps,secrets,serviceaccounts -A -l "sublet.dev/managed-by${1:+=$1}" -o name; }
# KAI's own, with our pods' labels: they go with the pods that own them, when the host's garbage collector comes by.
left_of_kai() { host get podgroups,bindrequests -A -l "sublet.dev/managed-by${1:+=$1}" -o name; }
tenant rag-sales delete pod gpu-sharing-pod >/dev/null
until_is "the half that the second team gives up goes to the third pod" 60 "Running $gpu" tenant rag-legal get pod third -o jsonpath="{.status.phase} $group"

# A whole GPU for the team whose GPU it is: KAI takes back what the other one borrowed.
sed -e '/gpu-fraction/d; /annotations:/d' -e 's/name: gpu-sharing-pod/name: whole/' examples/gpu-sharing-pod.yaml | tenant rag-sales apply -f - >/dev/null 2>>"$work/err"
until_is "KAI takes the GPU back for its owner" 90 "Running $node" tenant rag-sales get pod whole -o jsonpath='{.status.phase} {.spec.nodeName}'
until_is "and the borrower's pods end in their tenant" 60 "pod/after" tenant rag-legal get pods -o name
until_is "who is told" 10 HostPodDeleted tenant rag-legal get events --field-selector involvedObject.name=third,reason=HostPodDeleted -o jsonpath='{.items[0].reason}'

first=$(host_pod after-x-default-x-rag-legal team-legal '{.metadata.uid}')
check "deleting the second team's" "$(sublet delete rag-sales --namespace team-sales --yes 2>>"$work/err")" "virtualcluster/rag-sales deleted"
check "leaves nothing of it" "$(left rag-sales)" ""
until_is "nor, soon, of what KAI made for it" 60 "" left_of_kai rag-sales
until_is "and the host ends its namespace" 60 "" host get namespace team-sales --ignore-not-found -o name
check "and does not touch the first" "$(host_pod after-x-default-x-rag-legal team-legal '{.metadata.uid}{.metadata.deletionTimestamp}')" "${first:-a pod}"
check "deleting the first" "$(sublet delete rag-legal --namespace team-legal --yes 2>>"$work/err")" "virtualcluster/rag-legal deleted"
check "leaves nothing at all" "$(left)" ""
until_is "nor, soon, anything of KAI's" 60 "" left_of_kai
until_is "and the host ends that namespace too" 60 "" host get namespace team-legal --ignore-not-found -o name
until_is "and KAI gives the GPU back" 60 "" host get pods,podgroups.scheduling.run.ai,bindrequests -A -o name
[ "$failed" -eq 0 ] || cat "$work/err" >&2
cleanup
trap - EXIT
check "and the stand itself is gone" "$(testhost list | grep -c "^$stand")" 0
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
