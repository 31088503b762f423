#!/usr/bin/env bash
# The same workloads on upstream's controller manager ($HOST_KUBECONFIG) and on our controllers (subletd simhost) end in
# the same state, with the same conditions and the same events.
set -uo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-workloads-XXXXXX")
subletd simhost --data "$work/data" --listen 127.0.0.1:0 --admin-kubeconfig "$work/kubeconfig" --nodes 5 --gpu-nodes 0 \
  2>"$work/log" &
server=$!
trap 'kill "$server"; wait "$server"; rm -rf "$work"' EXIT
for _ in $(seq 600); do [ -e "$work/kubeconfig" ] && break; read -rt 0.1 <> <(:) || true; done
tests/host/support/workloads_story.sh "$HOST_KUBECONFIG" "$work/upstream" &
upstream=$!
tests/host/support/workloads_story.sh "$work/kubeconfig" "$work/ours"
wait "$upstream"
if python3 tests/host/support/workloads_differences.py "$work/upstream" "$work/ours"; then
  echo "1 passed, 0 failed"
else
  echo "0 passed, 1 failed"
  exit 1
fi
