#!/usr/bin/env bash
# Workloads in a virtual cluster on simhost, as a user has them: Deployments (roll-out, bad image, undo, scale, pause,
# history), StatefulSets in order, DaemonSets on the host's nodes, and what goes with what when it is deleted.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

k() { "$KUBECTL" --request-timeout=120s "$@"; }

check "create" "$(code sublet create rag -n team --nodes 3)" 0
check "connect" "$(code sublet connect rag)" 0

# --- Deployment -------------------------------------------------------------------------------------------------------
check "create a deployment" "$(code k create deployment web --image=nginx --replicas=3)" 0
check "nobody warns" "$(grep -c Warning "$work/err")" 0
check "it rolls out" "$(code k rollout status deployment web --timeout=120s)" 0
contains "and says so" "$(cat "$work/out")" 'deployment "web" successfully rolled out'
check "three pods run" "$(count pods -l app=web --field-selector=status.phase=Running)" 3
contains "as one sees" "$(k get deployment web)" "3/3"
contains "an event tells" "$(k get events --field-selector=involvedObject.kind=Deployment)" "Scaled up replica set web-"

check "a better image" "$(code k set image deployment/web nginx=nginx:2)" 0
check "rolls out" "$(code k rollout status deployment web --timeout=120s)" 0
until_is "all pods have it" "nginx:2 nginx:2 nginx:2" k get pods -l app=web -o 'jsonpath={.items[*].spec.containers[0].image}'

k patch deployment web -p '{"spec":{"progressDeadlineSeconds":3}}' >/dev/null
check "a bad image" "$(code k set image deployment/web nginx=does-not-exist)" 0
check "does not roll out" "$(code k rollout status deployment web --timeout=60s)" 1
contains "and says why" "$(cat "$work/err")" 'deployment "web" exceeded its progress deadline'
check "while the old pods serve" "$(field deployment/web '.status.availableReplicas')" 3
check "scale amid the roll-out" "$(code k scale deployment web --replicas=6)" 0
until_is "the old set takes its share" 5 k get replicasets -l app=web -o "jsonpath={.items[?(@.spec.template.spec.containers[0].image==\"nginx:2\")].status.availableReplicas}"
contains "the history" "$(k rollout history deployment web)" "3 "
check "undo" "$(code k rollout undo deployment web)" 0
check "rolls out again" "$(code k rollout status deployment web --timeout=120s)" 0
check "with the image of before" "$(field deployment/web '.spec.template.spec.containers[0].image')" nginx:2
until_is "no bad pod is left" 6 count pods -l app=web
check "restart" "$(code k rollout restart deployment web)" 0
check "which rolls out" "$(code k rollout status deployment web --timeout=120s)" 0

check "pause" "$(code k rollout pause deployment web)" 0
k set image deployment/web nginx=nginx:3 >/dev/null
until_is "the pause is seen" DeploymentPaused field deployment/web '.status.conditions[?(@.type=="Progressing")].reason'
check "nothing moves" "$(k get pods -l app=web -o 'jsonpath={.items[*].spec.containers[0].image}' | grep -c nginx:3)" 0
check "resume" "$(code k rollout resume deployment web)" 0
check "now it moves" "$(code k rollout status deployment web --timeout=120s)" 0
contains "the controller is who upstream's is" "$(k get events -o jsonpath='{.items[*].source.component}')" deployment-controller

pods=$(k get pods -l app=web -o name | sort)
check "delete and leave orphans" "$(code k delete deployment web --cascade=orphan)" 0
until_is "the set is an orphan" "" k get replicasets -l app=web -o 'jsonpath={.items[*].metadata.ownerReferences}'
check "the pods are the same" "$(k get pods -l app=web -o name | sort)" "$pods"
check "its set goes in the foreground" "$(code k delete replicaset -l app=web --cascade=foreground --timeout=120s)" 0
check "after its pods" "$(count pods -l app=web)" 0
k create deployment gone --image=nginx --replicas=2 >/dev/null
k rollout status deployment gone --timeout=120s >/dev/null
check "delete" "$(code k delete deployment gone)" 0
until_is "takes the set along" 0 count replicasets -l app=gone
until_is "and the pods" 0 count pods -l app=gone

# --- StatefulSet ------------------------------------------------------------------------------------------------------
stateful() {
  cat <<YAML
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: $1
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: "$2"}]}
YAML
}
stateful 3 postgres | k apply -f - >"$work/out" 2>"$work/err"
check "nobody warns of a stateful set" "$(grep -c Warning "$work/err")" 0
check "a stateful set rolls out" "$(code k rollout status statefulset db --timeout=120s)" 0
check "its pods have numbers" "$(k get pods -l app=db -o 'jsonpath={.items[*].metadata.name}')" "db-0 db-1 db-2"
check "in order" "$(k get pods -l app=db --sort-by=.metadata.creationTimestamp -o 'jsonpath={.items[0].metadata.name}')" db-0
stateful 3 postgres:2 | k apply -f - >/dev/null
check "an update rolls out" "$(code k rollout status statefulset db --timeout=120s)" 0
until_is "in all pods" "postgres:2 postgres:2 postgres:2" k get pods -l app=db -o 'jsonpath={.items[*].spec.containers[0].image}'
contains "it has a history" "$(k rollout history statefulset db)" "2 "
check "undo it" "$(code k rollout undo statefulset db)" 0
check "which rolls out too" "$(code k rollout status statefulset db --timeout=120s)" 0
until_is "to the image of before" "postgres postgres postgres" k get pods -l app=db -o 'jsonpath={.items[*].spec.containers[0].image}'
check "scale down" "$(code k scale statefulset db --replicas=1)" 0
until_is "from the end" "db-0" k get pods -l app=db -o 'jsonpath={.items[*].metadata.name}'
check "delete it" "$(code k delete statefulset db)" 0
until_is "its pods go" 0 count pods -l app=db

# --- DaemonSet --------------------------------------------------------------------------------------------------------
daemon() {
  cat <<YAML
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: "$1"}]}
YAML
}
nodes=$(count nodes)
daemon agent | k apply -f - >"$work/out" 2>"$work/err"
check "nobody warns of a daemon set" "$(grep -c Warning "$work/err")" 0
check "a daemon set rolls out" "$(code k rollout status daemonset agent --timeout=120s)" 0
check "on every node" "$(field daemonset/agent '.status.numberReady')" "$nodes"
check "one each" "$(k get pods -l app=agent -o 'jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}' | sort -u | wc -l | tr -d ' ')" "$nodes"
daemon agent:2 | k apply -f - >/dev/null
check "an update of it rolls out" "$(code k rollout status daemonset agent --timeout=120s)" 0
check "undo the daemon set" "$(code k rollout undo daemonset agent)" 0
check "rolls back" "$(code k rollout status daemonset agent --timeout=120s)" 0
until_is "everywhere" "agent" eval "k get pods -l app=agent -o 'jsonpath={range .items[*]}{.spec.containers[0].image}{\"\\n\"}{end}' | sort -u"
check "delete the daemon set" "$(code k delete daemonset agent)" 0
until_is "its pods go with it" 0 count pods -l app=agent

# --- ReplicationController --------------------------------------------------------------------------------------------
printf 'apiVersion: v1\nkind: ReplicationController\nmetadata: {name: old}\nspec:\n  replicas: 2\n  template:\n    metadata: {labels: {app: old}}\n    spec: {containers: [{name: c, image: nginx}]}\n' |
  k create -f - >/dev/null
until_is "a replication controller has its pods" 2 field rc/old '.status.readyReplicas'
check "scale it" "$(code k scale rc old --replicas=1)" 0
until_is "to one" 1 count pods -l app=old
check "delete the namespace's rest" "$(code k delete rc old)" 0
until_is "no pod is left" 0 count pods

echo "$failures failed"
[ "$failures" -eq 0 ]
