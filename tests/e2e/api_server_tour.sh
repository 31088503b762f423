#!/usr/bin/env bash
# Starts an API server of its own and takes $KUBECTL (and further kubectl binaries in $KUBECTLS) through it.
set -euo pipefail
folder=$(mktemp -d)
server=
stop() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; } || true
  rm -rf "$folder"
}
trap stop EXIT
subletd apiserver --data "$folder/data" --listen 127.0.0.1:0 --admin-kubeconfig "$folder/kubeconfig" 2>"$folder/log" &
server=$!
for _ in $(seq 100); do
  [ -f "$folder/kubeconfig" ] && break
  kill -0 "$server" || { cat "$folder/log"; exit 1; }
  read -rt 0.1 <> <(:) || true
done
for kubectl in "$KUBECTL" ${KUBECTLS:-}; do
  "$(dirname "$0")/kubectl_tour.sh" "$kubectl" "$folder/kubeconfig" || { tail -5 "$folder/log"; exit 1; }
done
