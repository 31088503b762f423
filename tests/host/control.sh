#!/usr/bin/env bash
# The same 70 objects under upstream's controller manager ($HOST_KUBECONFIG) and under ours (subletd apiserver) end in the
# same state, with the same conditions and the same events: Jobs, stuck workloads, budgets, services, quotas, tokens,
# volumes, autoscalers, devices, garbage. No kubelet has a say: the story says what becomes of pods.
set -uo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-control-XXXXXX")
subletd apiserver --data "$work/data" --listen 127.0.0.1:0 --admin-kubeconfig "$work/kubeconfig" 2>"$work/log" &
server=$!
trap 'kill "$server"; wait "$server"; rm -rf "$work"' EXIT
for _ in $(seq 600); do [ -s "$work/kubeconfig" ] && break; read -rt 0.1 <> <(:) || true; done
tests/host/support/control_story.sh "$HOST_KUBECONFIG" "$work/upstream" &
upstream=$!
tests/host/support/control_story.sh "$work/kubeconfig" "$work/ours"
wait "$upstream"
if python3 tests/host/support/control_differences.py "$work/upstream" "$work/ours"; then
  echo "1 passed, 0 failed"
else
  echo "0 passed, 1 failed"
  exit 1
fi
