#!/usr/bin/env bash
# The command line as its users meet it: outputs, exit codes, kubeconfigs, mistakes, dead daemons.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

contains "--version" "$(sublet --version)" "serving Kubernetes v"
for command in create list connect disconnect delete version; do
  contains "$command --help has examples" "$(sublet "$command" --help | sed -n '/^Examples:/,$p')" "sublet $command"
done
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
check "list -o wide says where the logs are" "$(sublet list -o wide | awk 'NR == 2 {print $NF}')" "$SUBLET_STATE_DIR/clusters/team/rag/*.log"
check "and they are there" "$(cd "$SUBLET_STATE_DIR/clusters/team/rag" && echo *.log)" "apiserver.log run.log syncer.log"
libraries() { grep -oE 'lib(crypto|sqlite3)' "/proc/$1/maps" | sort -u | tr '\n' ' '; }
check "the supervisor holds none of the other roles' libraries" "$(libraries "$(cat "$SUBLET_STATE_DIR/clusters/team/rag/daemon.lock")")" ""
check "create without -n means the existing one" "$(sublet create rag 2>/dev/null)" "virtualcluster/rag unchanged"
check "and makes none" "$(ls "$SUBLET_STATE_DIR/clusters")" "team"
key() { python3 -c 'import json,sys; print(eval("d" + sys.argv[1], {"d": json.load(sys.stdin)}))' "$1"; }
check "create -o json" "$(sublet create rag -n team -o json 2>/dev/null | key '["result"], d["context"]')" "('unchanged', 'sublet_rag_team_embedded')"
contains "a near miss is suggested" "$(sublet connect rga 2>&1)" "did you mean rag"
check "files are private" "$(find "$SUBLET_STATE_DIR" -type f ! -perm 600 | head -n 3)" ""
check "folders are private" "$(find "$SUBLET_STATE_DIR" -type d ! -perm 700 | head -n 3)" ""

check "a command's exit code comes back" "$(code sublet connect rag -- sh -c 'exit 42')" 42
check "a command sees the virtual cluster only" "$(sublet connect rag -- "$KUBECTL" config current-context)" "sublet_rag_team_embedded"
check "a command that is not there" "$(code sublet connect rag -- no-such-program)" 127
check "flags behind -- are the command's" "$(sublet connect rag -- echo --print -n x)" "--print -n x"
check "the user's kubeconfig was left alone" "$(ls "$KUBECONFIG" 2>/dev/null)" ""
sublet connect rag --print >"$work/printed" 2>/dev/null
sublet connect rag --role view --expires 1h --print >"$work/look" 2>/dev/null
look() { "$KUBECTL" --kubeconfig "$work/look" "$@" 2>&1; }
check "--role view reads" "$(look get namespace default -o name)" "namespace/default"
contains "and changes nothing" "$(look create configmap x)" "User \"system:serviceaccount:kube-system:sublet-view\" cannot create resource \"configmaps\""
contains "nor reads Secrets" "$(look get secrets -A)" "cannot list resource \"secrets\""
check "--role edit changes" "$(sublet connect rag --role edit -- "$KUBECTL" create configmap edited -o name 2>/dev/null)" "configmap/edited"
contains "but gives nothing away" "$(sublet connect rag --role edit -- "$KUBECTL" create clusterrolebinding x --clusterrole view --user x 2>&1)" "cannot create resource \"clusterrolebindings\""
sublet connect rag -- "$KUBECTL" delete clusterrolebinding sublet:view >/dev/null 2>&1
contains "what was handed out can be taken back" "$(look get namespace default)" "cannot get resource \"namespaces\""
contains "a lifetime is checked" "$(sublet connect rag --role view --expires 5m --print 2>&1)" "ten minutes"
check "and a role" "$(code sublet connect rag --role root --print)" 2
check "--print is a kubeconfig and nothing else" "$("$KUBECTL" --kubeconfig "$work/printed" get namespace default -o name)" "namespace/default"

cat >"$KUBECONFIG" <<'K'
# mine, with a word of my own
apiVersion: v1
kind: Config
current-context: mine
clusters:
- name: mine
  cluster: {server: "https://example.invalid"}
users:
- name: mine  # on this laptop
  user: {token: t}
contexts:
- name: mine
  context: {cluster: mine, user: mine}
K
chmod 644 "$KUBECONFIG"
cp "$KUBECONFIG" "$work/kubeconfig-before"
check "connect" "$(code sublet connect rag)" 0
contains "a key where others read is told" "$(cat "$work/err")" "open to others (mode 0644)"
check "switches the context" "$("$KUBECTL" config current-context)" "sublet_rag_team_embedded"
check "and works" "$("$KUBECTL" get namespace default -o name)" "namespace/default"
check "disconnect" "$(code sublet disconnect)" 0
check "goes back" "$("$KUBECTL" config current-context)" "mine"
check "with the mode that it had" "$(stat -c %a "$KUBECONFIG")" 644
check "and every word in its place" "$(diff "$work/kubeconfig-before" "$KUBECONFIG")" ""
check "connect -o json" "$(sublet connect rag -o json 2>/dev/null | key '["context"]')" "sublet_rag_team_embedded"
check "disconnect -o json" "$(sublet disconnect -o json 2>/dev/null | key '["removed"], d["current"]')" "('sublet_rag_team_embedded', 'mine')"
for i in 1 2 3 4 5 6; do sublet connect rag 2>/dev/null & done
wait
check "connects at once leave a whole file" "$("$KUBECTL" config get-contexts -o name | sort | tr '\n' ' ')" "mine sublet_rag_team_embedded "

check "another template is not applied silently" "$(code sublet create rag -n team -f templates/gpu-whole.yaml)" 5
contains "and says so" "$(cat "$work/err")" "another template"
kill -9 "$(cat "$SUBLET_STATE_DIR/clusters/team/rag/daemon.lock")"
status() { sublet list -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["status"])'; }
until_is "a killed one is Stopped" Stopped status
mkdir "$work/alone" && { ln "$(command -v subletd)" "$work/alone/subletd" 2>/dev/null || cp "$(command -v subletd)" "$work/alone/subletd"; }
"$work/alone/subletd" run --dir "$SUBLET_STATE_DIR/clusters/team/rag" >"$work/alone.log" 2>&1 &
alone=$!
until_true "subletd alone supervises itself" pgrep -P "$alone" -f "subletd syncer --dir"
contains "with all its libraries" "$(libraries "$alone")" libcrypto
until_is "one that nobody created but \`subletd run\` itself is Running" Running status
check "and is reached" "$(sublet connect rag -- "$KUBECTL" get namespace default -o name)" "namespace/default"
contains "a second one is refused" "$(subletd run --dir "$SUBLET_STATE_DIR/clusters/team/rag" 2>&1)" "another \`subletd run\` serves"
check "create leaves it as it is" "$(sublet create rag -n team 2>/dev/null)" "virtualcluster/rag unchanged"
kill "$alone" && wait "$alone"
check "create starts it again" "$(sublet create rag -n team 2>/dev/null)" "virtualcluster/rag started"
sublet connect rag -- "$KUBECTL" create configmap kept --from-literal=a=b >/dev/null
kill -9 "$(cat "$SUBLET_STATE_DIR/clusters/team/rag/daemon.lock")" "$(cat "$SUBLET_STATE_DIR/host/daemon.lock")"
check "delete without a terminal wants --yes" "$(code sublet delete rag </dev/null)" 5
contains "and says so" "$(cat "$work/err")" "--yes"
check "and deletes nothing" "$(sublet list -o name)" "virtualcluster/rag"
check "delete works with dead daemons" "$(code sublet delete rag --yes)" 0
check "and forgets the context" "$("$KUBECTL" config get-contexts -o name)" mine
check "nothing is left" "$(find "$SUBLET_STATE_DIR" -name '*.json' ! -name previous-contexts.json; ls "$SUBLET_STATE_DIR/host" 2>/dev/null)" ""
check "delete of nothing" "$(code sublet delete rag --yes)" 3
check "delete --ignore-not-found" "$(code sublet delete rag --yes --ignore-not-found)" 0

# Two at once: connects in a row, and what list prints is what delete takes.
check "one" "$(code sublet create one -n team)" 0
check "and another" "$(code sublet create two -n team)" 0
sublet connect one 2>/dev/null
sublet connect two 2>/dev/null
sublet disconnect 2>/dev/null
check "disconnect goes back one step" "$("$KUBECTL" config current-context)" "sublet_one_team_embedded"
sublet disconnect 2>/dev/null
check "and another" "$("$KUBECTL" config current-context)" "mine"
check "a list with a mistake" "$(code sublet delete one tow --yes)" 3
check "deletes nothing" "$(sublet list -o name | tr '\n' ' ')" "virtualcluster/one virtualcluster/two "
check "delete of what list prints" "$(code sublet delete --yes -o json $(sublet list -o name))" 0
check "says what went" "$(key '[0]["result"], d[1]["name"]' <"$work/out")" "('deleted', 'two')"
check "nothing is there" "$(sublet list -o json)" "[]"

echo "$failures failed"
[ "$failures" -eq 0 ]
