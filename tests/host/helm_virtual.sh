#!/usr/bin/env bash
# host: own, 90 s
# Helm installs, changes and removes a chart with `--wait --wait-for-jobs` in a virtual cluster on the embedded host, and in one
# on a real host with a real node (kubelet, containerd of tools/testhost; root only, else it says so): a StatefulSet, a Job,
# Jobs as hooks before and after.
set -uo pipefail
cd "$(dirname "$0")/../.."
: "${KUBECTL:=$(tools/kubectl-path)}" "${HOST_KUBECONFIG:=}"
export KUBECTL HOST_KUBECONFIG
helm=${HELM:-$(tools/testhost/testhost build helm | tail -n 1)}
[ -x "$helm" ] || { echo "FAILED: no helm: $helm" >&2; echo "0 passed, 1 failed"; exit 1; }
has_node=false node_name="helm-$$" home=$HOME  # the checks take another one, and the cache is in this one
testhost() { HOME=$home tools/testhost/testhost "$@"; }
if [ "$(id -u)" = 0 ] && command -v containerd nft conntrack >/dev/null; then has_node=true; fi
if $has_node; then
  testhost up --kubelet --name "$node_name" --with kube-controller-manager,kube-scheduler >&2 || { echo "0 passed, 1 failed"; exit 1; }
  HOST_KUBECONFIG=$(testhost env --name "$node_name" | sed 's/^export KUBECONFIG=//')
fi
HOST_KUBECONFIG=${HOST_KUBECONFIG:-none}
. tests/host/support/checks.sh
cleanup() {
  show_logs_of_failure
  sublet delete embedded real --yes --force --ignore-not-found --timeout 60s >/dev/null 2>&1
  [ ! -e "$SUBLET_STATE_DIR/host/daemon.lock" ] || kill "$(cat "$SUBLET_STATE_DIR/host/daemon.lock")" 2>/dev/null
  ! $has_node || testhost down --name "$node_name" >&2
  rm -rf "$work"
}
trap cleanup EXIT
export HELM_CACHE_HOME="$work/cache" HELM_CONFIG_HOME="$work/config" HELM_DATA_HOME="$work/data-home"
chart=tests/host/charts/stateful
code() { if "$@" >"$work/out" 2>"$work/err"; then echo 0; else tail -n 3 "$work/err" >&2; echo 1; fi; }

# story NAME IMAGE FLAG...: in a virtual cluster of that name, made with these flags.
story() {
  local name=$1 image=$2
  shift 2
  check "$name: create" "$(code sublet create "$name" "$@")" 0
  sublet connect "$name" --print >"$work/$name.kubeconfig" || return
  k() { "$KUBECTL" --kubeconfig "$work/$name.kubeconfig" --request-timeout=60s "$@"; }
  value() { k get "$1" -o "jsonpath={$2}"; }
  h() { KUBECONFIG="$work/$name.kubeconfig" "$helm" "$@" --wait --timeout 180s; }
  check "$name: install" "$(code h install db $chart --set "image=$image" --wait-for-jobs)" 0
  check "$name: what was waited for stands" "$(value statefulset/db .status.readyReplicas) $(value job/db-seed-1 .status.succeeded)" "2 2"
  check "$name: the hooks were run" "$(value job/db-pre .status.succeeded) $(value job/db-post .status.succeeded)" "1 1"
  check "$name: upgrade" "$(code h upgrade db $chart --set "image=$image" --set replicas=3 --set mark=second --wait-for-jobs)" 0
  check "$name: three of the new template" "$(value statefulset/db .status.readyReplicas) $(value statefulset/db .status.updatedReplicas)" "3 3"
  check "$name: the Job of the second revision" "$(value job/db-seed-2 .status.succeeded)" 2
  check "$name: a hook that fails stops an upgrade" "$(code h upgrade db $chart --set "image=$image" --set "check=exit 3" 2>/dev/null)" 1
  check "$name: nothing was changed" "$(value statefulset/db .spec.replicas)" 3
  check "$name: rollback" "$(code h rollback db 1 --wait-for-jobs)" 0
  check "$name: two again" "$(value statefulset/db .status.readyReplicas)" 2
  check "$name: uninstall" "$(code h uninstall db)" 0
  until_is "$name: nothing of it is left" 60 "" k get statefulsets,pods -l app=db -o name
  check "$name: delete" "$(code sublet delete "$name" --yes)" 0
}
story embedded busybox:1 --nodes 3 --gpu-nodes 0
if $has_node; then
  story real sublet.test/busybox:1 -n helm-real --host-kubeconfig "$HOST_KUBECONFIG"
else
  echo "skipped: a real node needs root and the packages of tools/packages.txt"
  [ -z "${CI:-}" ] || flunk "no real node in CI"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
