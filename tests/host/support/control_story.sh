#!/usr/bin/env bash
# control_story.sh KUBECONFIG OUT: what controllers make of objects when no kubelet has a say: pods are nobody's to
# schedule, and the story says itself what becomes of them. Writes what there is in the end, events included.
# tests/host/control.sh runs it on upstream's controllers and on ours.
set -u
export KUBECONFIG=$1
out=$2
. "$(dirname "$0")/../../support/waiting.sh"
work=$(mktemp -d)
export HOME=$work
trap 'rm -rf "$work"' EXIT
namespace=${STORY_NAMESPACE:-control-story} # another where a first run is still being deleted
k() { "$KUBECTL" --request-timeout=60s -n "$namespace" "$@" >/dev/null 2>"$work/err" || cat "$work/err" >>"$out.errors"; }
read_() { "$KUBECTL" --request-timeout=60s -n "$namespace" "$@" 2>/dev/null; }
apply() { k apply -f -; }
: >"$out.errors"

# until_is WANTED COMMAND...: the command prints this in the end.
until_is() {
  until_prints 120 "$@" || echo "story: '${*:2}' printed '$got', never '$1'" >>"$out.errors"
}
pods() { read_ get pods -l "$1" -o name --field-selector=status.phase="${2:-Pending}" | sort; }
count() { pods "$@" | grep -c .; }
status() { k patch "$1" --subresource=status --type=merge -p "{\"status\":$2}"; }
succeed() { status "$1" '{"phase":"Succeeded","containerStatuses":[{"name":"c","image":"i","imageID":"","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":0}}}]}'; }
fails() { status "$1" "{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"c\",\"image\":\"i\",\"imageID\":\"\",\"ready\":false,\"restartCount\":0,\"state\":{\"terminated\":{\"exitCode\":${2:-1}}}}]}"; }
ready() { status "$1" "{\"phase\":\"Running\",\"podIP\":\"10.9.9.${2:-9}\",\"podIPs\":[{\"ip\":\"10.9.9.${2:-9}\"}],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}"; }
each() { # each SELECTOR N COMMAND...: once there are N such pods
  local selector=$1 n=$2
  shift 2
  until_is "$n" count "$selector"
  for pod in $(pods "$selector"); do "$@" "$pod"; done
}
index() { read_ get pods -l "job-name=$1,batch.kubernetes.io/job-completion-index=$2" -o name | head -n 1; }
condition() { read_ get "$1" -o "jsonpath={.status.conditions[?(@.type==\"$2\")].status}"; }
field() { read_ get "$1" -o "jsonpath={$2}"; }
over() { until_is True condition "job/$1" "$2"; }
template='template: {metadata: {labels: {t: job}}, spec: {schedulerName: nobody, restartPolicy: Never, containers: [{name: c, image: i}]}}'
job() { printf 'apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\nspec: {%s%s}\n' "$1" "${2:+$2, }" "$template" | apply; }
workload() { # workload KIND NAME SPEC
  printf 'apiVersion: apps/v1\nkind: %s\nmetadata: {name: %s}\nspec: {%s, selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %s}}, spec: {schedulerName: nobody, terminationGracePeriodSeconds: 0, containers: [{name: c, image: a}]}}}\n' \
    "$1" "$2" "$3" "$2" "$2" | apply
}
bare() { printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {%s}}\nspec: {schedulerName: nobody, %scontainers: [{name: c, image: i}]}\n' "$1" "$2" "${3:-}" | apply; }
service() { printf 'apiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {%s}\n' "$1" "$2" | apply; }

"$KUBECTL" create namespace "$namespace" >/dev/null
until_is default read_ get serviceaccount default -o 'jsonpath={.metadata.name}'

# --- Jobs -------------------------------------------------------------------------------------------------------------
job done; each job-name=done 1 succeed; over done Complete
job many 'completions: 3, parallelism: 2'; each job-name=many 2 succeed; each job-name=many 1 succeed; over many Complete
job failed 'backoffLimit: 0'; each job-name=failed 1 fails; over failed Failed
job indexed 'completions: 3, parallelism: 3, completionMode: Indexed'; each job-name=indexed 3 succeed; over indexed Complete
job oneindex 'completions: 3, parallelism: 3, completionMode: Indexed, backoffLimitPerIndex: 0'
until_is 3 count job-name=oneindex
fails "$(index oneindex 1)"; succeed "$(index oneindex 0)"; succeed "$(index oneindex 2)"; over oneindex Failed
job maxindexes 'completions: 4, parallelism: 4, completionMode: Indexed, backoffLimitPerIndex: 0, maxFailedIndexes: 1'
until_is 4 count job-name=maxindexes; fails "$(index maxindexes 0)"; fails "$(index maxindexes 1)"; over maxindexes Failed
job failjob 'backoffLimit: 3, podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]}'
until_is 1 count job-name=failjob; fails "$(pods job-name=failjob)" 42; over failjob Failed
job ignored 'backoffLimit: 0, podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [7]}}]}'
until_is 1 count job-name=ignored; fails "$(pods job-name=ignored)" 7; each job-name=ignored 1 succeed; over ignored Complete
job failindex 'completions: 2, parallelism: 2, completionMode: Indexed, backoffLimitPerIndex: 5, podFailurePolicy: {rules: [{action: FailIndex, onExitCodes: {operator: In, values: [3]}}]}'
until_is 2 count job-name=failindex; fails "$(index failindex 0)" 3; succeed "$(index failindex 1)"; over failindex Failed
job enough 'completions: 3, parallelism: 3, completionMode: Indexed, successPolicy: {rules: [{succeededIndexes: "0"}]}'
until_is 3 count job-name=enough; succeed "$(index enough 0)"; over enough Complete
job held 'suspend: true'; until_is True condition job/held Suspended
k patch job held -p '{"spec":{"suspend":false}}'; each job-name=held 1 succeed; over held Complete
job stopped; until_is 1 count job-name=stopped; k patch job stopped -p '{"spec":{"suspend":true}}'
until_is True condition job/stopped Suspended; until_is 0 count job-name=stopped
job late 'activeDeadlineSeconds: 1'; over late Failed
job brief 'ttlSecondsAfterFinished: 0'; each job-name=brief 1 succeed; until_is '' field job/brief .metadata.name
job theirs 'managedBy: example.com/other'
job none 'parallelism: 0'
job left; until_is 1 count job-name=left; k delete job left --cascade=orphan
job ended; until_is 1 count job-name=ended; k delete job ended --cascade=foreground; until_is 0 count job-name=ended
job careful 'podReplacementPolicy: Failed, backoffLimit: 1'; until_is 1 count job-name=careful
job elastic 'completions: 3, parallelism: 3, completionMode: Indexed'; until_is 3 count job-name=elastic
k patch job elastic -p '{"spec":{"completions":2,"parallelism":2}}'; until_is 2 count job-name=elastic
each job-name=elastic 2 succeed; over elastic Complete
job fewer 'parallelism: 3, completions: 5'; until_is 3 count job-name=fewer; k patch job fewer -p '{"spec":{"parallelism":1}}'
until_is 1 count job-name=fewer
job released; until_is 1 count job-name=released; k label "$(pods job-name=released)" controller-uid- batch.kubernetes.io/controller-uid- job-name- batch.kubernetes.io/job-name-
until_is 1 count job-name=released
printf 'apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: idle}\nspec: {schedule: "0 0 1 1 *", suspend: true, jobTemplate: {spec: {%s}}}\n' "$template" | apply
k create job --from=cronjob/idle byhand; until_is 1 count job-name=byhand
printf 'apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: past}\nspec: {schedule: "0 0 1 1 *", timeZone: Europe/Berlin, jobTemplate: {spec: {%s}}}\n' "$template" | apply

# --- workloads whose pods are stuck or come one by one ------------------------------------------------------------------
workload Deployment rolling 'replicas: 4, strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}'; each app=rolling 4 ready
k set image deploy/rolling c=b; until_is 2 count app=rolling; k scale deploy/rolling --replicas=8
until_is 8 field deploy/rolling .spec.replicas; until_is 6 count app=rolling
workload Deployment badly 'replicas: 3, strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}'; each app=badly 3 ready
k set image deploy/badly c=bad; until_is 1 count app=badly; k rollout undo deploy/badly; until_is 0 count app=badly
workload Deployment stopped 'replicas: 3'; each app=stopped 3 ready; k rollout pause deploy/stopped; k set image deploy/stopped c=b
until_is Unknown condition deploy/stopped Progressing
workload Deployment late 'replicas: 1, progressDeadlineSeconds: 1'; until_is False condition deploy/late Progressing
workload StatefulSet stuck 'serviceName: stuck, replicas: 3'; until_is 1 count app=stuck
k set image sts/stuck c=b; until_is 2 field sts/stuck .status.observedGeneration
workload StatefulSet ordered 'serviceName: ordered, replicas: 3'; until_is 1 count app=ordered; ready pod/ordered-0; until_is 1 count app=ordered
workload StatefulSet broken 'serviceName: broken, replicas: 2'; until_is 1 count app=broken
before=$(field pod/broken-0 .metadata.uid); fails pod/broken-0
again() { [ "$(field pod/broken-0 .metadata.uid)" != "$before" ] && count app=broken; }
until_is 1 again
workload StatefulSet claiming 'serviceName: claiming, replicas: 1, volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]'
until_is 1 count app=claiming
# The cost says which of three goes: of pods of one second it would be up to their uids.
workload ReplicaSet adopts 'replicas: 2'; until_is 2 count app=adopts
bare loose 'app: adopts}, annotations: {controller.kubernetes.io/pod-deletion-cost: "-1"'; until_is 2 count app=adopts
workload ReplicaSet lets 'replicas: 1'; until_is 1 count app=lets; k label "$(pods app=lets)" app=free --overwrite; until_is 1 count app=lets
workload ReplicaSet costs 'replicas: 2'; until_is 2 count app=costs
k annotate "$(pods app=costs | head -n 1)" controller.kubernetes.io/pod-deletion-cost=100; k scale rs costs --replicas=1; until_is 1 count app=costs
workload ReplicaSet orphan 'replicas: 1'; until_is 1 count app=orphan; k delete rs orphan --cascade=orphan

# --- budgets ------------------------------------------------------------------------------------------------------------
budget() { printf 'apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: %s}\nspec: {%s, selector: {matchLabels: {app: %s}}}\n' "$1" "$2" "$3" | apply; }
evict() { printf '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"%s"}}' "$1" | read_ create --raw "/api/v1/namespaces/$namespace/pods/$1/eviction" -f -; }
workload Deployment guarded 'replicas: 2'; each app=guarded 2 ready; budget guarded 'minAvailable: 1' guarded
until_is 1 field pdb/guarded .status.disruptionsAllowed
evict "$(pods app=guarded Running | head -n 1 | cut -d/ -f2)" >/dev/null; until_is 0 field pdb/guarded .status.disruptionsAllowed
until_is 1 count app=guarded; evict "$(pods app=guarded Running | head -n 1 | cut -d/ -f2)" >/dev/null
budget share 'maxUnavailable: 50%' rolling; until_is 8 field pdb/share .status.expectedPods
budget empty 'minAvailable: 1' nothing; until_is 0 field pdb/empty .status.expectedPods
bare alone 'app: alone'; ready pod/alone; budget alone 'minAvailable: 1' alone; until_is 1 field pdb/alone .status.currentHealthy
budget nobodys 'maxUnavailable: 1' alone; until_is False condition pdb/nobodys DisruptionAllowed

# --- services -----------------------------------------------------------------------------------------------------------
service web 'selector: {app: web}, ports: [{name: a, port: 80, targetPort: 8080}]'; bare web1 'app: web'
until_is web field endpoints/web .metadata.name
service bare 'clusterIP: None, selector: {app: web}'; until_is bare field endpoints/bare .metadata.name
service own 'ports: [{port: 80}]'
printf 'apiVersion: v1\nkind: Endpoints\nmetadata: {name: own}\nsubsets: [{addresses: [{ip: 10.1.1.1}], ports: [{port: 80}]}]\n' | apply
slices() { read_ get endpointslices -l kubernetes.io/service-name="$1" -o 'jsonpath={.items[*].endpoints[*].addresses[0]}'; }
until_is 10.1.1.1 slices own
service gone 'selector: {app: web}, ports: [{port: 80}]'; until_is gone field endpoints/gone .metadata.name
k delete service gone; until_is '' field endpoints/gone .metadata.name

# --- quota ----------------------------------------------------------------------------------------------------------------
printf 'apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: counts}\nspec: {hard: {count/jobs.batch: "100", services: "50", configmaps: "50"}}\n' | apply
until_is 3 field resourcequota/counts .status.used.services
printf 'apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: best}\nspec: {hard: {pods: "100"}, scopes: [Terminating]}\n' | apply
until_is 0 field resourcequota/best .status.used.pods

# --- accounts, tokens -----------------------------------------------------------------------------------------------------
k create serviceaccount robot
token() { printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: %s, annotations: {kubernetes.io/service-account.name: %s}}\ntype: kubernetes.io/service-account-token\n' "$1" "$2" | apply; }
has_token() { [ -n "$(field secret/robot .data.token)" ] && echo yes; }
token robot robot; until_is yes has_token
token ghost nobody; until_is '' field secret/ghost .metadata.name
k create serviceaccount leaving; token leaving leaving; k delete serviceaccount leaving; until_is '' field secret/leaving .metadata.name
k delete serviceaccount default; until_is default field serviceaccount/default .metadata.name
k delete configmap kube-root-ca.crt; until_is kube-root-ca.crt field configmap/kube-root-ca.crt .metadata.name

# --- volumes --------------------------------------------------------------------------------------------------------------
volume() { printf 'apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: %s, labels: {story: "yes"}}\nspec: {capacity: {storage: %s}, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Retain, storageClassName: story, hostPath: {path: /tmp/x}%s}\n' "$1" "$2" "${3:-}" | apply; }
claim() { printf 'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: %s}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: %s}}%s}\n' "$1" "$2" "${3-, storageClassName: story}" | apply; }
phase() { field "$1" .status.phase; }
volume story-small 1Gi; volume story-fit 3Gi; volume story-big 9Gi; until_is Available phase pv/story-big
claim fits 2Gi; until_is Bound phase pvc/fits
claim named 1Gi ', storageClassName: story, volumeName: story-big'; until_is Bound phase pvc/named
claim waits 50Gi; until_is Pending phase pvc/waits
claim left 1Gi; until_is Bound phase pvc/left; k delete pvc left; until_is Released phase pv/story-small
volume story-kept 1Gi ", claimRef: {namespace: $namespace, name: kept}"; claim kept 1Gi; until_is Bound phase pvc/kept
claim none 1Gi ', storageClassName: ""'; until_is Pending phase pvc/none
bare scratch 'app: scratch' 'volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}], '
until_is Pending phase pvc/scratch-v

# --- autoscaling ------------------------------------------------------------------------------------------------------------
autoscaler() { printf 'apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: %s}\nspec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %s}, maxReplicas: %s}\n' "$1" "$2" "$3" | apply; }
autoscaler blind badly 5; autoscaler lower rolling 6; autoscaler lost nowhere 5
until_is False condition hpa/blind ScalingActive; until_is 6 field deploy/rolling .spec.replicas; until_is False condition hpa/lost AbleToScale

# --- types of admission policies ------------------------------------------------------------------------------------------
# policy NAME GROUPS RESOURCES EXPRESSION...: with a variable and a parameter of known types.
policy() {
  local name=$1 groups=$2 resources=$3 rules= separator=
  shift 3
  for expression in "$@"; do rules="$rules$separator{expression: \"$expression\"}" separator=', '; done
  printf 'apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: story-%s, labels: {story: "yes"}}\nspec: {paramKind: {apiVersion: v1, kind: ConfigMap}, matchConstraints: {resourceRules: [{apiGroups: [%s], apiVersions: [v1], operations: [CREATE], resources: [%s]}]}, variables: [{name: labels, expression: "object.metadata.labels"}, {name: age, expression: "object.metadata.generation"}], validations: [%s]}\n' \
    "$name" "$groups" "$resources" "$rules" | apply
  until_is 1 field "validatingadmissionpolicy/story-$name" .status.observedGeneration
}
policy fits apps deployments "object.spec.replicas < 5" "object.spec.template.spec.containers.all(c, c.image.startsWith('a'))" "variables.age < 3 && variables.labels['a'] == 'b'"
policy workloads apps 'deployments, daemonsets, statefulsets' "object.spec.replicas > 1" "object.spec.template.spec.containers[0].resources.requests['cpu'] == '1'" \
  "object.spec.strategy.rollingUpdate.maxSurge == 1" "object.metadata.creationTimestamp > 3" "object.metadata.labels.a == 1" "object.spec.nothing.further == 1" "object.spec == 1" \
  "authorizer.requestResource.check('get').allowed()" "authorizer.group('apps').resource('deployments').check('get').allowed()" "variables.age == 'x'" "variables.labels == 1" "params.data == 1" "params.no == 1" "oldObject.status.conditions.exists(c, c.lastUpdateTime == 'x')"
policy core '""' 'pods, services, configmaps, secrets, events, persistentvolumeclaims, nodes' "object.data['a'] == 'b'" "object.type == 'Opaque'" "object.spec.ports[0].targetPort == 'http'" "object.spec.resources.requests['storage'] == 1" "object.status.capacity['cpu'] == '1'" "object.eventTime == object.firstTimestamp" "object.metadata.managedFields[0].fieldsV1.x == 1" "object.metadata.ownerReferences.all(o, o.controller == 1)"
policy types apiextensions.k8s.io customresourcedefinitions "object.spec.versions[0].schema.openAPIV3Schema.properties['a'].type == 1" "object.spec.versions[0].schema.openAPIV3Schema.default == 1" "object.spec.scope == 1" "object.spec.versions.map(v, v.served) == [1]"
policy any '"*"' deployments "object.no == 1"
policy none example.com things "object.no == 1"

# --- devices, garbage -----------------------------------------------------------------------------------------------------
printf 'apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: gpu}\nspec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.example.com}}]}}}\n' | apply
bare device 'app: device' 'resourceClaims: [{name: g, resourceClaimTemplateName: gpu}], '
claimed() { read_ get resourceclaims -o name | grep -c .; }
until_is 1 claimed
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: orphaned, ownerReferences: [{apiVersion: v1, kind: Pod, name: nobody, uid: 00000000-0000-0000-0000-000000000001}]}\n' | apply
until_is '' field configmap/orphaned .metadata.name
k create configmap above; owner=$(field configmap/above .metadata.uid)
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: below, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: above, uid: %s, blockOwnerDeletion: true}]}\n' "$owner" | apply
k delete configmap above --cascade=foreground; until_is '' field configmap/below .metadata.name
"$KUBECTL" create namespace "$namespace-ends" >/dev/null
"$KUBECTL" -n "$namespace-ends" create configmap held >/dev/null
"$KUBECTL" -n "$namespace-ends" patch configmap held -p '{"metadata":{"finalizers":["example.com/hold"]}}' >/dev/null
"$KUBECTL" delete namespace "$namespace-ends" --wait=false >/dev/null
until_is True condition "namespace/$namespace-ends" NamespaceFinalizersRemaining

"$KUBECTL" -n "$namespace" get jobs,cronjobs,deployments,replicasets,statefulsets,pods,poddisruptionbudgets,endpoints,endpointslices,resourcequotas,secrets,serviceaccounts,configmaps,persistentvolumeclaims,horizontalpodautoscalers,resourceclaims,events -o json >"$out.namespaced"
"$KUBECTL" get persistentvolumes -l story=yes -o json >"$out.volumes"
"$KUBECTL" get "namespaces/$namespace-ends" servicecidrs.networking.k8s.io/kubernetes -o json >"$out.cluster"
"$KUBECTL" get validatingadmissionpolicies -l story=yes -o json >"$out.policies"
"$KUBECTL" -n "$namespace-ends" patch configmap held -p '{"metadata":{"finalizers":null}}' >/dev/null
"$KUBECTL" delete namespace "$namespace" --wait=false >/dev/null
"$KUBECTL" delete persistentvolumes,validatingadmissionpolicies -l story=yes --wait=false >/dev/null
