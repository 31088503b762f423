#!/usr/bin/env bash
# Keys of vcluster.yaml that make objects on the host or in the virtual cluster, seen from both sides: a Service, an Ingress
# and kubeconfigs for people, accounts, policies, what host pods get, objects that are there from the start; nothing stays.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh
h() { "$KUBECTL" --request-timeout=30s --kubeconfig "$SUBLET_STATE_DIR/host/admin.kubeconfig" "$@"; }
k() { "$KUBECTL" --request-timeout=60s --kubeconfig "$work/rag.yaml" "$@"; }
of_host() { h -n team-rag get "$1" -o "jsonpath={$2}"; }

cat >"$work/values.yaml" <<'Y'
sync:
  toHost:
    pods:
      translateImage: {busybox: mirror.example/busybox}
      enforceTolerations: ["team=rag:NoSchedule", "spot:NoExecute"]
controlPlane:
  service: {labels: {of: people}, annotations: {lb: internal}, spec: {type: NodePort}, httpsNodePort: 30999}
  ingress: {enabled: true, host: rag.example.com, pathType: Prefix, spec: {ingressClassName: nginx}}
  proxy: {extraSANs: [also.example.com]}
  coredns: {service: {labels: {of: pods}, annotations: {note: dns}}}
  advanced:
    globalMetadata: {annotations: {owner: platform}}
    serviceAccount: {labels: {who: syncer}}
    workloadServiceAccount: {name: rag-pods, imagePullSecrets: [{name: registry}]}
networking: {advanced: {clusterDomain: rag.example}}
policies:
  networkPolicy:
    labels: {tier: tenants}
    workload:
      publicEgress: {except: [203.0.113.0/24]}
      ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}}]}]
exportKubeConfig:
  secret: {name: rag-access}
  context: rag
  server: https://SERVER
  additionalSecrets:
    - {name: rag-view, namespace: gitops, serviceAccount: {name: looker, namespace: kube-system, clusterRole: view}, server: https://SERVER}
experimental:
  deploy:
    vcluster:
      manifests: |
        apiVersion: v1
        kind: Namespace
        metadata: {name: tools}
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: from-the-start, namespace: tools}
        data: {a: b}
Y
cat >"$work/off.yaml" <<'Y'
controlPlane: {coredns: {enabled: false}}
networking: {advanced: {clusterDomain: off.example}}
integrations: {metricsServer: {enabled: false}}
logging: {encoding: json}
Y
check "without --pod-address it is refused" "$(code sublet create rag -n team-rag -f "$work/values.yaml")" 2
contains "with the way out" "$(cat "$work/err")" "give --pod-address"

# Its port is known once it runs: the Secrets take what they say from the template.
address=$(hostname -I | tr ' ' '\n' | grep -m1 -E '^[0-9]+(\.[0-9]+){3}$')
check "create another first, for the host" "$(code sublet create other -n team-other)" 0
h create namespace gitops >/dev/null
check "create" "$(code sublet create rag -n team-rag -f "$work/values.yaml" --pod-address "$address")" 0
sublet connect rag --print >"$work/rag.yaml"
server=$(sed -n 's/^ *server: *//p' "$work/rag.yaml")
port=${server##*:}

check "a Service for people" "$(of_host service/sublet-rag-api '.spec.type} {.spec.ports[0].nodePort} {.metadata.labels.of} {.metadata.annotations.lb} {.metadata.annotations.owner')" \
  "NodePort 30999 people internal platform"
check "leads to where pods reach it" \
  "$(of_host endpointslice/sublet-rag-api '.endpoints[0].addresses[0]} {.ports[0].port')" "$address $port"
check "an Ingress to it" "$(of_host ingress/sublet-rag-api '.spec.ingressClassName} {.spec.rules[0].host} {.spec.rules[0].http.paths[0].pathType} {.spec.rules[0].http.paths[0].backend.service.name')" \
  "nginx rag.example.com Prefix sublet-rag-api"
names=$(openssl s_client -connect "$address:$port" </dev/null 2>/dev/null | openssl x509 -noout -ext subjectAltName)
contains "the certificate has the Ingress's host" "$names" "DNS:rag.example.com"
contains "and the further names" "$names" "DNS:also.example.com"
check "the syncer's account" "$(of_host serviceaccount/sublet-syncer-rag .metadata.labels.who)" syncer
check "the workloads' account" "$(of_host serviceaccount/rag-pods '.imagePullSecrets[0].name')" registry
policy=$(h -n team-rag get networkpolicy sublet-rag -o json)
contains "metadata stay out of reach" "$policy" '"169.254.0.0/16"'
contains "beside what the template leaves out" "$policy" '"203.0.113.0/24"'
contains "ingress from where it says" "$policy" '"kubernetes.io/metadata.name": "ingress"'
check "labels of the policy" "$(of_host networkpolicy/sublet-rag .metadata.labels.tier)" tenants

check "an object from the start" "$(k get configmap from-the-start -n tools -o 'jsonpath={.data.a}')" b

k run web --image busybox --restart Never -- sh -c 'sleep 1h' >/dev/null
host_pod=pod/web-x-default-x-rag
until_is "the image is another on the host" mirror.example/busybox of_host $host_pod '.spec.containers[0].image'
check "the tenant's is its own" "$(k get pod web -o 'jsonpath={.spec.containers[0].image}')" busybox
check "taints are tolerated" \
  "$(of_host $host_pod '.spec.tolerations[?(@.key=="team")].value} {.spec.tolerations[?(@.key=="spot")].operator')" "rag Exists"
check "under the named account" "$(of_host $host_pod .spec.serviceAccountName)" rag-pods
contains "explain names the key" "$(sublet explain rag pod/web)" "sync.toHost.pods.translateImage"

# exported NAMESPACE SECRET FILE: what lies there, with the address at which this machine reaches it
exported() {
  h -n "$1" get secret "$2" -o 'jsonpath={.data.config}' | base64 -d | sed "s#https://SERVER#$server#" >"$3"
}
exported team-rag rag-access "$work/access.yaml"
check "its context" "$("$KUBECTL" --kubeconfig "$work/access.yaml" config current-context)" rag
check "it opens the virtual cluster" "$("$KUBECTL" --kubeconfig "$work/access.yaml" auth can-i '*' '*' 2>/dev/null)" yes
exported gitops rag-view "$work/view.yaml"
check "another for whom it names" "$("$KUBECTL" --kubeconfig "$work/view.yaml" auth whoami -o 'jsonpath={.status.userInfo.username}')" \
  system:serviceaccount:kube-system:looker
check "with its role" "$("$KUBECTL" --kubeconfig "$work/view.yaml" auth can-i delete pods 2>/dev/null)" no
token=$(h -n team-rag get secret rag-access -o 'jsonpath={.data.token}')
check "a stop" "$(kill "$(cat "$SUBLET_STATE_DIR/clusters/team-rag/rag/daemon.lock")" && echo 0)" 0
until_is "is seen" Stopped sh -c "sublet list -n team-rag | awk '/rag/ {print \$3}'"
check "started again" "$(code sublet create rag -n team-rag)" 0
check "what says the same is not written anew" "$(h -n team-rag get secret rag-access -o 'jsonpath={.data.token}')" "$token"

# What is switched off, in the running processes: beside the one above, where it is on.
check "create one with less" "$(code sublet create off -n team-off -f "$work/off.yaml" --pod-address "$address")" 0
sublet connect off --print >"$work/off.kubeconfig"
o() { "$KUBECTL" --request-timeout=60s --kubeconfig "$work/off.kubeconfig" "$@"; }
folder_of() { echo "$SUBLET_STATE_DIR/clusters/team-$1/$1"; }
check "a DNS server runs" "$(pgrep -fc "subletd dns --virtual-cluster $(folder_of rag)")" 1
check "coredns off: none does" "$(pgrep -fc "subletd dns --virtual-cluster $(folder_of off)")" 0
asked='import socket,struct,sys
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);s.settimeout(10)
name=b"".join(bytes([len(p)])+p.encode() for p in sys.argv[3].split("."))+b"\0"
s.sendto(struct.pack(">6H",7,256,1,0,0,0)+name+struct.pack(">2H",1,1),(sys.argv[1],int(sys.argv[2])))
answer=s.recv(4096);print(answer[3]&15,struct.unpack(">H",answer[6:8])[0])'
dns_port=$(h -n team-rag get endpointslice/sublet-rag -o 'jsonpath={.ports[?(@.name=="dns")].port}')
check "clusterDomain: what names end in" "$(python3 -c "$asked" "$address" "$dns_port" kubernetes.default.svc.rag.example)" "0 1"
check "and no other" "$(python3 -c "$asked" "$address" "$dns_port" kubernetes.default.svc.cluster.local | cut -d' ' -f2)" 0
check "the Service of pods' DNS has its labels" "$(of_host service/sublet-rag '.metadata.labels.of} {.metadata.annotations.note')" "pods dns"
o run web --image busybox --restart Never --port 80 -- sh -c 'sleep 1h' >/dev/null 2>"$work/err"
policy() { h -n team-off get pod web-x-default-x-off -o 'jsonpath={.spec.dnsPolicy} {.spec.dnsConfig}'; }
until_is "and pods ask whom the host has" "Default " policy
k expose pod web --port 80 >/dev/null
until_is "a Service crosses" service/web-x-default-x-rag h -n team-rag get service web-x-default-x-rag --ignore-not-found -o name
echo 'sync: {toHost: {services: {enabled: false}}}' >"$work/alone.yaml"
check "create one whose Services stay" "$(code sublet create alone -n team-alone -f "$work/alone.yaml")" 0
sublet connect alone --print >"$work/alone.kubeconfig"
a() { "$KUBECTL" --request-timeout=60s --kubeconfig "$work/alone.kubeconfig" "$@"; }
a run web --image busybox --restart Never --port 80 --expose -- sh -c 'sleep 1h' >/dev/null
until_is "its pods run all the same" Running a get pod web -o 'jsonpath={.status.phase}'
check "services off: it stays" "$(a get service web -o name) $(h -n team-alone get services -o name | grep -c web-x)" "service/web 0"
check "delete it too" "$(code sublet delete alone --yes)" 0
check "kubectl top asks the host" "$(k get --raw /apis/metrics.k8s.io/v1beta1 >/dev/null 2>&1 && echo yes)" yes
check "metricsServer off: nobody answers" "$(o get --raw /apis/metrics.k8s.io/v1beta1 2>&1 | grep -c -i -E "not ?found|could not find")" 1
check "logs are JSON" "$(python3 -c 'import json,sys
for line in open(sys.argv[1]): json.loads(line)
print("all")' "$(folder_of off)/syncer.log")" all
check "and lines without" "$(head -1 "$(folder_of rag)/syncer.log" | cut -c1)" 2
check "delete it" "$(code sublet delete off --yes)" 0

check "delete" "$(code sublet delete rag --yes)" 0
check "nothing is left elsewhere" "$(h -n gitops get secrets -o name)" ""
check "nor in its namespace" "$(h get namespace team-rag --ignore-not-found -o name)" ""
[ "$failures" = 0 ] && echo "vcluster_keys: all good"
exit "$failures"
