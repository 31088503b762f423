#!/usr/bin/env bash
# host: given, 60 s
# user-pain, demand 2: Kubernetes' own gangs on a real host: a kube-apiserver, controller manager and scheduler of 1.36 with their feature gates on,
# and two virtual clusters with the same names side by side. Two pods of a gang of three wait, and their tenant reads why; with
# the third all run. HOST_KUBECONFIG names the host of the run, which has the gates off, as they are by default: what is said
# of a host without. The host with gates is this script's own (tools/testhost).
set -uo pipefail
cd "$(dirname "$0")/../.."
gated="gangs-$$" own_home=$HOME # checks.sh sets another HOME, and testhost's folders are below it
. tests/host/support/checks.sh
testhost() { HOME=$own_home tools/testhost/testhost "$@"; }
cleanup() {
  show_logs_of_failure
  for team in gangs-a gangs-b gangs-c; do sublet delete rag -n $team --yes --force --timeout 20s >/dev/null 2>&1; done
  for one in "$gated" "$gated-all"; do testhost down --name "$one" >/dev/null 2>&1; done
  rm -rf "$work"
}
trap cleanup EXIT
in_a() { sublet connect rag -n gangs-a -- "$KUBECTL" "$@"; }
in_b() { sublet connect rag -n gangs-b -- "$KUBECTL" "$@"; }
in_c() { sublet connect rag -n gangs-c -- "$KUBECTL" "$@"; }
gate_host() { "$KUBECTL" --kubeconfig "$gated_kubeconfig" "$@"; }

group() { printf 'apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: %s}\nspec: {schedulingPolicy: {gang: {minCount: %s}}%s}\n' "$1" "$2" "${3:-}"; }
pod() { printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  schedulingGroup: {podGroupName: %s}\n  containers: [{name: c, image: nginx, resources: {requests: {cpu: "%s"}}}]\n' "$1" "$2" "${3:-100m}"; }
phases() { "$1" get pods -o jsonpath='{range .items[*]}{.metadata.name}={.status.phase} {end}'; }
why() { sublet why rag -n "gangs-$1" "pod/$2" | sed -n 's/^- //p'; }

cat >"$work/values.yaml" <<'Y'
sync: {toHost: {podGroups: {enabled: true}, workloads: {enabled: true}}}
Y

# A host without: said at once, and no pod of a gang runs alone there.
check "create on a host without" "$(sublet create rag -n gangs-c -f "$work/values.yaml" --host-kubeconfig "$HOST_KUBECONFIG" 2>"$work/err")" "virtualcluster/rag created"
check "says so" "$(grep -c 'the host does not serve PodGroups of scheduling.k8s.io/v1alpha2' "$work/err")" 1
group train 1 | in_c apply -f - >/dev/null
pod worker-0 train | in_c apply -f - >/dev/null
until_is "a pod that names a group is told" 60 1 sh -c "sublet connect rag -n gangs-c -- '$KUBECTL' get events -o jsonpath='{.items[*].message}' | grep -c 'does not serve PodGroups'"
check "and is not on the host" "$(host get pods -n gangs-c -o name)" ""

gates=GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true
testhost up --name "$gated" --nodes 3 --gates "$gates" --runtime-config scheduling.k8s.io/v1alpha2=true || flunk "the host with gates"
gated_kubeconfig=$(testhost env --name "$gated" | sed 's/^export KUBECONFIG=//')
for team in gangs-a gangs-b; do
  check "create rag in $team" "$(sublet create rag -n $team -f "$work/values.yaml" --host-kubeconfig "$gated_kubeconfig" 2>"$work/err")" "virtualcluster/rag created"
  check "without a word of the host" "$(grep -c 'does not serve' "$work/err")" 0
done
check "both kinds are served" "$(in_a api-resources --api-group=scheduling.k8s.io -o name | tr '\n' ' ')" "podgroups.scheduling.k8s.io priorityclasses.scheduling.k8s.io workloads.scheduling.k8s.io "
check "and explained" "$(in_a explain podgroup.spec.schedulingPolicy.gang --api-version=scheduling.k8s.io/v1alpha2 2>&1 | grep -c minCount)" 1

# The pods come first: the host's scheduler waits for their group.
for tenant in in_a in_b; do
  for index in 0 1; do pod worker-$index train | $tenant apply -f - >/dev/null; done
done
until_is "they cross" 60 2 sh -c "'$KUBECTL' --kubeconfig '$gated_kubeconfig' get pods -n gangs-a -o name | wc -l"
check "and wait, as sublet why says" "$(why a worker-0)" "it waits for its PodGroup train, which is not there"
cat >"$work/gang.yaml" <<'Y'
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: train}
spec:
  podGroupTemplateRef: {workload: {workloadName: job, podGroupTemplateName: workers}}
  schedulingPolicy: {gang: {minCount: 3}}
---
apiVersion: scheduling.k8s.io/v1alpha2
kind: Workload
metadata: {name: job}
spec: {podGroupTemplates: [{name: workers, schedulingPolicy: {gang: {minCount: 3}}}]}
Y
in_a apply -f "$work/gang.yaml" >"$work/out" 2>&1
check "a group of no Workload is refused, as upstream does" "$(grep -c 'PodGroup rejected: Workload "job" not found' "$work/out")" 1
in_a apply -f "$work/gang.yaml" >/dev/null
in_b apply -f "$work/gang.yaml" >/dev/null 2>&1
in_b apply -f "$work/gang.yaml" >/dev/null
until_is "the group crosses, under the host's names" 60 "job-x-default-x-rag 3" gate_host get podgroup train-x-default-x-rag -n gangs-a -o jsonpath='{.spec.podGroupTemplateRef.workload.workloadName} {.spec.schedulingPolicy.gang.minCount}'
# Upstream's scheduler says nothing of a pod that waits for others; sublet why does.
check "two pods of three wait, and the tenant reads why" "$(why a worker-0)" "it waits for the others of its PodGroup train: of 3 pods there are 2"
check "both of them" "$(phases in_a)" "worker-0=Pending worker-1=Pending "
check "and those beside" "$(phases in_b)" "worker-0=Pending worker-1=Pending "

pod worker-2 train | in_a apply -f - >/dev/null
until_is "with the third all run" 120 "worker-0=Running worker-1=Running worker-2=Running " phases in_a
check "the others' two still wait" "$(phases in_b)" "worker-0=Pending worker-1=Pending "
until_is "and the group says that it is scheduled" 60 "Gang job Scheduled" sh -c "sublet connect rag -n gangs-a -- '$KUBECTL' get podgroup train --no-headers | awk '{print \$2, \$3, \$4}'"
check "the others' group does not" "$(in_b get podgroup train --no-headers | awk '{print $4}')" "$(gate_host get podgroup train-x-default-x-rag -n gangs-b --no-headers | awk '{print $4}')"

# All or none: more than the nodes have, and its tenant reads that too.
group huge 2 | in_a apply -f - >/dev/null
for index in 0 1; do pod huge-$index huge 4000 | in_a apply -f - >/dev/null; done
until_is "a gang that cannot fit is told so" 60 "False Unschedulable" in_a get podgroup huge -o jsonpath='{.status.conditions[?(@.type=="PodGroupScheduled")].status} {.status.conditions[?(@.type=="PodGroupScheduled")].reason}'
check "in nobody else's names" "$(in_a get podgroup huge -o yaml | grep -cE 'x-rag|gangs-[ab]')" 0

# Of a field whose gate is off on the host (TopologyAwareWorkloadScheduling) the tenant is told that it has no effect; of what
# says the same as nothing (disruptionMode: Pod) nothing is said.
group racked 2 ', schedulingConstraints: {topology: [{key: example.com/rack}]}' | in_a apply -f - >/dev/null
until_is "a field that the host does not keep is named" 60 "the host does not keep spec.schedulingConstraints of the PodGroup: a feature gate of Kubernetes is off there; ask whoever runs it" in_a get events --field-selector involvedObject.name=racked,reason=IgnoredByHost -o jsonpath='{.items[*].message}'
check "and once" "$(in_a get events --field-selector reason=IgnoredByHost -o jsonpath='{.items[*].count}')" 1

# A name as the host has it is a name of the tenant's own, which is not there.
pod sly train-x-default-x-rag | in_b apply -f - >/dev/null
sly_group() { gate_host get pod sly-x-default-x-rag -n gangs-b -o jsonpath='{.spec.schedulingGroup.podGroupName}' --ignore-not-found; }
until_is "a pod that names a group as the host has it" 60 1 sh -c "'$KUBECTL' --kubeconfig '$gated_kubeconfig' get pod sly-x-default-x-rag -n gangs-b --ignore-not-found -o name | wc -l"
check "names another" "$([ -n "$(sly_group)" ] && [ "$(sly_group)" != train-x-default-x-rag ] && echo other)" other
check "as its tenant is told" "$(why b sly)" "it waits for its PodGroup train-x-default-x-rag, which is not there"
check "and counts for none" "$(phases in_b)" "sly=Pending worker-0=Pending worker-1=Pending "
in_b delete pod sly --wait=false >/dev/null

# What somebody changes on the host is put back; what is another's stays.
gate_host label podgroup train-x-default-x-rag -n gangs-a sublet.dev/managed-by- >/dev/null
until_is "a label that was taken off comes back" 60 rag gate_host get podgroup train-x-default-x-rag -n gangs-a -o jsonpath='{.metadata.labels.sublet\.dev/managed-by}'
group taken-x-default-x-rag 9 | gate_host apply -n gangs-a -f - >/dev/null
group taken 2 | in_a apply -f - >/dev/null
until_is "a name that is taken on the host is told" 60 1 sh -c "sublet connect rag -n gangs-a -- '$KUBECTL' get events -o jsonpath='{.items[*].reason}' | grep -o HostNameTaken | sort -u | wc -l"
check "and its object left alone" "$(gate_host get podgroup taken-x-default-x-rag -n gangs-a -o jsonpath='{.spec.schedulingPolicy.gang.minCount}')" 9

# A group outlives its deletion until its pods have ended, on both sides.
in_a delete podgroup train --wait=false >/dev/null
check "a group in use stays for its pods" "$(in_a get podgroup train -o jsonpath='{.metadata.finalizers[0]}')" scheduling.k8s.io/podgroup-protection
in_a delete pod worker-0 worker-1 worker-2 --wait=false >/dev/null
until_is "and goes with the last" 120 "" in_a get podgroup train --ignore-not-found -o name
until_is "on the host too" 60 "" gate_host get podgroup train-x-default-x-rag -n gangs-a --ignore-not-found -o name

check "deleting one" "$(sublet delete rag -n gangs-a --yes 2>/dev/null)" "virtualcluster/gangs-a/rag deleted"
until_is "leaves only what is not its own" 60 "podgroup.scheduling.k8s.io/taken-x-default-x-rag" gate_host get pods,podgroups,workloads -n gangs-a -o name
check "and takes nothing of the other" "$(gate_host get podgroups,workloads -n gangs-b -o name | tr '\n' ' ')" "podgroup.scheduling.k8s.io/train-x-default-x-rag workload.scheduling.k8s.io/job-x-default-x-rag "
check "deleting the other" "$(sublet delete rag -n gangs-b --yes 2>/dev/null)" "virtualcluster/gangs-b/rag deleted"
until_is "leaves nothing" 60 "" gate_host get pods,podgroups,workloads -A -l sublet.dev/managed-by -o name

# What the API server says of both kinds, held against a kube-apiserver with all of their gates on.
testhost up --name "$gated-all" --with kube-controller-manager --nodes 0 --gates "$gates,TopologyAwareWorkloadScheduling=true,DRAWorkloadResourceClaims=true" --runtime-config scheduling.k8s.io/v1alpha2=true || flunk "the host with all gates"
tests/api/run --server --folder gated "$(testhost env --name "$gated-all" | sed 's/^export KUBECONFIG=//')" >"$work/api" 2>&1
check "the API scripts agree" "$(tail -n 1 "$work/api")" "1 passed, 0 failed" || cat "$work/api" >&2

check "and the third" "$(sublet delete rag -n gangs-c --yes 2>/dev/null)" "virtualcluster/rag deleted"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
