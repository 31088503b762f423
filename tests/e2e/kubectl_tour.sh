#!/usr/bin/env bash
# Takes a real kubectl through a running API server and checks what it prints.
#
#   kubectl_tour.sh KUBECTL KUBECONFIG
#
# Needs an API server without a kubelet (subletd apiserver); works in a namespace of its own and removes it at the end.
set -u
kubectl_bin=$1
kubeconfig=$2
. "$(dirname "$0")/../support/waiting.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work # kubectl's discovery cache
tour=tour-$$
failed=0 passed=0

k() { "$kubectl_bin" --kubeconfig "$kubeconfig" "$@" 2>"$work/stderr"; }
kn() { k -n "$tour" "$@"; }

with_token() { # TOKEN ARGUMENTS...
  local token=$1
  shift
  "$kubectl_bin" --kubeconfig /dev/null --server "$server" --insecure-skip-tls-verify --token "$token" "$@" 2>"$work/stderr"
}

# check NAME WANTED-REGEX COMMAND...: the command must succeed and print a match (stdout and stderr together).
check() {
  local name=$1 wanted=$2 output
  shift 2
  if output=$("$@") && output="$output
$(cat "$work/stderr")" && grep -qE -- "$wanted" <<<"$output"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED  %s\n  wanted: %s\n  command: %s\n' "$name" "$wanted" "$*"
    printf '%s\n%s\n' "$output" "$(cat "$work/stderr")" | sed 's/^/  | /' | head -30
  fi
}

# refuse NAME WANTED-REGEX COMMAND...: the command must fail and say why.
refuse() {
  local name=$1 wanted=$2 output
  shift 2
  if output=$("$@"); then
    failed=$((failed + 1))
    printf 'FAILED  %s: was not refused\n%s\n' "$name" "$output"
  elif grep -qE -- "$wanted" <<<"$output$(cat "$work/stderr")"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED  %s: refused, but not with: %s\n' "$name" "$wanted"
    sed 's/^/  | /' "$work/stderr" | head -20
  fi
}

pod() { # name [label]
  cat <<EOF
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {app: ${2:-tour}}}
spec:
  containers:
  - {name: main, image: "nginx:1.27", resources: {limits: {cpu: "0.5", memory: 1024Mi}}}
EOF
}

# --- namespaces, discovery, explain -------------------------------------------------------------------------------
k get --raw /readyz >/dev/null || { echo "no API server answers at $kubeconfig"; exit 1; }
check "create namespace" "namespace/$tour created" k create namespace "$tour"
check "namespace is Active" "Active" k get namespace "$tour"
check "default account appears" "serviceaccount/default condition met|jsonpath" kn wait serviceaccount/default --for=jsonpath='{.metadata.name}'=default --timeout=60s
check "api-resources" "^pods +po +v1 +true +Pod" k api-resources
check "api-resources --api-group" "deployments +deploy +apps/v1" k api-resources --api-group=apps
check "api-versions" "^networking.k8s.io/v1$" k api-versions
check "explain" "containers.*-required-" k explain pod.spec
check "explain --recursive" "hostPath" k explain pod.spec --recursive
check "cluster-info" "control plane.*is running" k cluster-info
check "version" "Server Version" k version
check "auth can-i" "^yes" k auth can-i create pods
check "raw readyz" "^ok" k get --raw /readyz

# --- configmaps: create, get, apply, edit, label, annotate, patch, delete ------------------------------------------
check "create configmap" "configmap/settings created" kn create configmap settings --from-literal=color=blue
check "get configmap" "^settings +1 +" kn get configmap settings
check "get -o yaml" "color: blue" kn get configmap settings -o yaml
check "get -o jsonpath" "^blue" kn get configmap settings -o jsonpath='{.data.color}'
check "get -o name" "^configmap/settings" kn get configmap -o name
check "get -o wide" "DATA +AGE" kn get configmap -o wide
check "describe configmap" "color:" kn describe configmap settings
check "label" "configmap/settings labeled" kn label configmap settings tier=front
check "get -l" "^settings" kn get configmap -l tier=front --no-headers
check "get -l of nothing" "No resources found" kn get configmap -l tier=back
check "get --show-labels" "tier=front" kn get configmap settings --show-labels
check "annotate" "configmap/settings annotated?" kn annotate configmap settings note=one
version_before=$(kn get configmap settings -o jsonpath='{.metadata.resourceVersion}')
kn annotate configmap settings note=one --overwrite >/dev/null
check "no-op annotate writes nothing" "^$version_before" kn get configmap settings -o jsonpath='{.metadata.resourceVersion}'
check "patch merge" "configmap/settings patched" kn patch configmap settings --type=merge -p '{"data":{"size":"big"}}'
check "patch json" "configmap/settings patched" kn patch configmap settings --type=json -p '[{"op":"remove","path":"/data/size"}]'
refuse "patch json test" "testing|the server rejected" kn patch configmap settings --type=json -p '[{"op":"test","path":"/data/color","value":"red"}]'
check "edit" "configmap/settings edited" env KUBE_EDITOR="sed -i s/blue/green/" "$kubectl_bin" --kubeconfig "$kubeconfig" -n "$tour" edit configmap settings
check "edited" "^green" kn get configmap settings -o jsonpath='{.data.color}'
refuse "create twice" 'configmaps "settings" already exists' kn create configmap settings
check "dry run" "configmap/dry created \(server dry run\)" kn create configmap dry --dry-run=server
refuse "dry run stored nothing" 'configmaps "dry" not found' kn get configmap dry
check "field selector" "^settings" kn get configmap --field-selector metadata.name=settings --no-headers
refuse "bad field selector" "is not a known field selector" kn get configmap --field-selector data.x=1
check "chunked list" "^settings" kn get configmap --chunk-size=1 --no-headers
check "delete configmap" 'configmap "settings" deleted' kn delete configmap settings

# --- apply: create, unchanged, configured, removal of a field, diff ------------------------------------------------
cat >"$work/apply.yaml" <<EOF
apiVersion: v1
kind: ConfigMap
metadata: {name: applied}
data: {a: "1", b: "2"}
EOF
check "apply creates" "configmap/applied created" kn apply -f "$work/apply.yaml"
check "apply again" "configmap/applied unchanged" kn apply -f "$work/apply.yaml"
sed -i 's/, b: "2"//' "$work/apply.yaml"
check "apply removes" "configmap/applied configured" kn apply -f "$work/apply.yaml"
check "field is gone" '^\{"a":"1"\}' kn get configmap applied -o jsonpath='{.data}'
check "diff is empty" "^$" kn diff -f "$work/apply.yaml"
check "replace" "configmap/applied replaced" kn replace -f "$work/apply.yaml"
check "delete -f" 'configmap "applied" deleted' kn delete -f "$work/apply.yaml"

# --- server-side apply: two managers, a conflict, force, migration, diff, scale, who owns what ----------------------
ssa() { kn apply --server-side "$@"; }
owner() { kn get configmap ours -o jsonpath="{range .metadata.managedFields[*]}{.manager}/{.operation} {end}"; }
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ours}\ndata: {a: "1", b: "1"}\n' >"$work/ours.yaml"
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ours}\ndata: {b: "2"}\n' >"$work/theirs.yaml"
check "server-side apply creates" "configmap/ours serverside-applied" ssa -f "$work/ours.yaml"
version_before=$(kn get configmap ours -o jsonpath='{.metadata.resourceVersion}')
check "server-side apply again" "configmap/ours serverside-applied" ssa -f "$work/ours.yaml"
check "which writes nothing" "^$version_before$" kn get configmap ours -o jsonpath='{.metadata.resourceVersion}'
refuse "another manager's conflict" 'Apply failed with 1 conflict: conflict with "kubectl": \.data\.b' ssa --field-manager=other -f "$work/theirs.yaml"
check "server-side diff" '^\+  b: "2"' sh -c '"$@" || [ $? = 1 ]' - "$kubectl_bin" --kubeconfig "$kubeconfig" -n "$tour" diff --server-side --force-conflicts --field-manager=other -f "$work/theirs.yaml"
check "the conflict forced" "configmap/ours serverside-applied" ssa --field-manager=other --force-conflicts -f "$work/theirs.yaml"
check "two managers" "^kubectl/Apply other/Apply $" owner
check "an update's manager" "configmap/ours patched" kn patch configmap ours --type=merge -p '{"data":{"c":"3"}}'
check "stands behind them" "^kubectl/Apply other/Apply kubectl-patch/Update $" owner
check "get hides them" "^0$" sh -c '"$@" -o yaml | grep -c managedFields || true' - "$kubectl_bin" --kubeconfig "$kubeconfig" -n "$tour" get configmap ours
check "and shows them when asked" "f:data" kn get configmap ours -o yaml --show-managed-fields
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved}\ndata: {a: "1", b: "1"}\n' >"$work/moved.yaml"
check "applied from the client's side" "configmap/moved created" kn apply -f "$work/moved.yaml"
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved}\ndata: {a: "2"}\n' >"$work/moved.yaml"
check "goes over without a conflict" "configmap/moved serverside-applied" ssa -f "$work/moved.yaml"
check "with what is gone" '^\{"a":"2"\}' kn get configmap moved -o jsonpath='{.data}'
check "its annotation follows" 'data..:\{..a..:..2' kn get configmap moved -o jsonpath='{.metadata.annotations}'
check "and back again" "configmap/moved (configured|unchanged)" kn apply -f "$work/moved.yaml"
check "view-last-applied" "a: \"2\"" kn apply view-last-applied configmap/moved
cat >"$work/scaled.yaml" <<EOF
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: scaled}
spec:
  replicas: 0
  selector: {matchLabels: {app: scaled}}
  template:
    metadata: {labels: {app: scaled}}
    spec: {containers: [{name: a, image: b, ports: [{containerPort: 80}]}]}
EOF
check "a workload server-side" "replicaset.apps/scaled serverside-applied" ssa -f "$work/scaled.yaml"
check "scaled" "replicaset.apps/scaled scaled" kn scale rs scaled --replicas=1
refuse "the count is another's now" 'conflict with "kubectl[^"]*" with subresource "scale" using apps/v1: \.spec\.replicas' ssa -f "$work/scaled.yaml"
sed -i '/replicas:/d' "$work/scaled.yaml"
check "so it is left out" "replicaset.apps/scaled serverside-applied" ssa -f "$work/scaled.yaml"
check "and stays" "^1$" kn get rs scaled -o jsonpath='{.spec.replicas}'
refuse "a field that is none" 'field not declared in schema' ssa --validate=false -f <(sed 's/^spec:/spec:\n  nope: 1/' "$work/scaled.yaml")
check "deleted" 'configmap "ours" deleted' kn delete configmap/ours configmap/moved rs/scaled

# --- secrets, services, accounts ----------------------------------------------------------------------------------
check "create secret" "secret/token created" kn create secret generic token --from-literal=password=hunter2
check "secret table" "^token +Opaque +1" kn get secret token
check "describe secret" "password: +7 bytes" kn describe secret token
check "secret by type" "^token" kn get secret --field-selector type=Opaque --no-headers
check "create service" "service/web created" kn create service clusterip web --tcp=80:8080
check "service gets an address" "^web +ClusterIP +10\.96\." kn get service web
check "describe service" "TargetPort: +8080/TCP" kn describe service web
check "expose type" "service/ext created" kn create service externalname ext --external-name example.com
check "create account" "serviceaccount/robot created" kn create serviceaccount robot
check "create token" "^ey[A-Za-z0-9_-]+\.ey[A-Za-z0-9_-]+\." kn create token robot --duration=10m
token=$(kn create token robot)
# kubectl 1.27 knows only the alpha and beta versions of this review, which are gone.
k version --client 2>/dev/null | grep -qE 'v1\.27\.' || check "whoami as another" "system:serviceaccount:$tour:robot" k auth whoami --as "system:serviceaccount:$tour:robot"
server=$(k config view --minify -o jsonpath='{.clusters[0].cluster.server}')
refuse "nonsense token" "Unauthorized|must be logged in" with_token nonsense get ns

# --- rights --------------------------------------------------------------------------------------------------------
robot=system:serviceaccount:$tour:robot
refuse "an account is nobody" "User \"$robot\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"$tour\"" \
  with_token "$token" -n "$tour" get configmap
refuse "can-i says no" "" kn auth can-i list configmaps --as "$robot"
check "bind view" "rolebinding.rbac.authorization.k8s.io/robot created" kn create rolebinding robot --clusterrole view --serviceaccount "$tour:robot"
check "token logs in" "^kube-root-ca.crt" with_token "$token" -n "$tour" get configmap --no-headers
check "can-i says yes" "^yes" with_token "$token" -n "$tour" auth can-i list configmaps
check "can-i --list" "configmaps +\[\] +\[\] +\[get list watch\]" with_token "$token" -n "$tour" auth can-i --list
refuse "a reader does not write" "cannot delete resource \"configmaps\"" with_token "$token" -n "$tour" delete configmap kube-root-ca.crt
refuse "nor elsewhere" "cannot list resource \"configmaps\"" with_token "$token" -n default get configmap
check "bind admin" "rolebinding.rbac.authorization.k8s.io/admins created" kn create rolebinding admins --clusterrole admin --group "$tour:admins"
refuse "nobody gives away what he has not" "is attempting to grant RBAC permissions not currently held" \
  kn create rolebinding more --clusterrole cluster-admin --user eve --as ada --as-group "$tour:admins"
cat >"$work/rights.yaml" <<END
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reconciled, namespace: $tour}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
END
check "auth reconcile" "role.rbac.authorization.k8s.io/reconciled reconciled" k auth reconcile -f "$work/rights.yaml"
check "unbind" "deleted" kn delete rolebinding robot
refuse "and it is nobody again" "cannot list resource" with_token "$token" -n "$tour" get configmap

# --- pods ----------------------------------------------------------------------------------------------------------
pod one >"$work/pod.yaml"
check "apply pod" "pod/one created" kn apply -f "$work/pod.yaml"
check "pod table" "^one +0/1 +Pending +0 +" kn get pod one
check "pod wide" "<none> +<none>" kn get pod one -o wide
check "quantities are canonical" "^500m 1Gi" kn get pod one -o jsonpath='{.spec.containers[0].resources.limits.cpu} {.spec.containers[0].resources.limits.memory}'
check "projected token volume" "kube-api-access" kn get pod one -o jsonpath='{.spec.volumes[0].name}'
check "describe pod" "QoS Class: +Guaranteed" kn describe pod one
printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: plain}\nspec: {containers: [{name: a, image: b}]}\n' >"$work/plain.yaml"
check "apply plain pod" "pod/plain created" kn apply -f "$work/plain.yaml"
check "apply plain pod again" "pod/plain unchanged" kn apply -f "$work/plain.yaml"
refuse "strict validation" 'unknown field "spec.contianers"' kn create -f <(pod typo | sed 's/containers:/contianers:/')
check "validation warns" "unknown field|pod/warned created" kn create --validate=warn -f <(pod warned | sed 's/^spec:/spec:\n  nope: 1/')
refuse "immutable field" "pod updates may not change fields" kn patch pod one -p '{"spec":{"containers":[{"name":"main","command":["x"]}]}}'
check "image may change" "pod/one patched" kn patch pod one -p '{"spec":{"containers":[{"name":"main","image":"nginx:1.28"}]}}'
check "set image" "pod/one image updated" kn set image pod/one main=nginx:1.29
check "status patch" "pod/one patched" kn patch pod one --subresource=status --type=merge -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
check "wait for condition" "pod/one condition met" kn wait pod/one --for=condition=Ready --timeout=60s
check "wait for jsonpath" "pod/one condition met" kn wait pod/one --for=jsonpath='{.status.phase}'=Running --timeout=60s
check "pod by phase" "^one" kn get pod --field-selector status.phase=Running --no-headers
check "all namespaces" "$tour +one" k get pod -A
refuse "logs need a kubelet" "not available|not implemented|NotImplemented" kn logs one
refuse "exec says so" "does not have a host assigned|not available|unable to upgrade|NotImplemented" kn exec one -- true

# --- watch ---------------------------------------------------------------------------------------------------------
"$kubectl_bin" --kubeconfig "$kubeconfig" -n "$tour" get pod -w --no-headers >"$work/watch" 2>/dev/null &
watcher=$!
until_holds 60 grep -q "^one" "$work/watch"
pod two | "$kubectl_bin" --kubeconfig "$kubeconfig" -n "$tour" apply -f - >/dev/null
until_holds 60 grep -q "^two" "$work/watch"
kill $watcher 2>/dev/null
wait $watcher 2>/dev/null
check "get -w shows what comes" "^two +0/1 +Pending" cat "$work/watch"
check "delete waits" 'pod "two" deleted' kn delete pod two --timeout=60s
check "delete by label" 'pod "(one|warned)" (force )?deleted' kn delete pod -l app=tour --grace-period=0 --force

# --- nodes, events, runtime classes, leases, priority classes -------------------------------------------------------
cat >"$work/cluster.yaml" <<EOF
apiVersion: v1
kind: Node
metadata: {name: node-$tour, labels: {node-role.kubernetes.io/worker: ""}}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: rc-$tour}
handler: nvidia
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: pc-$tour}
value: 7
EOF
check "apply cluster objects" "node/node-$tour created" k apply -f "$work/cluster.yaml"
check "node table" "^node-$tour +Unknown|NotReady +worker" k get node "node-$tour"
check "describe node" "Roles: +worker" k describe node "node-$tour"
check "cordon" "node/node-$tour cordoned" k cordon "node-$tour"
check "taint" "node/node-$tour tainted" k taint node "node-$tour" a=b:NoSchedule
check "runtime class" "^rc-$tour +nvidia" k get runtimeclass "rc-$tour"
check "priority class" "^pc-$tour +7 +false" k get priorityclass "pc-$tour"
kn create -f - >/dev/null <<EOF
apiVersion: v1
kind: Event
metadata: {name: tour-event}
involvedObject: {kind: Pod, name: one, namespace: $tour}
reason: Started
message: it runs
type: Normal
lastTimestamp: "2026-01-01T00:00:00Z"
EOF
check "events" "Normal +Started +pod/one +it runs" kn get events
check "kubectl events" "Started +Pod/one +it runs" kn events
check "events.k8s.io" "note: it runs" kn get events.events.k8s.io tour-event -o yaml
check "delete cluster objects" "deleted" k delete -f "$work/cluster.yaml"

# --- workloads ------------------------------------------------------------------------------------------------------
check "deployment is stored" "deployment.apps/d created" kn create deployment d --image=nginx --replicas=2
check "a load balancer warns" "no load balancer is made" env KUBECONFIG="$kubeconfig" sh -c "\"$kubectl_bin\" -n $tour create service loadbalancer lb --tcp=80 2>&1"
check "deployment makes pods" "condition met" kn wait deployment d --for=jsonpath='{.status.updatedReplicas}'=2 --timeout=60s
check "deployment table" "^d +0/2 +2 +0 +" kn get deployment d
check "get all" "deployment.apps/d " kn get all

# --- end -----------------------------------------------------------------------------------------------------------
check "delete namespace" "namespace \"$tour\" deleted" k delete namespace "$tour" --timeout=120s
refuse "namespace is gone" "not found" k get namespace "$tour"

echo "$passed passed, $failed failed ($("$kubectl_bin" version --client 2>/dev/null | head -1))"
[ "$failed" -eq 0 ]
