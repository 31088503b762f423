#!/usr/bin/env bash
# conversion_story.sh KUBECONFIG PORT CA-BUNDLE NAME: a kind in two versions that a webhook (tests/e2e/conversion_server.py) converts
# between, through kubectl: prints every command with what it said. What differs from run to run is left out.
set -u
kubeconfig=$1 port=$2 bundle=$3 space=$4
kubectl_bin=${KUBECTL:?}
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-conversion-XXXXXX")
trap 'rm -rf "$work"' EXIT
export HOME="$work" KUBECTL_EXTERNAL_DIFF="diff -u0" KUBECONFIG="$kubeconfig"
normal() {
  sed -E -e 's/uid: [0-9a-f-]{36}/uid: UID/g' -e 's/resourceVersion: "?[0-9]+"?/resourceVersion: RV/g' -e 's/"resourceVersion": ?"[0-9]+"/"resourceVersion":"RV"/g' -e 's/"uid": ?"[0-9a-f-]{36}"/"uid":"UID"/g' -e 's/ +(AGE|[0-9]+m?[0-9]*s)$/ AGE/' \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/TIME/g' -e 's#^(---|\+\+\+) /tmp.*#\1 FILE#' -e "s#$work#WORK#g" -e "s/:$port/:PORT/g" -e 's/^(diff .*) .*/\1/'
}
s() {
  printf '$ kubectl %s\n' "$*" | normal
  "$kubectl_bin" -n "$space" "$@" >"$work/out" 2>"$work/err"
  local code=$?
  [[ $* != *--raw* ]] || python3 -c 'import json, sys; print(*(json.dumps(json.loads(l), sort_keys=True) for l in sys.stdin), sep="\n")' <"$work/out" >"$work/sorted"
  [[ $* != *--raw* ]] || mv "$work/sorted" "$work/out"
  normal <"$work/out"
  normal <"$work/err" | sed 's/^/! /'
  printf '\n= %s\n' "$code"
}
version() { # NAME STORED FIELDS SELECTABLE...
  local selectable
  selectable=$(printf '{jsonPath: .spec.%s}, ' "${@:4}")
  printf '  - {name: %s, served: true, storage: %s, selectableFields: [%s], subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}, spec: {type: object, properties: {%s}}}}}}\n' "$1" "$2" "${selectable%, }" "$3"
}
definition() { # PATH STORED
  local one=true two=false
  [ "$2" = v1 ] || one=false two=true
  cat <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: links.convert.example.com}
spec:
  group: convert.example.com
  scope: Namespaced
  names: {plural: links, singular: link, kind: Link}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:$port$1", caBundle: $bundle}}
  versions:
$(version v1 $one 'hostPort: {type: string}, kind: {type: string, default: tcp}' hostPort)
$(version v2 $two 'host: {type: string}, port: {type: string, maxLength: 5}, kind: {type: string, enum: [tcp, udp]}' host port kind)
END
}
link() { # VERSION NAME SPEC
  printf 'apiVersion: convert.example.com/%s\nkind: Link\nmetadata: {name: %s}\nspec: {%s}\n' "$1" "$2" "$3" >"$work/$2.yaml"
}
# The definition in effect: a dry run of v2 says what the webhook at that path does.
until_says() { # TEXT
  for _ in $(seq 300); do
    [[ $("$kubectl_bin" -n "$space" get links.v2.convert.example.com one --show-labels 2>&1) != *"$1"* ]] || return 0
    read -rt 0.1 <> <(:) || true
  done
  echo "never said $1"
}
"$kubectl_bin" create namespace "$space" >/dev/null
definition /convert v1 >"$work/type.yaml"
s apply -f "$work/type.yaml"
s wait --for=condition=Established crd/links.convert.example.com --timeout=60s
link v1 one 'hostPort: "a:1"'
s apply -f "$work/one.yaml"
s get links.v1.convert.example.com one -o yaml --show-managed-fields
s get links.v2.convert.example.com one -o yaml --show-managed-fields
link v2 two 'host: b, port: "2", kind: udp'
s create -f "$work/two.yaml"
s get links.v1.convert.example.com two -o yaml
s get links.v2.convert.example.com -o custom-columns=N:.metadata.name,H:.spec.host,P:.spec.port
s get links.v1.convert.example.com -o jsonpath='{.items[*].spec}'
s get links.v2.convert.example.com --chunk-size=1
s get links.v2.convert.example.com --field-selector spec.host=b -o name
s get links.v2.convert.example.com --field-selector spec.host!=b,spec.port=1 -o name
s get links.v2.convert.example.com --field-selector spec.kind=tcp -o name
s get links.v1.convert.example.com --field-selector spec.hostPort=b:2 -o name
s get links.v1.convert.example.com --field-selector spec.host=b
s get links.v2.convert.example.com --field-selector spec.hostPort=b:2
s get --raw "/apis/convert.example.com/v2/namespaces/$space/links?watch=1&timeoutSeconds=1&fieldSelector=spec.host%3Db"
s get links.v2.convert.example.com one -o json --show-managed-fields
s patch links.v2.convert.example.com one --type=merge -p '{"spec":{"port":"22"}}'
s patch links.v2.convert.example.com one --type=merge -p '{"spec":{"port":"too-long"}}'
s patch links.v2.convert.example.com one --type=json -p '[{"op":"test","path":"/spec/host","value":"a"},{"op":"replace","path":"/spec/host","value":"c"}]'
s get links.v1.convert.example.com one -o jsonpath='{.spec} {.metadata.generation}'
s patch links.v2.convert.example.com one --subresource=status --type=merge -p '{"status":{"seen":true}}'
link v2 three 'host: d, port: "4"'
s apply --server-side -f "$work/three.yaml"
s apply --server-side -f "$work/three.yaml"
s label links.v2.convert.example.com three a=b
s get links.v1.convert.example.com three -o yaml
link v2 four 'host: e, port: "123456"'
s create -f "$work/four.yaml"
s delete links.v2.convert.example.com --field-selector spec.host=d
s get --raw "/apis/convert.example.com/v2/namespaces/$space/links?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dtwo"
for path in /fail /few /wrong /none; do
  definition "$path" v1 >"$work/type.yaml"
  "$kubectl_bin" apply -f "$work/type.yaml" >/dev/null
  case $path in /fail) until_says 'not this one' ;; /few) until_says 'returned 0' ;; /wrong) until_says 'same name' ;; *) until_says 'could not find' ;; esac
  s get links.v2.convert.example.com one
  s patch links.v2.convert.example.com two --type=merge -p '{"spec":{"port":"9"}}'
  link v2 five 'host: f'
  s create -f "$work/five.yaml"
  s get links.v1.convert.example.com one -o jsonpath='{.spec}'
done
definition /label v1 >"$work/type.yaml"
"$kubectl_bin" apply -f "$work/type.yaml" >/dev/null
until_says 'by=hook'
s get links.v2.convert.example.com one --no-headers -o custom-columns=N:.metadata.name,L:.metadata.labels
definition /convert v2 >"$work/type.yaml"
"$kubectl_bin" apply -f "$work/type.yaml" >/dev/null
s get crd links.convert.example.com -o jsonpath='{.status.storedVersions}'
link v1 six 'hostPort: "g:6"'
s create -f "$work/six.yaml"
s get links.v1.convert.example.com -o jsonpath='{.items[*].spec}'
s get links.v2.convert.example.com -o jsonpath='{.items[*].spec}'
s delete links.v1.convert.example.com six
s delete crd links.convert.example.com --timeout=60s
"$kubectl_bin" delete namespace "$space" --wait=false >/dev/null
