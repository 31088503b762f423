#!/usr/bin/env bash
# rights_story.sh KUBECONFIG: a tour of `kubectl auth`, `create token`, `certificate`, `cordon` and `drain`, right and wrong, as an
# administrator and as people with less; prints every command with what it said, its exit code, and what then stands. Times, uids, keys
# and signatures are left out, so that two servers' texts can be compared. No controller has a say; what it makes stays.
set -uf
kubeconfig=$1
kubectl_bin=${KUBECTL:?}
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-rights-XXXXXX")
trap 'rm -rf "$work"' EXIT
export HOME="$work" KUBECONFIG="$kubeconfig"
space=rights-tour

normal() {
  sed -E -e 's/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/UID/g' -e 's/resourceVersion: "?[0-9]+"?/resourceVersion: RV/g' \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/TIME/g' -e "s#$work#WORK#g" -e 's/^(CreationTimestamp: +).*/\1TIME/' \
    -e '/^(NAME|rights-tour-)/s/ +/ /g' -e 's/ ([0-9]+m[0-9]*s?|[0-9]+s)( |$)/ AGE\2/g' -e 's/(request|certificate): [A-Za-z0-9+\/=]{80,}/\1: PEM/' -e 's/^([EW])[0-9]{4} [0-9:.]+ +[0-9]+ /\1 /' \
    -e '/^Warning: [A-Za-z]+ is stored, but /d' # kinds that are stored though nothing acts on them here
}
. "$(dirname "$0")/steps.sh"
# drain ...: what it says comes in no order.
drain() {
  s drain "$@" | {
    read -r command
    printf '%s\n' "$command"
    sed -E -e 's/(, |\[)cannot/\n! cannot/g' -e 's/\]?, continuing command.*//' -e 's/(; |Warning: )(ignoring|deleting)/\n! \2/g' | sort
  }
}
k() { "$kubectl_bin" -n "$space" "$@"; }
apply() { k create -f - >/dev/null || echo "could not create"; }
as() { # as WHO COMMAND...
  local who=$1
  shift
  s "$@" --as="$who" --as-group=system:authenticated
}
# token FLAG...: what a token says, times as how long, without keys and uids.
token() {
  printf '$ claims of create token %s\n' "$*"
  k create token "$@" 2>"$work/err" | python3 -c '
import base64, json, sys
def part(text): return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
claims = part(sys.stdin.read().split(".")[1])
claims["lasts"] = claims.pop("exp") - claims.pop("iat"); claims.pop("nbf"); claims.pop("iss"); claims.pop("jti")
if claims["aud"][0].startswith("http"): claims["aud"] = ["its own"]
print(json.dumps(claims, sort_keys=True, indent=1))' 2>/dev/null | normal
  normal <"$work/err" | sed 's/^/! /'
  printf '\n= 0\n'
}

k create namespace "$space" >/dev/null
k create serviceaccount default >/dev/null

echo "# kubectl auth"
k create role reader --verb=get,list --resource=configmaps,pods/log >/dev/null
k create rolebinding readers --role=reader --user=mia --group=readers --serviceaccount="$space:robot" >/dev/null
apply <<END
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: rights-tour-nodes}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get, list]}, {nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: rights-tour-signer}
rules: [{apiGroups: [certificates.k8s.io], resources: [signers], resourceNames: [example.com/*], verbs: [approve]}]
END
k create clusterrolebinding rights-tour-nodes --clusterrole=rights-tour-nodes --user=noah >/dev/null
as mia auth whoami -o yaml
s auth whoami -o 'jsonpath={.status.userInfo}' --as=mia --as-group=readers --as-group=others --as-uid=u-1
s --context=none auth whoami
as "system:serviceaccount:$space:robot" auth whoami
for right in "get pods" "list configmaps" "get configmaps/one" "get configmaps one" "delete configmaps" "get pods/log" "get pods --subresource=log" \
  "get pods --subresource=exec" "get nodes" "get /metrics" "get /logs" "list configmaps -A" "watch cm" "get widgets" "fly configmaps" "*" "get" \
  "get configmaps one two" "create deployments.apps" "create deployments.extensions" "use podsecuritypolicies" "impersonate users" "bind roles" "get cm -q"; do
  # shellcheck disable=SC2086  # several words
  as mia auth can-i $right
done
as noah auth can-i get nodes
as noah auth can-i get /metrics
as noah auth can-i get /metrics/more
s auth can-i list configmaps --as=somebody --as-group=readers
as "system:serviceaccount:$space:robot" auth can-i list configmaps
as mia auth can-i --list
as noah auth can-i --list --no-headers
as mia auth can-i --list -n default
s auth can-i '*' '*'
s auth can-i --list get pods
as mia get configmaps
as mia get secrets
as mia get nodes
as mia create configmap x
as mia delete configmap x
as mia auth can-i get pods --as-uid=x --as-group=readers
s get configmaps --as=mia --as-group=system:masters
as mia get configmaps --as-user-extra=a=b

cat >"$work/rights.yaml" <<END
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reconciled, namespace: $space, labels: {a: b}}
rules: [{apiGroups: [""], resources: [pods, services], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reconciled, namespace: $space}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reconciled}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mia}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: rights-tour-gathers}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {gather: mine}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: rights-tour-gathers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rights-tour-gathers}
subjects: [{kind: ServiceAccount, name: robot, namespace: $space}]
END
stands() { s get role,rolebinding reconciled -o 'jsonpath={range .items[*]}{.metadata.labels}{.rules}{.roleRef}{.subjects}{"\n"}{end}'; }
s auth reconcile -f "$work/rights.yaml" --dry-run=client
s auth reconcile -f "$work/rights.yaml" --dry-run=server
s auth reconcile -f "$work/rights.yaml"
s auth reconcile -f "$work/rights.yaml"
s auth reconcile -f "$work/rights.yaml" -o yaml
stands
sed -i -e 's/resources: \[pods, services\], verbs: \[get, list\]/resources: [pods], verbs: [get, watch]/' -e 's/name: mia}/name: noah}/' -e 's/{a: b}/{c: d}/' "$work/rights.yaml"
s auth reconcile -f "$work/rights.yaml"
stands
s auth reconcile -f "$work/rights.yaml" --remove-extra-permissions
stands
s auth reconcile -f "$work/rights.yaml" --remove-extra-subjects
stands
sed -i 's/kind: Role, name: reconciled/kind: ClusterRole, name: view/' "$work/rights.yaml"
s auth reconcile -f "$work/rights.yaml"
stands
k annotate role reconciled rbac.authorization.kubernetes.io/autoupdate=false >/dev/null
sed -i 's/verbs: \[get, watch\]/verbs: [delete]/' "$work/rights.yaml"
s auth reconcile -f "$work/rights.yaml"
stands
as mia auth reconcile -f "$work/rights.yaml"
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: no, namespace: %s}\n' "$space" >"$work/other.yaml"
s auth reconcile -f "$work/other.yaml"
s auth reconcile -f "$work/none.yaml"
k create role granter --verb=create,update,get,patch --resource=roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io >/dev/null
k create rolebinding granter --role=granter --user=gail >/dev/null
as gail create role own --verb=get --resource=roles.rbac.authorization.k8s.io
as gail create role more --verb=get,delete --resource=secrets,configmaps
as gail create rolebinding more --clusterrole=rights-tour-nodes --user=gail
as gail create rolebinding none --role=none --user=gail

echo "# kubectl create token"
k create serviceaccount robot >/dev/null
k create secret generic bound >/dev/null
token robot
token robot --duration=1h --audience=one --audience=two
token robot --bound-object-kind=Secret --bound-object-name=bound
s create token robot --bound-object-kind=Secret --bound-object-name=bound --bound-object-uid=other
s create token robot --bound-object-kind=Secret
s create token robot --bound-object-kind=Pod --bound-object-name=none
s create token robot --bound-object-kind=Node --bound-object-name=none
s create token robot --bound-object-kind=Job --bound-object-name=x
s create token robot --duration=-1s
s create token robot --duration=9m
s create token none
s create token
as mia create token robot
k create role tokens --verb=create --resource=serviceaccounts/token --resource-name=robot >/dev/null
k create rolebinding tokens --role=tokens --user=tess >/dev/null
token robot --as=tess --as-group=system:authenticated
as tess create token default
s create token robot -o 'jsonpath={.kind}/{.spec.audiences}/{.spec.expirationSeconds}' --audience=x
printf '$ with a token\n'
KUBECONFIG= "$kubectl_bin" --server="$(k config view --minify -o 'jsonpath={.clusters[0].cluster.server}')" --insecure-skip-tls-verify \
  --token="$(k create token robot)" -n "$space" get configmaps,secrets -o name 2>&1 | normal
k delete serviceaccount robot >/dev/null

echo "# kubectl certificate"
request() { # request NAME SUBJECT: a PKCS #10, as base64
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$work/$1.key" -subj "$2" 2>/dev/null | base64 -w0
}
csr() { # csr NAME SIGNER USAGES REQUEST [MORE]
  printf 'apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: rights-tour-%s}\nspec: {signerName: %s, usages: [%s], request: %s%s}\n' \
    "$1" "$2" "$3" "$4" "${5:-}" >"$work/csr-$1.yaml"
  as mia create -f "$work/csr-$1.yaml"
}
k create clusterrole rights-tour-asks --verb=create,get --resource=certificatesigningrequests.certificates.k8s.io >/dev/null
k create clusterrolebinding rights-tour-asks --clusterrole=rights-tour-asks --user=mia >/dev/null
client=kubernetes.io/kube-apiserver-client
good=$(request good /O=dev/CN=jane)
csr one $client "client auth" "$good"
csr two $client "digital signature, client auth" "$good" ", expirationSeconds: 86400"
csr three $client "client auth" "$good"
csr own example.com/own "server auth, any" "$good"
csr kubelet kubernetes.io/kubelet-serving "server auth, digital signature" "$good"
csr serving kubernetes.io/kubelet-serving "server auth, digital signature" "$(request serving /O=system:nodes/CN=system:node:a)"
csr masters $client "client auth" "$(request masters /O=system:masters/CN=root)"
csr short $client "client auth" "$good" ", expirationSeconds: 60"
csr usage $client "fly" "$good"
csr none $client "" "$good"
csr signer nosigner "client auth" "$good"
csr text $client "client auth" "$(printf 'no request' | base64 -w0)"
csr one $client "client auth" "$good"
s get csr rights-tour-one rights-tour-two rights-tour-own
s get csr rights-tour-one -o yaml
s describe csr rights-tour-two
as mia certificate approve rights-tour-one
as mia get csr rights-tour-one -o 'jsonpath={.status}'
s certificate approve rights-tour-one
s certificate approve rights-tour-one
s certificate deny rights-tour-one
s certificate approve rights-tour-one --force
s certificate deny rights-tour-two
s certificate approve rights-tour-two
s certificate deny rights-tour-two
s certificate approve -f "$work/csr-three.yaml" rights-tour-none-such
s certificate approve -f "$work/csr-three.yaml"
s certificate approve rights-tour-none-such
s certificate approve
k create clusterrole rights-tour-approver --verb=get,update,patch --resource=certificatesigningrequests.certificates.k8s.io,certificatesigningrequests.certificates.k8s.io/approval >/dev/null
k create clusterrolebinding rights-tour-approver --clusterrole=rights-tour-approver --user=paul >/dev/null
as paul certificate approve rights-tour-own
k create clusterrolebinding rights-tour-signer --clusterrole=rights-tour-signer --user=paul >/dev/null
as paul certificate approve rights-tour-own
as paul certificate deny rights-tour-kubelet
s get csr rights-tour-one rights-tour-two rights-tour-three rights-tour-own
s get csr rights-tour-own -o 'jsonpath={.status.conditions[*].type}{.status.conditions[*].reason}{.status.conditions[*].message}'
s patch csr rights-tour-own --subresource=status --type=merge -p '{"status":{"certificate":"bm8="}}'
s patch csr rights-tour-own --type=merge -p '{"spec":{"signerName":"example.com/other"}}'
s patch csr rights-tour-own --type=merge -p '{"spec":{"username":"root"}}'
s get csr rights-tour-own -o 'jsonpath={.spec.username}{.spec.groups}{.spec.signerName}'
s delete csr -l none=such
s delete csr rights-tour-one

echo "# kubectl cordon, drain"
apply <<END
apiVersion: v1
kind: Node
metadata: {name: rights-tour-a, labels: {tour: rights}}
---
apiVersion: v1
kind: Node
metadata: {name: rights-tour-b, labels: {tour: rights}}
END
s get node rights-tour-a -o 'jsonpath={.spec}'
s cordon rights-tour-a
s cordon rights-tour-a
s get node rights-tour-a -o 'jsonpath={.spec.unschedulable}'
s uncordon rights-tour-a
s uncordon rights-tour-a
s cordon -l tour=rights --dry-run=server
s cordon -l tour=rights
s uncordon -l tour=rights
s cordon rights-tour-none
s cordon
as mia cordon rights-tour-a
drain rights-tour-a
drain rights-tour-none
# pod NAME NODE [MORE-METADATA [VOLUMES]]
pod() {
  printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: %s%s}\nspec: {nodeName: rights-tour-%s, terminationGracePeriodSeconds: 0, automountServiceAccountToken: false, containers: [{name: c, image: none}]%s}\n---\n' \
    "$1" "${3:-}" "$2" "${4:-}"
}
apply <<END
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: none}]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: each}
spec: {selector: {matchLabels: {app: each}}, template: {metadata: {labels: {app: each}}, spec: {containers: [{name: c, image: none}]}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
END
owned() { # owned KIND NAME: what a pod of it says in its metadata
  printf ', labels: {app: %s}, ownerReferences: [{apiVersion: apps/v1, kind: %s, name: %s, uid: %s, controller: true}]' "$2" "$1" "$2" "$(k get "$1" "$2" -o 'jsonpath={.metadata.uid}')"
}
{
  pod bare a
  pod scratch a ", labels: {app: scratch}" ", volumes: [{name: v, emptyDir: {}}]"
  pod web-1 a "$(owned ReplicaSet web)"
  pod web-2 b "$(owned ReplicaSet web)"
  pod each-1 a "$(owned DaemonSet each)"
  pod gone-1 a ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: none, uid: 00000000-0000-0000-0000-000000000001, controller: true}]"
} | apply
left() { s get pods -o 'jsonpath={range .items[*]}{.metadata.name}{" "}{.spec.nodeName}{"\n"}{end}'; }
left
drain rights-tour-a
drain rights-tour-a --ignore-daemonsets
drain rights-tour-a --ignore-daemonsets --force
drain rights-tour-a --ignore-daemonsets --force --delete-emptydir-data --dry-run=client
drain rights-tour-a --ignore-daemonsets --force --delete-emptydir-data --dry-run=server
left
drain rights-tour-a --pod-selector=app=scratch --delete-emptydir-data --force
left
as mia drain rights-tour-a --ignore-daemonsets --force
ready() { k patch pod "$1" --subresource=status --type=merge -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}' >/dev/null; }
ready web-1
ready web-2
k patch pdb web --subresource=status --type=merge -p "{\"status\":{\"observedGeneration\":1,\"disruptionsAllowed\":0,\"currentHealthy\":2,\"desiredHealthy\":2,\"expectedPods\":2}}" >/dev/null
drain rights-tour-a --ignore-daemonsets --force --timeout=2s
k patch pdb web --subresource=status --type=merge -p "{\"status\":{\"disruptionsAllowed\":1,\"desiredHealthy\":1}}" >/dev/null
drain rights-tour-a --ignore-daemonsets --force
left
s get pdb web -o 'jsonpath={.status.disruptionsAllowed}'
drain rights-tour-b --disable-eviction
left
drain -l tour=rights --ignore-daemonsets
s get nodes -l tour=rights -o 'jsonpath={range .items[*]}{.metadata.name}{" "}{.spec.unschedulable}{"\n"}{end}'
s uncordon -l tour=rights
s delete node -l tour=rights
