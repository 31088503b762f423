#!/usr/bin/env bash
# Jobs, CronJobs, endpoints and disruption budgets as a user meets them: a virtual cluster on the embedded host, a real
# kubectl, and pods that a kubelet ends.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

check "create" "$(code sublet create rag -n team --nodes 1)" 0
check "connect" "$(code sublet connect rag)" 0
k() { "$KUBECTL" --request-timeout=100s "$@"; }
said() { k get events --field-selector "involvedObject.name=$1,reason=$2" -o 'jsonpath={.items[*].message}'; }
job() {  # job NAME SCRIPT SPEC...: one whose pods run the script; each SPEC is a line of its spec
  {
    printf 'apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\nspec:\n' "$1"
    printf '  %s\n' "${@:3}"
    printf '  template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [sh, -c, "%s"]}]}}\n' "$2"
  } | k apply -f - >"$work/out" 2>"$work/err" || cat "$work/err" >&2
}

# --- Jobs ---
check "kubectl create job" "$(code k create job hello --image=busybox -- true)" 0
check "without a warning" "$(cat "$work/err")" ""
check "it is complete" "$(code k wait --for=condition=complete job/hello --timeout=60s)" 0
check "one success" "$(field job/hello .status.succeeded)" 1
check "its pod has no finalizer left" "$(field "$(k get pod -l job-name=hello -o name)" .metadata.finalizers)" ""
until_is "describe tells of it" "Job completed" said hello Completed

job wide 'sleep 0.3' 'completions: 4' 'parallelism: 2' 'completionMode: Indexed'
check "an indexed job is complete" "$(code k wait --for=condition=complete job/wide --timeout=60s)" 0
check "with all its indexes" "$(field job/wide .status.completedIndexes)" 0-3

job broken 'exit 3' 'backoffLimit: 0'
check "a job that fails has failed" "$(code k wait --for=condition=failed job/broken --timeout=60s)" 0
check "because of the limit" "$(field job/broken '.status.conditions[?(@.type=="Failed")].reason')" BackoffLimitExceeded
job hopeless 'exit 42' 'podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]}'
check "the failure policy fails it" "$(code k wait --for=condition=failed job/hopeless --timeout=60s)" 0
contains "by the exit code" "$(field job/hopeless '.status.conditions[?(@.type=="Failed")].message')" \
  "failed with exit code 42 matching FailJob rule at index 0"
job again 'exit 1' 'backoffLimit: 6'
until_is "a failed pod is counted" 1 field job/again .status.failed
check "and made anew" "$(code k wait --for=jsonpath='{.status.failed}'=2 job/again --timeout=60s)" 0

job later 'true' 'suspend: true'
until_is "a suspended job says so" True field job/later '.status.conditions[?(@.type=="Suspended")].status'
check "and has no pods" "$(k get pod -l job-name=later -o name)" ""
k patch job later --type=merge -p '{"spec":{"suspend":false}}' >/dev/null
check "resumed it is complete" "$(code k wait --for=condition=complete job/later --timeout=60s)" 0

job slow 'sleep 1h' 'activeDeadlineSeconds: 2'
check "the deadline ends a job" "$(code k wait --for=condition=failed job/slow --timeout=60s)" 0
check "and says so" "$(field job/slow '.status.conditions[?(@.type=="Failed")].reason')" DeadlineExceeded
until_is "its pod is gone" "" k get pod -l job-name=slow -o name

job short 'true' 'ttlSecondsAfterFinished: 1'
over() { k get job short -o 'jsonpath={.metadata.deletionTimestamp}' 2>/dev/null | grep -q . || ! k get job short >/dev/null 2>&1; }
ended() { over && echo over; }
until_is "what is over goes after its time" over ended

check "pods of a deleted job are let go" "$(code k delete job again --cascade=background --timeout=30s)" 0
until_is "without a finalizer" "" k get pod -l job-name=again -o 'jsonpath={.items[*].metadata.finalizers}'

# --- CronJobs ---
check "kubectl create cronjob" "$(code k create cronjob tick --image=busybox --schedule='@every 2s' -- true)" 0
until_is "a job of it has succeeded" yes sh -c "'$KUBECTL' get cronjob tick -o 'jsonpath={.status.lastSuccessfulTime}' | grep -q . && echo yes"
check "kubectl create job --from" "$(code k create job by-hand --from=cronjob/tick)" 0
check "is complete too" "$(code k wait --for=condition=complete job/by-hand --timeout=60s)" 0
check "a schedule that is none" "$(code k create cronjob bad --image=busybox --schedule='61 * * * *' -- true)" 1
contains "is refused with the reason" "$(cat "$work/err")" "end of range (61) above maximum (59): 61"
cat >"$work/place.yaml" <<'YAML'
apiVersion: batch/v1
kind: CronJob
metadata: {name: bad}
spec:
  schedule: "* * * * *"
  timeZone: Europe/Atlantis
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}
YAML
check "a place that is none" "$(code k apply -f "$work/place.yaml")" 1
contains "is refused too" "$(cat "$work/err")" "unknown time zone Europe/Atlantis"
k delete cronjob tick >/dev/null

# --- endpoints ---
k run web --image=nginx --labels=app=web >/dev/null
check "the pod is ready" "$(code k wait --for=condition=ready pod/web --timeout=60s)" 0
k create service clusterip web --tcp=80:8080 >/dev/null
address=$(field pod/web .status.podIP)
until_is "the Service has the pod's address" "$address:8080" field endpoints/web '.subsets[0].addresses[0].ip}:{.subsets[0].ports[0].port'
slice() { k get endpointslice -l kubernetes.io/service-name=web -o "jsonpath={.items[*]$1}"; }
until_is "and so has its slice" "$address" slice '.endpoints[*].addresses[0]'
check "which names the node" "$(slice '.endpoints[0].nodeName')" "$(field pod/web .spec.nodeName)"
kubernetes=$(field endpoints/kubernetes .subsets)
[ -n "$kubernetes" ]
check "the Service kubernetes keeps its own" "$?" 0

# --- disruption budgets ---
k create poddisruptionbudget web --selector=app=web --min-available=1 >"$work/out" 2>"$work/err"
check "a budget is made without a warning" "$(cat "$work/err")" ""
until_is "the budget has counted" 1/1 field pdb/web '.status.currentHealthy}/{.status.desiredHealthy'
evict() { code k create --raw "/api/v1/namespaces/default/pods/web/eviction" -f - <<<'{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web"}}'; }
check "an eviction is refused" "$(evict)" 1
contains "because of the budget" "$(cat "$work/err")" "would violate the pod's disruption budget"
k patch pdb web --type=merge -p '{"spec":{"minAvailable":0}}' >/dev/null
until_is "another budget allows one" 1 field pdb/web .status.disruptionsAllowed
check "then it is granted" "$(evict)" 0
until_is "the pod goes" "" k get pod web --ignore-not-found -o name
until_is "and with it its address" "" field endpoints/web '.subsets'

echo "$failures failed"
[ "$failures" -eq 0 ]
