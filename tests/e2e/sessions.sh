#!/usr/bin/env bash
# exec, attach and port-forward in a virtual cluster: through the API server, the tunnel, the syncer and the host's API
# server to the simulated kubelet, with the newest kubectl (WebSocket) and, where there is one, 1.27 (SPDY).
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

check "create" "$(code sublet create rag -n team --nodes 1)" 0
check "connect" "$(code sublet connect rag)" 0
# In the background `"$kubectl" ... &`, so that what is killed is kubectl and not a shell around it.
k() { "$kubectl" --request-timeout=120s "$@"; }
kubectl=$KUBECTL
k run web --image=busybox --restart=Never --command -- sh -c 'echo from the main process; echo of the pod >/tmp/file; sleep 1h' >/dev/null
k apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: two}
spec:
  containers:
    - {name: a, image: busybox, command: [sh, -c, 'sleep 1h']}
    - {name: b, image: busybox, command: [sh, -c, 'sleep 1h']}
YAML
check "the pods run" "$(code k wait --for=condition=Ready pod/web pod/two --timeout=120s)" 0

# user-pain, demand 20: exec, attach and port-forward by old and new clients.
sessions() { # sessions WHICH
  check "$1: what a command prints" "$(k exec web -- sh -c 'echo hi; echo of $0')" $'hi\nof sh'
  check "$1: its exit code" "$(code k exec web -- sh -c 'echo hi; exit 3')" 3
  contains "$1: and kubectl says so" "$(cat "$work/err")" "exit code 3"
  check "$1: no such program" "$(code k exec web -- no-such-program)" 127
  check "$1: standard input" "$(printf 'one\ntwo\n' | k exec -i web -- sh -c 'cat; exit 0')" $'one\ntwo'
  check "$1: a shell hears lines" "$(printf 'x=5\necho $((x + 1))\nexit 7\n' | k exec -i web -- sh; echo "code $?")" $'6\ncode 7'
  check "$1: the container's files" "$(k exec web -- cat /tmp/file)" "of the pod"
  check "$1: a container must be named" "$(code k exec two -c c -- true)" 1
  contains "$1: in upstream's words" "$(cat "$work/err")" "container c is not valid for pod two"
  check "$1: one of two" "$(k exec two -c b -- echo b)" b
  check "$1: no such pod" "$(code k exec nobody -- true)" 1
  contains "$1: and who is meant" "$(cat "$work/err")" 'pods "nobody" not found'
  # A terminal: typed lines are shown, with a prompt.
  contains "$1: a terminal" "$(printf 'echo typed\nexit 4\n' | script -qec "$kubectl exec -it web -- sh" /dev/null; echo "code $?")" "code 4"
  # Attach shows the log and goes on until the client leaves.
  "$kubectl" attach web >"$work/attached" 2>/dev/null &
  local attached=$!
  until_true "$1: attach shows what the main process says" grep -q "from the main process" "$work/attached"
  kill "$attached" 2>/dev/null
  wait "$attached" 2>/dev/null
  # Port-forward: several connections over one session.
  : >"$work/forwarded"
  "$kubectl" port-forward pod/web :8080 >"$work/forwarded" 2>&1 &
  local forwards=$!
  until_true "$1: port-forward listens" grep -q "Forwarding from 127.0.0.1" "$work/forwarded"
  local port
  port=$(sed -n 's/Forwarding from 127.0.0.1:\([0-9]*\).*/\1/p' "$work/forwarded")
  check "$1: and answers" "$(curl -s -m 60 "http://127.0.0.1:$port/some/path")" "simhost: pod team/web-x-default-x-rag port 8080: GET /some/path"
  local answers=0 i
  for i in 1 2 3 4 5 6 7 8; do curl -s -m 60 "http://127.0.0.1:$port/$i" >"$work/answer.$i" & done
  wait $(jobs -p | grep -v "^$forwards$")
  for i in 1 2 3 4 5 6 7 8; do grep -q "GET /$i\$" "$work/answer.$i" && answers=$((answers + 1)); done
  check "$1: eight connections at once" "$answers" 8
  kill "$forwards" 2>/dev/null
  wait "$forwards" 2>/dev/null
}
sessions newest
for old in ${KUBECTL_OLD:-$(dirname "$(readlink -f "$KUBECTL")")/kubectl.1.27}; do
  [ -x "$old" ] || continue
  kubectl=$old
  sessions "$(basename "$old")"
done
kubectl=$KUBECTL

# The syncer lets go of the host when the clients have left.
syncer=$(pgrep -f "subletd syncer.*$SUBLET_STATE_DIR/clusters/team/rag")
sockets() { find "/proc/$syncer/fd" -lname 'socket:*' 2>/dev/null | wc -l; }
for i in 1 2 3 4 5; do "$kubectl" exec web -- sh -c 'echo open; sleep 1h' >"$work/open.$i" & done
five_open() { [ "$(cat "$work"/open.[1-5] | grep -c open)" = 5 ]; }
until_true "five sessions are open" five_open
open_sockets=$(sockets) # two of each session
kill $(jobs -p)
wait 2>/dev/null
few_sockets() { [ "$(sockets)" -le $((open_sockets - 10)) ]; }
until_true "they end when their clients leave" few_sockets

# Logs and watches over WebSockets, as browsers ask for them: with a token among the protocols.
server=$(k config view --minify -o 'jsonpath={.clusters[0].cluster.server}')
token=$(k create token default --namespace default | base64 -w0 | tr -d '=' | tr '+/' '-_')
k create role looker --verb=get,watch,list --resource=pods,pods/log >/dev/null
k create rolebinding looker --role=looker --serviceaccount=default:default >/dev/null
socket() { # socket PATH PROTOCOLS: the answer's head and frames, as long as they come within five seconds
  curl -sik --http1.1 -m 5 -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
    -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' -H "Sec-WebSocket-Protocol: $2" "$server/api/v1/namespaces/default/pods$1" | tr -d '\0\r'
}
bearer=base64url.bearer.authorization.k8s.io.$token
log=$(socket "/web/log?follow=1" "$bearer, binary.k8s.io")
contains "a log over a WebSocket" "$log" "101 Switching Protocols"
contains "in the protocol that was offered" "$log" "Sec-WebSocket-Protocol: binary.k8s.io"
contains "with what was said" "$log" "from the main process"
contains "in base64" "$(socket "/web/log" "$bearer, base64.binary.k8s.io")" "$(echo 'from the main process' | base64)"
contains "no other protocol" "$(socket "/web/log" "$bearer, channel.k8s.io")" "403 Forbidden"
contains "nobody's token" "$(socket "/web/log" "base64url.bearer.authorization.k8s.io.eA, binary.k8s.io")" "401 Unauthorized"
events=$(socket "?watch=1" "$bearer, any")
contains "a watch over a WebSocket" "$events" '{"type":"ADDED","object":{"kind":"Pod"'
contains "of pods" "$events" '"name":"web"'

# Rights: get alone is not enough, though a WebSocket begins with GET; and a session ends with its right.
k create serviceaccount reader >/dev/null
k create role exec-get --verb=get --resource=pods,pods/exec >/dev/null
k create rolebinding exec-get --role=exec-get --serviceaccount=default:reader >/dev/null
as() { k --as system:serviceaccount:default:reader "$@"; }
check "get alone opens no session" "$(code as exec web -- true)" 1
contains "it takes create" "$(cat "$work/err")" 'cannot create resource "pods/exec"'
k create role exec-create --verb=create --resource=pods/exec >/dev/null
k create rolebinding exec-create --role=exec-create --serviceaccount=default:reader >/dev/null
until_true "with create it opens" as exec web -- true
as exec web -- sh -c 'echo open; sleep 1h' >"$work/open" 2>/dev/null &
open=$!
until_true "a session is open" grep -q open "$work/open"
k delete rolebinding exec-create >/dev/null
ended() { ! kill -0 "$open" 2>/dev/null; }
until_true "it ends with its right" ended

# It ends with its container.
k exec web -- sh -c 'echo open; sleep 1h' >"$work/open" 2>/dev/null &
open=$!
until_true "another is open" grep -q open "$work/open"
k delete pod web --wait=false >/dev/null
until_true "it ends with its pod" ended

exit "$((failures > 0))"
