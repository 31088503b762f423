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
start() { start_server simhost --listen "127.0.0.1:$port" --nodes 3 --gpu-nodes 0 || exit 1; }
# apply FILE: false while nobody answers. Types are not asked for: that costs a server with sanitizers more than all else.
apply() {
  kill -0 "$server" 2>/dev/null || { echo "FAILED: the server ended by itself" >&2; tail -n 3 "$work/log" >&2; exit 1; }
  k apply --validate=false -f "$1" >/dev/null 2>"$work/apply"
}
# Once it has taken what people want, it has a moment between 0 and half a second.
die() {
  wishes "$1" >"$work/wishes"
  until_holds 60 apply "$work/wishes" || { echo "FAILED: not taken before kill $1: $(cat "$work/apply")" >&2; exit 1; }
  [ $(($1 % 7)) != 6 ] || k delete deployment web --wait=false >/dev/null 2>&1
  read -rt "0.$((RANDOM % 5))$((RANDOM % 10))" <> <(:) || true
  kill -9 "$server"
  wait "$server" 2>/dev/null
}
job() { printf 'apiVersion: batch/v1\nkind: Job\nmetadata: {name: job-%s}\nspec: {completions: 5, parallelism: 3, completionMode: Indexed, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [sh, -c, "sleep 0.2"]}]}}}\n' "$1"; }
workload() { printf 'apiVersion: apps/v1\nkind: %s\nmetadata: {name: %s}\nspec: {replicas: %s, selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %s}}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: c, image: "i:%s"}]}}%s}\n' "$1" "$2" "$3" "$2" "$2" "$4" "${5:-}"; }
wishes() { # before the n-th kill
  if [ $(($1 % 4)) = 1 ]; then job "$1"; echo ---; fi
  workload Deployment web $(($1 % 6 + 1)) $(($1 / 3 % 4))
  echo ---
  workload StatefulSet db $(($1 % 4 + 1)) $(($1 / 5 % 3)) ', serviceName: db, podManagementPolicy: Parallel'
}

for n in $(seq "$kills"); do
  start
  die "$n"
done
start
{ workload Deployment web 4 last; echo ---; workload StatefulSet db 3 last ', serviceName: db, podManagementPolicy: Parallel'; } >"$work/last"
until_true "the last wish is taken" apply "$work/last"
# One look at all: what is not yet as it should be, a line each.
cat >"$work/amiss.py" <<'PY'
import collections, json, sys
items = json.load(sys.stdin)["items"]
of = lambda kind: [i for i in items if i["kind"] == kind]
for app, wanted in (("web", 4), ("db", 3)):
    pods = [p for p in of("Pod") if p["metadata"]["labels"].get("app") == app]
    good = [p for p in pods if p["status"].get("phase") == "Running" and p["spec"]["containers"][0]["image"] == "i:last"]
    if (len(good), len(pods)) != (wanted, wanted):
        print(f"{app}: {len(pods)} pods, {len(good)} of them run the last image; wanted {wanted}")
for job in of("Job"):
    if job["status"].get("succeeded") != 5:
        print(f'{job["metadata"]["name"]}: {job["status"]}')
if len(of("Job")) != int(sys.argv[1]):
    print(f'{len(of("Job"))} Jobs, wanted {sys.argv[1]}')
label = "batch.kubernetes.io/job-"
indexes = collections.Counter((p["metadata"]["labels"][label + "name"], p["metadata"]["labels"][label + "completion-index"])
                              for p in of("Pod") if label + "name" in p["metadata"]["labels"])
for index, pods in indexes.items():
    if pods > 1:
        print(f"{index}: {pods} pods")
for item in of("Pod") + of("ReplicaSet"):
    if not item["metadata"].get("ownerReferences"):
        print(f'{item["kind"]} {item["metadata"]["name"]} is nobody\'s')
PY
jobs=$(((kills + 3) / 4)) # every fourth kill, from the first, meets a new one
amiss() { k get jobs,replicasets,pods -o json | python3 "$work/amiss.py" "$jobs"; }
until_is "all is as if nobody had died: 4 and 3 pods of the last image, each Job complete, each index once, nothing left over" "" amiss
echo "$kills kills, $jobs Jobs, $failures failed"
[ "$failures" = 0 ]
