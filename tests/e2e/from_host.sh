#!/usr/bin/env bash
# A virtual cluster's nodes and runtime classes are the host's: kubectl is refused with the reason, and nothing changes.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

check "create" "$(code sublet create rag -n team --nodes 1)" 0
check "connect" "$(code sublet connect rag)" 0
k() { "$KUBECTL" --request-timeout=30s "$@"; }
nodes() { k get nodes -l sublet.dev/from-host -o name; }
has_nodes() { [ -n "$(nodes)" ]; }
until_true "the host's nodes come" has_nodes
node=$(nodes | head -n 1)
node=${node#node/}
# shellcheck disable=SC2016  # the template is kubectl's
shown() { k get node "$node" -o jsonpath='{.spec}{.metadata.labels}{.metadata.annotations}'; }
before=$(shown)

told() {  # told WHAT: what the last command said
  contains "$1 says why" "$(cat "$work/err")" "it comes from the host cluster, and only there it can be changed"
  contains "$1 says what to do" "$(cat "$work/err")" "ask whoever runs the host cluster"
}
refused() {  # refused WHAT COMMAND...
  check "$1 fails" "$(code "${@:2}")" 1
  told "$1"
}
# kubectl itself ends with 0 when a node's cordon is refused, and drain then goes on to the pods: docs/limits.md.
unmoved() {  # unmoved WHAT COMMAND...: as refused, but for the exit code
  code "${@:2}" >/dev/null
  told "$1"
  check "$1 is not said to be done" "$(grep -c cordoned "$work/out")" 0
}
unmoved "cordon" k cordon "$node"
unmoved "drain" k drain "$node" --ignore-daemonsets
refused "taint" k taint node "$node" a=b:NoSchedule
refused "label" k label node "$node" a=b
refused "annotate" k annotate node "$node" a=b
refused "delete" k delete node "$node"
refused "delete of all" k delete nodes --all
check "the node is as it was" "$(shown)" "$before"

# What the host says still comes through.
H=$SUBLET_STATE_DIR/host/admin.kubeconfig
check "cordon on the host" "$(code k --kubeconfig "$H" cordon "$node")" 0
until_is "is seen in the virtual cluster" true field "node/$node" .spec.unschedulable
unmoved "uncordon" k uncordon "$node"

runtime_class() { printf 'apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: %s}\nhandler: h\n' "$1"; }
runtime_class theirs | k --kubeconfig "$H" create -f - >/dev/null
until_is "a class of the host's comes" runtimeclass.node.k8s.io/theirs k get runtimeclass theirs -o name
refused "label of a runtime class" k label runtimeclass theirs a=b
refused "delete of a runtime class" k delete runtimeclass theirs
runtime_class mine | k create -f - >/dev/null
check "a class of one's own is one's own" "$(code k label runtimeclass mine a=b)" 0
check "to the end" "$(code k delete runtimeclass mine)" 0

printf 'sync:\n  fromHost:\n    nodes: {enabled: false}\n' >"$work/no-nodes.yaml"
check "a template without nodes" "$(code sublet create alone -n team -f "$work/no-nodes.yaml")" 0
check "connect to it" "$(code sublet connect alone)" 0
printf 'apiVersion: v1\nkind: Node\nmetadata: {name: own}\n' | k create -f - >/dev/null
check "its nodes are the tenant's" "$(code k cordon own)" 0

echo "$failures failed"
[ "$failures" -eq 0 ]
