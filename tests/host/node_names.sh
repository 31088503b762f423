#!/usr/bin/env bash
# host: given, 80 s
# Pseudo names of nodes (sync.fromHost.nodes.pseudoNames) on a real host: whatever a tenant reads, no object, event, metric, text or refusal
# has the name or the address of a node of the host in it, while pods are bound, a DaemonSet is placed, nodes are chosen by their pseudo
# names, come, go and come again, and the syncer is killed. HOST_KUBECONFIG names the host.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/host/support/checks.sh
# Two nodes whose names are found wherever they stand; the second is as long as names can be.
short=s3cret-one.rack-7.corp.example
part=$(printf 'n%.0s' $(seq 60))
long=s3cret-two.$part.$part.$part.corp.example
cleanup() {
  show_logs_of_failure
  sublet delete rag -n hidden --yes --force --timeout 20s >/dev/null 2>&1
  host delete node "$short" "$long" s3cret-three --ignore-not-found >/dev/null 2>&1
  host delete csinode "$short" --ignore-not-found >/dev/null 2>&1
  host delete resourceslice s3cret-one-slice --ignore-not-found >/dev/null 2>&1
  host delete deviceclass devices.example.com --ignore-not-found >/dev/null 2>&1
  host delete storageclass local-disks --ignore-not-found >/dev/null 2>&1
  host delete pv pv-s3cret-one --ignore-not-found --wait=false >/dev/null 2>&1
  rm -rf "$work"
}
trap cleanup EXIT
t() { sublet connect rag -n hidden -- "$KUBECTL" "$@"; }
node() { # NAME HOSTNAME-LABEL ADDRESS
  cat <<Y
---
apiVersion: v1
kind: Node
metadata:
  name: $1
  annotations: {kwok.x-k8s.io/node: fake}
  labels: {kubernetes.io/hostname: $2, kubernetes.io/os: linux, kubernetes.io/arch: amd64, for: tenants, topology.kubernetes.io/zone: zone-a, topology.kubernetes.io/rack: at-$2}
spec: {podCIDR: 10.199.$3.0/24, podCIDRs: [10.199.$3.0/24], providerID: "aws:///s3cret-$3"}
status:
  capacity: {cpu: "64", memory: 256Gi, pods: "110"}
  allocatable: {cpu: "64", memory: 256Gi, pods: "110"}
  addresses: [{type: InternalIP, address: 127.77.66.$3}, {type: Hostname, address: $2}, {type: ExternalIP, address: 203.0.113.$3}]
Y
}
{ node "$short" s3cret-one 55; node "$long" s3cret-two 56; } | host apply -f - >/dev/null || flunk "the nodes of this test"
host apply -f - >/dev/null <<Y || flunk "what else names them"
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: $short}
spec: {drivers: [{name: csi.example, nodeID: i-s3cret, topologyKeys: [topology.csi.example/node]}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: devices.example.com}
spec: {selectors: [{cel: {expression: 'device.driver == "devices.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s3cret-one-slice}
spec:
  driver: devices.example.com
  nodeName: $short
  pool: {name: $short, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, attributes: {host: {string: s3cret-one}}}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local-disks}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: kubernetes.io/hostname, values: [s3cret-one]}]}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-s3cret-one}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local-disks
  persistentVolumeReclaimPolicy: Delete
  local: {path: /mnt/s3cret}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [s3cret-one]}]}]}}
Y
cat >"$work/values.yaml" <<'Y'
sync:
  toHost:
    resourceClaims: {enabled: true}
  fromHost:
    nodes: {enabled: true, pseudoNames: true}
    csiNodes: {enabled: true}
    deviceClasses: {enabled: true}
    storageClasses: {enabled: true}
Y
check "create" "$(sublet create rag -n hidden -f "$work/values.yaml" --host-kubeconfig "$HOST_KUBECONFIG" 2>"$work/err")" "virtualcluster/rag created"
count=$(host get nodes -o name | wc -l)
until_is "as many nodes as the host has" 60 "$count" sh -c "sublet connect rag -n hidden -- '$KUBECTL' get nodes -o name | wc -l"
check "all under pseudo names" "$(t get nodes -o name | grep -cE '^node/node-[a-z2-7]{26}$')" "$count"

# A pod, one with a claim that is bound to a node, one with a device, and a DaemonSet.
t apply -f - >/dev/null <<'Y' || flunk "the tenant's objects"
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: nginx}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [zone-a]}]}]}}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: local-disks, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: db}
spec: {containers: [{name: c, image: nginx}], volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: devices.example.com}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: train}
spec: {containers: [{name: c, image: nginx, resources: {claims: [{name: gpu}]}}], resourceClaims: [{name: gpu, resourceClaimName: gpu}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers: [{name: c, image: nginx, env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]}]
      tolerations: [{operator: Exists}]
Y
for pod in web db train; do
  check "$pod becomes Ready" "$(t wait --for=condition=Ready pod/$pod --timeout=120s 2>&1)" "pod/$pod condition met"
done
until_is "a pod of the DaemonSet on every node" 120 "$count" t get daemonset agent -o jsonpath='{.status.numberReady}'
check "each on its own of the host's" "$(host get pods -n hidden -o jsonpath='{range .items[*]}{.metadata.annotations.sublet\.dev/tenant-name} {.spec.nodeName}{"\n"}{end}' | grep '^agent' | cut -d' ' -f2 | sort -u | wc -l)" "$count"
wrong=$(join -j1 <(t get pods -l app=agent -o jsonpath='{range .items[*]}{.metadata.name} {.spec.nodeName}{"\n"}{end}' | sort) \
  <(host get pods -n hidden -o jsonpath='{range .items[*]}{.metadata.annotations.sublet\.dev/tenant-name} {.spec.containers[0].env[?(@.name=="NODE")].value}{"\n"}{end}' | grep '^agent' | sort) | awk '$2 != $3')
check "and told its node by the name that the tenant knows" "$wrong" ""

# Which is which, by the pods that stand on them.
on_host=$(host get pod web-x-default-x-rag -n hidden -o jsonpath='{.spec.nodeName}')
pseudo=$(t get pod web -o jsonpath='{.spec.nodeName}')
label=s3cret-one
[ "$on_host" = "$short" ] || label=s3cret-two
check "the pod is on one of this test's nodes" "$(case $on_host in "$short" | "$long") echo yes ;; esac)" yes
check "which the tenant has" "$(t get node "$pseudo" -o jsonpath='{.metadata.labels.kubernetes\.io/hostname} {.status.addresses[*].address}')" "$pseudo $pseudo"
check "pods are found by it" "$(t get pods --field-selector "spec.nodeName=$pseudo" -o name | grep -c '^pod/web$')" 1
check "describe knows it" "$(t describe node "$pseudo" | grep -cE 'default +web ')" 1
t apply -f - >/dev/null <<Y
apiVersion: v1
kind: Pod
metadata: {name: chosen}
spec: {containers: [{name: c, image: nginx}], nodeSelector: {kubernetes.io/hostname: $pseudo}}
---
apiVersion: v1
kind: Pod
metadata: {name: elsewhere}
spec:
  containers: [{name: c, image: nginx}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [zone-a]}], matchFields: [{key: metadata.name, operator: NotIn, values: [$pseudo]}]}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: guess}
spec: {containers: [{name: c, image: nginx}], nodeSelector: {kubernetes.io/hostname: $label}}
---
apiVersion: v1
kind: Pod
metadata: {name: guess-by-field}
spec:
  containers: [{name: c, image: nginx}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$on_host]}]}]}}}
Y
for pod in chosen elsewhere; do t wait --for=condition=Ready pod/$pod --timeout=60s >/dev/null 2>&1; done
check "a node chosen by its pseudo name" "$(t get pod chosen -o jsonpath='{.spec.nodeName}') $(host get pod chosen-x-default-x-rag -n hidden -o jsonpath='{.spec.nodeName}')" "$pseudo $on_host"
check "and one kept away from by it" "$(host get pod elsewhere-x-default-x-rag -n hidden -o jsonpath='{.spec.nodeName}' | sed "s/^$on_host\$/the same/;s/^s3cret-.*/the other/")" "the other"
for pod in guess guess-by-field; do
  until_is "the host's own name leads nowhere ($pod)" 60 SyncDenied t get events --field-selector "involvedObject.name=$pod" -o jsonpath='{.items[*].reason}'
  check "and not to the host" "$(host get pods -n hidden -o name | grep -c "$pod")" 0
  t delete pod $pod --wait=false >/dev/null
done
until_is "what only repeated a guess is gone" 60 "" t get pods guess guess-by-field --ignore-not-found -o name
t delete events --field-selector involvedObject.name=guess >/dev/null
t delete events --field-selector involvedObject.name=guess-by-field >/dev/null

# What a pod may ask of its node.
t run asks --image=nginx --dry-run=server --overrides='{"spec":{"containers":[{"name":"asks","image":"nginx","env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"status.hostIP"}}}]}]}}' >"$work/asked" 2>&1
check "a pod that asks for its node's address is refused" "$(grep -c 'fieldPath status.hostIP would be answered by the node' "$work/asked")" 1

# What the host says when it cannot reach a node names it.
t logs web >"$work/refused-logs" 2>&1 && flunk "a node of this test has no kubelet"
t exec web -- true >"$work/refused-exec" 2>&1 && flunk "nor anything to run"
t port-forward web 39999:80 >"$work/refused-forward" 2>&1 &
forward=$!
check "the refusal is the host's" "$(grep -c "$pseudo:10250" "$work/refused-logs")" 1
kill $forward 2>/dev/null
t top nodes >"$work/top" 2>&1
t cordon "$pseudo" >"$work/cordon" 2>&1
check "nodes stay read-only, with the reason" "$(grep -c 'only there it can be changed' "$work/cordon")" 1

# The host speaks of nodes in events, conditions and notes.
uid=$(host get pod web-x-default-x-rag -n hidden -o jsonpath='{.metadata.uid}')
host create -f - >/dev/null <<Y
apiVersion: v1
kind: Event
metadata: {name: web-attach, namespace: hidden}
type: Warning
reason: FailedAttachVolume
message: "AttachVolume.Attach failed on node \"$on_host\" at 127.77.66.55 and s3cret-two"
source: {component: kubelet, host: $on_host}
reportingComponent: kubelet
reportingInstance: $on_host
involvedObject: {apiVersion: v1, kind: Pod, name: web-x-default-x-rag, namespace: hidden, uid: $uid}
Y
until_is "an event that names one comes in the tenant's names" 60 "$pseudo" t get events --field-selector reason=FailedAttachVolume -o jsonpath='{.items[0].source.host}'
until_is "the volume has come" 60 Bound t get pvc data -o jsonpath='{.status.phase}'
check "the device's pool is the node's" "$(t get resourceclaim gpu -o jsonpath='{.status.allocation.devices.results[0].pool}')" "$(t get pod train -o jsonpath='{.spec.nodeName}')"

# Everything that can be read, and what was said.
read_all() {
  for kind in $(t api-resources --verbs=list -o name); do t get "$kind" -A -o json; done >"$work/all.json" 2>"$work/all.err"
  t get nodes,pods,events -A -o wide >>"$work/all.json"
  t describe nodes,pods >>"$work/all.json" 2>/dev/null
  for pod in web db train chosen; do sublet why rag -n hidden "pod/$pod" >>"$work/all.json" 2>&1; done
  cat "$work"/refused-* "$work/top" "$work/cordon" >>"$work/all.json"
}
names() { host get nodes -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{range .status.addresses[*]}{.address}{"\n"}{end}{end}' | sort -u; }
# Of a word alone: pseudo names begin with "node-", too.
leaks() {
  { names; printf '%s\n' 127.77.66.55 127.77.66.56 203.0.113.55 203.0.113.56 10.199.55.0/24 10.199.56.0/24; } | grep -v '^$' | grep -wFof - "$work/all.json" | sort | uniq -c
  grep -oi '.\{20\}s3cret.\{20\}' "$work/all.json" | head -n 5
}
read_all
check "all of it was read" "$(grep -c '"kind": "Event"' "$work/all.json" | awk '{print ($1 > 10)}')$(grep -c "\"nodeName\": \"$pseudo\"" "$work/all.json" | awk '{print ($1 > 2)}')" 11
check "and no node's name or address is in it" "$(leaks)" ""

# Nodes go and come; the syncer is killed; the names stay.
before=$(t get nodes -o name | sort | tr '\n' ' ')
host delete node "$long" >/dev/null
until_is "a node that goes" 60 $((count - 1)) sh -c "sublet connect rag -n hidden -- '$KUBECTL' get nodes -o name | wc -l"
kill -9 "$(pgrep -f "subletd syncer .*$SUBLET_STATE_DIR/clusters/hidden/rag")"
node "$long" s3cret-two 56 | host apply -f - >/dev/null
node s3cret-three s3cret-three 57 | host apply -f - >/dev/null
until_is "one that comes while there is no syncer" 60 $((count + 1)) sh -c "sublet connect rag -n hidden -- '$KUBECTL' get nodes -o name | wc -l"
host delete node s3cret-three >/dev/null
until_is "each has the name that it had" 60 "$before" sh -c "sublet connect rag -n hidden -- '$KUBECTL' get nodes -o name | sort | tr '\n' ' '"
until_is "and its daemon" 120 "$count" t get daemonset agent -o jsonpath='{.status.numberReady}'
host taint node "$short" drained=s3cret-one:NoSchedule >/dev/null
started=$SECONDS
until_is "a taint comes, without the name in it" 5 drained sh -c "sublet connect rag -n hidden -- '$KUBECTL' get nodes -o jsonpath='{.items[*].spec.taints[*].key}'"
echo "   within $((SECONDS - started)) s"
read_all
check "there is still none of the host's names" "$(leaks)" ""
key="$SUBLET_STATE_DIR/clusters/hidden/rag/syncer/node-names.key"
check "the key is the syncer's alone" "$(stat -c %a "$key") $(grep -rlF "$(cat "$key")" "$SUBLET_STATE_DIR" | grep -vcF "$key")" "600 0"
check "explain finds the node that is meant" "$(sublet explain rag -n hidden pod/chosen -o json | grep -c "\"host\": \"$label\"")" 1
check "delete" "$(sublet delete rag -n hidden --yes 2>/dev/null)" "virtualcluster/rag deleted"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
