#!/usr/bin/env bash
# The proxies of pods and services in a virtual cluster, by kubectl get --raw and kubectl proxy: through the API server,
# the tunnel, the syncer and the host's API server to the simulated pod's server.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh

check "create" "$(code sublet create rag -n team --nodes 1)" 0
check "connect" "$(code sublet connect rag)" 0
k() { "$KUBECTL" --request-timeout=120s "$@"; }
raw() { timeout 120 "$KUBECTL" "${@:1:$#-1}" get --raw "${@: -1}"; } # --request-timeout would come to the pod as a parameter
k apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec: {containers: [{name: c, image: nginx, ports: [{containerPort: 8080}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
YAML
check "the pod runs" "$(code k wait --for=condition=Ready pod/web --timeout=120s)" 0
pods=/api/v1/namespaces/default/pods services=/api/v1/namespaces/default/services
host=team/web-x-default-x-rag

check "its first port" "$(raw $pods/web/proxy/)" "simhost: pod $host port 8080: GET /"
check "a port, a path and a query" "$(raw "$pods/https:web:8443/proxy/a/b/?c=d%26e")" "simhost: pod $host port 8443: GET /a/b/?c=d%26e"
until_is "a service" "simhost: pod $host port 8080: GET /x" raw $services/front:80/proxy/x
check "by the port's name" "$(raw $services/http:front:http/proxy/)" "simhost: pod $host port 8080: GET /"
check "no such port" "$(code raw $services/front:81/proxy/)" 1
contains "in upstream's words" "$(cat "$work/err")" 'no service port 81 found for service "front"'
check "a pod that is not there" "$(code raw $pods/nobody/proxy/)" 1
contains "in the tenant's name" "$(cat "$work/err")" 'pods "nobody" not found'
# A Service whose endpoints are made by hand reaches no pod but the tenant's own.
k apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: foreign}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: foreign}
subsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 443}]}]
YAML
check "an address of nobody's" "$(code raw $services/foreign:80/proxy/)" 1
contains "is none" "$(cat "$work/err")" "no endpoints available"

# kubectl proxy: every method, answers' codes, links.
: >"$work/proxy"
"$KUBECTL" proxy --port=0 >"$work/proxy" 2>&1 &
proxy=$!
until_true "kubectl proxy listens" grep -q "Starting to serve on" "$work/proxy"
at=http://$(sed -n 's/Starting to serve on //p' "$work/proxy")
ask() { curl -s -m 60 "$@"; }
for method in POST PUT PATCH DELETE; do
  check "$method" "$(ask -X $method -d "the body" "$at$pods/web/proxy/p")" "simhost: pod $host port 8080: $method /p"$'\n'"the body"
done
check "HEAD" "$(ask -I -o /dev/null -w '%{http_code}' "$at$pods/web/proxy/")" 200
head -c 1000000 /dev/urandom | base64 -w0 >"$work/large"
check "a large body, there and back" "$(ask --data-binary @"$work/large" "$at$pods/web/proxy/p" | tail -n +2 | cmp - "$work/large" && echo same)" same
check "the pod's own code" "$(ask -o /dev/null -w '%{http_code}' "$at$pods/web/proxy/status?code=418")" 418
check "no slash" "$(ask -o /dev/null -w '%{http_code} %{redirect_url}' "$at$pods/web/proxy?a=b")" "301 $at$pods/web/proxy/?a=b"
check "a redirect stays in the proxy" "$(ask -o /dev/null -w '%{redirect_url}' "$at$services/front:80/proxy/redirect?location=/next")" "$at$services/front:80/proxy/next"
check "and can be followed" "$(ask -L "$at$services/front:80/proxy/redirect?location=/next")" "simhost: pod $host port 8080: GET /next"
contains "a page's links stay there too" "$(ask "$at$pods/web/proxy/index.html")" "<a href=\"$pods/web/proxy/\">"
# By curl itself: kubectl proxy would tidy the path up before it sends it.
view() { k config view --raw --minify -o "jsonpath={$1}"; }
view '.clusters[0].cluster.certificate-authority-data' | base64 -d >"$work/ca"
view '.users[0].user.client-certificate-data' | base64 -d >"$work/cert"
view '.users[0].user.client-key-data' | base64 -d >"$work/key"
direct() { ask --path-as-is --cacert "$work/ca" --cert "$work/cert" --key "$work/key" "$(view '.clusters[0].cluster.server')$1"; }
for way in /../../../secrets /%2e%2e/%2E%2E%2fsecrets //secrets; do
  check "$way stays at the pod" "$(direct "$pods/web/proxy$way")" "simhost: pod $host port 8080: GET /secrets"
done
# An upgrade: bytes both ways.
IFS=: read -r _ address port <<<"${at/\/\//}"
exec 7<>"/dev/tcp/$address/$port"
printf 'GET %s/web/proxy/echo HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n' "$pods" >&7
IFS= read -r -t 60 first <&7
contains "another protocol" "$first" "HTTP/1.1 101"
while IFS= read -r -t 60 line <&7 && [ "$line" != $'\r' ]; do :; done
echo "there and back" >&7
IFS= read -r -t 60 line <&7
check "its bytes" "$line" "there and back"
exec 7>&-
kill "$proxy" 2>/dev/null
wait "$proxy" 2>/dev/null

# Rights are those to pods/proxy.
k create serviceaccount reader >/dev/null
k create role reader --verb=get --resource=pods >/dev/null
k create rolebinding reader --role=reader --serviceaccount=default:reader >/dev/null
as=(--as=system:serviceaccount:default:reader)
check "who may read pods may not ask their servers" "$(code raw "${as[@]}" $pods/web/proxy/)" 1
contains "and hears so" "$(cat "$work/err")" 'cannot get resource "pods/proxy"'
k create role asks --verb=get --resource=pods/proxy >/dev/null
k create rolebinding asks --role=asks --serviceaccount=default:reader >/dev/null
until_is "who may, may" "simhost: pod $host port 8080: GET /" raw "${as[@]}" $pods/web/proxy/
exit "$((failures > 0))"
