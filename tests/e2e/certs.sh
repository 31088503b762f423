#!/usr/bin/env bash
# sublet certs: when certificates end, and what rotate does to those that were handed out, with a real kubectl and openssl.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

check "create" "$(code sublet create rag -n team)" 0
api=$SUBLET_STATE_DIR/clusters/team/rag/apiserver
address=$(sublet list -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["endpoint"].removeprefix("https://"))')
sublet connect rag --print >"$work/old" 2>/dev/null
old() { "$KUBECTL" --request-timeout=20s --kubeconfig "$work/old" "$@" 2>&1; }
# What the server shows, and whether its authority signed it: "serial=... verify return code: 0 (ok)".
shown() {
  openssl s_client -connect "$address" -CAfile "$api/ca.crt" -verify_ip 127.0.0.1 </dev/null 2>/dev/null >"$work/shown"
  echo "$(openssl x509 -noout -serial <"$work/shown") $(sed -n 's/ *Verify return code: //p' "$work/shown" | tail -n 1)"
}
# Days that are left of a certificate, rounded.
days() { echo $((($(date -d "$(openssl x509 -noout -enddate <"$1" | cut -d= -f2)" +%s) - $(date +%s) + 43200) / 86400)); }

check "what is handed out is good for 30 days" "$(days "$api/admin.crt")" 30
check "what is shown for 90" "$(days "$api/apiserver.crt")" 90
check "certs check" "$(code sublet certs check)" 0
check "names them" "$(awk 'NR > 1 {print $1, $2, $5}' "$work/out" | tr '\n' ';')" \
  "virtualcluster/rag ca good;virtualcluster/rag apiserver good;virtualcluster/rag admin good;virtualcluster/rag front-proxy-ca good;virtualcluster/rag front-proxy good;"
check "certs check -o json" "$(sublet certs check rag -o json | python3 -c 'import json,sys; print([(c["certificate"], c["state"]) for c in json.load(sys.stdin)][2])')" "('admin', 'good')"
check "of one that is not there" "$(code sublet certs check rga)" 3

first=$(shown)
contains "the server's is its authority's" "$first" "0 (ok)"
check "the handed out kubeconfig works" "$(old get namespace default -o name)" "namespace/default"
old get configmaps --watch >"$work/watched" 2>&1 &
watch=$!
until_true "a watch stands" test -s "$work/watched"
pid=$(pgrep -f -- "subletd apiserver --virtual-cluster $SUBLET_STATE_DIR/clusters/team/rag")

check "certs rotate" "$(code sublet certs rotate rag)" 0
contains "says how to go on" "$(cat "$work/err")" "sublet connect rag"
second=$(shown)
contains "another one is shown at once, of the same authority" "$second" "0 (ok)"
check "indeed another" "$([ "${first%% *}" = "${second%% *}" ] && echo same || echo another)" another
contains "the old kubeconfig is refused" "$(old get namespace default)" "Unauthorized"
wait "$watch"
check "and its watch was ended" "$(kill -0 "$watch" 2>/dev/null && echo runs || echo ended)" ended
check "no process was restarted" "$(pgrep -f -- "subletd apiserver --virtual-cluster $SUBLET_STATE_DIR/clusters/team/rag")" "$pid"
check "a new one works" "$(sublet connect rag -- "$KUBECTL" get namespace default -o name)" "namespace/default"
check "the syncer goes on" "$(sublet list -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["status"])')" Running
sublet connect rag -- "$KUBECTL" run p --image=i >/dev/null 2>&1
until_is "a pod runs" Running sublet connect rag -- "$KUBECTL" get pod p -o 'jsonpath={.status.phase}'

# Stopped: what is there is taken away, and the next start makes others.
sublet connect rag --print >"$work/old" 2>/dev/null
kill "$(cat "$SUBLET_STATE_DIR/clusters/team/rag/daemon.lock")"
until_is "stopped" Stopped bash -c "sublet list -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0][\"status\"])'"
check "rotate one that is stopped" "$(code sublet certs rotate rag)" 0
contains "says when it counts" "$(cat "$work/err")" "when it starts"
check "start" "$(code sublet create rag -n team)" 0
contains "the kubeconfig from before is refused" "$(old get namespace default)" "Unauthorized"
check "a new one works again" "$(sublet connect rag -- "$KUBECTL" get namespace default -o name)" "namespace/default"

# One that has ended, as a machine that was off for months has it.
openssl req -new -key "$api/admin.key" -subj "/O=system:masters/CN=kubernetes-admin" -out "$work/csr" 2>/dev/null
kill "$(cat "$SUBLET_STATE_DIR/clusters/team/rag/daemon.lock")"
until_is "stopped again" Stopped bash -c "sublet list -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0][\"status\"])'"
openssl x509 -req -in "$work/csr" -CA "$api/ca.crt" -CAkey "$api/ca.key" -days 3 -out "$api/admin.crt" 2>/dev/null
check "one that ends soon is no failure" "$(code sublet certs check rag)" 0
contains "and is told" "$(cat "$work/err")" "certificate admin of virtualcluster/rag ends at"
openssl x509 -req -in "$work/csr" -CA "$api/ca.crt" -CAkey "$api/ca.key" -days 0 -out "$api/admin.crt" 2>/dev/null
check "one that has ended is" "$(code sublet certs check rag)" 1
contains "and is told too" "$(cat "$work/err")" "certificate admin of virtualcluster/rag ended at"
check "a start makes another" "$(code sublet create rag -n team)" 0
check "which is good" "$(code sublet certs check rag)" 0

echo "$failures failed"
[ "$failures" -eq 0 ]
