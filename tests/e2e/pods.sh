#!/usr/bin/env bash
# Pods as pods expect it, on the embedded host: what a pod is told of itself, its gates, its identity in a StatefulSet, and
# what its containers may be, each by kubectl as in any cluster.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

check "create" "$(code sublet create rag -n team --nodes 2)" 0
check "connect" "$(code sublet connect rag)" 0
k() { "$KUBECTL" --request-timeout=120s "$@"; }
h() { "$KUBECTL" --request-timeout=30s --kubeconfig "$SUBLET_STATE_DIR/host/admin.kubeconfig" -n team "$@"; }
k apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {clusterIP: None, selector: {app: db}, ports: [{port: 5432}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: busybox, command: [sh, -c, 'sleep 1h']}]}
---
apiVersion: v1
kind: Pod
metadata: {name: told, labels: {app: told, tier: "1"}, annotations: {note: mine}}
spec:
  hostname: other
  subdomain: db
  hostAliases: [{ip: 10.9.8.7, hostnames: [db.example]}]
  containers:
    - name: c
      image: busybox
      command: [sh, -c, 'sleep 1h']
      resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
      env:
        - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: SPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        - {name: ID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
        - {name: ACCOUNT, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
        - {name: TIER, valueFrom: {fieldRef: {fieldPath: "metadata.labels['tier']"}}}
        - {name: NOTE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['note']"}}}
---
apiVersion: v1
kind: Pod
metadata: {name: gated}
spec:
  readinessGates: [{conditionType: example.com/warm}]
  containers: [{name: c, image: busybox, command: [sh, -c, 'sleep 1h']}]
---
apiVersion: v1
kind: Pod
metadata: {name: held}
spec:
  schedulingGates: [{name: example.com/hold}]
  containers: [{name: c, image: busybox, command: [sh, -c, 'sleep 1h']}]
---
apiVersion: v1
kind: Pod
metadata: {name: together}
spec:
  restartPolicy: Never
  initContainers:
    - {name: beside, image: busybox, restartPolicy: Always, command: [sh, -c, 'sleep 1h']}
    - {name: before, image: busybox, command: [sh, -c, 'echo before']}
  containers:
    - name: c
      image: busybox
      command: [sh, -c, 'sleep 2']
      lifecycle: {postStart: {exec: {command: [sh, -c, 'true']}}}
YAML

check "told runs" "$(code k wait --for=condition=Ready pod/told --timeout=120s)" 0
says() { k exec told -- printenv "$1"; }
check "its name" "$(says NAME)" told
check "its namespace" "$(says SPACE)" default
check "its uid" "$(says ID)" "$(field pod/told .metadata.uid)"
check "its account" "$(says ACCOUNT)" default
check "its label" "$(says TIER)" 1
check "its annotation" "$(says NOTE)" mine
check "the hostname that it asks for" "$(k exec told -- hostname)" other
on_host=$(h get pod told-x-default-x-rag -o json)
check "its host aliases" "$(jq -c .spec.hostAliases <<<"$on_host")" '[{"hostnames":["db.example"],"ip":"10.9.8.7"}]'
check "no domain of the host namespace" "$(jq -r '.spec.subdomain' <<<"$on_host")" null
check "a hostname that the host would make is told of" "$(k run fqdn --image=busybox --dry-run=server --overrides='{"spec":{"setHostnameAsFQDN":true}}' -o name 2>&1 >/dev/null | grep -c 'the hostname stays short')" 1

until_is "the set is complete" 2 field statefulset/db .status.readyReplicas
# user-pain, demand 24: a StatefulSet's pods keep their identity.
check "each has its own name" "$(k exec db-0 -- hostname) $(k exec db-1 -- hostname)" "db-0 db-1"
id=$(field pod/db-1 .metadata.uid)
k delete pod db-1 >/dev/null
anew() { local now; now=$(field pod/db-1 .metadata.uid 2>/dev/null) && [ -n "$now" ] && [ "$now" != "$id" ] && k wait --for=condition=Ready pod/db-1 --timeout=1s >/dev/null 2>&1; }
until_true "and keeps it when it comes again" anew
check "by the same name" "$(k exec db-1 -- hostname)" db-1

# A readiness gate is the tenant's to open: its own controllers write the condition.
condition() { k get pod gated -o json | jq -r ".status.conditions[] | select(.type == \"$1\") | .status + \" \" + (.reason // \"\")"; }
until_is "the containers are ready" "True " condition ContainersReady
until_is "the pod is not" "False ReadinessGatesNotReady" condition Ready
open() { k get pod gated -o json | jq -c --arg s "$1" '.status.conditions |= (map(select(.type != "example.com/warm")) + [{type: "example.com/warm", status: $s}])' | k replace --raw /api/v1/namespaces/default/pods/gated/status -f - >/dev/null 2>&1; }
until_true "a controller opens the gate" open True
until_is "and it is" "True " condition Ready
check "what the controller said stands" "$(condition example.com/warm)" "True "
until_true "it closes it again" open False
until_is "and the pod is not" "False ReadinessGatesNotReady" condition Ready

until_is "a scheduling gate holds" SchedulingGated k get pod held -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].reason}'
contains "why says which" "$(sublet why rag pod/held)" "held back by the scheduling gate example.com/hold"
k patch pod held --type=merge -p '{"spec":{"schedulingGates":null}}' >/dev/null
check "until it is taken away" "$(code k wait --for=condition=Ready pod/held --timeout=120s)" 0

until_is "a sidecar runs beside, and ends with the pod" Succeeded field pod/together .status.phase
check "the other init container ran first" "$(k logs together -c before | tail -n 1)" before
# A container that comes later, to look into the pod; and more of what the pod has, without a restart.
look() { k debug told --image=busybox --target=c -c look --profile=baseline -- sh -c 'echo found; sleep 1h' >/dev/null 2>&1; }
check "kubectl debug" "$(code look)" 0
until_is "an ephemeral container runs" look k get pod told -o 'jsonpath={.status.ephemeralContainerStatuses[?(@.state.running)].name}'
contains "its log" "$(k logs told -c look)" found
check "on the host it is the host pod's" "$(h get pods -o json | jq -r '.items[] | select(.metadata.name | startswith("told-")) | .spec.ephemeralContainers[].name')" look
k patch pod told --subresource=resize -p '{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"150m"}}}]}}' >/dev/null
until_is "a resize is acted upon" "150m 64Mi" k get pod told -o 'jsonpath={.status.containerStatuses[0].resources.requests.cpu} {.status.containerStatuses[0].resources.requests.memory}'
until_is "and has been seen as the tenant counts" "$(field pod/told .metadata.generation)" field pod/told .status.observedGeneration
check "no container was restarted" "$(field pod/told '.status.containerStatuses[0].restartCount')" 0
# What the host gives it instead, nobody takes back.
host_pod=$(h get pods -o name | grep told-)
h patch "$host_pod" --subresource=resize -p '{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"120m"}}}]}}' >/dev/null
until_is "the host's own resize shows" 120m k get pod told -o 'jsonpath={.status.containerStatuses[0].resources.requests.cpu}'
k label pod told seen=yes >/dev/null
seen_on_host() { [ -n "$(h get pods -l t.sublet.dev/seen=yes -o name)" ]; }
until_true "another change of the tenant's crosses" seen_on_host
check "and the host's resize stands" "$(h get "$host_pod" -o 'jsonpath={.spec.containers[0].resources.requests.cpu}')" 120m
exit "$((failures > 0))"
