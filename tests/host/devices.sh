#!/usr/bin/env bash
# host: given, 15 s
# Devices (DRA) on a real host: its kube-scheduler allocates what tenants claim, by a ResourceSlice and a DeviceClass as a
# driver would publish them; what the driver says of a device comes back; two virtual clusters never get the same device.
# The driver is simulated: its slice and its status are written by hand. HOST_KUBECONFIG names the host.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/host/support/checks.sh
cleanup() {
  show_logs_of_failure
  for team in devices-a devices-b; do sublet delete rag -n $team --yes --force --timeout 20s >/dev/null 2>&1; done
  host delete deviceclass devices.example.com hidden.example.com --ignore-not-found >/dev/null 2>&1
  host delete resourceslice devices-1 --ignore-not-found >/dev/null 2>&1
  rm -rf "$work"
}
trap cleanup EXIT
in_a() { sublet connect rag -n devices-a -- "$KUBECTL" "$@"; }
in_b() { sublet connect rag -n devices-b -- "$KUBECTL" "$@"; }

node=$(host get nodes -o jsonpath='{.items[0].metadata.name}')
host apply -f - >/dev/null <<Y
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: devices.example.com, labels: {for: tenants}}
spec: {selectors: [{cel: {expression: 'device.driver == "devices.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: hidden.example.com}
spec: {selectors: [{cel: {expression: 'device.driver == "devices.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: devices-1}
spec:
  driver: devices.example.com
  nodeName: $node
  pool: {name: $node, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}, {name: gpu-2}]
Y
cat >"$work/values.yaml" <<'Y'
sync:
  toHost:
    resourceClaims: {enabled: true}
    resourceClaimTemplates: {enabled: true}
  fromHost:
    deviceClasses: {enabled: true, selector: {matchLabels: {for: tenants}}}
Y
for team in devices-a devices-b; do
  check "create rag in $team" "$(sublet create rag -n $team -f "$work/values.yaml" --host-kubeconfig "$HOST_KUBECONFIG" 2>"$work/err")" "virtualcluster/rag created"
done
until_is "the class is shown" 60 devices.example.com in_a get deviceclasses -o jsonpath='{.items[*].metadata.name}'

until_is "and what there is of it" 60 "gpu-0 gpu-1 gpu-2" in_a get resourceslice devices-1 -o jsonpath='{.spec.devices[*].name}'
in_a patch resourceslice devices-1 --type=merge -p '{"spec":{"devices":[]}}' >"$work/out" 2>&1
check "which only the host can change" "$(grep -c "only there it can be changed" "$work/out")" 1

claim() { printf 'apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: %s}\nspec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: %s%s}}]}}\n' "$1" "${2:-devices.example.com}" "${3:-}"; }
pod() { printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  containers: [{name: c, image: nginx, resources: {claims: [{name: gpu}]}}]\n  resourceClaims: [{name: gpu, %s}]\n' "$1" "$2"; }
device='{.status.allocation.devices.results[0].device}'
for tenant in in_a in_b; do
  claim gpu | $tenant apply -f - >/dev/null
  pod train 'resourceClaimName: gpu' | $tenant apply -f - >/dev/null
done
for tenant in in_a in_b; do
  until_is "the pod with a claim runs ($tenant)" 120 Running $tenant get pod train -o jsonpath='{.status.phase}'
  until_is "and is where the device is ($tenant)" 60 "$node" $tenant get pod train -o jsonpath='{.spec.nodeName}'
  until_is "what was allocated comes back ($tenant)" 60 "devices.example.com $node" $tenant get resourceclaim gpu -o jsonpath='{.status.allocation.devices.results[0].driver} {.status.allocation.devices.results[0].pool}'
done
taken=$(in_a get resourceclaim gpu -o jsonpath="$device")
check "as the host has it" "$taken" "$(host get resourceclaim gpu-x-default-x-rag -n devices-a -o jsonpath="$device")"
check "and no other tenant" "$([ -n "$taken" ] && [ "$taken" != "$(in_b get resourceclaim gpu -o jsonpath="$device")" ] && echo other)" other
# Each side reserves for its own pods: in the tenant its own controller does.
until_is "who has reserved it is the tenant's pod" 60 "pods train $(in_a get pod train -o jsonpath='{.metadata.uid}')" in_a get resourceclaim gpu -o jsonpath='{.status.reservedFor[*].resource} {.status.reservedFor[*].name} {.status.reservedFor[*].uid}'

# The driver says how the device is.
host patch resourceclaim gpu-x-default-x-rag -n devices-a --subresource=status --type=merge -p "{\"status\":{\"devices\":[{\"driver\":\"devices.example.com\",\"pool\":\"$node\",\"device\":\"$taken\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Ready\",\"message\":\"set up for gpu-x-default-x-rag in namespace devices-a\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}],\"data\":{\"secret\":\"of-the-driver\"},\"networkData\":{\"interfaceName\":\"eth1\",\"ips\":[\"192.0.2.5/24\"]}}]}}" >/dev/null || flunk "the host's status"
until_is "what the driver says comes back, in the tenant's words" 60 "True|set up for gpu in namespace default|eth1|" in_a get resourceclaim gpu -o jsonpath='{.status.devices[0].conditions[0].status}|{.status.devices[0].conditions[0].message}|{.status.devices[0].networkData.interfaceName}|{.status.devices[0].data}'

# One claim a pod, made on the host by the template that crossed.
printf 'apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: one}\nspec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: devices.example.com}}]}}}\n' | in_a apply -f - >/dev/null
pod each 'resourceClaimTemplateName: one' | in_a apply -f - >/dev/null
until_is "a pod with a template's claim runs" 120 Running in_a get pod each -o jsonpath='{.status.phase}'
check "on the last device of the three" "$(host get resourceclaims -A -o jsonpath="{range .items[*]}$device{'\n'}{end}" | sort | tr '\n' ' ')" "gpu-0 gpu-1 gpu-2 "
claim more | in_b apply -f - >/dev/null
pod late 'resourceClaimName: more' | in_b apply -f - >/dev/null
until_is "who comes too late is told so" 60 "cannot allocate all claims" sh -c "sublet connect rag -n devices-b -- '$KUBECTL' get pod late -o jsonpath='{.status.conditions[?(@.type==\"PodScheduled\")].message}' | grep -o 'cannot allocate all claims' | head -n 1"
check "and nobody's names" "$(in_b get pod late -o jsonpath='{.status.conditions[*].message}' | grep -c 'devices-[ab]')" 0
in_a delete pod each --wait=false >/dev/null
until_is "and runs once there is room" 120 Running in_b get pod late -o jsonpath='{.status.phase}'

claim admin devices.example.com ', adminAccess: true' | in_a create -f - >"$work/out" 2>&1
check "adminAccess is refused at once" "$(grep -c 'adminAccess' "$work/out")" 1
check "and is not there" "$(in_a get resourceclaim admin --ignore-not-found -o name)" ""
claim odd hidden.example.com | in_a create -f - >"$work/out" 2>&1
check "and a class that is not shown" "$(grep -c 'DeviceClass "hidden.example.com" is none of the host' "$work/out")" 1

check "deleting one" "$(sublet delete rag -n devices-a --yes 2>/dev/null)" "virtualcluster/devices-a/rag deleted"
check "leaves nothing of it" "$(host get pods,resourceclaims,resourceclaimtemplates -n devices-a -o name)" ""
check "and takes nothing of the other" "$(in_b get pod train -o jsonpath='{.status.phase}')" Running
check "deleting the other" "$(sublet delete rag -n devices-b --yes 2>/dev/null)" "virtualcluster/rag deleted"
check "leaves nothing at all" "$(host get pods,resourceclaims,resourceclaimtemplates -A -l sublet.dev/managed-by -o name)" ""
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
