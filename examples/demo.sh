#!/usr/bin/env bash
# The main use of sublet, shown and checked step by step: two tenants share one GPU through KAI's fractions, a third pod
# waits, and nothing is left at the end. `make demo` runs it on the embedded host. With HOST_KUBECONFIG set it runs on
# that host instead, which then needs GPUs, KAI, and the queues rag-legal and rag-sales.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${KUBECTL:=kubectl}"

state=$(mktemp -d "${TMPDIR:-/tmp}/sublet-demo-XXXXXX")
export SUBLET_STATE_DIR="$state/state" HOME="$state/home" KUBECONFIG="$state/home/.kube/config"
mkdir -p "$HOME/.kube"
finished=no
cleanup() {
  if [ "$finished" != yes ]; then
    echo "demo: FAILED; logs follow" >&2
    tail -n 20 "$SUBLET_STATE_DIR"/clusters/*/*/*.log "$SUBLET_STATE_DIR"/host/*.log >&2 2>/dev/null || true
  fi
  for record in "$SUBLET_STATE_DIR"/clusters/*/*/virtual-cluster.json; do
    [ -e "$record" ] || continue
    folder=$(dirname "$record")
    sublet delete "$(basename "$folder")" -n "$(basename "$(dirname "$folder")")" --yes --force >/dev/null 2>&1 || true
  done
  # The embedded host still runs: `delete --keep-host` kept it for the last checks.
  [ ! -e "$SUBLET_STATE_DIR/host/daemon.lock" ] || kill "$(cat "$SUBLET_STATE_DIR/host/daemon.lock")" 2>/dev/null || true
  rm -rf "$state"
}
trap cleanup EXIT

started=$(date +%s%N)
say() { printf '\n\033[1m[%5.2f s] %s\033[0m\n' "$(($(date +%s%N) - started))e-9" "$*"; }
show() { echo "\$ $*"; "$@"; }
expect() {  # expect WHAT ACTUAL WANTED
  if [ "$2" = "$3" ]; then echo "  ok: $1 is '${2:-nothing}'"; else echo "demo: $1 is '$2', wanted '$3'" >&2; exit 1; fi
}

tenant() {  # tenant NAME command...: kubectl in a virtual cluster
  local name=$1
  shift
  sublet connect "$name" --namespace "$(team "$name")" -- "$KUBECTL" "$@"
}
team() { case $1 in rag-legal) echo team-legal ;; rag-sales) echo team-sales ;; *) echo "team-$1" ;; esac; }
host() { "$KUBECTL" --kubeconfig "${HOST_KUBECONFIG:-$SUBLET_STATE_DIR/host/admin.kubeconfig}" "$@"; }
host_flags=()
[ -z "${HOST_KUBECONFIG:-}" ] || host_flags=(--host-kubeconfig "$HOST_KUBECONFIG")

queue() {  # queue NAME: a queue of KAI, which the operator of the host makes for a team
  [ -z "${HOST_KUBECONFIG:-}" ] || return 0
  host apply -f - <<Y
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: $1}
spec:
  resources:
    gpu: {quota: 0, limit: -1, overQuotaWeight: 1}
    cpu: {quota: 0, limit: -1, overQuotaWeight: 1}
    memory: {quota: 0, limit: -1, overQuotaWeight: 1}
Y
}

say "1. A virtual cluster for the legal team, on a host with one GPU"
show sublet create rag-legal --namespace team-legal -f templates/gpu-fraction.yaml "${host_flags[@]}"
show host get nodes -o custom-columns='NODE:.metadata.name,GPUS:.status.allocatable.nvidia\.com/gpu'
show queue rag-legal
show sublet list

say "2. The team applies its half-GPU pod with plain kubectl"
show sublet connect rag-legal --namespace team-legal -- "$KUBECTL" apply -f examples/gpu-sharing-pod.yaml
show sublet connect rag-legal --namespace team-legal -- "$KUBECTL" wait --for=condition=Ready pod/gpu-sharing-pod --timeout=60s
tenant rag-legal get pods -o wide
expect "the tenant's pod phase" "$(tenant rag-legal get pod gpu-sharing-pod -o jsonpath='{.status.phase}')" Running
expect "the tenant's RuntimeClass" "$(tenant rag-legal get runtimeclass nvidia -o jsonpath='{.metadata.name}')" nvidia

say "3. What runs on the host: the translated pod, with the platform's patches applied"
name=gpu-sharing-pod-x-default-x-rag-legal
host get pod "$name" -n team-legal --show-labels
of_host() { host get pod "$name" -n team-legal -o jsonpath="$1"; }
expect "annotation gpu-fraction" "$(of_host '{.metadata.annotations.gpu-fraction}')" 0.5
expect "the queue" "$(of_host '{.metadata.labels.kai\.scheduler/queue}')" rag-legal
expect "the whole-GPU limit" "$(of_host '{.spec.containers[0].resources.limits.nvidia\.com/gpu}')" ""
expect "the scheduler" "$(of_host '{.spec.schedulerName}')" kai-scheduler
expect "the host's token" "$(of_host '{.spec.automountServiceAccountToken}')" false
group=$(of_host '{.metadata.labels.runai-gpu-group}')
[ -n "$group" ] || { echo "demo: the host pod has no runai-gpu-group" >&2; exit 1; }

say "4. A second team shares the same GPU; it cannot choose another team's group"
show sublet create rag-sales --namespace team-sales -f templates/gpu-fraction.yaml "${host_flags[@]}"
show queue rag-sales
sed 's/kai.scheduler\/queue: test/&\n    runai-gpu-group: stolen/' examples/gpu-sharing-pod.yaml | tenant rag-sales apply -f -
tenant rag-sales wait --for=condition=Ready pod/gpu-sharing-pod --timeout=60s
second=$(host get pod gpu-sharing-pod-x-default-x-rag-sales -n team-sales -o jsonpath='{.metadata.labels.runai-gpu-group}')
expect "the second pod's GPU group" "$second" "$group"
expect "the second team's queue" \
  "$(host get pod gpu-sharing-pod-x-default-x-rag-sales -n team-sales -o jsonpath='{.metadata.labels.kai\.scheduler/queue}')" rag-sales

say "5. A third half does not fit: its own team sees why"
sed 's/name: gpu-sharing-pod/name: third/' examples/gpu-sharing-pod.yaml | tenant rag-legal apply -f -
tenant rag-legal wait --for=condition=PodScheduled=False pod/third --timeout=60s
expect "the third pod's phase" "$(tenant rag-legal get pod third -o jsonpath='{.status.phase}')" Pending
reason=$(tenant rag-legal get pod third -o jsonpath='{.status.conditions[?(@.type=="PodScheduled")].message}')
echo "  the scheduler says: $reason"
[ -n "$reason" ] || { echo "demo: the third pod has no reason" >&2; exit 1; }
tenant rag-legal get events --field-selector involvedObject.name=third

say "6. Logs come through the border"
show sublet connect rag-legal --namespace team-legal -- "$KUBECTL" logs gpu-sharing-pod --tail=3

say "7. Deleting leaves nothing behind"
show sublet delete rag-sales --namespace team-sales --yes --keep-host
expect "what is left of rag-sales on the host" \
  "$(host get pods,services,configmaps,secrets,serviceaccounts -A -l sublet.dev/managed-by=rag-sales -o name)" ""
expect "namespace team-sales" "$(host get namespace team-sales --ignore-not-found -o name)" ""
show sublet delete rag-legal --namespace team-legal --yes --keep-host
expect "what is left of any virtual cluster on the host" \
  "$(host get pods,services,configmaps,secrets,serviceaccounts -A -l sublet.dev/managed-by -o name)" ""
finished=yes
say "done"
