#!/usr/bin/env bash
# host: none, 30 s
# Helm itself (built from its module, unmodified) against our API server with controllers and simulated nodes: three charts
# (charts/), one with crds/, one with Jobs as hooks: installed, changed, changed in vain (the hook fails), rolled back, removed.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/support/waiting.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-helm-XXXXXX")
trap 'stop_server; rm -rf "$work"' EXIT
: "${KUBECTL:=$(tools/kubectl-path)}"
helm=${HELM:-$(tools/testhost/testhost build helm | tail -n 1)}
[ -x "$helm" ] || { echo "FAILED: no helm: $helm" >&2; echo "0 passed, 1 failed"; exit 1; }
export KUBECONFIG="$work/kubeconfig" HOME="$work/home" HELM_CACHE_HOME="$work/cache" HELM_CONFIG_HOME="$work/config" HELM_DATA_HOME="$work/data-home"
mkdir -p "$HOME"
passed=0 failed=0
pass() { passed=$((passed + 1)); echo "ok: $1"; }
flunk() { failed=$((failed + 1)); echo "FAILED: $*; $(tail -n 3 "$work/err" 2>/dev/null)" >&2; }
check() { if [ "$2" = "$3" ]; then pass "$1"; else flunk "$1: got '$2', wanted '$3'"; fi; } # WHAT ACTUAL WANTED
contains() { case $2 in *"$3"*) pass "$1" ;; *) flunk "$1: '$3' is not in: $2" ;; esac; }
code() { "$@" >"$work/out" 2>"$work/err"; echo $?; }
charts=tests/host/charts
start_server simhost --listen 127.0.0.1:0 --nodes 2 --gpu-nodes 0 || { echo "0 passed, 1 failed"; exit 1; }
k() { "$KUBECTL" --request-timeout=60s "$@"; }
h() { "$helm" "$@"; }
state() { h status "$1" -o json | python3 -c 'import json, sys; i = json.load(sys.stdin); print(i["version"], i["info"]["status"])'; }
value() { k get "$1" -o "jsonpath={$2}"; }
gone() { k get "$@" -o name 2>/dev/null | wc -l | tr -d ' '; }

# --- a Deployment and its surroundings ---
check "install" "$(code h install web $charts/plain --wait --timeout 90s)" 0
check "nothing is warned of" "$(cat "$work/err")" ""
check "it is deployed" "$(state web)" "1 deployed"
check "with its pods" "$(value deployment/web .status.readyReplicas)" 2
check "upgrade" "$(code h upgrade web $charts/plain --set replicas=3 --wait --timeout 90s)" 0
check "three of them" "$(value deployment/web .status.readyReplicas)" 3
check "the ConfigMap follows" "$(value configmap/web .data.revision)" 2
k patch deployment web --type=merge -p '{"metadata":{"annotations":{"example.com/mine":"kept"}}}' >/dev/null
check "rollback" "$(code h rollback web 1 --wait --timeout 90s)" 0
check "two again" "$(value deployment/web .spec.replicas)" 2
check "what others wrote stays" "$(value deployment/web '.metadata.annotations.example\.com/mine')" kept
check "history" "$(h history web -o json | python3 -c 'import json, sys; print([r["status"] for r in json.load(sys.stdin)])')" "['superseded', 'superseded', 'deployed']"
check "the same again changes nothing" "$(code h upgrade web $charts/plain --dry-run=server)" 0
check "manifest" "$(h get manifest web | k diff -f - | wc -l | tr -d ' ')" 0
check "uninstall" "$(code h uninstall web --wait --timeout 90s)" 0
check "nothing is left" "$(gone deployment,service,role,rolebinding -l app.kubernetes.io/instance=web)" 0

# --- crds/ ---
check "install with crds/" "$(code h install shop $charts/typed --wait --timeout 90s)" 0
check "the object is there, with its default" "$(value gadget/shop .spec.colour)" grey
check "columns" "$(k get gd --no-headers | awk '{print $1, $2}')" "shop 1"
check "upgrade" "$(code h upgrade shop $charts/typed --set size=4)" 0
check "it has grown" "$(value gadget/shop .spec.size)" 4
check "what a rule refuses fails" "$(code h upgrade shop $charts/typed --set size=2)" 1
contains "in the rule's words" "$(cat "$work/err")" "gadgets do not shrink"
check "it is failed" "$(state shop)" "3 failed"
check "what the schema refuses fails" "$(code h upgrade shop $charts/typed --set size=12)" 1
contains "in its words" "$(cat "$work/err")" "should be less than or equal to 9"
check "rollback to what was good" "$(code h rollback shop 2)" 0
check "it is as it was" "$(value gadget/shop .spec.size)" 4
check "uninstall" "$(code h uninstall shop --wait)" 0
check "the object is gone" "$(gone gadgets)" 0
check "its type stays, as Helm has it" "$(gone crd gadgets.charts.example.com)" 1
check "installed again" "$(code h install shop $charts/typed)" 0
check "and gone" "$(code h uninstall shop)" 0

# --- hooks ---
check "install with hooks" "$(code h install app $charts/hooked --timeout 90s)" 0
check "the hook was run" "$(value job/app-migrate .status.succeeded)" 1
check "the one that succeeded is cleared away" "$(gone job app-greet)" 0
check "upgrade" "$(code h upgrade app $charts/hooked --set message=second --timeout 90s)" 0
check "second" "$(value configmap/app .data.message)" second
check "a hook that fails stops the upgrade" "$(code h upgrade app $charts/hooked --set message=third --set migrate="exit 3" --timeout 90s)" 1
contains "and says so" "$(cat "$work/err")" "pre-upgrade hooks failed"
check "nothing was changed" "$(value configmap/app .data.message)" second
check "it is failed" "$(state app)" "3 failed"
check "the Job says why" "$(value job/app-migrate '.status.conditions[?(@.type=="Failed")].reason')" BackoffLimitExceeded
check "rollback" "$(code h rollback app 2 --timeout 90s)" 0
check "it is deployed" "$(state app)" "4 deployed"
check "second still" "$(value configmap/app .data.message)" second
check "one that rolls back by itself" "$(code h upgrade app $charts/hooked --set message=fourth --set migrate="exit 3" --atomic --timeout 90s)" 1
contains "has done so" "$(cat "$work/err")" "has been rolled back due to atomic being set"
check "it is deployed" "$(state app)" "6 deployed"
check "second for ever" "$(value configmap/app .data.message)" second
check "uninstall" "$(code h uninstall app --wait --timeout 90s)" 0
check "what a hook made stays, as Helm has it" "$(gone job app-migrate)" 1
check "no release is left" "$(h list -aq)" ""

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
