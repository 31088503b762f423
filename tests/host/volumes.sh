#!/usr/bin/env bash
# host: given, 60 s
# Tenants' own PersistentVolumes on a real host, whose controllers bind them: two virtual clusters with the same names side by side,
# one of them with pseudo names of nodes. A volume is for its tenant's claim from the start, so that nobody else's gets it, and what
# the template does not name is refused where it is written, and by the host's policy where it is not.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/host/support/checks.sh
cleanup() {
  show_logs_of_failure
  for team in volumes-a volumes-b; do sublet delete rag -n $team --yes --force --timeout 20s >/dev/null 2>&1; done
  host delete pv -l 'sublet.dev/managed-by=rag' --wait=false >/dev/null 2>&1
  rm -rf "$work"
}
trap cleanup EXIT
in_a() { sublet connect rag -n volumes-a -- "$KUBECTL" "$@"; }
in_b() { sublet connect rag -n volumes-b -- "$KUBECTL" "$@"; }

volume() { # NAME SIZE SOURCE [MORE]
  printf 'apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: %s, labels: {size: "%s"}}\nspec:\n  capacity: {storage: %s}\n  accessModes: [ReadWriteOnce]\n  %s\n%s\n---\n' \
    "$1" "$2" "$2" "$3" "${4:-}"
}
nfs() { printf 'nfs: {server: files.example.com, path: /exports/%s/%s}' "$1" "$2"; }
csi() { printf 'csi: {driver: disk.example.com, volumeHandle: %s}' "$1"; }
claim() { # NAME SIZE [MORE]
  printf 'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: %s}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: %s}}%s}\n---\n' "$1" "$2" "${3:-, storageClassName: \"\"}"
}
phase() { "$1" get "${@:2}" -o jsonpath='{.status.phase}'; }

for team in a b; do
  cat >"$work/values-$team.yaml" <<Y
sync:
  toHost: {persistentVolumes: {enabled: true}}
  fromHost: {nodes: {enabled: true, pseudoNames: $([ $team = a ] && echo true || echo false)}}
allow:
  persistentVolumes:
    nfsPaths: ["files.example.com:/exports/$team/*"]
    csiVolumes: ["disk.example.com/$team-*"]
    csiAttributes: ["disk.example.com/partition=*"]
Y
  check "create rag in volumes-$team" "$(sublet create rag -n volumes-$team -f "$work/values-$team.yaml" --host-kubeconfig "$HOST_KUBECONFIG" 2>"$work/err")" "virtualcluster/rag created"
done

# Nobody's yet: the host has none, so the platform's claim beside does not get it.
for team in a b; do
  { volume data 5Gi "$(nfs $team data)"; volume larger 9Gi "$(nfs $team larger)"; } | in_$team apply -f - >/dev/null
  until_is "a volume is available ($team)" 60 Available phase in_$team pv/data
done
claim foreign 1Gi | host apply -n volumes-a -f - >/dev/null
until_is "the platform's claim is looked at" 60 Pending phase host pvc/foreign -n volumes-a
check "no volume of the tenants' is on the host" "$(host get pv -l sublet.dev/managed-by=rag -o name)" ""

for team in a b; do
  { claim data 2Gi; printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: db}\nspec: {containers: [{name: c, image: nginx, volumeMounts: [{name: d, mountPath: /d}]}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}\n'; } | in_$team apply -f - >/dev/null
done
for team in a b; do
  until_is "a claim binds ($team)" 120 Bound phase in_$team pvc/data
  until_is "and its volume ($team)" 60 Bound phase in_$team pv/data
  until_is "and the pod runs ($team)" 120 Running phase in_$team pod/db
  check "to the smallest that is enough, by the tenant's name ($team)" "$(in_$team get pvc data -o jsonpath='{.spec.volumeName} {.status.capacity.storage}')" "data 5Gi"
  check "whose claim is the tenant's ($team)" "$(in_$team get pv data -o jsonpath='{.spec.claimRef.namespace}/{.spec.claimRef.name} {.spec.claimRef.uid}')" "default/data $(in_$team get pvc data -o jsonpath='{.metadata.uid}')"
  check "on the host its own ($team)" "$(host get pv data-x-volumes-$team-x-rag -o jsonpath='{.spec.nfs.path} {.spec.claimRef.namespace}/{.spec.claimRef.name}')" "/exports/$team/data volumes-$team/data-x-default-x-rag"
done
check "the other volume stays at home" "$(phase in_a pv/larger) $(host get pv larger-x-volumes-a-x-rag --ignore-not-found -o name)" "Available "
check "the platform's claim waits on" "$(phase host pvc/foreign -n volumes-a)" Pending

# By name, by labels, and a StatefulSet by its class; a disk is where its nodes are, under the names that the tenant knows.
for team in a b; do
  node=$(in_$team get nodes -o jsonpath='{.items[0].metadata.name}')
  here="  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [$node]}]}]}}"
  { volume mine 3Gi "$(csi $team-1)" "  claimRef: {namespace: default, name: mine}"; claim mine 1Gi
    claim named 1Gi ', storageClassName: "", volumeName: larger'
    volume tagged 7Gi "$(csi $team-2)"; claim tagged 1Gi ', storageClassName: "", selector: {matchLabels: {size: 7Gi}}'
    volume store-1 1Gi "$(csi $team-3)" "  storageClassName: manual
$here"; volume store-2 1Gi "$(csi $team-4)" "  storageClassName: manual
$here"; } | in_$team apply -f - >/dev/null
  in_$team apply -f - >/dev/null <<'Y'
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
  volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], storageClassName: manual, resources: {requests: {storage: 1Gi}}}}]
Y
done
for team in a b; do
  for name in mine named tagged d-store-0 d-store-1; do until_is "claim $name binds ($team)" 120 Bound phase in_$team pvc/$name; done
  check "each to its own ($team)" "$(in_$team get pvc mine named tagged -o jsonpath='{range .items[*]}{.spec.volumeName} {end}')" "mine larger tagged "
  until_is "the StatefulSet's pods run ($team)" 120 2 in_$team get statefulset store -o jsonpath='{.status.readyReplicas}'
  check "on the disks' node ($team)" "$(in_$team get pods -l app=store -o jsonpath='{.items[*].spec.nodeName}')" "$(in_$team get nodes -o jsonpath='{.items[0].metadata.name} {.items[0].metadata.name}')"
done

# What the template does not name.
refused() { # WHAT SOURCE WORDS [MORE]
  volume odd 1Gi "$2" "${4:-}" | in_a create -f - >"$work/out" 2>&1 && flunk "$1 was taken"
  check "$1 is refused" "$(grep -cF "$3" "$work/out")" 1
}
refused "the other's path" "$(nfs b data)" "allow.persistentVolumes.nfsPaths"
refused "a path up" "$(nfs a ..)" '".." could lead out'
refused "the directory of all of its own" "$(nfs a '')" "allow.persistentVolumes.nfsPaths"
refused "what lies below one" "$(nfs a data/link)" "allow.persistentVolumes.nfsPaths"
refused "the other's disk" "$(csi b-1)" "allow.persistentVolumes.csiVolumes"
refused "a path of the nodes" "hostPath: {path: /etc}" "spec.hostPath: it would be a path of the host's nodes"
refused "options of mounts" "$(nfs a data)" "spec.mountOptions: " "  mountOptions: [suid]"
refused "a pod of the host's that empties it" "$(nfs a data)" "spec.persistentVolumeReclaimPolicy: use Retain or Delete" "  persistentVolumeReclaimPolicy: Recycle"
refused "a Secret of the host" "csi: {driver: disk.example.com, volumeHandle: a-9, nodeStageSecretRef: {name: s, namespace: kube-system}}" "spec.csi.nodeStageSecretRef: it would be a Secret of the host"
claim thief 1Gi ", storageClassName: \"\", volumeName: data-x-volumes-b-x-rag" | in_a apply -f - >/dev/null
until_is "another's volume has no name here" 60 1 sh -c "sublet connect rag -n volumes-a -- '$KUBECTL' get events --field-selector involvedObject.name=thief -o jsonpath='{.items[*].message}' | grep -c 'is not in this virtual cluster'"
as_syncer() { "$KUBECTL" --kubeconfig "$HOST_KUBECONFIG" --as system:serviceaccount:volumes-a:sublet-syncer-rag "$@"; }
as_syncer patch pv data-x-volumes-b-x-rag --type merge -p '{"metadata":{"labels":{"a":"b"}}}' >"$work/out" 2>&1
check "the syncer's account may not change another's" "$(grep -c "what the syncer writes carries the labels of its virtual cluster" "$work/out")" 1
as_syncer patch pv data-x-volumes-a-x-rag --type merge -p '{"spec":{"mountOptions":["suid"]}}' >"$work/out" 2>&1
check "nor its own to what the template does not allow" "$(grep -c "volumes are those of the template's drivers and servers" "$work/out")" 1

# Its claim goes: kept for whoever is to read it, until somebody lets it go on.
in_a delete pod db --grace-period=1 >/dev/null
in_a delete pvc data >/dev/null
until_is "a volume is released" 60 Released phase in_a pv/data
claim data 2Gi | in_a apply -f - >/dev/null
until_is "another claim of that name waits" 60 Pending phase in_a pvc/data
until_is "also on the host" 60 Pending phase host pvc/data-x-default-x-rag -n volumes-a
check "and does not get it" "$(phase in_a pv/data)" Released
in_a patch pv data --type json -p '[{"op":"remove","path":"/spec/claimRef"}]' >/dev/null
until_is "somebody lets it go on" 120 Bound phase in_a pvc/data
check "to the volume of old" "$(in_a get pvc data -o jsonpath='{.spec.volumeName}')" data
until_is "which is bound" 60 Bound phase in_a pv/data
check "the other's was never touched" "$(phase in_b pv/data) $(phase in_b pvc/data)" "Bound Bound"

in_a delete pv data --wait=false >/dev/null
until_is "one that is in use outlives its deletion" 60 Bound phase in_a pv/data
in_a delete pvc data >/dev/null
until_is "and goes with its claim" 60 "" in_a get pv data --ignore-not-found -o name
until_is "from the host too" 60 "" host get pv data-x-volumes-a-x-rag --ignore-not-found -o name

in_a patch pv mine -p '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}' >/dev/null
until_is "a policy follows" 60 Delete host get pv mine-x-volumes-a-x-rag -o jsonpath='{.spec.persistentVolumeReclaimPolicy}'
in_a delete pvc mine >/dev/null
until_is "its claim is gone" 60 Released phase in_a pv/mine
host delete pv mine-x-volumes-a-x-rag --wait=false >/dev/null # as a driver's provisioner does once it has deleted the disk
until_is "and one that a driver has deleted is gone" 60 "" in_a get pv mine --ignore-not-found -o name

check "delete" "$(sublet delete rag -n volumes-b --yes 2>&1 | tail -1)" "virtualcluster/volumes-b/rag deleted"
until_is "leaves none of its volumes" 60 "" host get pv -l "sublet.dev/managed-by=rag" -o jsonpath='{range .items[?(@.spec.claimRef.namespace=="volumes-b")]}{.metadata.name} {end}'
check "and the other's as they were" "$(phase in_a pvc/named)" Bound
host delete pvc foreign -n volumes-a >/dev/null

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
