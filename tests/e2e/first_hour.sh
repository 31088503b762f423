#!/usr/bin/env bash
# The first hour of three people with sublet: who operates it, who writes the platform's template, who gets a virtual
# cluster. Each step is run as they would type it, and what it says is checked.
#   tests/e2e/first_hour.sh                            checks
#   tests/e2e/first_hour.sh --transcript FILE          also writes what a person reads
set -uo pipefail
transcript=/dev/null
if [ "${1:-}" = --transcript ]; then transcript=$(realpath -m "$2"); fi
cd "$(dirname "$0")/../.."
. tests/e2e/cli_testing.sh
k=$KUBECTL
: >"$transcript"

# Times, ports, paths and generated names differ from run to run, and say nothing.
settled() {
  sed -E -e "s#$(dirname "$(command -v sublet)")/#build/release/bin/#g" -e "s#$work/home#~#g" -e "s#$work/state#~/.local/state/sublet#g" -e "s#$work/##g" -e "s#$PWD/##g" \
    -e 's#127\.0\.0\.1:[0-9]+#127.0.0.1:PORT#g' -e 's/[0-9]+\.[0-9]+ s\b/0.NN s/' -e 's/commit [0-9a-f]+[^)]*/commit .../' \
    -e 's/\b[0-9]+(m?s|m[0-9]+s)\b/Ns/g' -e "s#$k#kubectl#g" -e 's/ +$//'
}
part() { printf '\n## %s\n\n%s\n' "$1" "$2" >>"$transcript"; echo "== $1"; }
note() { printf '\n%s\n' "$1" >>"$transcript"; }
# shown COMMAND: a line of shell, run where this person has the files, with all that it says; $out and $code are its.
shown() {
  out=$(cd "$work" && bash -c "$1" 2>&1 </dev/null); code=$?
  printf '\n```\n$ %s\n%s```\n' "$1" "${out:+$out
}" | settled | sed 's/sublet connect rag -- kubectl/kubectl/' >>"$transcript"
}
says() { # says WHAT EXIT-CODE PART...
  check "$1" "$code" "$2"
  local what=$1 part
  shift 2
  for part in "$@"; do contains "$what: $part" "$out" "$part"; done
}
eventually() { until_true "$1" bash -c "$2 >/dev/null 2>&1"; } # eventually WHAT COMMAND: the line of shell holds in the end

cat >>"$transcript" <<'T'
# The first hour

What three people see who use sublet for the first time. Made by `tests/e2e/first_hour.sh --transcript docs/first-hour.md`, which
checks it too; times, ports and paths are blanked. On the embedded host: one CPU node, one GPU node.
T

part "Who operates it" "Is it there, and what does it do without anything?"
shown "sublet version"
says "the version" 0 "serving Kubernetes v"
shown "sublet list"
says "an empty list says how to go on" 0 'sublet create NAME'
shown "sublet create rag -n team-rag --quota-objects 250"
says "create" 0 "virtualcluster/rag created" "sublet connect rag"
shown "sublet list"
says "list" 0 "rag" "team-rag" "Running"
note "Without the namespace the name means the existing one."
shown "sublet create rag"
says "the existing one" 0 "virtualcluster/rag unchanged"
shown "sublet crate rag"
says "a mistyped command" 2 'did you mean "create"?'
shown "sublet connect rga"
says "a mistyped name" 3 "did you mean rag"
note "The machine restarts (here: everything is killed)."
shown "kill -9 \$(cat '$SUBLET_STATE_DIR'/clusters/team-rag/rag/daemon.lock '$SUBLET_STATE_DIR'/host/daemon.lock)"
eventually "it is noticed" "sublet list | grep -q Stopped"
shown "sublet list"
says "what is stopped is told" 0 "Stopped"
if [ ! -d /run/systemd/system ]; then # elsewhere it would really be enabled
  shown "sublet boot enable"
  says "no systemd is told, with what to do" 1 "systemd does not run here" "boot start"
fi
shown "sublet boot start"
says "boot start" 0 "virtualcluster/rag started"
shown "sublet list -o wide"
says "where the logs are" 0 "Running" "clusters/team-rag/rag/*.log"

part "Who gets it" "kubectl, and nothing of sublet to learn but one word."
shown "sublet connect rag"
says "connect" 0 "sublet_rag_team-rag_embedded" "sublet disconnect"
shown "$k get namespaces"
says "the usual namespaces" 0 "default" "kube-system"
shown "$k get nodes"
says "the host's nodes" 0 "gpu" "Ready"
shown "$k create ingress web --rule=web.example/=web:80"
says "what has no effect yet is told" 0 "Warning: Ingress is stored, but nothing routes traffic by it here"
shown "$k run web --image=nginx"
says "a pod" 0 "pod/web created"
eventually "it runs" "$k get pod web -o jsonpath='{.status.phase}' | grep -q Running"
shown "$k get pods -o wide"
says "where it runs" 0 "web" "Running"
shown "$k logs web"
says "its log" 0
shown "$k exec web -- echo hello"
says "a command in it" 0 "hello"
shown "$k get events --field-selector involvedObject.name=web"
says "its events" 0 "Scheduled" "Started"
shown "$k create deployment api --image=nginx --replicas=2"
says "a deployment" 0 "deployment.apps/api created"
shown "$k rollout status deployment api --timeout=2m"
says "rolls out" 0 "successfully rolled out"
note "A teammate may read, and nothing else."
shown "$k create rolebinding reader --clusterrole=view --user=mia"
says "a right is given" 0 "reader created"
shown "$k auth can-i list pods --as=mia; $k delete deployment api --as=mia"
says "and is all that there is" 1 "yes" "Forbidden"
note "Kinds of their own."
cat >"$work/crd.yaml" <<'Y'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: models.ai.example}
spec:
  group: ai.example
  scope: Namespaced
  names: {plural: models, kind: Model}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {gpus: {type: integer, maximum: 8}}}}}}
Y
shown "$k apply -f crd.yaml; $k wait --for=condition=Established crd/models.ai.example --timeout=1m"
says "a definition" 0 "created" "condition met"
shown "printf 'apiVersion: ai.example/v1\\nkind: Model\\nmetadata: {name: big}\\nspec: {gpus: 9}\\n' | $k apply -f -"
says "its schema counts" 1 "should be less than or equal to 8"
shown "$k delete deployment api; $k delete crd models.ai.example"
says "both go" 0 "deleted"
shown "$k delete node --all"
says "the host's nodes are not the tenant's" 1 "ask whoever runs the host cluster"
note "Two hundred and fifty objects were agreed upon, of which most are its own: roles, namespaces, accounts."
shown "for i in \$(seq 120); do $k create configmap note-\$i --from-literal=a=b || break; done 2>&1 | tail -n 3"
says "the quota warns and refuses" 0 "nearly full" "exceeded quota of this virtual cluster's store"
shown "$k delete pod web"
says "what is there can go" 0 'pod "web" deleted'
shown "sublet disconnect"
says "disconnect" 0
note "Somebody has a copy of that kubeconfig who should not: it is worth nothing from now on."
shown "sublet certs rotate rag"
says "rotate" 0 "new certificates" "sublet connect rag"

part "Who writes the platform's template" "A template, with the mistakes that one makes."
cat >"$work/gpu.yaml" <<'Y'
parameters:
  - name: queue
patches:
  - name: runtime
    target: Pod
    effects:
      - set: spec.runtimeClasName
        value: nvidia
      - set: metadata.labels[team]
        value: ${params.queu}
Y
shown "cat gpu.yaml"
shown "sublet create train -n team-train -f gpu.yaml"
says "mistakes come with line, all at once, with the nearest name" 2 "gpu.yaml:7" "runtimeClassName" "gpu.yaml:10" "queue"
sed -i -e 's/runtimeClasName/runtimeClassName/' -e 's/params.queu}/params.queue}/' "$work/gpu.yaml"
shown "sublet create train -n team-train -f gpu.yaml"
says "a parameter without a value" 2 "give it with --set queue=VALUE"
shown "sublet create train -n team-train -f gpu.yaml --set queu=research"
says "a mistyped parameter" 2 "queu" "queue"
shown "sublet create train -n team-train -f gpu.yaml --set queue=research"
says "create" 0 "virtualcluster/train created"
note "What a tenant's pod becomes on the host."
shown "sublet connect train -- $k run job --image=busybox"
says "a pod" 0 "pod/job created"
eventually "it is carried" "$k --kubeconfig '$SUBLET_STATE_DIR/host/admin.kubeconfig' get pod -n team-train job-x-default-x-train"
shown "$k --kubeconfig '$SUBLET_STATE_DIR/host/admin.kubeconfig' get pod -n team-train job-x-default-x-train -o jsonpath='{.metadata.labels.team} {.spec.runtimeClassName}'"
says "the platform's values" 0 "research nvidia"
shown "sublet create train -n team-train -f '$PWD/templates/gpu-whole.yaml'"
says "another template is not applied silently" 5 "another template"
shown "sublet create train -n team-train --quota-objects 5000"
says "the quota of one that is there" 0 "virtualcluster/train started"

part "And away" "Whoever operates it cleans up."
shown "sublet delete rag train"
says "delete asks" 5 "--yes"
shown "sublet delete --yes \$(sublet list -o name)"
says "delete" 0 "virtualcluster/rag deleted" "virtualcluster/train deleted"
shown "sublet list"
says "nothing is left" 0 "No virtual clusters"

echo "$failures failed"
[ "$failures" -eq 0 ]
