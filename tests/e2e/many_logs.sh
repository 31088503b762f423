#!/usr/bin/env bash
# 120 clients that follow a log which says nothing do not keep a pod from crossing, and leave nothing behind on the host.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

check "create" "$(code sublet create rag -n team --nodes 1)" 0
check "connect" "$(code sublet connect rag)" 0
k() { "$KUBECTL" --request-timeout=60s "$@"; }
pod() { k run "$1" --image=busybox --restart=Never -- sh -c 'sleep 1h' >/dev/null; }
running() { k wait --for=condition=Ready pod/"$1" --timeout="$2" >/dev/null; }
pod quiet
check "the first pod runs" "$(code running quiet 60s)" 0

k config view --minify --raw -o json >"$work/access.json"
cat >"$work/follow.py" <<'PY'
"""follow.py ACCESS COUNT: so many connections that follow the log; says "open" when each has an answer's head, ends with stdin."""
import base64, json, pathlib, socket, ssl, sys, urllib.parse
access, count = json.loads(pathlib.Path(sys.argv[1]).read_text()), int(sys.argv[2])
cluster, user = access["clusters"][0]["cluster"], access["users"][0]["user"]
folder = pathlib.Path(sys.argv[1]).parent
def file(name, text):
    (folder / name).write_bytes(base64.b64decode(text))
    return str(folder / name)
context = ssl.create_default_context(cafile=file("ca.pem", cluster["certificate-authority-data"]))
context.load_cert_chain(file("cert.pem", user["client-certificate-data"]), file("key.pem", user["client-key-data"]))
url = urllib.parse.urlsplit(cluster["server"])
open_ones = []
for _ in range(count):
    connection = context.wrap_socket(socket.create_connection((url.hostname, url.port)), server_hostname=url.hostname)
    connection.sendall(b"GET /api/v1/namespaces/default/pods/quiet/log?follow=true HTTP/1.1\r\nHost: x\r\n\r\n")
    open_ones.append(connection)
heads = [connection.recv(64).split(b"\r\n")[0] for connection in open_ones]
print("open" if all(head == b"HTTP/1.1 200 OK" for head in heads) else set(heads), flush=True)
sys.stdin.read()
PY
coproc FOLLOW { python3 "$work/follow.py" "$work/access.json" 120; }
read -r -t 60 answer <&"${FOLLOW[0]}"
check "120 follow the log" "${answer:-nothing}" open

# What syncs is not in line behind them (it took 45 s, until somebody left).
pod second
check "a second pod crosses and runs meanwhile" "$(code running second 20s)" 0

# One connection to the host for each while they read; soon none after they left.
syncer=$(pgrep -f "subletd syncer.*$SUBLET_STATE_DIR/clusters/team/rag")
sockets() { find "/proc/$syncer/fd" -lname 'socket:*' 2>/dev/null | wc -l; }
check "the streams are there" "$([ "$(sockets)" -ge 120 ] && echo yes)" yes
eval "exec ${FOLLOW[1]}>&-"
wait "$FOLLOW_PID" 2>/dev/null
few_sockets() { [ "$(sockets)" -lt 100 ]; }
until_true "they end when their readers leave" few_sockets

# The container is chosen by the pod as its owner knows it.
check "another container is refused" "$(code k logs quiet -c injected)" 1
contains "in upstream's words" "$(cat "$work/err")" "container injected is not valid for pod quiet"

exit "$((failures > 0))"
