#!/usr/bin/env bash
# A conversion webhook says the same through kubectl on a real kube-apiserver ($HOST_KUBECONFIG) and on ours: what is read, listed,
# watched, written and applied in either version, its failures in the same words, a change of the stored version.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/support/waiting.sh
: "${HOST_KUBECONFIG:?}" "${KUBECTL:=$(tools/kubectl-path)}"
export KUBECTL
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-conversion-XXXXXX")
unset KUBECONFIG
hook=
trap 'stop_server; [ -z "$hook" ] || kill "$hook" 2>/dev/null; rm -rf "$work"' EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=hook \
  -addext subjectAltName=IP:127.0.0.1 -keyout "$work/key" -out "$work/certificate" 2>"$work/openssl.log" || { cat "$work/openssl.log" >&2; exit 1; }
python3 tests/e2e/conversion_server.py "$work/certificate" "$work/key" "$work/port" 2>"$work/hook.log" &
hook=$!
until_holds 60 test -s "$work/port" || { cat "$work/hook.log" >&2; echo "0 passed, 1 failed"; exit 1; }
start_server apiserver --listen 127.0.0.1:0 --outbound-allow 127.0.0.0/8 || { echo "0 passed, 1 failed"; exit 1; }
story() { tests/host/support/conversion_story.sh "$1" "$(cat "$work/port")" "$(base64 -w0 "$work/certificate")" conversion-tour; }
story "$HOST_KUBECONFIG" >"$work/theirs" 2>&1 &
theirs=$!
story "$work/kubeconfig" >"$work/ours" 2>&1
wait "$theirs"
[ -z "${KEEP:-}" ] || cp "$work/ours" "$work/theirs" "$KEEP/"
steps=$(grep -c '^= ' "$work/ours")
if [ "$steps" -gt 35 ] && diff -u "$work/theirs" "$work/ours"; then
  echo "$steps commands say the same on both servers"
  echo "1 passed, 0 failed"
else
  echo "0 passed, 1 failed"
  exit 1
fi
