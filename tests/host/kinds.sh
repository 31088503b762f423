#!/usr/bin/env bash
# host: given, 60 s
# Kinds beside pods against a real host: claims bind to static local volumes, an Ingress, a NetworkPolicy, a budget and a
# PriorityClass cross and what the host says of them comes back; two virtual clusters of the same name, with objects of the
# same names side by side; nothing stays. Custom resources of three operators, from their modules' definitions: the Gateway
# API, cert-manager and Kueue; what the operators would say is said by hand. HOST_KUBECONFIG names the host.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/host/support/checks.sh
cleanup() {
  show_logs_of_failure
  for team in kinds-a kinds-b; do sublet delete rag -n $team --yes --force --timeout 20s >/dev/null 2>&1; done
  host delete pv -l test=kinds --wait=false >/dev/null 2>&1
  host delete storageclass kinds-local --ignore-not-found >/dev/null 2>&1
  host delete ingressclass kinds-nginx --ignore-not-found >/dev/null 2>&1
  # What another script brought stays its own.
  [ -s "$work/crds" ] && xargs "$KUBECTL" --kubeconfig "$HOST_KUBECONFIG" delete --wait=false <"$work/crds" >/dev/null 2>&1
  rm -rf "$work"
}
trap cleanup EXIT
in_a() { sublet connect rag -n kinds-a -- "$KUBECTL" "$@"; }
in_b() { sublet connect rag -n kinds-b -- "$KUBECTL" "$@"; }

host apply -f - >/dev/null <<'Y'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: kinds-local, labels: {for: tenants}}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: Immediate
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: kinds-nginx}
spec: {controller: example.com/nginx, parameters: {apiGroup: example.com, kind: Secret, name: of-the-host}}
Y
for i in 1 2 3 4; do
  host apply -f - >/dev/null <<Y
apiVersion: v1
kind: PersistentVolume
metadata: {name: kinds-$i, labels: {test: kinds}}
spec:
  capacity: {storage: ${i}Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: kinds-local
  local: {path: /mnt/$i}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: Exists}]}]}}
Y
done

module_folder() { (cd "$work" && GOFLAGS=-mod=mod go mod download -json "$1" | sed -nE 's/^\t"Dir": "(.*)",$/\1/p'); }
gateway_api=$(module_folder sigs.k8s.io/gateway-api@v1.6.3)/config/crd/standard
cert_manager=$(module_folder github.com/cert-manager/cert-manager@v1.21.2)/deploy/crds
kueue=$(module_folder sigs.k8s.io/kueue@v0.15.0)/config/components/crd/bases
for file in "$gateway_api"/gateway.networking.k8s.io_{gateways,gatewayclasses,httproutes}.yaml \
  "$cert_manager"/cert-manager.io_{certificates,clusterissuers}.yaml "$kueue"/kueue.x-k8s.io_localqueues.yaml; do
  host create -f "$file" -o name >>"$work/crds" 2>"$work/err" || grep -q AlreadyExists "$work/err" || flunk "$file: $(cat "$work/err")"
done
for crd in $(cat "$work/crds"); do host wait --for=condition=Established --timeout=60s "$crd" >/dev/null; done
host apply -f - >/dev/null <<'Y'
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: kinds-envoy}
spec: {controllerName: example.com/envoy, parametersRef: {group: example.com, kind: Secret, name: of-the-host}}
---
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: kinds-ca}
spec: {selfSigned: {}}
Y
cat >"$work/values.yaml" <<'Y'
sync:
  toHost:
    ingresses: {enabled: true}
    networkPolicies: {enabled: true}
    podDisruptionBudgets: {enabled: true}
    priorityClasses: {enabled: true, maxValue: 1000}
    gatewayApi: {enabled: true}
    customResources:
      localqueues.kueue.x-k8s.io: {enabled: true}
      certificates.cert-manager.io:
        enabled: true
        patches:
        - {path: spec.secretName, reference: {apiVersion: v1, kind: Secret}}
        - {path: spec.issuerRef, reference: {kind: ClusterIssuer, namePath: name, kindPath: kind, ofHost: true}}
  fromHost:
    storageClasses: {enabled: true, selector: {matchLabels: {for: tenants}}}
    ingressClasses: {enabled: true}
    customResources: {clusterissuers.cert-manager.io: {enabled: true, scope: Cluster}}
Y
for team in kinds-a kinds-b; do
  check "create rag in $team" "$(sublet create rag -n $team -f "$work/values.yaml" --host-kubeconfig "$HOST_KUBECONFIG" 2>"$work/err")" "virtualcluster/rag created"
done
until_is "the host's storage class is shown" 60 kubernetes.io/no-provisioner in_a get storageclass kinds-local -o jsonpath='{.provisioner}'
until_is "and its ingress class, without parameters" 60 '{"controller":"example.com/nginx"}' in_a get ingressclass kinds-nginx -o jsonpath='{.spec}'
in_a delete storageclass kinds-local >"$work/out" 2>&1 && flunk "a tenant deleted the host's class"
check "which only the host can change" "$(grep -c "only there it can be changed" "$work/out")" 1

for tenant in in_a in_b; do
  $tenant apply -f - >/dev/null <<'Y'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: kinds-local, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: db, labels: {app: db}}
spec:
  containers: [{name: c, image: nginx, volumeMounts: [{name: d, mountPath: /d}]}]
  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: Secret
metadata: {name: cert}
type: kubernetes.io/tls
data: {tls.crt: "", tls.key: ""}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: site}
spec:
  ingressClassName: kinds-nginx
  tls: [{hosts: [a.example.com], secretName: cert}]
  rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: own}
spec: {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {team: blue}}}]}]}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 5000
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: workers}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: worker}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker}
spec:
  replicas: 3
  selector: {matchLabels: {app: worker}}
  template:
    metadata: {labels: {app: worker}}
    spec: {priorityClassName: high, containers: [{name: c, image: nginx}]}
Y
done
for tenant in in_a in_b; do
  until_is "a claim binds ($tenant)" 120 Bound $tenant get pvc data -o jsonpath='{.status.phase}'
  until_is "its pod runs ($tenant)" 120 Running $tenant get pod db -o jsonpath='{.status.phase}'
  until_is "a budget has counted ($tenant)" 120 2 $tenant get pdb workers -o jsonpath='{.status.desiredHealthy}'
done
volume=$(in_a get pvc data -o jsonpath='{.spec.volumeName}')
check "the volume is the host's" "$volume" "$(host get pvc data-x-default-x-rag -n kinds-a -o jsonpath='{.spec.volumeName}')"
check "and no other's" "$([ "$volume" != "$(in_b get pvc data -o jsonpath='{.spec.volumeName}')" ] && echo other)" other
check "with its real size" "$(in_a get pvc data -o jsonpath='{.status.capacity.storage}')" "$(host get pv "$volume" -o jsonpath='{.spec.capacity.storage}')"
printf 'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: grab}\nspec: {accessModes: [ReadWriteOnce], storageClassName: kinds-local, volumeName: kinds-4, resources: {requests: {storage: 1Gi}}}\n' | in_a create -f - >"$work/out" 2>&1
check "a volume by name is refused at once" "$(grep -c "spec.volumeName: volumes are the host's" "$work/out")" 1
printf 'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: odd}\nspec: {accessModes: [ReadWriteOnce], storageClassName: of-mine, resources: {requests: {storage: 1Gi}}}\n' | in_a create -f - >"$work/out" 2>&1
check "and a class that the host does not show" "$(grep -c 'StorageClass "of-mine" is none of the host' "$work/out")" 1

for team in kinds-a kinds-b; do
  until_is "the Ingress names its Secret on the host ($team)" 60 cert-x-default-x-rag host get ingress site-x-default-x-rag -n $team -o jsonpath='{.spec.tls[0].secretName}'
  until_is "which is there ($team)" 60 kubernetes.io/tls host get secret cert-x-default-x-rag -n $team -o jsonpath='{.type}'
  until_is "the budget crosses as a number ($team)" 60 2 host get pdb workers-x-default-x-rag -n $team -o jsonpath='{.spec.minAvailable}'
  until_is "by which the host lets one go ($team)" 60 1 host get pdb workers-x-default-x-rag -n $team -o jsonpath='{.status.disruptionsAllowed}'
done
host patch ingress site-x-default-x-rag -n kinds-a --subresource=status --type=merge -p '{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.8"}]}}}' >/dev/null
until_is "an Ingress's address comes back" 60 192.0.2.8 in_a get ingress site -o jsonpath='{.status.loadBalancer.ingress[0].ip}'
check "to nobody else" "$(in_b get ingress site -o jsonpath='{.status.loadBalancer.ingress[0].ip}')" ""
in_b delete secret cert >/dev/null
until_is "a Secret that the tenant deletes goes" 60 "" host get secret cert-x-default-x-rag -n kinds-b --ignore-not-found -o name
check "of that tenant alone" "$(host get secret cert-x-default-x-rag -n kinds-a -o name)" secret/cert-x-default-x-rag

peer='{.spec.ingress[0].from[0].podSelector.matchExpressions[0].values}'
until_is "a policy that selects no namespace allows none" 60 '[""]' host get networkpolicy own-x-default-x-rag -n kinds-a -o jsonpath="$peer"
in_a create namespace blue >/dev/null
in_a label namespace blue team=blue >/dev/null
until_is "and follows the labels of namespaces" 60 '["blue"]' host get networkpolicy own-x-default-x-rag -n kinds-a -o jsonpath="$peer"
check "of its own virtual cluster" "$(host get networkpolicy own-x-default-x-rag -n kinds-b -o jsonpath="$peer")" '[""]'

check "a PriorityClass is brought within the band" "$(host get priorityclass high-x-kinds-a-x-rag -o jsonpath='{.value}')" 1000
check "beside that of the other" "$(host get priorityclass high-x-kinds-b-x-rag -o jsonpath='{.value}')" 1000
check "and pods have it" "$(host get pods -n kinds-a -o jsonpath='{range .items[*]}{.spec.priorityClassName} {.spec.priority}{"\n"}{end}' | sort | uniq -c | tr -s ' ')" " 1 0
 3 high-x-kinds-a-x-rag 1000"

in_a apply -f - >/dev/null <<'Y'
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  serviceName: store
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: c, image: nginx, volumeMounts: [{name: d, mountPath: /d}]}]}
  volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], storageClassName: kinds-local, resources: {requests: {storage: 1Gi}}}}]
Y
until_is "a StatefulSet's claim binds" 120 Bound in_a get pvc d-store-0 -o jsonpath='{.status.phase}'
until_is "and its pod runs" 120 Running in_a get pod store-0 -o jsonpath='{.status.phase}'

# Custom resources: a real kube-apiserver's validation on both sides of it, and what the operators say comes back.
for tenant in in_a in_b; do
  until_is "a definition of the host is there ($tenant)" 60 True $tenant get crd httproutes.gateway.networking.k8s.io -o jsonpath='{.status.conditions[?(@.type=="Established")].status}'
  until_is "and the classes, without parameters ($tenant)" 60 '{"controllerName":"example.com/envoy"}' $tenant get gatewayclass kinds-envoy -o jsonpath='{.spec}'
  until_is "and what has no namespace ($tenant)" 60 '{}' $tenant get clusterissuer kinds-ca -o jsonpath='{.spec.selfSigned}'
  $tenant apply -f - >"$work/out" 2>&1 <<'Y' || flunk "custom resources: $(cat "$work/out")"
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec:
  gatewayClassName: kinds-envoy
  listeners: [{name: https, port: 443, protocol: HTTPS, hostname: a.example.com, tls: {certificateRefs: [{name: cert}]}, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: site}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: site}
spec: {secretName: cert, dnsNames: [a.example.com], issuerRef: {name: kinds-ca, kind: ClusterIssuer}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: team}
spec: {clusterQueue: gpus}
Y
done
for team in kinds-a kinds-b; do
  until_is "a Gateway crosses ($team)" 60 "cert-x-default-x-rag Same" host get gateway edge-x-default-x-rag -n $team -o jsonpath='{.spec.listeners[0].tls.certificateRefs[0].name} {.spec.listeners[0].allowedRoutes.namespaces.from}'
  until_is "and a route to it ($team)" 60 "edge-x-default-x-rag web-x-default-x-rag" host get httproute site-x-default-x-rag -n $team -o jsonpath='{.spec.parentRefs[0].name} {.spec.rules[0].backendRefs[0].name}'
  until_is "a Certificate ($team)" 60 "cert-x-default-x-rag kinds-ca" host get certificate site-x-default-x-rag -n $team -o jsonpath='{.spec.secretName} {.spec.issuerRef.name}'
  until_is "a LocalQueue ($team)" 60 gpus host get localqueue team-x-default-x-rag -n $team -o jsonpath='{.spec.clusterQueue}'
done
now=2026-01-01T00:00:00Z
host patch httproute site-x-default-x-rag -n kinds-a --subresource=status --type=merge -p "{\"status\":{\"parents\":[{\"controllerName\":\"example.com/envoy\",\"parentRef\":{\"name\":\"edge-x-default-x-rag\",\"namespace\":\"kinds-a\"},\"conditions\":[{\"type\":\"Accepted\",\"status\":\"True\",\"reason\":\"Accepted\",\"message\":\"\",\"lastTransitionTime\":\"$now\",\"observedGeneration\":1}]}]}}" >/dev/null
until_is "a route's parents come back in the tenant's names" 60 "edge default 1" in_a get httproute site -o jsonpath='{.status.parents[0].parentRef.name} {.status.parents[0].parentRef.namespace} {.status.parents[0].conditions[0].observedGeneration}'
check "to nobody else" "$(in_b get httproute site -o jsonpath='{.status}')" ""
host patch certificate site-x-default-x-rag -n kinds-a --subresource=status --type=merge -p "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Ready\",\"message\":\"Certificate is stored in kinds-a/cert-x-default-x-rag\"}]}}" >/dev/null
until_is "a Certificate is ready, in the tenant's words" 60 "True Certificate is stored in default/cert" in_a get certificate site -o jsonpath='{.status.conditions[0].status} {.status.conditions[0].message}'
in_a wait --for=condition=Ready certificate/site --timeout=20s >/dev/null || flunk "kubectl wait does not see it"
printf 'apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: odd}\nspec: {parentRefs: [{name: edge, namespace: infra}]}\n' | in_a create -f - >"$work/out" 2>&1
check "a parent of another namespace is refused at once" "$(grep -c "spec.parentRefs\[0\].namespace: a Gateway of another namespace" "$work/out")" 1
# With the syncer's own token, a foreign object stays as it is: the host's policy covers these kinds too.
printf 'apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: foreign}\nspec: {clusterQueue: gpus}\n' | host create -n kinds-a -f - >/dev/null
as_syncer() { "$KUBECTL" --kubeconfig "$HOST_KUBECONFIG" --as system:serviceaccount:kinds-a:sublet-syncer-rag "$@"; }
as_syncer delete localqueue foreign -n kinds-a >"$work/out" 2>&1
check "which the syncer's account may not delete" "$(grep -c "the syncer changes and deletes only what carries its virtual cluster's uid" "$work/out")" 1
check "it may read the definitions that cross" "$(as_syncer auth can-i get crd/localqueues.kueue.x-k8s.io 2>/dev/null)" yes
check "and no others" "$(as_syncer auth can-i get crd/workloads.kueue.x-k8s.io 2>/dev/null)" no
host delete localqueue foreign -n kinds-a >/dev/null
in_a delete httproute site >/dev/null
until_is "one that the tenant deletes goes" 60 "" host get httproute site-x-default-x-rag -n kinds-a --ignore-not-found -o name

# What happens to data on the host is said, and not papered over by an empty volume.
host delete pvc d-store-0-x-default-x-rag -n kinds-a --wait=false >/dev/null
in_a delete statefulset store >/dev/null
in_a delete pod store-0 --ignore-not-found >/dev/null
until_is "a claim that is deleted on the host is lost" 120 Lost in_a get pvc d-store-0 -o jsonpath='{.status.phase}'
until_is "and the tenant is told" 60 ClaimLost in_a get events --field-selector involvedObject.name=d-store-0,reason=ClaimLost -o jsonpath='{.items[0].reason}'
check "it is not made anew" "$(host get pvc d-store-0-x-default-x-rag -n kinds-a --ignore-not-found -o name)" ""

all=pods,services,endpoints,endpointslices,configmaps,secrets,serviceaccounts,persistentvolumeclaims,ingresses,networkpolicies,poddisruptionbudgets,priorityclasses,gateways,httproutes,certificates,localqueues
check "deleting one" "$(sublet delete rag -n kinds-a --yes 2>/dev/null)" "virtualcluster/kinds-a/rag deleted"
check "leaves nothing of it" "$(host get $all -A -l sublet.dev/managed-by -o name | grep -c kinds-a)" 0
check "and takes nothing of the other" "$(in_b get pvc data -o jsonpath='{.status.phase}')" Bound
check "deleting the other" "$(sublet delete rag -n kinds-b --yes 2>/dev/null)" "virtualcluster/rag deleted"
check "leaves nothing at all" "$(host get $all -A -l sublet.dev/managed-by -o name)" ""
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
