#!/usr/bin/env bash
# long_sessions.sh [SECONDS]: a followed log, a watch and an exec session that are open all the time, and used all the time. None is cut, nothing
# is missed or told twice. As long as it is told: 10 seconds in `make test`, all of the soak in `make soak`.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh
seconds=${1:-10}
# The simulated shell goes 5,000 steps and 2,000 lines far: whoever is told to be long goes slower.
pace=$((seconds / 1000 + 1)) between_lines=$((seconds / 500 + 1))
lines=$((seconds / between_lines))

check "create" "$(code sublet create rag -n team --nodes 1)" 0
check "connect" "$(code sublet connect rag)" 0
k() { "$KUBECTL" --request-timeout=120s "$@"; }
k create configmap clock --from-literal=tick=0 >/dev/null
k run shell --image=busybox --restart=Never --command -- sh -c 'sleep 100h' >/dev/null
k run ticker --image=busybox --restart=Never --command -- sh -c "i=0; while [ \$i -lt $lines ]; do i=\$((i + 1)); echo line \$i; sleep $between_lines; done" >/dev/null
check "the shell runs" "$(code k wait --for=condition=Ready pod/shell --timeout=120s)" 0
begun() { [[ "$(field pod/ticker .status.phase)" == @(Running|Succeeded) ]]; } # it may have ended on a slow machine
until_true "the ticker has begun" begun

"$KUBECTL" logs -f ticker >"$work/followed" 2>"$work/following" &
follower=$!
version=$(k get configmap clock -o 'jsonpath={.metadata.resourceVersion}')
"$KUBECTL" get --raw "/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name=clock&resourceVersion=$version&timeoutSeconds=$((seconds + 600))" >"$work/watched" 2>&1 &
watcher=$!
mkfifo "$work/typed"
"$KUBECTL" exec -i shell -- sh <"$work/typed" >"$work/heard" 2>&1 &
session=$!
exec 9>"$work/typed"

began=$SECONDS tick=0
heard() { [ "$(tail -n 1 "$work/heard")" = "tick $1" ]; }
watched() { tail -n 1 "$work/watched" | grep -q "\"tick\":\"$1\""; }
while [ $((SECONDS - began)) -lt "$seconds" ]; do
  tick=$((tick + 1))
  echo "echo tick $tick" >&9
  k patch configmap clock --type=merge -p "{\"data\":{\"tick\":\"$tick\"}}" >/dev/null
  until_holds 60 heard "$tick" && until_holds 60 watched "$tick" || break
  read -rt "$pace" <> <(:)
done
check "the session answered each time" "$(diff <(seq -f 'tick %.0f' "$tick") "$work/heard" | head -n 3)" ""
check "the watch told each change once, in order" "$(diff <(seq "$tick") <(grep -o '"tick":"[0-9]*"' "$work/watched" | grep -o '[0-9]*') | head -n 3)" ""
check "neither was cut" "$(kill -0 "$session" && kill -0 "$watcher" && echo open)" open
echo 'exit 7' >&9
exec 9>&-
wait "$session"
check "the session ends with its own code" "$?" 7
kill "$watcher"
until_is "the pod has ended" Succeeded field pod/ticker .status.phase
wait "$follower"
check "the one who follows ends with it" "$?" 0
check "and was told every line once" "$(diff <(seq -f 'line %.0f' "$lines") <(grep -v '^simhost: container' "$work/followed") | head -n 3; cat "$work/following")" ""
echo "open for $((SECONDS - began)) s, $tick changes"
exit "$((failures > 0))"
