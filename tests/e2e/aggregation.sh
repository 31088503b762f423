#!/usr/bin/env bash
# An API server and a webhook of the tenant's own in a pod of a virtual cluster, reached through the tunnel: API server, syncer, pod.
# The embedded host's pods are simulated, so the pod's address is given to a network namespace with a real server in it, and
# all of this runs in a namespace of its own, which leaves nothing. Needs root; else it says so, and checks nothing.
set -uo pipefail
cd "$(dirname "$0")/../.."
if [ "$(id -u)" != 0 ] || ! command -v ip nsenter >/dev/null; then
  echo "skipped: a pod's address for a real server needs root, iproute2 and util-linux"
  exit 0
fi
if [ -z "${SUBLET_OWN_NETWORK:-}" ]; then
  export SUBLET_OWN_NETWORK=1
  exec unshare --net "$0" "$@"
fi
ip link set lo up
. tests/e2e/cli_testing.sh
pod_network='' server=''
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null
  [ -z "$pod_network" ] || kill "$pod_network" 2>/dev/null
  cleanup
}
trap finish EXIT
k() { "$KUBECTL" --request-timeout=60s "$@"; }

check "create" "$(code sublet create rag -n team --nodes 1)" 0
check "connect" "$(code sublet connect rag)" 0
k apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: api, labels: {app: api}}
spec: {containers: [{name: c, image: nginx}]}
---
apiVersion: v1
kind: Service
metadata: {name: api}
spec: {selector: {app: api}, ports: [{name: https, port: 443, targetPort: 6443}, {name: hook, port: 8443, targetPort: 8443}]}
YAML
check "the pod runs" "$(code k wait --for=condition=Ready pod/api --timeout=120s)" 0
address=$(field pod/api .status.podIP)

# The pod's network: its address, with a way here.
unshare --net sleep infinity &
pod_network=$!
has_own() { [ "$(readlink /proc/$pod_network/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
until_true "a network for the pod" has_own
in_pod() { nsenter --net --target "$pod_network" "$@"; }
ip link add pod type veth peer name eth0 netns "$pod_network"
ip addr add 10.99.99.1/32 dev pod
ip link set pod up
ip route add "$address/32" dev pod
in_pod ip link set lo up
in_pod ip addr add "$address/32" dev eth0
in_pod ip link set eth0 up
in_pod ip route add 10.99.99.1/32 dev eth0

k -n kube-system get configmap extension-apiserver-authentication -o 'jsonpath={.data.requestheader-client-ca-file}' >"$work/front-proxy.crt"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=api -addext subjectAltName=DNS:api.default.svc \
  -keyout "$work/served.key" -out "$work/served.crt" 2>"$work/openssl.log" || cat "$work/openssl.log" >&2
bundle=$(base64 -w0 "$work/served.crt")
start_things() {
  rm -f "$work/things.log"
  nsenter --net --target "$pod_network" python3 tests/e2e/things_server.py "$work/served.crt" "$work/served.key" "$work/front-proxy.crt" "$address" 6443 \
    "$work/things.log" 2>>"$work/things.err" &
  server=$!
  until_holds 60 test -s "$work/things.log" || cat "$work/things.err" >&2
}
available() { k get apiservice v1.things.example.com -o 'jsonpath={.status.conditions[?(@.type=="Available")].status} {.status.conditions[?(@.type=="Available")].reason}'; }

echo "# registration"
k apply -f - >/dev/null <<YAML
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.things.example.com}
spec: {group: things.example.com, version: v1, groupPriorityMinimum: 1000, versionPriority: 10, caBundle: $bundle, service: {name: api, namespace: default}}
YAML
until_is "nobody listens in the pod" "False FailedDiscoveryCheck" available
start_things
until_is "it does" "True Passed" available

echo "# discovery, requests, a watch"
kinds() { k api-resources --api-group=things.example.com --cached=false -o name; }
until_is "discovery has it" things.things.example.com kinds
thing() { printf 'apiVersion: things.example.com/v1\nkind: Thing\nmetadata: {name: %s}\n' "$1" | k create --validate=false -f - "${@:2}"; }
check "create" "$(thing one)" "thing.things.example.com/one created"
check "get" "$(k get thing one -o 'jsonpath={.metadata.name} {.spec.token}')" "one none"
check "what is not there" "$(k get thing none 2>&1)" 'Error from server (NotFound): things "none" not found'
"$KUBECTL" get things --watch --output-watch-events -o 'jsonpath={.type} {.object.metadata.name}{"\n"}' >"$work/watched" 2>"$work/watch.err" &
watching=$!
watched() { tr '\n' ',' <"$work/watched"; }
until_is "a watch begins with what is there" "ADDED one," watched
thing two >/dev/null
until_is "and hears what comes" "ADDED one,ADDED two," watched
k delete thing two >/dev/null
until_is "and goes" "ADDED one,ADDED two,DELETED two," watched
kill "$watching"
ended() { grep -c WATCH-ENDED "$work/things.log"; }
until_is "a watch that nobody hears ends there, too" 1 ended

echo "# who asks"
check "nobody without rights" "$(k get things --as=jane 2>&1)" \
  'Error from server (Forbidden): things.things.example.com is forbidden: User "jane" cannot list resource "things" in API group "things.example.com" in the namespace "default"'
check "nor is the other server asked" "$(grep -c '^jane ' "$work/things.log")" 0
k create role things --verb=create,list,watch --resource=things.things.example.com >/dev/null
k create rolebinding jane --role=things --user=jane >/dev/null
check "who has them" "$(thing of-jane --as=jane --as-group=staff)" "thing.things.example.com/of-jane created"
check "is said to be that one" "$(k get thing of-jane -o 'jsonpath={.spec.by} {.spec.groups}')" 'jane ["staff","system:authenticated"]'
config() { k config view --raw --minify -o "jsonpath={$1}"; }
config '.clusters[0].cluster.certificate-authority-data' | base64 -d >"$work/ca"
api=$(config '.clusters[0].cluster.server')
k create serviceaccount robot >/dev/null
k create rolebinding robot --role=things --serviceaccount=default:robot >/dev/null
printf '{"apiVersion":"things.example.com/v1","kind":"Thing","metadata":{"name":"forged"}}' >"$work/forged.json"
check "who says himself whom he is" "$(curl -s -o /dev/null -w '%{http_code}' --cacert "$work/ca" -H "Authorization: Bearer $(k create token robot)" \
  -H 'X-Remote-User: admin' -H 'X-Remote-Group: system:masters' -H 'Content-Type: application/json' --data @"$work/forged.json" \
  "$api/apis/things.example.com/v1/namespaces/default/things")" 201
check "is not believed, nor is his token passed on" "$(k get thing forged -o 'jsonpath={.spec.by} {.spec.token}')" "system:serviceaccount:default:robot none"
check "a stranger in the pods' network gets no connection" \
  "$(curl -sk -m 20 -o /dev/null -w '%{http_code}' "https://$address:6443/apis/things.example.com/v1")" 000
"$KUBECTL" get things --watch -o name --as=jane >"$work/of-jane" 2>&1 &
watching=$!
until_true "jane watches" grep -q of-jane "$work/of-jane"
k delete rolebinding jane >/dev/null
over() { ! kill -0 "$watching" 2>/dev/null; }
until_true "until the right is taken away" over

echo "# the syncer dies, and the other server"
syncer=$(pgrep -f "subletd syncer .*$SUBLET_STATE_DIR/clusters/team/rag" | head -n 1)
kill -9 "$syncer"
names() { k get things -o name 2>/dev/null | tr '\n' ' '; }
until_is "after a kill of the syncer" "thing.things.example.com/one thing.things.example.com/of-jane thing.things.example.com/forged " names
kill -9 "$server"
until_is "gone" "False FailedDiscoveryCheck" available
check "and told" "$(k get --raw /apis/things.example.com/v1/namespaces/default/things 2>&1)" "Error from server (ServiceUnavailable): the server is currently unable to handle the request"
check "while all else goes on" "$(k get serviceaccount robot -o name)" serviceaccount/robot
start_things
until_is "it comes back" "True Passed" available
check "and answers" "$(thing again)" "thing.things.example.com/again created"

echo "# a webhook in the same pod"
nsenter --net --target "$pod_network" python3 tests/e2e/admission_server.py "$work/served.crt" "$work/served.key" "$work/hook-port" "$address" 8443 2>"$work/hook.err" &
hook=$!
until_true "the webhook listens" test -s "$work/hook-port"
webhook() { # KIND NAME PATH
  cat <<YAML
---
apiVersion: admissionregistration.k8s.io/v1
kind: $1WebhookConfiguration
metadata: {name: $2}
webhooks:
- name: $2.example.com
  clientConfig: {service: {name: api, namespace: default, port: 8443, path: $3}, caBundle: $bundle}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  sideEffects: None
  admissionReviewVersions: [v1]
YAML
}
{ webhook Validating deny /deny; webhook Mutating label /label; } | k apply -f - >/dev/null
check "it lets pass" "$(k create configmap good)" "configmap/good created"
check "and changes" "$(k get configmap good -o 'jsonpath={.metadata.labels.seen}')" yes
check "and refuses" "$(printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad, labels: {deny: "yes"}}\n' | k create -f - 2>&1)" \
  'Error from server: error when creating "STDIN": admission webhook "deny.example.com" denied the request: not here'
kill "$hook"
exit "$((failures > 0))"
