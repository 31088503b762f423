#!/usr/bin/env bash
# workloads_story.sh KUBECONFIG OUT: takes workloads through their lives on a cluster whose nodes are simulated, and
# writes what there is in the end, events included. tests/host/workloads.sh runs it on upstream's controllers and ours.
set -u
export KUBECONFIG=$1
out=$2
. "$(dirname "$0")/../../support/waiting.sh"
HOME=$(mktemp -d)
export HOME
trap 'rm -rf "$HOME"' EXIT
namespace=workloads-story
k() { "$KUBECTL" --request-timeout=90s -n "$namespace" "$@" >/dev/null 2>&1; }
apply() { k apply -f -; }
rollout() {
  k rollout status "$1" --timeout=90s
  quiet
}
# Until nothing has changed between several looks: what the controllers still had to do is done.
quiet() {
  local before='' now same=0
  for _ in $(seq 300); do
    now=$("$KUBECTL" -n "$namespace" get deployments,replicasets,statefulsets,daemonsets,rc,controllerrevisions,pods \
      -o 'jsonpath={.items[*].metadata.resourceVersion}')
    if [ "$now" = "$before" ]; then same=$((same + 1)); else same=0; fi
    [ "$same" -ge 6 ] && return
    before=$now
  done
}
condition_of() { "$KUBECTL" -n "$namespace" get "$1" -o "jsonpath={.status.conditions[?(@.type==\"$2\")].reason}"; }
until_reason() { # until_reason OBJECT CONDITION REASON
  until_prints 120 "$3" condition_of "$1" "$2"
}
workload() { # workload KIND NAME IMAGE SPEC POD_SPEC
  printf 'apiVersion: apps/v1\nkind: %s\nmetadata: {name: %s, annotations: {note: hello}}\nspec:\n' "$1" "$2"
  [ -z "$4" ] || printf '  %s\n' "$4"
  [ "$1" != StatefulSet ] || printf '  serviceName: %s\n' "$2"
  printf '  selector: {matchLabels: {app: %s}}\n  template:\n    metadata: {labels: {app: %s}}\n' "$2" "$2"
  printf '    spec: {%scontainers: [{name: c, image: %s%s}]}\n' "${5:-}" "$3" "${6:-}"
}
deployment() { workload Deployment "$@"; }
stateful() { workload StatefulSet "$@"; }
daemon() { workload DaemonSet "$@"; }

"$KUBECTL" create namespace "$namespace" >/dev/null
until_holds 60 k get serviceaccount default

deployment simple a 'replicas: 3' | apply; rollout deploy/simple
deployment twice a 'replicas: 2' | apply; rollout deploy/twice
k set image deploy/twice c=b; rollout deploy/twice
k rollout undo deploy/twice; rollout deploy/twice
deployment recreate a 'strategy: {type: Recreate}' | apply; rollout deploy/recreate
k set image deploy/recreate c=b; rollout deploy/recreate
deployment history a 'revisionHistoryLimit: 1' | apply; rollout deploy/history
for image in b c d; do k set image deploy/history c=$image; rollout deploy/history; done
deployment paused a 'replicas: 2' | apply; rollout deploy/paused
k rollout pause deploy/paused; k set image deploy/paused c=b; k scale deploy/paused --replicas=4; quiet
deployment resumed a 'replicas: 2' | apply; rollout deploy/resumed
k rollout pause deploy/resumed; k set image deploy/resumed c=b; until_reason deploy/resumed Progressing DeploymentPaused
k rollout resume deploy/resumed; rollout deploy/resumed
deployment zero a 'replicas: 0' | apply
deployment minready a 'minReadySeconds: 2' | apply; rollout deploy/minready
deployment nowhere a 'progressDeadlineSeconds: 2' 'nodeSelector: {no: where}, ' | apply
until_reason deploy/nowhere Progressing ProgressDeadlineExceeded
deployment scaled a 'replicas: 2' | apply; rollout deploy/scaled
k scale deploy/scaled --replicas=5; rollout deploy/scaled
k scale deploy/scaled --replicas=1; quiet
deployment orphan a 'replicas: 2' | apply; rollout deploy/orphan
k delete deploy/orphan --cascade=orphan; quiet
printf 'apiVersion: v1\nkind: LimitRange\nmetadata: {name: max}\nspec: {limits: [{type: Container, max: {cpu: "8"}}]}\n' | apply
deployment refused a 'replicas: 2' '' ', resources: {limits: {cpu: "9"}}' | apply
until_reason deploy/refused ReplicaFailure FailedCreate
k delete deploy/refused --cascade=foreground; k delete limitrange max

stateful plain a 'replicas: 3' | apply; rollout sts/plain
stateful update a 'replicas: 3' | apply; rollout sts/update
k set image sts/update c=b; rollout sts/update
k rollout undo sts/update; rollout sts/update
stateful part a 'updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}' | sed 's/^  serviceName/  replicas: 3\n&/' | apply
rollout sts/part; k set image sts/part c=b; rollout sts/part
stateful parallel a 'podManagementPolicy: Parallel' | sed 's/^  serviceName/  replicas: 3\n&/' | apply; rollout sts/parallel
k scale sts/parallel --replicas=1; quiet
stateful down a 'replicas: 3' | apply; rollout sts/down; k scale sts/down --replicas=1; quiet
stateful ondelete a 'updateStrategy: {type: OnDelete}' | sed 's/^  serviceName/  replicas: 2\n&/' | apply; quiet
k set image sts/ondelete c=b; quiet; k delete pod ondelete-1 --wait=false; quiet
stateful from-five a 'ordinals: {start: 5}' | sed 's/^  serviceName/  replicas: 2\n&/' | apply; rollout sts/from-five

daemon agent a '' | apply; rollout ds/agent
k set image ds/agent c=b; rollout ds/agent
k rollout undo ds/agent; rollout ds/agent
daemon surge a 'updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}' | apply
rollout ds/surge; k set image ds/surge c=b; rollout ds/surge
daemon absent a '' 'nodeSelector: {no: where}, ' | apply

printf 'apiVersion: v1\nkind: ReplicationController\nmetadata: {name: rc}\nspec:\n  replicas: 2\n  template:\n    metadata: {labels: {app: rc}}\n    spec: {containers: [{name: c, image: a}]}\n' | apply
quiet; k scale rc rc --replicas=1; quiet

"$KUBECTL" -n "$namespace" get \
  deployments,replicasets,statefulsets,daemonsets,replicationcontrollers,controllerrevisions,pods,events -o json >"$out"
"$KUBECTL" delete namespace "$namespace" --wait=false >/dev/null 2>&1
