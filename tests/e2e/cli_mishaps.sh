#!/usr/bin/env bash
# What goes wrong around the command line: mistyped words, files that are none, a host that went away, a taken port, a
# damaged record or store, ^C in the middle of create. Each must be named, with what to do, and leave nothing half made.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh
status() { sublet list -o json 2>/dev/null | python3 -c 'import json,sys; print(*[c["status"] for c in json.load(sys.stdin) if c["name"] == sys.argv[1]])' "$1"; }
recorded() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$SUBLET_STATE_DIR/clusters/team/rag/virtual-cluster.json" "$1"; }
kill_host() {
  kill -9 "$(cat "$SUBLET_STATE_DIR/host/daemon.lock")"
  until_is "the host is found dead" "$1" status rag
}

check "a mistyped command" "$(code sublet crate rag)" 2
contains "is told the nearest" "$(cat "$work/err")" 'did you mean "create"?'
check "-- without a command" "$(code sublet connect rag --)" 2
check "-- behind another command" "$(code sublet list -- true)" 2
check "--timeout 0" "$(code sublet create rag --timeout 0)" 2
check "--nodes -3" "$(code sublet create rag --nodes -3)" 2
check "a shape for a host that is not ours to shape" "$(code sublet create rag --nodes 3 --host-kubeconfig "$KUBECONFIG")" 2
check "a folder as template" "$(code sublet create rag -f "$work")" 2
contains "is named" "$(cat "$work/err")" "$work: Is a directory"
check "nothing was started" "$(ls "$SUBLET_STATE_DIR" 2>/dev/null)" ""

long_name=$(printf 'v%.0s' {1..40}) long_namespace=$(printf 'n%.0s' {1..63})
check "the longest names run" "$(code sublet create "$long_name" -n "$long_namespace")" 0
check "and answer" "$(sublet connect "$long_name" -- "$KUBECTL" get namespace default -o name)" "namespace/default"
check "and go" "$(code sublet delete "$long_name" --yes --keep-host)" 0

# ^C as soon as the record is there: what there is is known, can be gone on with, and can be deleted.
interrupted() {  # prints create's exit code and its last line
  python3 - "$SUBLET_STATE_DIR/clusters/team/rag/virtual-cluster.json" <<'P' | tee "$work/interrupted"
import os, signal, subprocess, sys
create = subprocess.Popen(["sublet", "create", "rag", "-n", "team"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), text=True)
while not os.path.exists(sys.argv[1]) and create.poll() is None:
    pass
# The next step's line says that the word on how to go on is in place.
said = ""
while "make keys and record" not in said and (line := create.stderr.readline()):
    said += line
create.send_signal(signal.SIGINT)
said += create.stderr.read()
print(create.wait(), said.strip().splitlines()[-1] if said.strip() else "")
P
}
case $(interrupted) in
  "0 "*) echo "^C came too late: create had ended" ;;  # a fast machine; what follows holds all the same
  *) contains "^C in create" "$(cat "$work/interrupted")" "130 sublet: interrupted; run the same command again to go on, or: sublet delete rag -n team" ;;
esac
check "create goes on" "$(code sublet create rag -n team)" 0
check "it runs" "$(status rag)" Running
check "delete after ^C" "$(sublet delete rag -n team --yes --keep-host >/dev/null 2>&1; interrupted >/dev/null; code sublet delete rag -n team --yes --keep-host)" 0
check "leaves no namespace on the host" \
  "$("$KUBECTL" --kubeconfig "$SUBLET_STATE_DIR/host/admin.kubeconfig" get namespace team --ignore-not-found -o name)" ""

# A state folder that is named from where the user stands.
(
  cd "$work" || exit 1
  export SUBLET_STATE_DIR=relative/state
  code sublet create near >"$work/near"
  (cd relative && SUBLET_STATE_DIR=state sublet list -o name) >"$work/near-list"
  code sublet delete near --yes >>"$work/near"
)
check "a relative state folder" "$(tr '\n' ' ' <"$work/near")" "0 0 "
check "is the same from elsewhere" "$(cat "$work/near-list")" "virtualcluster/near"

# Creates at once: one makes it, the others find it made.
for i in 1 2 3 4; do sublet create rag -n team >"$work/at-once-$i" 2>/dev/null & done
wait
check "four creates at once" "$(sort "$work"/at-once-* | uniq -c | awk '{print $1, $2, $3}' | tr '\n' ';')" \
  "1 virtualcluster/rag created;3 virtualcluster/rag unchanged;"
check "delete" "$(code sublet delete rag -n team --yes --keep-host)" 0
check "leaves nothing on the host" \
  "$("$KUBECTL" --kubeconfig "$SUBLET_STATE_DIR/host/admin.kubeconfig" get namespace team --ignore-not-found -o name)" ""
check "a create that reaches no host" "$(code sublet create lost -n nowhere --host-kubeconfig "$work/none")" 3
check "leaves no folder" "$(ls "$SUBLET_STATE_DIR/clusters")" ""

check "create" "$(code sublet create rag -n team --nodes 3)" 0
contains "a shape that comes too late is named" "$(cat "$work/err")" "--nodes 3 has no effect"
host_server() { sed -n 's/ *server: //p' "$SUBLET_STATE_DIR/host/admin.kubeconfig"; }
before=$(host_server)
# For the second one that host is a host like any other.
check "one on a real host" "$(code sublet create far -n far --host-kubeconfig "$SUBLET_STATE_DIR/host/admin.kubeconfig")" 0
check "runs" "$(status far)" Running
check "the operator's key is not kept" "$(grep -lr "$(sed -n 's/ *client-key-data: //p' "$SUBLET_STATE_DIR/host/admin.kubeconfig")" "$SUBLET_STATE_DIR/clusters" | wc -l)" 0
# A downtime of more than a token's life: the syncer that starts is not known to the host any more.
far="$SUBLET_STATE_DIR/clusters/far/far"
sed -i 's/"issued":"[^"]*"/"issued":"2020-01-01T00:00:00Z"/; s/"expires":"[^"]*"/"expires":"2020-01-01T01:00:00Z"/' "$far/syncer/host-token.json"
kill -9 "$(pgrep -f "subletd syncer .*$far")"
check "a token that has ended is told" "$(status far)" TokenExpired
contains "with the next step" "$(sublet list 2>&1 >/dev/null)" "sublet create far -n far --host-kubeconfig FILE"
until_is "its syncer says why it does not start" yes sh -c "grep -q 'has a token of its host that has ended; its operator gives another: sublet create far -n far' '$far/syncer.log' && echo yes"
check "create renews it, by the file that it was made with" "$(code sublet create far -n far)" 0
check "and it runs" "$(status far)" Running
until_is "and its syncer too" 2 grep -c syncer.started "$far/syncer.log"
check "its writes to the host are written down" "$(code sublet audit far -n far)" 0
kill_host HostDown
check "a real host that is away is told as well" "$(status far)" HostDown
check "create brings the host back" "$(sublet create rag -n team 2>/dev/null)" "virtualcluster/rag unchanged"
check "where it was" "$(host_server)" "$before"
check "the one on a real host runs" "$(status far)" Running
check "and goes" "$(code sublet delete far --yes)" 0
check "the virtual cluster runs" "$(status rag)" Running
check "and carries" "$(sublet connect rag -- "$KUBECTL" create configmap carried --from-literal=a=b -o name)" "configmap/carried"
check "another host is refused" "$(code sublet create rag -n team --host-kubeconfig "$SUBLET_STATE_DIR/host/admin.kubeconfig")" 5
contains "and says so" "$(cat "$work/err")" "another host"

# Its port is taken while it is stopped.
stop_rag() {
  kill -9 "$(cat "$SUBLET_STATE_DIR/clusters/team/rag/daemon.lock")"
  until_is "the killed one is Stopped" Stopped status rag
}
stop_rag
coproc THIEF { exec python3 -c 'import socket, sys
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1].rsplit(":")[-1]))); s.listen(); print("taken", flush=True); sys.stdin.read()' "$(recorded listen)"; }
read -r _ <&"${THIEF[0]}"
check "a taken port" "$(code sublet create rag -n team)" 1
contains "is named" "$(cat "$work/err")" "$(recorded listen), the address of virtual cluster rag, is taken"
check "and it is stopped" "$(status rag)" Stopped
eval "exec ${THIEF[1]}>&-"
wait "$THIEF_PID" 2>/dev/null

# A store that is none: said at once, not at the end of the time.
mv "$SUBLET_STATE_DIR/clusters/team/rag/apiserver" "$work/kept"
mkdir -m 700 "$SUBLET_STATE_DIR/clusters/team/rag/apiserver"
echo "no database" >"$SUBLET_STATE_DIR/clusters/team/rag/apiserver/state.db"
check "a store that is none" "$(code sublet create rag -n team --timeout 10m)" 1
contains "is named" "$(cat "$work/err")" "state.db is not a sublet store"
check "and left as it was" "$(cat "$SUBLET_STATE_DIR/clusters/team/rag/apiserver/state.db")" "no database"
rm -r "$SUBLET_STATE_DIR/clusters/team/rag/apiserver"
mv "$work/kept" "$SUBLET_STATE_DIR/clusters/team/rag/apiserver"
check "with its own store it starts" "$(code sublet create rag -n team)" 0
check "and has what it had" "$(sublet connect rag -- "$KUBECTL" get configmap carried -o name)" "configmap/carried"

# A record that cannot be read.
echo '{}' >"$SUBLET_STATE_DIR/clusters/team/rag/virtual-cluster.json"
check "a damaged record is listed" "$(status rag)" Damaged
check "connect refuses it" "$(code sublet connect rag)" 1
contains "and says how to give it up" "$(cat "$work/err")" "sublet delete rag -n team --force"
check "delete wants --force" "$(code sublet delete rag -n team --yes)" 1
check "delete --force" "$(code sublet delete rag -n team --yes --force)" 0
check "it is gone" "$(sublet list -o json)" "[]"

echo "$failures failed"
[ "$failures" -eq 0 ]
