#!/usr/bin/env bash
# What people try first on the embedded host, through a virtual cluster: kubectl run -it, exec with both outputs and live
# input, cp, files and names inside pods, claims that are missing, and the hooks of charts. docs/embedded-host.md.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

check "create" "$(code sublet create rag -n team --nodes 1)" 0
check "connect" "$(code sublet connect rag)" 0
k() { "$KUBECTL" --request-timeout=120s "$@"; }
k apply -f - >/dev/null <<'Y'
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue, run.sh: "#!/bin/sh\necho from a ConfigMap; exit 4\n"}
---
apiVersion: v1
kind: Pod
metadata: {name: app.with.dots, labels: {app: web}}
spec:
  containers:
  - name: main
    image: nginx
    resources: {limits: {memory: 128Mi, cpu: 1500m}}
    env:
    - {name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
    - {name: COLOUR, valueFrom: {configMapKeyRef: {name: settings, key: colour}}}
    volumeMounts: [{name: settings, mountPath: /etc/settings}, {name: info, mountPath: /etc/info}, {name: data, mountPath: /data}]
  volumes:
  - {name: settings, configMap: {name: settings, defaultMode: 0755}}
  - {name: info, downwardAPI: {items: [{path: memory, resourceFieldRef: {containerName: main, resource: limits.memory, divisor: 1Mi}}]}}
  - {name: data, emptyDir: {}}
Y
check "a pod of an image without a command runs" "$(code k wait --for=condition=Ready pod/app.with.dots --timeout=120s)" 0
app() { k exec app.with.dots -- "$@"; }

# --- what is inside ---
check "the host name is the pod's" "$(app hostname)" app.with.dots
check "a limit is a number" "$(app sh -c 'echo $MEMORY')" 134217728
check "a variable from a ConfigMap" "$(app sh -c 'echo $COLOUR')" blue
check "its file" "$(app cat /etc/settings/colour)" blue
check "the downward API" "$(app cat /etc/info/memory)" 128
check "a script in a ConfigMap" "$(app /etc/settings/run.sh 2>/dev/null; echo "code $?")" $'from a ConfigMap\ncode 4'
k patch configmap settings --type=merge -p '{"data":{"colour":"green"}}' >/dev/null
until_is "a change of the ConfigMap is seen" green app cat /etc/settings/colour

# --- exec ---
check "standard output" "$(app sh -c 'echo out; echo err >&2' 2>"$work/err")" out
check "standard error" "$(cat "$work/err")" err
coproc CAT { "$KUBECTL" exec -i app.with.dots -- cat; }
echo first >&"${CAT[1]}"
read -rt 60 line <&"${CAT[0]}"
check "input is read as it comes" "${line:-}" first
exec {CAT[1]}>&-
wait "$CAT_PID"
check "and ends with it" $? 0

# --- cp ---
mkdir "$work/sent"
printf 'one\n' >"$work/sent/a"
head -c 20000 /dev/zero | tr '\0' 'x' >"$work/sent/b"
check "cp of a folder into the pod" "$(code k cp "$work/sent" app.with.dots:/data/sent)" 0
check "a file of it" "$(app cat /data/sent/a)" one
check "cp of it out of the pod" "$(code k cp app.with.dots:/data/sent "$work/received")" 0
check "is the same" "$(diff -r "$work/sent" "$work/received" && echo same)" same

# --- run ---
check "run -it --rm of a command ends" \
  "$(timeout 60 script -qec "$KUBECTL run -it --rm x --image=busybox --restart=Never -- echo hi" /dev/null </dev/null | tr -d '\r' | grep -c '^hi$')" 1
check "run -i of a shell reads its input" "$(printf 'echo $((40 + 2))\nexit 3\n' | timeout 60 "$KUBECTL" run -i --rm y --image=busybox --restart=Never -- sh 2>"$work/err" | grep -c '^42$')" 1
until_is "both are gone" 0 count pod -l run

# --- explain ---
contains "explain has descriptions" "$(k explain pod.spec.containers.image)" "Container image name"

# --- claims ---
k apply -f - >/dev/null <<'Y'
apiVersion: v1
kind: Pod
metadata: {name: stateful}
spec:
  containers: [{name: main, image: postgres, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
Y
message() { field pod/stateful '.status.conditions[?(@.type=="PodScheduled")].message' | cut -d. -f1 | sed 's|default/||'; }
until_is "a pod without its claim is Pending" '0/2 nodes are available: persistentvolumeclaim "data" not found' message
event() { k get events --field-selector "involvedObject.name=$1,reason=$2" -o 'jsonpath={.items[*].message}'; }
contains "with an event" "$(event stateful FailedScheduling | sed 's|default/||')" 'persistentvolumeclaim "data" not found'
k apply -f - >/dev/null <<'Y'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
Y
check "with the claim it runs" "$(code k wait --for=condition=Ready pod/stateful --timeout=120s)" 0

# --- hooks: the Jobs and pods of charts whose programs the host does not know ---
job() { printf -- '---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\nspec: {template: {spec: {restartPolicy: %s, containers: [{name: main, image: %s, %s}]}}}\n' "$@"; }
{
  job startupapicheck OnFailure quay.io/jetstack/cert-manager-startupapicheck:v1.19.1 'args: [check, api, --wait=1m, -v]' # cert-manager
  job redis-secret-init OnFailure quay.io/argoproj/argocd:v3.2.0 'command: [argocd, admin, redis-initial-password]'      # Argo CD
  job workflows-crds Never docker.io/alpine/kubectl:1.34.1 'command: [sh, -c, "kubectl apply --server-side -f /crds"]'    # Argo Workflows
  job hook-image-awaiter Never quay.io/jupyterhub/k8s-image-awaiter:4.3.1 'command: [/image-awaiter, -namespace=hub]'     # JupyterHub
} | k apply -f - >/dev/null
check "hook Jobs end" "$(code k wait --for=condition=Complete job --all --timeout=120s)" 0
awaiter() { k get pod -l job-name=hook-image-awaiter -o 'jsonpath={.items[0].metadata.name}'; }
contains "an event says why" "$(event "$(awaiter)" SimulatedProgram)" 'does not know the program "/image-awaiter"'
k apply -f - >/dev/null <<'Y'
apiVersion: v1
kind: Pod
metadata:
  name: chart-test
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations: {helm.sh/hook: test}
spec:
  restartPolicy: Never
  containers: [{name: wget, image: busybox, command: [wget], args: ["web:80"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: migrated}
spec:
  initContainers: [{name: migrate, image: example/migrate}]
  containers: [{name: main, image: example/web}]
Y
check "the test pod of a chart ends" "$(code k wait --for=jsonpath='{.status.phase}'=Succeeded pod/chart-test --timeout=60s)" 0
check "an unknown init container ends" "$(code k wait --for=condition=Ready pod/migrated --timeout=60s)" 0

exit "$((failures > 0))"
