#!/usr/bin/env bash
# controller_kills.sh N: the process of API server and controllers is killed with kill -9 N times, at random moments, while
# Jobs, Deployments and StatefulSets come, change and go. In the end all is as if nothing had happened: every workload has
# what it wants and nothing more, and no index of a Job was given two pods.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh
kills=${1:-20}
trap 'stop_server; rm -rf "$work"' EXIT
k() { "$KUBECTL" --request-timeout=30s "$@"; }
port=$((20000 + RANDOM % 20000))
start() {
  start_server simhost --listen "127.0.0.1:$port" --nodes 3 --gpu-nodes 0 || exit 1
  until_holds 60 ready || exit 1
}
ready() {
  kill -0 "$server" 2>/dev/null || { echo "FAILED: the server ended by itself" >&2; tail -n 3 "$work/log" >&2; exit 1; }
  "$KUBECTL" --request-timeout=5s get --raw /readyz >/dev/null 2>&1
}
# Once it answers, it has a moment between 0 and half a second.
die() {
  churn "$1"
  read -rt "0.$((RANDOM % 5))$((RANDOM % 10))" <> <(:) || true
  kill -9 "$server"
  wait "$server" 2>/dev/null
}
job() { printf 'apiVersion: batch/v1\nkind: Job\nmetadata: {name: job-%s}\nspec: {completions: 5, parallelism: 3, completionMode: Indexed, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [sh, -c, "sleep 0.2"]}]}}}\n' "$1"; }
workload() { printf 'apiVersion: apps/v1\nkind: %s\nmetadata: {name: %s}\nspec: {replicas: %s, selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %s}}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: c, image: "i:%s"}]}}%s}\n' "$1" "$2" "$3" "$2" "$2" "$4" "${5:-}"; }
churn() { # what people do before the n-th kill
  {
    if [ $(($1 % 4)) = 1 ]; then job "$1"; echo ---; fi
    workload Deployment web $(($1 % 6 + 1)) $(($1 / 3 % 4))
    echo ---
    workload StatefulSet db $(($1 % 4 + 1)) $(($1 / 5 % 3)) ', serviceName: db, podManagementPolicy: Parallel'
  } | k apply -f - >/dev/null 2>>"$work/apply"
  [ $(($1 % 7)) != 6 ] || k delete deployment web --wait=false >/dev/null 2>&1
}

for n in $(seq "$kills"); do
  start
  die "$n"
done
start
{ workload Deployment web 4 last; echo ---; workload StatefulSet db 3 last ', serviceName: db, podManagementPolicy: Parallel'; } >"$work/last"
applied() { k apply -f "$work/last" >/dev/null 2>&1; }
until_true "the last wish is taken" applied
running() { k get pods -l "app=$1" --field-selector=status.phase=Running -o 'jsonpath={.items[*].spec.containers[0].image}' | tr ' ' '\n' | sort | uniq -c | sed 's/^ *//'; }
until_is "the Deployment has what it wants" "4 i:last" running web
until_is "and nothing more" 4 count pods -l app=web
until_is "the StatefulSet has what it wants" "3 i:last" running db
until_is "and nothing more" 3 count pods -l app=db
done_jobs() { k get jobs -o 'jsonpath={.items[?(@.status.succeeded==5)].metadata.name}' | wc -w | tr -d ' '; }
made=$(count jobs)
check "every fourth kill met a new Job" "$made" "$(((kills + 3) / 4))"
until_is "every Job is complete" "$made" done_jobs
check "no index has two pods" "$(k get pods -l batch.kubernetes.io/job-name -o json | python3 -c '
import collections, json, sys
seen = collections.Counter((p["metadata"]["labels"]["batch.kubernetes.io/job-name"],
                            p["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]) for p in json.load(sys.stdin)["items"])
print([key for key, n in seen.items() if n > 1])')" "[]"
orphans() { k get pods,replicasets -o json | python3 -c '
import json, sys
items = json.load(sys.stdin)["items"]
print(sum(1 for i in items if not i["metadata"].get("ownerReferences")))'; }
until_is "nothing is left over" 0 orphans
echo "$kills kills, $made Jobs, $failures failed"
[ "$failures" = 0 ]
