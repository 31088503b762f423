#!/usr/bin/env bash
# apply_story.sh KUBECONFIG: a tour of kubectl's apply family on built-in and custom objects; prints every command with what
# it said and its exit code. What differs from run to run (uids, versions, times, files) is left out, so that two servers'
# texts can be compared. In a namespace of its own, which stays: its end is not this tour's subject.
# Left out besides are three ways of ours: we say which test of a JSON patch failed, quote the patch where upstream quotes what
# it made of the object, and answer paths of unknown groups with a Status.
set -u
kubeconfig=$1
kubectl_bin=${KUBECTL:?}
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-apply-XXXXXX")
trap 'rm -rf "$work"' EXIT
export HOME="$work" KUBECTL_EXTERNAL_DIFF="diff -u0" KUBECONFIG="$kubeconfig"
space=apply-tour

normal() {
  sed -E -e 's/(uid: |"uid":"?|UID:\s+)[0-9a-f-]{36}/\1UID/g' -e 's/(resourceVersion: |"resourceVersion":)"?[0-9]+"?/\1RV/g' \
    -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/TIME/g' -e 's#/tmp/[A-Za-z0-9._/-]*(LIVE|MERGED|kubectl-edit)-[A-Za-z0-9._]*#FILE-\1#g' \
    -e 's/^(---|\+\+\+) (FILE[A-Z-]*[^[:space:]]*).*/\1 \2/' -e "s#$work#WORK#g" -e 's/[0-9.]+(ms|s) ago/AGO/' -e 's/ +(<invalid>|[0-9]+m?[0-9]*s)$/ AGE/' -e 's/^W[0-9]{4} [0-9:.]+ +[0-9]+ /W /' -e 's/^@@ .* @@$/@@/' \
    -e 's/: testing value .* failed: test failed$//' -e 's/ \(get tours[a-z.]*\)$//' \
    -e 's/^The (request|Tour "town") is invalid: patch: Invalid value: ".*": strict/The X is invalid: patch: strict/' 
}
. "$(dirname "$0")/steps.sh"
# f NAME: a file of what comes on stdin.
f() { cat >"$work/$1.yaml"; }
edit_with() { printf '#!/bin/sh\nsed -i %s "$1"\n' "'$1'" >"$work/editor" && chmod +x "$work/editor"; export KUBE_EDITOR="$work/editor"; }

"$kubectl_bin" create namespace "$space" >/dev/null
f map <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: map, labels: {app: tour}}
data: {a: "1", b: "2"}
END
f web <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: tour}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example/web:1", ports: [{containerPort: 80}], env: [{name: A, value: "1"}]}]}
END
f type <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tours.apply.example.com}
spec:
  group: apply.example.com
  scope: Namespaced
  names: {plural: tours, singular: tour, kind: Tour, shortNames: [to]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns: [{name: Stops, type: string, jsonPath: ".spec.stops[*].name"}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, properties: {replicas: {type: integer}}}
          spec:
            type: object
            properties:
              replicas: {type: integer, minimum: 0, default: 1}
              guide: {type: string, maxLength: 8}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              stops:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, minutes: {type: integer}}}
END
f tour <<END
apiVersion: apply.example.com/v1
kind: Tour
metadata: {name: town, labels: {app: tour}}
spec: {guide: ann, tags: [old], stops: [{name: church, minutes: 5}, {name: tower, minutes: 9}]}
END

# --- apply ---
s apply -f "$work/map.yaml"
s apply -f "$work/map.yaml"
sed -i 's/b: "2"/c: "3"/' "$work/map.yaml"
s diff -f "$work/map.yaml"
s apply -f "$work/map.yaml" --dry-run=server
s apply -f "$work/map.yaml" --dry-run=client -o yaml
s apply -f "$work/map.yaml"
s get configmap map -o yaml --show-managed-fields
s apply view-last-applied configmap/map
s apply -f "$work/web.yaml" -o name
sed -i 's/example\/web:1/example\/web:2/; s/replicas: 0/replicas: 0\n  paused: true/' "$work/web.yaml"
s diff -f "$work/web.yaml"
s apply -f "$work/web.yaml"
s get deployment web -o jsonpath='{.spec.template.spec.containers[0].image} {.spec.paused} {.metadata.generation}'
s apply -f - --validate=strict </dev/null
f wrong <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: wrong}
spec: {replicas: many, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: c}}, spec: {containers: [{name: c, imge: x}]}}}
END
s apply -f "$work/wrong.yaml"
s apply -f "$work/wrong.yaml" --validate=false
sed -i 's/matchLabels: {app: web}/matchLabels: {app: other}/' "$work/web.yaml"
s apply -f "$work/web.yaml"
sed -i 's/matchLabels: {app: other}/matchLabels: {app: web}/' "$work/web.yaml"

# --- server-side, two managers ---
f mine <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: shared}
data: {a: mine, m: mine}
END
f yours <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: shared}
data: {a: yours, y: yours}
END
s apply --server-side --field-manager=mine -f "$work/mine.yaml"
s apply --server-side --field-manager=yours -f "$work/yours.yaml"
s diff --server-side --field-manager=yours -f "$work/yours.yaml"
s diff --server-side --field-manager=yours --force-conflicts -f "$work/yours.yaml"
s apply --server-side --field-manager=yours --force-conflicts -f "$work/yours.yaml"
s apply --server-side --field-manager=mine -f "$work/mine.yaml"
sed -i 's/a: mine, //' "$work/mine.yaml"
s apply --server-side --field-manager=mine -f "$work/mine.yaml" -o yaml --show-managed-fields
s apply --server-side --field-manager=mine -f "$work/mine.yaml" --dry-run=server
s get configmap shared -o yaml --show-managed-fields
s apply --server-side -f "$work/map.yaml"
s get configmap map -o yaml --show-managed-fields
s apply --server-side -f "$work/web.yaml"
s set image deployment/web web=example/web:9
sed -i 's/example\/web:2/example\/web:3/' "$work/web.yaml"
s apply --server-side -f "$work/web.yaml"
s apply --server-side --force-conflicts -f "$work/web.yaml"

# --- custom resources ---
s apply --server-side -f "$work/type.yaml"
s wait --for=condition=Established crd/tours.apply.example.com --timeout=60s
s apply -f "$work/tour.yaml"
sed -i 's/minutes: 9/minutes: 8/; s/tags: \[old\]/tags: [new]/' "$work/tour.yaml"
s diff -f "$work/tour.yaml"
s apply -f "$work/tour.yaml"
s get tours
s get tour town -o yaml --show-managed-fields
f more <<END
apiVersion: apply.example.com/v1
kind: Tour
metadata: {name: town}
spec: {guide: bob, tags: [more], stops: [{name: bridge, minutes: 2}, {name: tower, minutes: 3}]}
END
s apply --server-side --field-manager=more -f "$work/more.yaml"
sed -i 's/guide: bob, //; s/, {name: tower, minutes: 3}//' "$work/more.yaml"
s apply --server-side --field-manager=more -f "$work/more.yaml"
s get tour town -o yaml --show-managed-fields
s scale tour/town --replicas=3
s apply -f "$work/tour.yaml"
s get tour town -o jsonpath='{.spec.replicas} {.metadata.generation}'
sed -i 's/guide: ann/guide: a-long-name/' "$work/tour.yaml"
s apply -f "$work/tour.yaml"
s apply --server-side -f "$work/tour.yaml"
sed -i 's/guide: a-long-name/gide: ann/' "$work/tour.yaml"
s apply -f "$work/tour.yaml"
s apply -f "$work/tour.yaml" --validate=warn
s get tour town -o jsonpath='{.spec}'

# --- replace, edit, set, label, patch ---
s replace -f "$work/map.yaml"
f gone <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: gone}
data: {}
END
s replace -f "$work/gone.yaml"
s replace --force -f "$work/map.yaml"
edit_with 's/c: "3"/c: "4"/'
s edit configmap map
s get configmap map -o jsonpath='{.data}'
edit_with 's/nothing/nothing/'
s edit configmap map
edit_with 's/minutes: 5/minutes: five/'
s edit tour town
edit_with 's/minutes: 5/minutes: 6/'
s edit tour town
s get tour town -o jsonpath='{.spec.stops}'
s set env deployment/web B=2 A-
s set resources deployment/web --limits=cpu=1,memory=64Mi
s set serviceaccount deployment web other
s get deployment web -o jsonpath='{.spec.template.spec.containers[0]} {.spec.template.spec.serviceAccountName}'
s get deployment web --show-managed-fields -o jsonpath='{range .metadata.managedFields[?(@.manager!="kube-controller-manager")]}{.manager} {.operation} {.fieldsV1}{"\n"}{end}'
s label tour town a=b
s annotate tour town a=b
s label tour town a=c
s label tour town a=c --overwrite
s patch tour town --type=merge -p '{"spec":{"guide":"eve"}}'
s patch tour town --type=strategic -p '{"spec":{"guide":"eve"}}'
s patch tour town --type=json -p '[{"op":"test","path":"/spec/guide","value":"ann"}]'
s patch tour town --subresource=status --type=merge -p '{"status":{"replicas":2}}'
s get tour town --no-headers -o custom-columns=N:.metadata.name,G:.spec.guide,R:.status.replicas
s create -f "$work/map.yaml"
s create -f "$work/map.yaml" --save-config
s apply set-last-applied -f "$work/map.yaml"

# --- prune ---
mkdir "$work/all"
for name in one two; do printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {set: p}}\n' "$name" >"$work/all/$name.yaml"; done
sed 's/name: town, labels: {app: tour}/name: pruned, labels: {set: p}/; s/gide: ann, //' "$work/tour.yaml" >"$work/all/tour.yaml"
s apply -f "$work/all" --prune -l set=p --prune-allowlist=core/v1/ConfigMap --prune-allowlist=apply.example.com/v1/Tour
rm "$work/all/two.yaml" "$work/all/tour.yaml"
s apply -f "$work/all" --prune -l set=p --prune-allowlist=core/v1/ConfigMap --prune-allowlist=apply.example.com/v1/Tour --dry-run=server
s apply -f "$work/all" --prune -l set=p --prune-allowlist=core/v1/ConfigMap --prune-allowlist=apply.example.com/v1/Tour
s get configmaps,tours -l set=p -o name
s delete -f "$work/map.yaml" -f "$work/tour.yaml" --ignore-not-found
s delete crd tours.apply.example.com --timeout=60s
s get tours
