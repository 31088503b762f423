#!/usr/bin/env bash
# host: given, 20 s
# What keys of vcluster.yaml make on a real host: its API server takes the Services of every type, the Ingress, the TLSRoute, the
# NetworkPolicy, the quota with scopes and the accounts as we write them; a second start writes nothing; people come in by a
# kubeconfig from a Secret; nothing stays. HOST_KUBECONFIG names the host.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/host/support/checks.sh
cleanup() {
  show_logs_of_failure
  sublet delete keys -n keys-team --yes --force --timeout 20s >/dev/null 2>&1
  host delete namespace keys-gitops --ignore-not-found --wait=false >/dev/null 2>&1
  [ -s "$work/crds" ] && xargs "$KUBECTL" --kubeconfig "$HOST_KUBECONFIG" delete --wait=false <"$work/crds" >/dev/null 2>&1
  rm -rf "$work"
}
trap cleanup EXIT
of_host() { host -n keys-team get "$1" -o "jsonpath={$2}"; }

gateway_api=$(cd "$work" && GOFLAGS=-mod=mod go mod download -json sigs.k8s.io/gateway-api@v1.6.3 | sed -nE 's/^\t"Dir": "(.*)",$/\1/p')
for file in "$gateway_api"/config/crd/standard/gateway.networking.k8s.io_tlsroutes.yaml; do
  host create -f "$file" -o name >>"$work/crds" 2>"$work/err" || grep -q AlreadyExists "$work/err" || flunk "$file: $(cat "$work/err")"
done
for crd in $(cat "$work/crds"); do host wait --for=condition=Established --timeout=60s "$crd" >/dev/null; done
host create namespace keys-gitops >/dev/null

cat >"$work/values.yaml" <<'Y'
sync:
  toHost:
    pods: {translateImage: {busybox: mirror.example/busybox}, enforceTolerations: ["team=rag:NoSchedule"]}
controlPlane:
  service: {labels: {of: people}, annotations: {lb: internal}, spec: {type: LoadBalancer, externalTrafficPolicy: Local}, httpsNodePort: 30998}
  ingress: {enabled: true, host: keys.example.com, pathType: Prefix, labels: {a: b}, annotations: {c: d}, spec: {tls: [{hosts: [keys.example.com]}]}}
  tlsRoute: {enabled: true, host: tls.example.com, parentRefs: [{name: edge, namespace: gateways}], labels: {a: b}}
  advanced:
    globalMetadata: {annotations: {owner: platform}}
    serviceAccount: {labels: {who: syncer}, annotations: {note: one}}
    workloadServiceAccount: {name: keys-pods, imagePullSecrets: [{name: registry}], labels: {who: pods}}
policies:
  resourceQuota:
    enabled: true
    quota: {requests.cpu: null, requests.memory: null, requests.ephemeral-storage: null, limits.cpu: null, limits.memory: null, limits.ephemeral-storage: null, services.nodeports: null, services.loadbalancers: null, count/pods: null, count/services: null, pods: 5}
    scopes: [NotTerminating]
    scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: DoesNotExist}]}
    labels: {q: r}
  limitRange: {enabled: true, annotations: {l: m}}
  networkPolicy:
    labels: {tier: tenants}
    workload:
      publicEgress: {cidr: 203.0.0.0/8, except: [203.0.113.0/24, 10.0.0.0/8]}
      egress: [{to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shared}}}], ports: [{port: 5432, protocol: TCP}]}]
      ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}}]}]
exportKubeConfig:
  secret: {name: keys-access}
  additionalSecrets: [{name: keys-view, namespace: keys-gitops, serviceAccount: {name: looker, namespace: kube-system, clusterRole: view}}]
experimental:
  deploy:
    vcluster:
      manifests: |
        {apiVersion: v1, kind: ConfigMap, metadata: {name: from-the-start}, data: {a: b}}
Y
machine=$(hostname -I | tr ' ' '\n' | grep -m1 -E '^[0-9]+(\.[0-9]+){3}$')
create() { sublet create keys -n keys-team "$@" --host-kubeconfig "$HOST_KUBECONFIG" --pod-address "$machine" 2>"$work/err"; }
check "create" "$(create -f "$work/values.yaml")" "virtualcluster/keys created"
[ -s "$work/err" ] && sed 's/^/  /' "$work/err"
sublet connect keys --print >"$work/keys.yaml"
server=$(sed -n 's/^ *server: *//p' "$work/keys.yaml")
k() { "$KUBECTL" --kubeconfig "$work/keys.yaml" "$@"; }

check "the Service" "$(of_host service/sublet-keys-api '.spec.type} {.spec.externalTrafficPolicy} {.spec.ports[0].nodePort} {.metadata.labels.of} {.metadata.annotations.lb} {.metadata.annotations.owner')" \
  "LoadBalancer Local 30998 people internal platform"
check "leads to this machine" "$(of_host endpointslice/sublet-keys-api '.endpoints[0].addresses[0]} {.ports[0].port')" "$machine ${server##*:}"
check "the Ingress" "$(of_host ingress/sublet-keys-api '.spec.rules[0].host} {.spec.tls[0].hosts[0]} {.metadata.labels.a} {.metadata.annotations.c')" \
  "keys.example.com keys.example.com b d"
check "the TLSRoute" "$(of_host tlsroute/sublet-keys-api '.spec.hostnames[0]} {.spec.parentRefs[0].name} {.spec.rules[0].backendRefs[0].name')" \
  "tls.example.com edge sublet-keys-api"
check "the accounts" "$(of_host serviceaccount/keys-pods '.imagePullSecrets[0].name} {.metadata.labels.who')$(of_host serviceaccount/sublet-syncer-keys '.metadata.annotations.note')" "registry podsone"
check "the quota" "$(of_host resourcequota/sublet-keys '.spec.scopes[0]} {.spec.scopeSelector.matchExpressions[0].operator} {.spec.hard.pods} {.metadata.labels.q')" \
  "NotTerminating DoesNotExist 5 r"
check "the limits" "$(of_host limitrange/sublet-keys .metadata.annotations.l)" m
check "the policy's world" "$(of_host networkpolicy/sublet-keys '.spec.egress[*].to[*].ipBlock.cidr} {.spec.egress[*].to[*].ipBlock.except')" "$machine/32 203.0.0.0/8 [\"203.0.113.0/24\"]"
check "the policy's rules" "$(of_host networkpolicy/sublet-keys '.spec.policyTypes} {.spec.ingress[1].from[0].namespaceSelector.matchLabels} {.metadata.labels.tier')" \
  '["Egress","Ingress"] {"kubernetes.io/metadata.name":"ingress"} tenants'
check "an object from the start" "$(k get configmap from-the-start -o 'jsonpath={.data.a}')" b

k run web --image busybox --restart Never -- sh -c 'sleep 1h' >/dev/null
until_is "the image is another on the host" 60 mirror.example/busybox of_host pod/web-x-default-x-keys '.spec.containers[0].image'
check "taints are tolerated" "$(of_host pod/web-x-default-x-keys '.spec.tolerations[?(@.key=="team")].value')" rag

host -n keys-team get secret keys-access -o 'jsonpath={.data.config}' | base64 -d >"$work/access.yaml"
sed -i "s#server: .*#server: $server#" "$work/access.yaml" # the cluster IP is the host's pods' way
check "an exported kubeconfig opens it" "$("$KUBECTL" --kubeconfig "$work/access.yaml" auth can-i '*' '*' 2>/dev/null)" yes
host -n keys-gitops get secret keys-view -o 'jsonpath={.data.config}' | base64 -d | sed "s#server: .*#server: $server#" >"$work/view.yaml"
check "another opens less" "$("$KUBECTL" --kubeconfig "$work/view.yaml" auth whoami -o 'jsonpath={.status.userInfo.username}') $("$KUBECTL" --kubeconfig "$work/view.yaml" auth can-i delete pods 2>/dev/null)" \
  "system:serviceaccount:kube-system:looker no"

versions() {
  host -n keys-team get service,endpointslice,ingress,tlsroute,serviceaccount,role,resourcequota,limitrange,networkpolicy,secret -l sublet.dev/managed-by=keys \
    -o 'jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{"\n"}{end}' | grep -v x-default-x
}
before=$(versions)
kill "$(cat "$SUBLET_STATE_DIR/clusters/keys-team/keys/daemon.lock")"
stopped() { sublet list -n keys-team | awk '/keys/ {print $3}'; }
until_is "it is stopped" 60 Stopped stopped
check "started again" "$(sublet create keys -n keys-team 2>"$work/err")" "virtualcluster/keys started"
check "which writes nothing that says the same" "$(diff <(echo "$before") <(versions))" ""

check "delete" "$(sublet delete keys --yes 2>"$work/err")" "virtualcluster/keys deleted"
check "nothing stays elsewhere" "$(host -n keys-gitops get secrets -o name)" ""
check "nor in its namespace" "$(host get service,ingress,tlsroute,networkpolicy,secret -n keys-team -l sublet.dev/managed-by=keys -o name 2>/dev/null)" ""
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
