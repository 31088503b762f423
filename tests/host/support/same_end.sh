#!/usr/bin/env bash
# same_end.sh STORY ROLE FLAG...: STORY_story.sh, told at once to upstream's controller manager ($HOST_KUBECONFIG) and to our
# controllers (`subletd ROLE`), ends in the same state on both, with the same conditions and the same events, by
# STORY_differences.py.
set -uo pipefail
support=$(dirname "$0")
. "$support/../../support/waiting.sh"
story=$1
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-$story-XXXXXX")
unset KUBECONFIG
trap 'stop_server; rm -rf "$work"' EXIT
start_server "$@" --listen 127.0.0.1:0 || { echo "0 passed, 1 failed"; exit 1; }
"$support/${story}_story.sh" "$HOST_KUBECONFIG" "$work/upstream" &
upstream=$!
"$support/${story}_story.sh" "$work/kubeconfig" "$work/ours"
wait "$upstream"
if python3 "$support/${story}_differences.py" "$work/upstream" "$work/ours"; then
  echo "1 passed, 0 failed"
else
  echo "0 passed, 1 failed"
  exit 1
fi
