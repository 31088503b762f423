#!/usr/bin/env bash
# host: own, 90 s
# The daemons of a virtual cluster in a pod of the host itself (examples/in-a-pod.yaml), on a real node: another pod of the tenant reaches
# its API server and DNS there, also after the pod has been made anew at another address. Root only: else it says so, and checks nothing.
set -uo pipefail
cd "$(dirname "$0")/../.."
node_name="in-pod-$$"
. tests/host/support/on_a_node.sh
testhost up --kubelet --name "$node_name" --with kube-controller-manager,kube-scheduler || { echo "0 passed, 1 failed"; exit 1; }
HOST_KUBECONFIG=$(testhost env --name "$node_name" | sed 's/^export KUBECONFIG=//')
KUBECTL=${KUBECTL:-$(tools/kubectl-path)}
export HOST_KUBECONFIG KUBECTL
. tests/host/support/checks.sh
cleanup() {
  if [ "$failed" -gt 0 ]; then
    host -n sublet-system describe pod sublet-rag-0
    host -n sublet-system logs sublet-rag-0 --all-containers --tail=40
  fi >&2
  testhost down --name "$node_name"
  rm -rf "$work"
}
trap cleanup EXIT

programs=$(dirname "$(command -v subletd)")
testhost image --name "$node_name" sublet.test/sublet:1 "$programs"/{sublet,subletd,subletd-supervisor} "$KUBECTL" || flunk "an image of the programs"
mkdir -m 0700 "$work/volume"
chown 65532:65532 "$work/volume"
host apply -f - >/dev/null <<Y
apiVersion: v1
kind: PersistentVolume
metadata: {name: state}
spec:
  capacity: {storage: 4Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: $work/volume}
  claimRef: {namespace: sublet-system, name: state-sublet-rag-0}
Y
host apply -f examples/in-a-pod.yaml >/dev/null

daemons() { host -n sublet-system get pod sublet-rag-0 -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}'; }
inside() { host -n sublet-system exec -i sublet-rag-0 -c subletd -- "$@"; }
tenant() { inside sublet connect rag -n team -- kubectl "$@"; }
address() { host -n sublet-system get pod sublet-rag-0 -o jsonpath='{.status.podIP}'; }
leads_to() { host -n team get endpointslices -l kubernetes.io/service-name=sublet-rag -o jsonpath='{.items[*].endpoints[*].addresses[*]}'; }
# What a pod of the tenant finds by its own Service, its token and its DNS server.
asks() {
  tenant run "$1" --restart=Never --image=sublet.test/kubectl:1 --overrides='{"spec":{"serviceAccountName":"looker"}}' --command -- sh -c '
    kubectl --server=https://kubernetes.default.svc --certificate-authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt \
      --token=$(cat /var/run/secrets/kubernetes.io/serviceaccount/token) auth whoami -o jsonpath="{.status.userInfo.username}"
    echo; nslookup -type=a web.default.svc.cluster.local | sed -n "/^Name:/,\$p" | awk "/^Address/{print \$NF}"' >/dev/null
  until_is "$2: a pod of the tenant has asked" 60 Succeeded tenant get pod "$1" -o jsonpath='{.status.phase}'
  check "$2: kubernetes.default.svc, by name, certificate and token; a Service by DNS" "$(tenant logs "$1" | tr '\n' ' ')" \
    "system:serviceaccount:default:looker $(tenant get service web -o jsonpath='{.spec.clusterIP}') "
}

if until_is "the daemons' pod is ready" 120 True daemons; then
  check "the operator's account is out of its sight" "$(inside sh -c 'ls -d /operator /host /var/run/secrets/kubernetes.io 2>/dev/null; true')" ""
  check "its Service leads to the pod" "$(leads_to)" "$(address)"
  walls=$(host -n sublet-system logs sublet-rag-0 -c subletd | grep -o 'process.confined.*')
  check "its processes are confined, as outside" "$(grep -c 'Landlock: files' <<<"$walls")" "$(wc -l <<<"$walls")"
  check "what it says is in the pod's log" "$(host -n sublet-system logs sublet-rag-0 -c subletd | grep -c 'syncer.started')" 1
  tenant create serviceaccount looker >/dev/null
  tenant create service clusterip web --tcp=80 >/dev/null
  asks first "at first"

  before=$(address)
  started=$SECONDS
  host -n sublet-system delete pod sublet-rag-0 --wait >/dev/null
  [ $((SECONDS - started)) -lt 25 ] && pass "it ends when it is asked to" || flunk "it ended by a kill after the grace of 30 s"
  until_is "made anew, it is ready" 120 True daemons
  [ "$(address)" != "$before" ] || flunk "the new pod has the address of the old one"
  until_is "the Service leads to the new pod" 30 "$(address)" leads_to
  check "the tenant's objects are there" "$(tenant get pod first -o jsonpath='{.status.phase}')" Succeeded
  asks second "afterwards"

  # Killed, they are there again in the same pod.
  syncer() { inside ps -o pid,args | awk '/[s]ubletd syncer/{print $1}'; }
  killed=$(syncer)
  inside kill -9 "$killed"
  another() { local now; now=$(syncer) && [ "$now" != "$killed" ] && echo yes; }
  until_is "the syncer is there again" 30 yes another
  asks third "after a kill of the syncer"

  # The end, as examples/in-a-pod-delete.yaml says it.
  host -n sublet-system scale statefulset sublet-rag --replicas 0 >/dev/null
  host -n sublet-system wait --for=delete pod/sublet-rag-0 --timeout 60s >/dev/null
  host apply -f examples/in-a-pod-delete.yaml >/dev/null
  if until_is "\`sublet delete\` in a pod is done" 90 1 host -n sublet-system get job delete-rag -o jsonpath='{.status.succeeded}'; then
    check "it removed the virtual cluster" "$(host -n sublet-system logs job/delete-rag | grep -c deleted)" 1
    check "its pods are gone from the host" "$(host get pods -n team -o name 2>&1)" ""
    check "and so is all that was made for it" "$(host get clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding -o name | grep -c 'sublet\.team')" 0
  else
    host -n sublet-system logs job/delete-rag >&2
  fi
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
