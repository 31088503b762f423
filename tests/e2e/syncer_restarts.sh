#!/usr/bin/env bash
# syncer_restarts.sh [RESTARTS]: kills the syncer again and again while a tenant creates, changes and deletes pods and
# ConfigMaps; afterwards both sides must be equal. 200 by hand, few in ctest.
set -uo pipefail
restarts=${1:-8}
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-restarts-XXXXXX")
export SUBLET_STATE_DIR="$work/state" HOME="$work/home"
mkdir -p "$HOME"
unset KUBECONFIG
churner=
cleanup() {
  [ -z "$churner" ] || kill "$churner" 2>/dev/null
  sublet delete rag --yes --force >/dev/null 2>&1
  rm -rf "$work"
}
trap cleanup EXIT
sublet create rag -n team --nodes 10 >/dev/null 2>&1 || { echo "create failed"; exit 1; }
folder="$SUBLET_STATE_DIR/clusters/team/rag"
sublet connect rag --print >"$work/tenant"
tenant() { "$KUBECTL" --kubeconfig "$work/tenant" "$@"; }
host() { "$KUBECTL" --kubeconfig "$SUBLET_STATE_DIR/host/admin.kubeconfig" -n team "$@"; }

churn() {
  for i in $(seq 100000); do
    tenant apply -f - >/dev/null 2>&1 <<Y
apiVersion: v1
kind: ConfigMap
metadata: {name: c$((i % 7))}
data: {turn: "$i"}
---
apiVersion: v1
kind: Pod
metadata: {name: p$i, labels: {turn: t$i}}
spec: {containers: [{name: c, image: nginx, envFrom: [{configMapRef: {name: c$((i % 7))}}]}]}
Y
    tenant label pod "p$((i - 1))" seen=yes >/dev/null 2>&1
    tenant delete pod "p$((i - 3))" --wait=false >/dev/null 2>&1
  done
}
churn &
churner=$!
syncer() { pgrep -f "subletd syncer --dir $folder"; }
for n in $(seq "$restarts"); do
  deadline=$((SECONDS + 120))
  until pid=$(syncer); do [ "$SECONDS" -lt "$deadline" ] || { echo "the syncer did not come back after kill $n"; exit 1; }; done
  # Let it live until it has started on its work, sometimes not even that.
  [ $((n % 3)) -eq 0 ] || until [ "$(grep -c syncer.started "$folder/syncer.log")" -ge 1 ] && [ -n "$(syncer)" ]; do :; done
  kill -9 $pid 2>/dev/null
  # The supervisor's back-off grows with each quick end; a new one starts afresh.
  if [ $((n % 4)) -eq 0 ]; then
    daemon=$(cat "$folder/daemon.lock")
    kill "$daemon"
    deadline=$((SECONDS + 120))
    # Until it is gone, create may still find it serving, and has nothing to start.
    while kill -0 "$daemon" 2>/dev/null; do [ "$SECONDS" -lt "$deadline" ] || { echo "the daemon did not end after kill $n"; exit 1; }; done
    until sublet create rag -n team >/dev/null 2>&1; do [ "$SECONDS" -lt "$deadline" ] || { echo "no restart after kill $n"; exit 1; }; done
  fi
done
# Behind a restart it may only have deleted what there was: it goes on until it has made pods again.
deadline=$((SECONDS + 120))
until [ "$(tenant get pods -o name 2>/dev/null | wc -l)" -ge 3 ]; do [ "$SECONDS" -lt "$deadline" ] || { echo "nobody makes pods after $restarts restarts"; exit 1; }; done
kill "$churner"
wait "$churner" 2>/dev/null
churner=

# name, label, tenant uid and turn of every pod; data of every ConfigMap in use.
tenant_view() {
  tenant get pods -o jsonpath='{range .items[*]}{.metadata.name}{" "}{.metadata.uid}{" "}{.metadata.labels.turn}{" "}{.metadata.labels.seen}{" "}{.status.phase}{" "}{.spec.nodeName}{"\n"}{end}' | sort
  for c in $(tenant get pods -o jsonpath='{.items[*].spec.containers[0].envFrom[0].configMapRef.name}' | tr ' ' '\n' | sort -u); do
    echo "$c $(tenant get configmap "$c" -o jsonpath='{.data.turn}')"
  done
}
host_view() {
  host get pods -o jsonpath='{range .items[*]}{.metadata.annotations.sublet\.dev/tenant-name}{" "}{.metadata.annotations.sublet\.dev/tenant-uid}{" "}{.metadata.labels.t\.sublet\.dev/turn}{" "}{.metadata.labels.t\.sublet\.dev/seen}{" "}{.status.phase}{" "}{.spec.nodeName}{"\n"}{end}' | sort
  host get configmaps -l sublet.dev/managed-by=rag -o jsonpath='{range .items[*]}{.metadata.annotations.sublet\.dev/tenant-name}{" "}{.data.turn}{"\n"}{end}' | grep -v -e kube-root -e '^kubernetes ' | sort
}
deadline=$((SECONDS + 180))
while t=$(tenant_view); h=$(host_view); [ "$t" != "$h" ] || [ -z "$t" ]; do
  [ "$SECONDS" -lt "$deadline" ] || { echo "the sides differ after $restarts restarts:"; diff <(echo "$t") <(echo "$h"); tail -n 5 "$folder"/*.log; exit 1; }
done
echo "ok: both sides equal after $restarts restarts: $(echo "$t" | wc -l) objects compared"
