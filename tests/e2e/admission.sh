#!/usr/bin/env bash
# Policies and webhooks with a real kubectl: an API server, a webhook beside it (python3), what they change, refuse and
# delay, and that without --outbound-allow nothing on this machine is called.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
pids=()
stop() {
  for pid in "${pids[@]}"; do { kill "$pid" && wait "$pid"; } 2>/dev/null || true; done
  rm -rf "$folder"
}
trap stop EXIT
wait_for() { # FILE PID LOG
  for _ in $(seq 300); do
    [ -f "$1" ] && return
    kill -0 "$2" || { cat "$3" >&2; exit 1; }
    read -rt 0.1 <> <(:) || true
  done
  echo "no $1 after 30 s" >&2
  exit 1
}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=hook \
  -addext subjectAltName=IP:127.0.0.1 -keyout "$folder/key" -out "$folder/certificate" 2>"$folder/openssl.log" ||
  { cat "$folder/openssl.log" >&2; exit 1; }
python3 "$here/admission_server.py" "$folder/certificate" "$folder/key" "$folder/port" 2>"$folder/hook.log" &
pids+=($!)
wait_for "$folder/port" $! "$folder/hook.log"
port=$(cat "$folder/port") bundle=$(base64 -w0 "$folder/certificate")

start() { # NAME FLAG...
  local name=$1
  shift
  subletd apiserver --data "$folder/$name" --listen 127.0.0.1:0 --admin-kubeconfig "$folder/$name.kubeconfig" "$@" \
    2>"$folder/$name.log" &
  pids+=($!)
  wait_for "$folder/$name.kubeconfig" $! "$folder/$name.log"
}
k() { "$KUBECTL" --kubeconfig "$folder/$server.kubeconfig" "$@"; }
refused() { # TEXT COMMAND...
  local text=$1 said
  shift
  if said=$("$@" 2>&1); then
    echo "not refused: $*" >&2
    exit 1
  fi
  grep -qF -- "$text" <<<"$said" || { echo "expected \"$text\", said: $said" >&2; exit 1; }
}
webhook() { # KIND NAME PATH RESOURCE
  cat <<END
apiVersion: admissionregistration.k8s.io/v1
kind: $1WebhookConfiguration
metadata: {name: $2}
webhooks:
- name: $2.example.com
  clientConfig: {url: "https://127.0.0.1:$port$3", caBundle: $bundle}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [$4]}]
  sideEffects: None
  timeoutSeconds: 1
  admissionReviewVersions: [v1]
END
}

server=guarded
start guarded
webhook Validating deny /deny configmaps | k apply -f - >"$folder/out" 2>&1
if grep -q Warning "$folder/out"; then cat "$folder/out" >&2; exit 1; fi
refused "127.0.0.1 is a loopback address" k create configmap a

server=open
start open --outbound-allow 127.0.0.0/8
webhook Validating deny /deny configmaps | k apply -f - >/dev/null
webhook Mutating label /label configmaps | k apply -f - >/dev/null
webhook Validating hang /hang secrets | k apply -f - >/dev/null
k create configmap a >/dev/null
[ "$(k get configmap a -o 'jsonpath={.metadata.labels.seen}')" = yes ]
refused 'admission webhook "deny.example.com" denied the request: not here' k apply -f - <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: b, labels: {deny: "yes"}}
END
refused 'context deadline exceeded' k create secret generic s
k delete mutatingwebhookconfiguration label >/dev/null
k delete validatingwebhookconfiguration deny hang >/dev/null
k create secret generic s >/dev/null

k apply -f - >/dev/null <<'END'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  variables: [{name: most, expression: "int(params.data['most'])"}]
  validations:
  - expression: object.spec.replicas <= variables.most
    messageExpression: "'at most ' + string(variables.most) + ' replicas'"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas}
spec:
  policyName: replicas
  paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}
  validationActions: [Deny]
END
refused 'no params found for policy binding' k create deployment web --image=nginx
k create configmap limits --from-literal=most=2 >/dev/null
k create deployment web --image=nginx --replicas=2 >/dev/null
refused 'at most 2 replicas' k create deployment more --image=nginx --replicas=3
refused 'at most 2 replicas' k patch deployment web -p '{"spec":{"replicas":5}}'
k delete validatingadmissionpolicybinding replicas >/dev/null
k scale deployment web --replicas=5 >/dev/null
k apply -f - >/dev/null <<'END'
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: team}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{
          labels: {"team": namespaceObject.metadata.name}}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: team}
spec: {policyName: team}
END
k create deployment labelled --image=nginx >/dev/null
[ "$(k get deployment labelled -o 'jsonpath={.spec.template.metadata.labels.team}')" = default ]
echo "admission: webhooks and policies act"
