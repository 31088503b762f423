#!/usr/bin/env bash
# host: given, 30 s
# An API server of the tenant's own, k8s.io/sample-apiserver over etcd, says the same through kubectl behind a real kube-apiserver
# ($HOST_KUBECONFIG) and behind ours: registration, discovery, objects, rights that it asks for, the end of namespaces, its absence.
set -uo pipefail
cd "$(dirname "$0")/../.."
: "${HOST_KUBECONFIG:?}"
. tests/host/support/same_words.sh
SAMPLE_APISERVER=$(tools/testhost/testhost build sample-apiserver) && etcd_binary=$(tools/testhost/testhost build etcd) || fail_story
export SAMPLE_APISERVER
# Endpoints may not be loopback addresses: the machine's own.
address=$(hostname -I | tr ' ' '\n' | grep -m1 '\.')
[ -n "$address" ] || fail_story "this machine has no IPv4 address but loopback, and endpoints need one"
etcd=
trap 'stop_server; [ -z "$etcd" ] || kill "$etcd" 2>/dev/null; rm -rf "$work"' EXIT
read -r client peer ours_port theirs_port < <(python3 -c '
import socket
kept = [socket.create_server(("0.0.0.0", 0)) for _ in range(4)]
print(*(one.getsockname()[1] for one in kept))')
"$etcd_binary" --name aggregation --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
  --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
  --initial-cluster "aggregation=http://127.0.0.1:$peer" --unsafe-no-fsync --log-level error 2>"$work/etcd.log" &
etcd=$!
start_server apiserver --listen 127.0.0.1:0 --outbound-allow "$address/32" || fail_story
until_holds 30 curl -sf "http://127.0.0.1:$client/health" -o /dev/null || fail_story "$(cat "$work/etcd.log")"
declare -A ports=([ours]=$ours_port [theirs]=$theirs_port)
story() { tests/host/support/aggregation_story.sh "$1" "$address" "${ports[$2]}" "http://127.0.0.1:$client"; }
same_words 60 story
