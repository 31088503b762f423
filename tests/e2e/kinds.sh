#!/usr/bin/env bash
# Kinds beside pods on the embedded host, as a user: a StatefulSet with claim templates and a pod with an ephemeral volume
# get volumes, what a template carries crosses and goes, what it does not is told.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh
k() { "$KUBECTL" --request-timeout=30s "$@"; }
h() { "$KUBECTL" --request-timeout=30s --kubeconfig "$SUBLET_STATE_DIR/host/admin.kubeconfig" -n team "$@"; }
await() {  # await WHAT WANTED COMMAND...
  local what=$1 wanted=$2 got=
  shift 2
  for _ in $(seq 300); do
    got=$("$@" 2>/dev/null)
    [ "$got" = "$wanted" ] && break
  done
  check "$what" "$got" "$wanted"
}

cat >"$work/values.yaml" <<'Y'
sync:
  toHost: {ingresses: {enabled: true}, networkPolicies: {enabled: true}, namespaces: {enabled: true}}
  fromHost: {storageClasses: {enabled: true}}
Y
check "a template with a key that sublet does not do" "$(code sublet create rag -n team -f "$work/values.yaml")" 2
contains "is refused with place and reason" "$(cat "$work/err")" "values.yaml:2:87: sync.toHost.namespaces.enabled: not supported: all of a virtual cluster lives in one host namespace"
check "or leniently taken" "$(code sublet create rag -n team -f "$work/values.yaml" --lenient)" 0
contains "with a report" "$(cat "$work/err")" "left out: $work/values.yaml:2:87: sync.toHost.namespaces.enabled: not supported"
check "connect" "$(code sublet connect rag)" 0
await "the host's class is shown, and is the default" true k get storageclass standard -o jsonpath='{.metadata.annotations.storageclass\.kubernetes\.io/is-default-class}'

k apply -f - >/dev/null <<'Y'
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  serviceName: store
  replicas: 2
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: c, image: nginx, volumeMounts: [{name: d, mountPath: /d}]}]}
  volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: scratch}
spec:
  containers: [{name: c, image: nginx, volumeMounts: [{name: s, mountPath: /s}]}]
  volumes: [{name: s, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]
Y
for claim in d-store-0 d-store-1 scratch-s; do await "claim $claim is bound" Bound k get pvc $claim -o jsonpath='{.status.phase}'; done
check "by the host's default class" "$(k get pvc d-store-0 -o jsonpath='{.spec.storageClassName} {.status.capacity.storage}')" "standard 2Gi"
for pod in store-0 store-1 scratch; do await "pod $pod runs" Running k get pod $pod -o jsonpath='{.status.phase}'; done
check "with the host's claim" "$(h get pod scratch-x-default-x-rag -o jsonpath='{.spec.volumes[?(@.name=="s")].persistentVolumeClaim.claimName}')" scratch-s-x-default-x-rag
k delete pod scratch --wait=true >/dev/null
await "an ephemeral volume goes with its pod" "" h get pvc scratch-s-x-default-x-rag --ignore-not-found -o name

warned() { k create -f - 2>&1 >/dev/null; }
ingress='apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: %s}\nspec: {defaultBackend: {service: {name: web, port: {number: 80}}}}\n'
# shellcheck disable=SC2059  # it is a format
check "an Ingress that crosses has an effect" "$(printf "$ingress" site | warned)" ""
await "and stands on the host" web-x-default-x-rag h get ingress site-x-default-x-rag -o jsonpath='{.spec.defaultBackend.service.name}'
check "delete" "$(code sublet delete rag --yes)" 0
check "leaves nothing" "$(h get pvc,ingress,pv -A -o name 2>/dev/null | grep -v '^persistentvolume/')" ""

check "without a template" "$(code sublet create plain -n team)" 0
check "connect to it" "$(code sublet connect plain)" 0
# shellcheck disable=SC2059
contains "what does not cross is told" "$(printf "$ingress" site | warned)" "Ingress is stored, but nothing routes traffic by it here"
echo "$failures failed"
[ "$failures" -eq 0 ]
