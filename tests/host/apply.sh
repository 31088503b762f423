#!/usr/bin/env bash
# kubectl's apply family (apply, server-side with two managers, prune, replace, edit, set, diff; built-in and custom objects)
# says the same on a real kube-apiserver ($HOST_KUBECONFIG) and on ours, command by command.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/support/waiting.sh
: "${HOST_KUBECONFIG:?}" "${KUBECTL:=$(tools/kubectl-path)}"
export KUBECTL
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-apply-XXXXXX")
unset KUBECONFIG
finish() {
  stop_server
  "$KUBECTL" --kubeconfig "$HOST_KUBECONFIG" delete namespace apply-tour --wait=false >/dev/null 2>&1
  rm -rf "$work"
}
trap finish EXIT
# Nobody's controllers take part: what they write depends on the moment.
start_server apiserver --listen 127.0.0.1:0 --controllers none || { echo "0 passed, 1 failed"; exit 1; }
tests/host/support/apply_story.sh "$HOST_KUBECONFIG" >"$work/theirs" 2>&1 &
theirs=$!
tests/host/support/apply_story.sh "$work/kubeconfig" >"$work/ours" 2>&1
wait "$theirs"
steps=$(grep -c '^= ' "$work/ours")
[ -z "${KEEP:-}" ] || cp "$work/ours" "$work/theirs" "$KEEP/"
if [ "$steps" -gt 70 ] && diff -u "$work/theirs" "$work/ours"; then
  echo "$steps commands say the same on both servers"
  echo "1 passed, 0 failed"
else
  echo "0 passed, 1 failed"
  exit 1
fi
