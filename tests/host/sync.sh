#!/usr/bin/env bash
# host: given, 55 s
# The syncer against a real host: kube-apiserver, etcd, controller manager, scheduler and KWOK nodes of tools/testhost.
# HOST_KUBECONFIG names it, HOST_NAME is its name in testhost (to stop its API server for a while). The border in both
# directions, then what can go wrong: a killed syncer, a killed API server, a host that is away, a host that mutates, a
# foreign object.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/host/support/checks.sh
cleanup() {
  [ -z "$(pgrep -f "$HOST_STATE/.*kube-apiserver|secure-port=$(cat "$HOST_STATE/port" 2>/dev/null)")" ] || pkill -CONT -f "secure-port=$(cat "$HOST_STATE/port")" || true
  show_logs_of_failure
  sublet delete rag --yes --force --timeout 20s >/dev/null 2>&1
  rm -rf "$work"
}
HOST_STATE=$(dirname "$HOST_KUBECONFIG")
trap cleanup EXIT

tenant() { sublet connect rag -- "$KUBECTL" "$@"; }
host_pods() { host get pods -n team -o name | wc -l | tr -d ' '; }
running() { tenant get pods --field-selector=status.phase=Running -o name | wc -l | tr -d ' '; }
pods() { # pods FROM TO: manifests of small pods
  for i in $(seq "$1" "$2"); do
    printf -- '---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%s, labels: {set: p}}\nspec: {containers: [{name: c, image: nginx}]}\n' "$i"
  done
}
folder="$SUBLET_STATE_DIR/clusters/team/rag"
child() { pgrep -f "subletd $1 .*$folder"; }

printf 'experimental:\n  syncSettings:\n    setOwner: false\nsync:\n  fromHost:\n    runtimeClasses:\n      enabled: true\nallow: {services: {types: [NodePort], externalNames: ["*.corp"]}}\npolicies: {resourceQuota: {enabled: true, quota: {count/pods: 100, count/services: 50, limits.cpu: null, limits.memory: null, limits.ephemeral-storage: null, requests.cpu: null, requests.memory: null, requests.ephemeral-storage: null, services.nodeports: null}}}\n' >"$work/values.yaml"
check "create from a plain values file" "$(sublet create rag -n team -f "$work/values.yaml" --host-kubeconfig "$HOST_KUBECONFIG" 2>"$work/err")" "virtualcluster/rag created"
until_is "the host's nodes are there" 60 "$(host get nodes -o name | sort | tr '\n' ' ')" sh -c "sublet connect rag -- '$KUBECTL' get nodes -o name | sort | tr '\n' ' '"
until_is "the RuntimeClass is there" 60 "runtimeclass.node.k8s.io/nvidia" tenant get runtimeclass nvidia -o name

tenant create configmap settings --from-literal=color=blue >/dev/null
tenant create secret generic key --from-literal=k=v >/dev/null
tenant apply -f - >/dev/null <<'Y'
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}, annotations: {nvidia.com/gpu-fraction: "0.5"}}
spec:
  containers:
  - name: c
    image: nginx
    envFrom: [{configMapRef: {name: settings}}]
    volumeMounts: [{name: key, mountPath: /key}]
  volumes: [{name: key, secret: {secretName: key}}]
Y
check "a pod becomes Ready" "$(tenant wait --for=condition=Ready pod/web --timeout=60s)" "pod/web condition met"
check "under its translated name" "$(host get pod web-x-default-x-rag -n team -o jsonpath='{.spec.serviceAccountName}')" "sublet-workload-rag"
check "without owner" "$(host get pod web-x-default-x-rag -n team -o jsonpath='{.metadata.ownerReferences}')" ""
# KWOK's kubelets do not wait for what a pod mounts: its ConfigMap and Secret may come a moment after it is Ready.
until_is "with its ConfigMap" 60 blue host get configmap settings-x-default-x-rag -n team -o jsonpath='{.data.color}'
until_is "with its Secret" 60 "dg==" host get secret key-x-default-x-rag -n team -o jsonpath='{.data.k}'
until_is "and its token" 60 1 sh -c "'$KUBECTL' --kubeconfig '$HOST_KUBECONFIG' get secrets -n team -o name | grep -c sublet-token"
check "on the same node" "$(tenant get pod web -o jsonpath='{.spec.nodeName}')" "$(host get pod web-x-default-x-rag -n team -o jsonpath='{.spec.nodeName}')"
until_is "with the host's events" 60 Scheduled tenant get events --field-selector involvedObject.name=web,reason=Scheduled -o jsonpath='{.items[0].reason}'
tenant patch configmap settings -p '{"data":{"color":"red"}}' >/dev/null
until_is "a changed ConfigMap follows" 60 red host get configmap settings-x-default-x-rag -n team -o jsonpath='{.data.color}'
tenant label pod web tier=front >/dev/null
until_is "a changed label follows" 60 front host get pod web-x-default-x-rag -n team -o jsonpath='{.metadata.labels.t\.sublet\.dev/tier}'
tenant create service clusterip web --tcp=80 >/dev/null
until_is "a Service follows, with a narrowed selector" 60 default host get service web-x-default-x-rag -n team -o jsonpath='{.spec.selector.sublet\.dev/tenant-namespace}'

# Addresses are the host's, through every change of type, deletion and re-creation.
spec='{.spec.type} {.spec.clusterIP} {.spec.ports[*].nodePort} {.spec.healthCheckNodePort}'
same_service() { # TYPE: both sides' Service is of it and says the same, with an address
  ours=$(tenant get service "$1" -o jsonpath="$spec"); theirs=$(host get service "$1-x-default-x-rag" -n team -o jsonpath="$spec")
  [ "$ours" = "$theirs" ] && case $ours in "$2 "[0-9]*) echo same ;; *) echo "$ours" ;; esac || echo "$ours / $theirs"
}
check "the answer to a create has the host's address" "$(tenant expose pod web --name=s --port=80 -o jsonpath='{.spec.clusterIP}')" "$(host get service s-x-default-x-rag -n team -o jsonpath='{.spec.clusterIP}')"
check "both sides agree" "$(same_service s ClusterIP)" same
for type in NodePort LoadBalancer ClusterIP NodePort ClusterIP; do
  tenant patch service s -p "{\"spec\":{\"type\":\"$type\"}}" >/dev/null
  until_is "as $type" 60 same same_service s $type
done
tenant patch service s --type=merge -p '{"spec":{"type":"ExternalName","externalName":"db.corp"}}' >/dev/null
until_is "a name has no address" 60 "ExternalName db.corp " host get service s-x-default-x-rag -n team -o jsonpath='{.spec.type} {.spec.externalName} {.spec.clusterIP}'
tenant patch service s --type=merge -p '{"spec":{"type":"ClusterIP","externalName":null}}' >/dev/null
until_is "and then one again" 60 same same_service s ClusterIP
host patch service s-x-default-x-rag -n team -p '{"spec":{"type":"LoadBalancer"}}' >/dev/null
until_is "the tenant's type wins" 60 same same_service s ClusterIP
tenant patch service s -p '{"spec":{"type":"LoadBalancer"}}' >/dev/null
until_is "a load balancer" 60 same same_service s LoadBalancer
host patch service s-x-default-x-rag -n team --subresource=status -p '{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.9"}]}}}' >/dev/null
until_is "whose address comes back" 60 203.0.113.9 tenant get service s -o jsonpath='{.status.loadBalancer.ingress[0].ip}'
tenant patch service s -p '{"spec":{"type":"NodePort"}}' >/dev/null
host delete service s-x-default-x-rag -n team >/dev/null
until_is "deleted on the host, it is made anew with another address" 60 same same_service s NodePort
tenant delete service s >/dev/null
tenant create service nodeport s --tcp=80 >/dev/null
until_is "made anew under its name" 60 same same_service s NodePort
check "a chosen address is refused" "$(tenant create service clusterip chosen --tcp=80 --clusterip=10.96.7.7 2>&1 | grep -c 'the host gives Services their cluster IPs')" 1
check "what the template does not allow is, too" "$(tenant create service externalname far --external-name=metadata.internal 2>&1 | grep -c 'allow.services.externalNames')" 1
until_is "the tenant sees its quota" 60 "100 51" tenant get resourcequota sublet-rag -n kube-system -o jsonpath='{.spec.hard.count/pods} {.spec.hard.count/services}'
check "read-only" "$(tenant patch resourcequota sublet-rag -n kube-system -p '{"spec":{"hard":{"count/pods":"500"}}}' 2>&1 | grep -c 'it comes from the host cluster')" 1
host patch resourcequota sublet-rag -n team -p '{"spec":{"hard":{"count/pods":"1"}}}' >/dev/null
until_is "as it changes on the host" 60 1 tenant get resourcequota sublet-rag -n kube-system -o jsonpath='{.status.hard.count/pods}'
check "and is refused beyond it at once, with what is used" "$(tenant run beyond --image=i 2>&1 | grep -cE 'exceeded quota: sublet-rag, requested: count/pods=1, used: count/pods=[0-9]+, limited: count/pods=1')" 1
host patch resourcequota sublet-rag -n team -p '{"spec":{"hard":{"count/pods":"100"}}}' >/dev/null
until_is "and let in again when there is room" 60 100 tenant get resourcequota sublet-rag -n kube-system -o jsonpath='{.status.hard.count/pods}'
check "the host namespace has its policies" "$(host get resourcequota,limitrange,networkpolicy -n team -o name | tr '\n' ' ')" "resourcequota/sublet-rag networkpolicy.networking.k8s.io/sublet-rag "

host annotate pod web-x-default-x-rag -n team binder/says=hello >/dev/null
host label pod web-x-default-x-rag -n team runai-gpu-group=g1 >/dev/null
until_is "a host component's record is shown" 60 g1 tenant get pod web -o jsonpath='{.metadata.labels.runai-gpu-group}'
before=$(host get pod web-x-default-x-rag -n team -o jsonpath='{.metadata.resourceVersion}')
kill -9 "$(child syncer)"
until_is "a killed syncer is started again" 60 yes sh -c "grep -c syncer.started '$folder/syncer.log' | grep -q '^2' && echo yes"
pods 1 20 | tenant create -f - >/dev/null
until_is "and goes on" 60 21 running
check "it fought nobody" "$(host get pod web-x-default-x-rag -n team -o jsonpath='{.metadata.resourceVersion} {.metadata.annotations.binder/says}')" "$before hello"

host create configmap mine-x-default-x-rag -n team --from-literal=whose=host >/dev/null
tenant create configmap mine --from-literal=whose=tenant >/dev/null
tenant run foreign --image=nginx --overrides='{"spec":{"containers":[{"name":"foreign","image":"nginx","envFrom":[{"configMapRef":{"name":"mine"}}]}]}}' >/dev/null
until_is "a foreign object is reported" 60 HostNameTaken tenant get events --field-selector reason=HostNameTaken -o jsonpath='{.items[0].reason}'
check "and left alone" "$(host get configmap mine-x-default-x-rag -n team -o jsonpath='{.data.whose}')" host
host delete configmap mine-x-default-x-rag -n team >/dev/null
tenant delete pod foreign --wait=false >/dev/null

kill -9 "$(child apiserver)"
until_is "a killed API server comes back with everything" 60 "pod/web" tenant get pod web -o name
pods 21 25 | tenant create -f - >/dev/null
until_is "and the syncer goes on" 60 26 running

port=$(cat "$HOST_STATE/port")
pkill -STOP -f "secure-port=$port"
pods 26 30 | tenant create -f - >/dev/null
check "a tenant works while the host is away" "$(tenant get pods -l set=p -o name | wc -l | tr -d ' ')" 30
timeout 8 "$KUBECTL" --kubeconfig "$HOST_KUBECONFIG" get --raw /readyz >/dev/null 2>&1 && flunk "the host was not away"
pkill -CONT -f "secure-port=$port"
until_is "and its pods run when the host is back" 90 31 running

host delete pod p1-x-default-x-rag -n team --wait=false >/dev/null
until_is "a pod deleted on the host ends in the tenant" 60 "" tenant get pod p1 --ignore-not-found -o name
tenant delete pods -l set=p --wait=true --timeout=180s >/dev/null
until_is "pods deleted in the tenant end on the host" 60 1 host_pods
check "deleting the virtual cluster" "$(sublet delete rag --yes 2>/dev/null)" "virtualcluster/rag deleted"
check "leaves nothing" "$(host get pods,services,configmaps,secrets,serviceaccounts,resourcequotas,networkpolicies -A -l sublet.dev/managed-by -o name)" ""
until_is "and the host ends its namespace" 60 "" host get namespace team --ignore-not-found -o name
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
