#!/usr/bin/env bash
# host: given, 40 s
# kubectl's apply family (apply, server-side with two managers, prune, replace, edit, set, diff; built-in and custom objects)
# says the same on a real kube-apiserver ($HOST_KUBECONFIG) and on ours, command by command.
set -uo pipefail
cd "$(dirname "$0")/../.."
: "${HOST_KUBECONFIG:?}"
. tests/host/support/same_words.sh
finish() {
  stop_server
  "$KUBECTL" --kubeconfig "$HOST_KUBECONFIG" delete namespace apply-tour --wait=false >/dev/null 2>&1
  rm -rf "$work"
}
trap finish EXIT
# Nobody's controllers take part: what they write depends on the moment.
start_server apiserver --listen 127.0.0.1:0 --controllers none || fail_story
same_words 70 tests/host/support/apply_story.sh
