#!/usr/bin/env bash
# host: given, 25 s
# A conversion webhook says the same through kubectl on a real kube-apiserver ($HOST_KUBECONFIG) and on ours: what is read, listed,
# watched, written and applied in either version, its failures in the same words, a change of the stored version.
set -uo pipefail
cd "$(dirname "$0")/../.."
: "${HOST_KUBECONFIG:?}"
. tests/host/support/same_words.sh
hook=
trap 'stop_server; [ -z "$hook" ] || kill "$hook" 2>/dev/null; rm -rf "$work"' EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=hook \
  -addext subjectAltName=IP:127.0.0.1 -keyout "$work/key" -out "$work/certificate" 2>"$work/openssl.log" || fail_story "$(cat "$work/openssl.log")"
python3 tests/e2e/conversion_server.py "$work/certificate" "$work/key" "$work/port" 2>"$work/hook.log" &
hook=$!
until_holds 60 test -s "$work/port" || fail_story "$(cat "$work/hook.log")"
start_server apiserver --listen 127.0.0.1:0 --outbound-allow 127.0.0.0/8 || fail_story
story() { tests/host/support/conversion_story.sh "$1" "$(cat "$work/port")" "$(base64 -w0 "$work/certificate")" conversion-tour; }
same_words 45 story
