#!/usr/bin/env bash
# The command line as its users meet it: outputs, exit codes, kubeconfigs, mistakes, dead daemons.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

check "an empty list is []" "$(sublet list -o json)" "[]"
check "connect to nothing" "$(code sublet connect nothing)" 3
contains "says what to do" "$(cat "$work/err")" "sublet create nothing"
check "a bad flag" "$(code sublet create --no-such-flag)" 2
check "a bad name" "$(code sublet create a-x-b)" 2
contains "says why" "$(cat "$work/err")" "host names"
printf 'parameters:\n  - name: q\npatchez: []\n' >"$work/bad.yaml"
check "a mistake in a template" "$(code sublet create rag -f "$work/bad.yaml")" 2
contains "is named with file and line" "$(cat "$work/err")" "bad.yaml:3"
contains "and the nearest key" "$(cat "$work/err")" "patches"
check "nothing was started for it" "$(ls "$SUBLET_STATE_DIR/host" 2>/dev/null)" ""

exec 7>"$work/ours"
check "create" "$(code sublet create rag -n team)" 0
exec 7>&-
check "no daemon keeps a file of its caller open" "$(find /proc/[0-9]*/fd -lname "$work/ours" 2>/dev/null)" ""
check "its last line is for machines" "$(tail -n 1 "$work/out")" "virtualcluster/rag created"
check "create again changes nothing" "$(sublet create rag -n team 2>/dev/null)" "virtualcluster/rag unchanged"
check "list -o name" "$(sublet list -o name)" "virtualcluster/rag"
check "list -o json" "$(sublet list -o json | python3 -c 'import json,sys; c=json.load(sys.stdin)[0]; print(c["name"], c["namespace"], c["status"])')" "rag team Running"
contains "a near miss is suggested" "$(sublet connect rga 2>&1)" "did you mean rag"
check "files are private" "$(find "$SUBLET_STATE_DIR" -type f ! -perm 600 | head -n 3)" ""
check "folders are private" "$(find "$SUBLET_STATE_DIR" -type d ! -perm 700 | head -n 3)" ""

check "a command's exit code comes back" "$(code sublet connect rag -- sh -c 'exit 42')" 42
check "a command sees the virtual cluster only" "$(sublet connect rag -- "$KUBECTL" config current-context)" "sublet_rag_team_embedded"
check "a command that is not there" "$(code sublet connect rag -- no-such-program)" 127
check "flags behind -- are the command's" "$(sublet connect rag -- echo --print -n x)" "--print -n x"
check "the user's kubeconfig was left alone" "$(ls "$KUBECONFIG" 2>/dev/null)" ""
sublet connect rag --print >"$work/printed" 2>/dev/null
check "--print is a kubeconfig and nothing else" "$("$KUBECTL" --kubeconfig "$work/printed" get namespace default -o name)" "namespace/default"

cat >"$KUBECONFIG" <<'K'
apiVersion: v1
kind: Config
current-context: mine
clusters: [{name: mine, cluster: {server: "https://example.invalid"}}]
users: [{name: mine, user: {token: t}}]
contexts: [{name: mine, context: {cluster: mine, user: mine}}]
K
check "connect" "$(code sublet connect rag)" 0
check "switches the context" "$("$KUBECTL" config current-context)" "sublet_rag_team_embedded"
check "and works" "$("$KUBECTL" get namespace default -o name)" "namespace/default"
check "disconnect" "$(code sublet disconnect)" 0
check "goes back" "$("$KUBECTL" config current-context)" "mine"
for i in 1 2 3 4 5 6; do sublet connect rag 2>/dev/null & done
wait
check "connects at once leave a whole file" "$("$KUBECTL" config get-contexts -o name | sort | tr '\n' ' ')" "mine sublet_rag_team_embedded "

check "another template is not applied silently" "$(code sublet create rag -n team -f templates/gpu-whole.yaml)" 1
contains "and says so" "$(cat "$work/err")" "another template"
kill -9 "$(cat "$SUBLET_STATE_DIR/clusters/team/rag/daemon.lock")"
for _ in $(seq 200); do [ "$(sublet list -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["status"])')" = Stopped ] && break; done
check "a killed one is Stopped" "$(sublet list -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["status"])')" Stopped
check "create starts it again" "$(sublet create rag -n team 2>/dev/null)" "virtualcluster/rag started"
sublet connect rag -- "$KUBECTL" create configmap kept --from-literal=a=b >/dev/null
kill -9 "$(cat "$SUBLET_STATE_DIR/clusters/team/rag/daemon.lock")" "$(cat "$SUBLET_STATE_DIR/host/daemon.lock")"
check "delete works with dead daemons" "$(code sublet delete rag --yes)" 0
check "and forgets the context" "$("$KUBECTL" config get-contexts -o name)" mine
check "nothing is left" "$(find "$SUBLET_STATE_DIR" -name '*.json' ! -name previous-contexts.json; ls "$SUBLET_STATE_DIR/host" 2>/dev/null)" ""
check "delete of nothing" "$(code sublet delete rag --yes)" 3
check "delete --ignore-not-found" "$(code sublet delete rag --yes --ignore-not-found)" 0

echo "$failures failed"
[ "$failures" -eq 0 ]
