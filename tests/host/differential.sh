#!/usr/bin/env bash
# host: own, 100 s
# A short form of tools/differential, beside a kube-apiserver of its own: what controllers write, and what other tests have
# left, is no answer to a request. The share of requests that differ may fall, and then the number here with it; it may not grow.
set -uo pipefail
cd "$(dirname "$0")/../.."
name="differential-$$"
trap 'tools/testhost/testhost down --name "$name" >/dev/null' EXIT
tools/testhost/testhost up --name "$name" --with "" >/dev/null || { echo "0 passed, 1 failed"; exit 1; }
reference=$(tools/testhost/testhost env --name "$name" | sed 's/^export KUBECONFIG=//')
tools/differential/differential --server "$reference" --requests 15000 --seed 7 --show 5 --allow 0.3
