#!/usr/bin/env bash
# Starts an API server of its own and takes $KUBECTL (and further kubectl binaries in $KUBECTLS) through it.
set -euo pipefail
. "$(dirname "$0")/../support/waiting.sh"
work=$(mktemp -d)
unset KUBECONFIG
trap 'stop_server; rm -rf "$work"' EXIT
start_server apiserver --listen 127.0.0.1:0
for kubectl in "$KUBECTL" ${KUBECTLS:-}; do
  "$(dirname "$0")/kubectl_tour.sh" "$kubectl" "$work/kubeconfig" || { tail -5 "$work/log"; exit 1; }
done
