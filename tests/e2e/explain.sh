#!/usr/bin/env bash
# sublet explain: the host object that is, or would be, and who made each field differ.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

cat >"$work/pod.yaml" <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  subdomain: db
  containers: [{name: main, image: nginx}]
YAML
# Offline: no virtual cluster is there, and nothing is asked.
contains "a pod that nobody stored" "$(sublet explain -f "$work/pod.yaml")" "Pod default/web would be on the host sublet-example/web-x-default-x-example"
contains "with the row's reason" "$(sublet explain -f "$work/pod.yaml")" "drop: it would be resolved in the host namespace's domain"
contains "a template's patch is named as such" \
  "$(sublet explain -f "$work/pod.yaml" --template templates/gpu-fraction.yaml --set queue=research -o json)" '"by": "patch"'
check "what does not cross is refused" "$(sed 's/subdomain: db/hostNetwork: true/' "$work/pod.yaml" >"$work/net.yaml"; code sublet explain -f "$work/net.yaml")" 5
contains "with its field" "$(cat "$work/err")" "spec.hostNetwork"
check "no object" "$(code sublet explain)" 2
check "no such virtual cluster" "$(code sublet explain nobody pod/web)" 3

check "create" "$(code sublet create rag -n team --nodes 1)" 0
check "connect" "$(code sublet connect rag)" 0
k() { "$KUBECTL" --request-timeout=60s "$@"; }
k apply -f "$work/pod.yaml" >/dev/null
check "the pod runs" "$(code k wait --for=condition=Ready pod/web --timeout=120s)" 0
answer=$(sublet explain rag pod/web -o json)
contains "it is on the host" "$answer" '"onHost": true'
contains "under its name" "$answer" '"hostName": "web-x-default-x-rag"'
check "the account is the border's" "$(jq -r '.fields[] | select(.field == "spec.serviceAccountName") | .action' <<<"$answer")" force
check "what the tenant knows of its node is no difference" "$(jq -r '.fields[] | select(.field == "spec.nodeName") | .by' <<<"$answer")" ""
check "no such pod" "$(code sublet explain rag pod/nobody)" 3
check "a kind that is none" "$(code sublet explain rag thing/web)" 2

# Why a pod does not run.
check "one that runs" "$(sublet why rag pod/web)" $'pod default/web:\n- it runs and is ready'
k run large --image=nginx --overrides='{"spec":{"containers":[{"name":"large","image":"nginx","resources":{"requests":{"cpu":"900"}}}]}}' >/dev/null
says() { sublet why rag "$1" | grep -q "$2"; }
until_true "one that fits nowhere" says pod/large "no node is found for it: Unschedulable"
k run wrong --image=does-not-exist/x >/dev/null
until_true "one whose image is not there" says pod/wrong "container wrong: waits: .*Image"
check "none" "$(code sublet why rag pod/nobody)" 3
check "no pod at all" "$(code sublet why rag svc/kubernetes)" 2

exit "$((failures > 0))"
