#!/usr/bin/env bash
# host: own, 105 s
# Pods of a virtual cluster on a real node (kubelet, containerd, kube-proxy of tools/testhost): their own API server from inside, by
# address, by name and with their token; the DNS names of Services, headless Services, StatefulSet pods; a Service through
# kube-proxy; what people do with pods (support/node_sessions.sh); and that all of it goes with the virtual cluster, and the node without
# leaving anything. Root only: else it says so, and checks nothing.
set -uo pipefail
cd "$(dirname "$0")/../.."
node_name="node-$$"
. tests/host/support/on_a_node.sh
digest=$(printf %s "$node_name" | sha256sum | cut -c1-8) # other hosts may have nodes at the same time
footprint() { { ip netns list | grep -c "sublet-$digest"; ip -o link show | grep -c "sn${digest}o"; grep -c "hosts/$node_name/" /proc/mounts; find /sys/fs/cgroup -maxdepth 2 -name "sublet-testhost-$digest"; pgrep -fc "containerd-shim.*hosts/$node_name/"; } 2>/dev/null; }
before=$(footprint)
testhost up --kubelet --name "$node_name" --with kube-controller-manager,kube-scheduler,metrics-server || { echo "0 passed, 1 failed"; exit 1; }
HOST_KUBECONFIG=$(testhost env --name "$node_name" | sed 's/^export KUBECONFIG=//')
machine=$(cat "$(dirname "$HOST_KUBECONFIG")/machine")
KUBECTL=${KUBECTL:-$(tools/kubectl-path)}
export HOST_KUBECONFIG KUBECTL
. tests/host/support/checks.sh
. tests/host/support/node_sessions.sh
cleanup() {
  show_logs_of_failure
  sublet delete rag --yes --force --timeout 30s >/dev/null 2>&1
  testhost down --name "$node_name"
  rm -rf "$work"
}
trap cleanup EXIT
tenant() { sublet connect rag -- "$KUBECTL" "$@"; }
# What a pod's log says when the pod has ended.
said() { tenant logs "$1"; }

echo 'allow: {services: {types: [ClusterIP, ExternalName], externalNames: ["*.svc.cluster.local"]}}' >"$work/values.yaml"
check "a virtual cluster with a way for pods" "$(sublet create rag -n team -f "$work/values.yaml" --host-kubeconfig "$HOST_KUBECONFIG" --pod-address "$machine" 2>"$work/err")" "virtualcluster/rag created"
[ "$failed" -eq 0 ] || { cat "$work/err" >&2; echo "$passed passed, $failed failed"; exit 1; }
address=$(host get service sublet-rag -n team -o jsonpath='{.spec.clusterIP}')
check "its Service kubernetes is the host's" "$(tenant get service kubernetes -o jsonpath='{.spec.clusterIP}')" "$address"

tenant create serviceaccount looker >/dev/null
tenant create rolebinding looker --clusterrole=view --serviceaccount=default:looker >/dev/null
tenant apply -f - >/dev/null <<'Y'
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {clusterIP: None, selector: {app: db}, ports: [{name: web, port: 8080}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: c, image: "sublet.test/busybox:1", command: [sh, -c, "mkdir /tmp/w; hostname >/tmp/w/index.html; exec httpd -f -p 8080 -h /tmp/w"], readinessProbe: {httpGet: {port: 8080, path: /index.html}, periodSeconds: 1}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: db}, ports: [{name: web, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: alias}
spec: {type: ExternalName, externalName: db-1.db.default.svc.cluster.local}
---
apiVersion: v1
kind: Pod
metadata: {name: looker}
spec:
  serviceAccountName: looker
  restartPolicy: Never
  containers: [{name: c, image: "sublet.test/kubectl:1", args: [get, pods, -o, name]}]
---
apiVersion: v1
kind: Pod
metadata: {name: caller}
spec:
  serviceAccountName: looker
  restartPolicy: Never
  containers:
  - name: c
    image: "sublet.test/kubectl:1"
    command: [sh, -c, "kubectl --server=https://kubernetes.default.svc --certificate-authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt --token=$(cat /var/run/secrets/kubernetes.io/serviceaccount/token) auth whoami -o jsonpath='{.status.userInfo.username}'"]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: own}
data: {KUBERNETES_PORT: of-envfrom, KUBERNETES_SERVICE_PORT: of-envfrom}
---
apiVersion: v1
kind: Pod
metadata: {name: told, labels: {app: told}}
spec:
  restartPolicy: Never
  enableServiceLinks: false
  volumes: [{name: d, downwardAPI: {items: [{path: who, fieldRef: {fieldPath: metadata.name}}, {path: where, fieldRef: {fieldPath: metadata.namespace}}, {path: uid, fieldRef: {fieldPath: metadata.uid}}]}}]
  containers:
  - name: c
    image: "sublet.test/busybox:1"
    env: [{name: KUBERNETES_SERVICE_PORT, value: of-env}, {name: URL, value: "https://$(KUBERNETES_SERVICE_HOST)"}]
    envFrom: [{configMapRef: {name: own}}]
    volumeMounts: [{name: d, mountPath: /d}]
    command: [sh, -c, "echo $URL $0 $KUBERNETES_PORT $KUBERNETES_SERVICE_PORT $(cat /d/who) $(cat /d/where) $(cat /d/uid)", "$(KUBERNETES_SERVICE_PORT_HTTPS)"]
Y
ended() { tenant get pod "$1" -o jsonpath='{.status.phase}'; }
until_is "both pods of the StatefulSet are ready" 60 2 tenant get statefulset db -o jsonpath='{.status.readyReplicas}'
until_is "a pod with a ServiceAccount is done" 60 Succeeded ended looker
check "kubectl in a pod, as it is configured by itself" "$(said looker | sort | tr '\n' ' ')" "pod/caller pod/db-0 pod/db-1 pod/looker pod/told "
until_is "one that calls kubernetes.default.svc is done" 60 Succeeded ended caller
check "the name, the certificate and the token are good" "$(said caller)" "system:serviceaccount:default:looker"

until_is "one that looks at its variables is done" 60 Succeeded ended told
check "its API server's variables, in values and arguments; its own win; who it is, by a volume" "$(said told)" \
  "https://$address 443 of-envfrom of-env told default $(tenant get pod told -o jsonpath='{.metadata.uid}')"

ip_of() { tenant get pod "$1" -o jsonpath='{.status.podIP}'; }
db0=$(ip_of db-0) db1=$(ip_of db-1) web=$(tenant get service web -o jsonpath='{.spec.clusterIP}')
reverse=$(echo "$db0" | awk -F. '{print $4"."$3"."$2"."$1".in-addr.arpa"}')
tenant apply -f - >/dev/null <<Y
apiVersion: v1
kind: Pod
metadata: {name: names}
spec:
  restartPolicy: Never
  containers:
  - name: c
    image: "sublet.test/busybox:1"
    command:
    - sh
    - -c
    - |
      ask() { nslookup "\$@" 2>/dev/null | sed -n '/^Name:/,\$p' | awk '/^Address/{print \$NF}' | sort | tr '\n' ' '; }
      echo "service \$(ask -type=a web.default.svc.cluster.local)"
      echo "headless \$(ask -type=a db.default.svc.cluster.local)"
      echo "pod \$(ask -type=a db-1.db.default.svc.cluster.local)"
      echo "alias \$(ask -type=a alias.default.svc.cluster.local)"
      echo "reverse \$(nslookup -type=ptr $reverse 2>/dev/null | awk '/name =/{print \$NF}')"
      echo "missing \$(nslookup -type=a nobody.default.svc.cluster.local 2>&1 | grep -c NXDOMAIN)"
      echo "short \$(wget -qO- http://db-0.db:8080/)"
      for i in 1 2 3 4 5 6 7 8 9 10 11 12; do wget -qO- http://web/; done | sort -u | tr '\n' ' '
Y
until_is "a pod that asks for names is done" 60 Succeeded ended names
answers=$(said names)
answer() { sed -n "s/^$1 *//p" <<<"$answers" | sed 's/ *$//'; }
check "a Service's address" "$(answer service)" "$web"
check "a headless Service's pods" "$(answer headless)" "$(printf '%s\n%s\n' "$db0" "$db1" | sort | tr '\n' ' ' | sed 's/ $//')"
check "a StatefulSet's pod" "$(answer pod)" "$db1"
check "an ExternalName" "$(answer alias)" "$db1"
check "a reverse name" "$(answer reverse)" "db-0.db.default.svc.cluster.local"
check "a name that is not there" "$(answer missing)" "1"
check "a short name, by the search list" "$(answer short)" "db-0"
check "a Service through kube-proxy reaches each of its pods" "$(tail -n 1 <<<"$answers" | sed 's/ *$//')" "db-0 db-1"

real_sessions

# Killed, it is there again with what it knew.
folder="$SUBLET_STATE_DIR/clusters/team/rag"
kill -9 "$(pgrep -f "subletd dns .*$folder")"
tenant run again --restart=Never --image=sublet.test/busybox:1 -- sh -c 'until wget -qO- http://db-1.db:8080/; do sleep 0.2; done' >/dev/null
until_is "after a kill of the DNS server" 60 db-1 tenant logs again

sublet delete rag --yes >/dev/null 2>"$work/err" || cat "$work/err" >&2
check "nothing of it stays in the host namespace" "$(host get services,endpointslices,pods,persistentvolumeclaims -n team -o name 2>/dev/null | tr '\n' ' ')" ""
trap - EXIT
started=$SECONDS
testhost down --name "$node_name"
echo "the node went within $((SECONDS - started)) s"
until_is "the node leaves nothing" 20 "$before" footprint
rm -rf "$work"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
