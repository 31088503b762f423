#!/usr/bin/env bash
# The CustomResourceDefinitions of real operators, from their Go modules: each is applied with `kubectl apply
# --server-side`, established, explained, listed, and deleted again. Prints counts, the server's memory and how long discovery takes.
#
#     tests/host/operator_types.sh [--short]     # a `subletd apiserver` of its own (from PATH); --short: jobset and kueue alone
#
# Needs Go's module proxy (or the modules in its cache), kubectl, jq. What is refused is named; then the exit code is 1.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/support/waiting.sh
kubectl=$(tools/kubectl-path)
folders=(
  sigs.k8s.io/jobset@v0.10.1:config/components/crd/bases
  sigs.k8s.io/kueue@v0.15.0:config/components/crd/bases
  sigs.k8s.io/gateway-api@v1.6.3:config/crd/standard
  github.com/cert-manager/cert-manager@v1.21.2:deploy/crds
  github.com/prometheus-operator/prometheus-operator@v0.85.0:example/prometheus-operator-crd
)
[ "${1:-}" = --short ] && folders=("${folders[@]:0:2}")

work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-operators-XXXXXX")
unset KUBECONFIG
trap 'stop_server; rm -rf "$work"' EXIT
start_server apiserver --listen 127.0.0.1:0 || { echo "0 passed, 1 failed"; exit 1; }
k() { "$kubectl" --kubeconfig "$work/kubeconfig" --cache-dir "$work/cache" "$@"; }
memory() { awk '/^VmRSS/ {print $2}' "/proc/$server/status"; }
passed=0 failed=0
check() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED $name: $(head -c 600 "$work/out")"
  fi
}

mkdir "$work/crds"
for entry in "${folders[@]}"; do
  module=${entry%%:*}
  dir=$(cd "$work" && GOFLAGS=-mod=mod go mod download -json "$module" | jq -r .Dir)
  for file in $(grep -rl --include=*.yaml '^kind: CustomResourceDefinition' "$dir/${entry#*:}"); do
    cp "$file" "$work/crds/$(basename "${module%@*}")-$(basename "$file")"
  done
done
chmod -R u+w "$work/crds"

before=$(memory)
for file in "$work"/crds/*; do check "apply $(basename "$file")" k apply --server-side -f "$file"; done
check "established" k wait --for=condition=Established crd --all --timeout=60s
after=$(memory)
mapfile -t crds < <(k get crd -o name)
for crd in "${crds[@]}"; do
  name=${crd#*/}
  check "explain $name" k explain "${name%%.*}" --api-version="${name#*.}/$(k get "$crd" -o jsonpath='{.status.storedVersions[0]}')"
  check "get $name" k get "$name" -A
done
bytes=$(k get crd -o json | jq -c '.items[]' | wc -c)
start=$(date +%s%N)
k get --raw /apis >"$work/discovery"
first=$((($(date +%s%N) - start) / 1000000))
seconds=$(curl -s -o /dev/null -w '%{time_starttransfer} %{time_appconnect}' --cacert <(k config view --raw -o json | jq -r '.clusters[0].cluster["certificate-authority-data"]' | base64 -d) \
  --cert <(k config view --raw -o json | jq -r '.users[0].user["client-certificate-data"]' | base64 -d) \
  --key <(k config view --raw -o json | jq -r '.users[0].user["client-key-data"]' | base64 -d) \
  -H 'Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' \
  "$(k config view -o jsonpath='{.clusters[0].cluster.server}')/apis")
check "delete all" k delete crd --all --timeout=120s
check "gone" test -z "$(k get crd -o name)"
echo "${#crds[@]} definitions of $bytes bytes; memory $before KiB before, $after KiB with them; kubectl's first discovery $first ms;" \
  "aggregated discovery $(awk '{printf "%.1f", ($1 - $2) * 1000}' <<<"$seconds") ms"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
