#!/usr/bin/env bash
# What pods and nodes use, in two virtual clusters on the embedded host, with kubectl as in any cluster: top, the metrics API
# with its rights and selectors, an autoscaler that it drives, and a tenant's own APIService in its place.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

for name in rag tuna; do
  check "create $name" "$(code sublet create "$name" -n "team-$name")" 0
  sublet connect "$name" --print >"$work/$name.yaml"
done
k() { "$KUBECTL" --request-timeout=120s --kubeconfig "$work/rag.yaml" "$@"; }
t() { "$KUBECTL" --request-timeout=120s --kubeconfig "$work/tuna.yaml" "$@"; }
h() { "$KUBECTL" --request-timeout=30s --kubeconfig "$SUBLET_STATE_DIR/host/admin.kubeconfig" "$@"; }
quiet() { "$@" >/dev/null 2>&1; }
words() { tr -s ' \n' ' ' | sed 's/ $//'; }
api=/apis/metrics.k8s.io/v1beta1

k apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: c
          image: busybox
          command: [sh, -c, 'sleep 1h']
          resources: {requests: {cpu: 100m, memory: 64Mi}}
          env: [{name: SIMHOST_CPU, value: 300m}]
---
apiVersion: v1
kind: Pod
metadata: {name: till, namespace: shop, labels: {app: till}}
spec:
  containers:
    - {name: main, image: busybox, command: [sh, -c, 'sleep 1h'], resources: {requests: {cpu: 200m, memory: 128Mi}}}
    - {name: side, image: busybox, command: [sh, -c, 'sleep 1h'], env: [{name: SIMHOST_MEMORY, value: 9Mi}]}
YAML
t run lone --image busybox --restart Never -- sh -c 'sleep 1h' >/dev/null
k wait --for condition=Ready --timeout 120s pod/till -n shop >/dev/null
k wait --for condition=Available --timeout 120s deploy/web >/dev/null
t wait --for condition=Ready --timeout 120s pod/lone >/dev/null

until_true "the metrics API is there" quiet k get apiservice v1beta1.metrics.k8s.io
until_is "it is served here" Local k get apiservice v1beta1.metrics.k8s.io -o "jsonpath={.status.conditions[0].reason}"
until_true "in the other one too" quiet t get --raw "$api"
check "what it serves" "$(k api-resources --api-group metrics.k8s.io --no-headers | words)" \
  "nodes metrics.k8s.io/v1beta1 false NodeMetrics pods metrics.k8s.io/v1beta1 true PodMetrics"
check "top pods of all namespaces" "$(k top pods -A --containers --no-headers | grep ' *till' | words)" \
  "shop till main 100m 64Mi shop till side 1m 9Mi"
check "top of one pod" "$(k top pod till -n shop --no-headers | words)" "till 101m 73Mi"
check "top by labels" "$(k top pods -l app=web --no-headers | awk '{print $2, $3}')" "300m 32Mi"
check "by labels of nobody" "$(k top pods -l app=till 2>&1)" "No resources found in default namespace."
check "the other tenant sees its own only" "$(t top pods -A --no-headers | words)" "default lone 1m 4Mi"
check "by name nothing else" "$(t get --raw "$api/namespaces/shop/pods/till" 2>&1 | grep -c NotFound)" 1
check "labels are the tenant's" "$(k get --raw "$api/namespaces/shop/pods/till" | grep -o '"labels":{[^}]*}')" \
  '"labels":{"app":"till"}'
check "nodes" "$(k top nodes --no-headers | awk '{print $1}' | words)" "$(k get nodes -o name | sed s,node/,, | words)"
check "a node that nobody has" "$(k top node nowhere 2>&1 | grep -c 'not found')" 1
check "the host's own view has all" "$(h top pods -A --no-headers | wc -l | tr -d ' ')" 3

# Rights are the tenant's.
k create serviceaccount eve >/dev/null
k create rolebinding eve --clusterrole view --serviceaccount default:eve >/dev/null
eve() { k --as system:serviceaccount:default:eve "$@"; }
until_true "whoever may view reads them" quiet eve get --raw "$api/namespaces/default/pods"
contains "in no other namespace" "$(eve top pods -n shop 2>&1)" 'pods.metrics.k8s.io is forbidden'
contains "nor of nodes" "$(eve top nodes 2>&1)" 'nodes.metrics.k8s.io is forbidden'
contains "nothing is written" "$(k delete --raw "$api/namespaces/shop/pods/till" 2>&1)" 'does not allow this method'

# An autoscaler: 300 % of what is requested, against 100 %.
k autoscale deployment web --min 1 --max 3 --cpu-percent 100 >/dev/null 2>&1
until_is "an autoscaler scales up" 3 field deploy/web .status.readyReplicas
until_is "and says by what" 300 field hpa/web '.status.currentMetrics[0].resource.current.averageUtilization'
k set env deploy/web SIMHOST_CPU=50m >/dev/null
k rollout status deploy/web --timeout 120s >/dev/null
until_is "it sees what changes" 50 field hpa/web '.status.currentMetrics[0].resource.current.averageUtilization'

# A tenant's own metrics-server, by its APIService.
k patch apiservice v1beta1.metrics.k8s.io --type merge \
  -p '{"spec":{"service":{"namespace":"kube-system","name":"metrics-server"},"insecureSkipTLSVerify":true}}' >/dev/null
until_is "a tenant's own takes its place" ServiceNotFound \
  k get apiservice v1beta1.metrics.k8s.io -o "jsonpath={.status.conditions[0].reason}"
contains "and is asked" "$(k get --raw "$api/pods" 2>&1)" "unable to handle the request"
k delete apiservice v1beta1.metrics.k8s.io >/dev/null
until_true "then the host's is back" quiet k get --raw "$api/pods"

for name in rag tuna; do check "delete $name" "$(code sublet delete "$name" --yes)" 0; done
[ "$failures" = 0 ] && echo "metrics: all good"
exit "$failures"
