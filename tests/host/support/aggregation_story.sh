#!/usr/bin/env bash
# aggregation_story.sh KUBECONFIG ADDRESS PORT ETCD: k8s.io/sample-apiserver ($SAMPLE_APISERVER) behind an APIService, through kubectl: its
# life, who may do what there, the end of a namespace with its objects, and what is said while it cannot be had. Prints every
# command with what it said; what differs from run to run is left out.
set -u
kubeconfig=$1 address=$2 port=$3 etcd=$4
kubectl_bin=${KUBECTL:?}
space=wardle
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-aggregation-XXXXXX")
sample=
end_sample() { [ -z "$sample" ] || { kill -9 "$sample"; wait "$sample"; } 2>/dev/null; sample=; }
trap 'end_sample; [ -z "${KEEP:-}" ] || cp "$work/sample.log" "$KEEP/sample-$port.log"; rm -rf "$work"' EXIT
export HOME="$work" KUBECONFIG="$kubeconfig"
normal() {
  sed -E -e 's/[Uu][Ii][Dd](": ?"|: )[0-9a-f-]{36}/uid\1UID/g' -e 's/resourceVersion(": ?"|: "?)[0-9]+/resourceVersion\1RV/g' -e 's/ +(AGE|[0-9]+m?[0-9]*s)$/ AGE/' \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/TIME/g' -e "s#$work#WORK#g" -e "s/:$port/:PORT/g" -e 's/^[EWI][0-9]{4} [0-9:.]+ +[0-9]+ /LOG /' \
    -e 's#https://127.0.0.1:[0-9]+#https://SERVER#g' -e 's#/tmp/(LIVE|MERGED)-[0-9]+#\1#g' -e 's/^(---|\+\+\+) ([^\t ]+)[\t ].*/\1 \2/' -e 's/(caBundle":")[^"]+/\1CA/'
}
s() {
  printf '$ kubectl %s\n' "$*" | normal
  [ -z "${KEEP:-}" ] || printf '%s %s\n' "$SECONDS" "$*" >>"$KEEP/trace-$port"
  "$kubectl_bin" "$@" >"$work/out" 2>"$work/err"
  local code=$?
  # Whether raw JSON ends with a new line is no one's business.
  normal <"$work/out" | if [[ $* == *--raw* ]]; then printf '%s\n' "$(cat)"; else cat; fi
  normal <"$work/err" | sort -u | sed 's/^/! /'
  printf '\n= %s\n' "$code"
}
# The same where a server may say it a moment later: until it says that text.
moment() { read -rt 0.1 <> <(:) || true; }
until_says() { # TEXT ARGUMENTS...
  local text=$1
  shift
  for _ in $(seq 450); do
    [[ $("$kubectl_bin" "$@" 2>&1) != *"$text"* ]] || return 0
    moment
  done
  echo "kubectl $* never said $text: $("$kubectl_bin" "$@" 2>&1)"
}
fresh() { rm -rf "$work/.kube"; }
# Both look again when the Service changes, and else every half a minute.
poke() { "$kubectl_bin" -n "$space" annotate service api "poked=$((poked += 1))" --overwrite >/dev/null; }
poked=0
start_sample() {
  "${SAMPLE_APISERVER:?}" --kubeconfig="$work/sample.kubeconfig" --authentication-kubeconfig="$work/sample.kubeconfig" \
    --authorization-kubeconfig="$work/sample.kubeconfig" --etcd-servers="$etcd" --etcd-prefix="/wardle-$port" --bind-address="$address" \
    --secure-port="$port" --tls-cert-file="$work/served.crt" --tls-private-key-file="$work/served.key" >>"$work/sample.log" 2>&1 &
  sample=$!
  for _ in $(seq 300); do
    curl -ksf "https://$address:$port/readyz" >/dev/null && return
    kill -0 "$sample" 2>/dev/null || break
    moment
  done
  echo "sample-apiserver is not ready:"
  tail -n 5 "$work/sample.log"
}
flunder() { # NAME [SPEC]
  printf 'apiVersion: wardle.example.com/v1beta1\nkind: Flunder\nmetadata: {name: %s, labels: {of: story}}\nspec: {%s}\n' "$1" "${2:-}" >"$work/$1.yaml"
}
{
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=wardle-ca -keyout "$work/ca.key" -out "$work/ca.crt"
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=api -keyout "$work/served.key" -out "$work/served.csr"
  openssl x509 -req -in "$work/served.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -days 2 -out "$work/served.crt" \
    -extfile <(printf 'subjectAltName=DNS:api.%s.svc,IP:%s\n' "$space" "$address")
} 2>"$work/openssl.log" || cat "$work/openssl.log"

cat >"$work/base.yaml" <<EOF
apiVersion: v1
kind: Namespace
metadata: {name: $space}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: apiserver, namespace: $space}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "wardle:system:auth-delegator"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:auth-delegator"}
subjects: [{kind: ServiceAccount, name: apiserver, namespace: $space}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: wardle-auth-reader, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{kind: ServiceAccount, name: apiserver, namespace: $space}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: wardle-apiserver}
rules:
- {apiGroups: [""], resources: [namespaces], verbs: [get, watch, list]}
- {apiGroups: [admissionregistration.k8s.io], resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations, validatingadmissionpolicies, validatingadmissionpolicybindings, mutatingadmissionpolicies, mutatingadmissionpolicybindings], verbs: [get, watch, list]}
- {apiGroups: [flowcontrol.apiserver.k8s.io], resources: [prioritylevelconfigurations, flowschemas], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: wardle-apiserver}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: wardle-apiserver}
subjects: [{kind: ServiceAccount, name: apiserver, namespace: $space}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: wardle-reader}
rules: [{apiGroups: [wardle.example.com], resources: [flunders], verbs: [get, list, watch]}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: $space}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: $space}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: wardle-reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: $space}]
EOF
cat >"$work/service.yaml" <<EOF
apiVersion: v1
kind: Service
metadata: {name: api, namespace: $space}
spec: {ports: [{name: https, port: 7443, targetPort: $port}]}
EOF
cat >"$work/slice.yaml" <<EOF
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: api-1, namespace: $space, labels: {kubernetes.io/service-name: api}}
addressType: IPv4
ports: [{name: https, port: $port, protocol: TCP}]
endpoints: [{addresses: ["$address"], conditions: {ready: true}}]
EOF
bundle=$(base64 -w0 "$work/ca.crt")
for version in v1beta1 v1alpha1; do
  priority=15
  [ "$version" = v1beta1 ] || priority=9
  cat <<EOF
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: $version.wardle.example.com}
spec:
  group: wardle.example.com
  version: $version
  groupPriorityMinimum: 2000
  versionPriority: $priority
  caBundle: $bundle
  service: {name: api, namespace: $space, port: 7443}
EOF
done >"$work/registration.yaml"
condition='-o=jsonpath={.status.conditions[?(@.type=="Available")].status} {.status.conditions[?(@.type=="Available")].reason}: {.status.conditions[?(@.type=="Available")].message}{"\n"}'

echo "# registration, one step after the other"
s apply -f "$work/base.yaml"
s apply -f "$work/registration.yaml"
until_says ServiceNotFound get apiservice v1beta1.wardle.example.com "$condition"
s get apiservice v1beta1.wardle.example.com "$condition"
s apply -f "$work/service.yaml"
until_says EndpointsNotFound get apiservice v1beta1.wardle.example.com "$condition"
s get apiservice v1beta1.wardle.example.com "$condition"
s apply -f "$work/slice.yaml"
until_says FailedDiscoveryCheck get apiservice v1beta1.wardle.example.com "$condition"
s get apiservice v1beta1.wardle.example.com
s get --raw /apis/wardle.example.com/v1beta1/flunders
token=$("$kubectl_bin" create token apiserver -n "$space")
"$kubectl_bin" config view --raw --minify --flatten -o json | python3 -c '
import json, sys
config = json.load(sys.stdin)
config["users"][0]["user"] = {"token": sys.argv[1]}
json.dump(config, sys.stdout)' "$token" >"$work/sample.kubeconfig"
start_sample
poke
s wait --for=condition=Available apiservice/v1beta1.wardle.example.com apiservice/v1alpha1.wardle.example.com --timeout=60s
s get apiservice v1beta1.wardle.example.com v1alpha1.wardle.example.com
s get apiservice v1beta1.wardle.example.com "$condition"

echo "# discovery"
until_says flunders api-resources --api-group=wardle.example.com --cached=false
fresh
s api-resources --api-group=wardle.example.com
s get --raw /apis/wardle.example.com
s get --raw /apis/wardle.example.com/v1beta1
until_says 'referenceType' explain flunders.spec
s explain flunders.spec
s explain fischers --api-version=wardle.example.com/v1alpha1

echo "# life of objects"
flunder one 'referenceType: Fischer, fischerReference: cod'
flunder two
flunder wrong 'referenceType: Nothing'
s -n "$space" create -f "$work/one.yaml"
s -n "$space" create -f "$work/one.yaml"
s -n "$space" apply -f "$work/two.yaml"
s -n "$space" create -f "$work/wrong.yaml"
s -n "$space" create -f "$work/wrong.yaml" --validate=false
s -n "$space" get flunders
s -n "$space" get flunders.v1alpha1.wardle.example.com one -o yaml
s -n "$space" get flunder one -o json
s -n "$space" get flunders -l of=story -o name
"$kubectl_bin" -n "$space" get flunders --watch-only -o name >"$work/watched" 2>&1 &
watching=$!
disown "$watching"
# Until the watch is heard of: a label that changes.
for turn in $(seq 300); do
  [ ! -s "$work/watched" ] || break
  "$kubectl_bin" -n "$space" label flunder two "turn=$turn" --overwrite >/dev/null
  moment
done
s -n "$space" label flunder one color=red
s -n "$space" patch flunder one --type=merge -p '{"spec":{"fischerReference":"eel"}}'
s -n "$space" apply --server-side --field-manager=story -f "$work/two.yaml" --force-conflicts
s -n "$space" diff -f "$work/one.yaml"
s -n "$space" annotate flunder one seen=yes
s -n "$space" delete flunder two
for _ in $(seq 300); do
  ! grep -q one "$work/watched" || [ "$(grep -c one "$work/watched")" -lt 3 ] || break
  moment
done
kill "$watching"
echo "watched: $(sort -u "$work/watched" | tr '\n' ' ')"
s get flunders -A
s create -f - <<<'{"apiVersion":"wardle.example.com/v1alpha1","kind":"Fischer","metadata":{"name":"ban"},"disallowedFlunders":["three"]}'
flunder three
until_says forbidden -n "$space" create --dry-run=server -f "$work/three.yaml"
s -n "$space" create -f "$work/three.yaml"
s delete fischer ban
until_says created -n "$space" create --dry-run=server -f "$work/three.yaml"
s -n "$space" create --dry-run=server -f "$work/three.yaml" -o name
s get --raw "/apis/wardle.example.com/v1beta1/namespaces/$space/flunders/none"

echo "# who may do what"
reader="system:serviceaccount:$space:reader"
s -n "$space" get flunders --as="$reader"
s -n "$space" delete flunder one --as="$reader"
s get flunders -A --as="$reader"
s -n "$space" get flunders --as=nobody
s auth can-i list flunders -n "$space" --as="$reader"
s auth can-i delete flunders.wardle.example.com -n "$space" --as="$reader"
direct() { curl -ks -w '\n%{http_code}\n' "$@" | normal; }
echo "# straight to the other server: it asks this one"
echo "a reader lists, deletes; a stranger; a forged front proxy"
of_reader=$("$kubectl_bin" create token reader -n "$space")
flunders="https://$address:$port/apis/wardle.example.com/v1beta1/namespaces/$space/flunders"
direct -o /dev/null -H "Authorization: Bearer $of_reader" "$flunders"
direct -X DELETE -H "Authorization: Bearer $of_reader" "$flunders/one"
direct -H "Authorization: Bearer ${of_reader}x" "$flunders"
direct "$flunders"
direct -H "X-Remote-User: admin" -H "X-Remote-Group: system:masters" "$flunders"
echo "through the front: X-Remote-User of a client's own"
cat >"$work/front.py" <<'EOF'
import base64, json, ssl, subprocess, sys, tempfile, urllib.request
view = json.loads(subprocess.check_output([sys.argv[1], "config", "view", "--raw", "--minify", "--flatten", "-o", "json"]))
cluster = view["clusters"][0]["cluster"]
context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
request = urllib.request.Request(cluster["server"] + sys.argv[2], headers={
    "Authorization": "Bearer " + sys.argv[3], "X-Remote-User": "admin", "X-Remote-Group": "system:masters"}, method=sys.argv[4])
try:
    print(urllib.request.urlopen(request, context=context).status)
except urllib.error.HTTPError as error:
    print(error.code, json.loads(error.read())["message"])
EOF
python3 "$work/front.py" "$kubectl_bin" "/apis/wardle.example.com/v1beta1/namespaces/$space/flunders" "$of_reader" GET
python3 "$work/front.py" "$kubectl_bin" "/apis/wardle.example.com/v1beta1/namespaces/$space/flunders/one" "$of_reader" DELETE

echo "# a namespace goes with what it has there"
s create namespace wardle-end
s -n wardle-end create -f "$work/two.yaml"
s -n "$space" get flunders -o name
s delete namespace wardle-end --timeout=60s
s get flunders -A

echo "# the other server is gone"
s create namespace wardle-stuck
s -n wardle-stuck create -f "$work/two.yaml"
end_sample
poke
until_says 'False FailedDiscoveryCheck' get apiservice v1beta1.wardle.example.com "$condition"
until_says 'False FailedDiscoveryCheck' get apiservice v1alpha1.wardle.example.com "$condition"
s get apiservice v1beta1.wardle.example.com
fresh
s api-resources --api-group=wardle.example.com
s -n "$space" get flunders
s get --raw "/apis/wardle.example.com/v1beta1/namespaces/$space/flunders"
s get --raw /apis/wardle.example.com
s -n "$space" get serviceaccounts -o name
s api-resources --api-group=rbac.authorization.k8s.io -o name
s delete namespace wardle-stuck --wait=false
until_says DiscoveryFailed get namespace wardle-stuck -o json
s get namespace wardle-stuck '-o=jsonpath={range .status.conditions[*]}{.type}: {.status} {.reason} {.message}{"\n"}{end}'

echo "# it comes back"
start_sample
poke
s wait --for=condition=Available apiservice/v1beta1.wardle.example.com apiservice/v1alpha1.wardle.example.com --timeout=90s
fresh
s -n "$space" get flunders -o name
until_says NotFound get namespace wardle-stuck
s get flunders -A -o name

echo "# not the certificate that the APIService says"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=other-ca -keyout "$work/other.key" -out "$work/other.crt" 2>/dev/null
s patch apiservice v1beta1.wardle.example.com --type=merge -p "{\"spec\":{\"caBundle\":\"$(base64 -w0 "$work/other.crt")\"}}" -o name
until_says False get apiservice v1beta1.wardle.example.com "$condition"
s get apiservice v1beta1.wardle.example.com
s patch apiservice v1beta1.wardle.example.com --type=json -p '[{"op":"remove","path":"/spec/caBundle"},{"op":"add","path":"/spec/insecureSkipTLSVerify","value":true}]' -o name
s wait --for=condition=Available apiservice/v1beta1.wardle.example.com --timeout=60s

echo "# the end"
s -n "$space" delete flunders --all
s delete apiservice v1beta1.wardle.example.com v1alpha1.wardle.example.com
until_says 'the server could not find the requested resource' get --raw /apis/wardle.example.com
s get --raw "/apis/wardle.example.com/v1beta1/namespaces/$space/flunders"
fresh
s api-resources --api-group=wardle.example.com
"$kubectl_bin" delete clusterrolebinding wardle:system:auth-delegator wardle-apiserver >/dev/null
"$kubectl_bin" delete clusterrole wardle-apiserver wardle-reader >/dev/null
"$kubectl_bin" -n kube-system delete rolebinding wardle-auth-reader >/dev/null
s delete namespace "$space" --timeout=60s
