# Sourced by tests/host/real_node.sh, after checks.sh: what people do with pods that run, in a virtual cluster on a real node, by each
# kubectl that there is: the newest (WebSockets) and 1.27 (SPDY). $tenant_config: the virtual cluster's kubeconfig.
# FOLLOW=600: logs are followed at least as many seconds (default: as long as the rest takes).
session_clients() {
  echo "newest $(testhost build kubectl)"
  local old=${KUBECTL_OLD:-$(dirname "$(readlink -f "$KUBECTL")")/kubectl.1.27}
  [ ! -x "$old" ] || echo "old $old"
}
# k without a limit of time is for what runs in the background.
k() { "$client" --kubeconfig "$tenant_config" "$@"; }
kt() { k --request-timeout=120s "$@"; }

session_pods() {
  mkdir -p "$work/volume"
  host apply -f - >/dev/null <<Y
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: on-the-node}
provisioner: kubernetes.io/no-provisioner
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: $node_name}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: on-the-node
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: $work/volume, type: Directory}
Y
  tenant apply -f - >/dev/null <<'Y'
apiVersion: v1
kind: Pod
metadata: {name: shell}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: "sublet.test/busybox:1"
    command: [sh, -c, "mkdir /tmp/w; dd if=/dev/urandom of=/tmp/w/big bs=64k count=32 2>/dev/null; exec httpd -f -p 8080 -h /tmp/w"]
    resources: {requests: {cpu: 50m, memory: 32Mi}}
    readinessProbe: {exec: {command: [test, -s, /tmp/w/big]}, periodSeconds: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: ticker}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: "sublet.test/busybox:1", command: [sh, -c, "i=0; until test -e /tmp/enough; do i=$((i+1)); echo line $i; sleep 0.2; done"]}
---
apiVersion: v1
kind: Pod
metadata: {name: listener}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: "sublet.test/busybox:1", stdin: true, command: [sh, -c, "while read -r said; do echo heard $said; done"]}
  - {name: beside, image: "sublet.test/busybox:1", command: [sh, -c, "echo from beside; sleep 1d"]}
---
apiVersion: v1
kind: Pod
metadata: {name: ill}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: "sublet.test/busybox:1"
    command: [sh, -c, "cat /proc/sys/kernel/random/uuid; sleep 1d"]
    livenessProbe: {exec: {command: [test, "!", -e, /tmp/ill]}, periodSeconds: 1, failureThreshold: 1}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: kept}
spec: {accessModes: [ReadWriteOnce], storageClassName: on-the-node, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  restartPolicy: Never
  containers: [{name: c, image: "sublet.test/busybox:1", command: [sh, -c, "echo kept by writer >/data/word"], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: kept}}]
Y
}

# session_checks WHICH: everything by $client.
session_checks() {
  local which=$1 output code answers i
  check "$which: exec, what it prints" "$(kt exec shell -c c -- sh -c 'echo hi; echo of $0')" $'hi\nof sh'
  kt exec shell -c c -- sh -c 'exit 3' 2>/dev/null
  check "$which: and its exit code" "$?" 3
  check "$which: its input" "$(printf 'one\ntwo\n' | kt exec -i shell -c c -- cat)" $'one\ntwo'
  # Where the command is typed no 2 stands before tty.
  output=$(printf 'test -t 0 && echo $((1+1))tty\nexit 4\n' | script -qec "'$client' --kubeconfig '$tenant_config' exec -it shell -c c -- sh" /dev/null; echo "ended with $?")
  check "$which: a terminal, and its exit code" "$(grep -oE '2tty|ended with .*' <<<"$output" | tr -d '\r' | tr '\n' ' ')" "2tty ended with 4 "

  # Attached both ways.
  mkfifo "$work/typed.$which"
  k attach -i listener -c c <"$work/typed.$which" >"$work/attached.$which" 2>/dev/null &
  local attached=$!
  exec 9>"$work/typed.$which"
  echo "hello-$which" >&9
  until_is "$which: attach, both ways" 60 "heard hello-$which" grep "hello-$which" "$work/attached.$which"
  exec 9>&-
  kill "$attached" 2>/dev/null
  wait "$attached" 2>/dev/null
  check "$which: logs of all containers" "$(kt logs listener --all-containers | grep -cE "^(from beside|heard hello-$which)$")" 2

  # 50 MB in and out again.
  kt cp -c c "$work/50m" "shell:/tmp/50m.$which" >/dev/null 2>&1
  check "$which: cp of 50 MB into the pod" "$(kt exec shell -c c -- sha256sum "/tmp/50m.$which" | cut -d' ' -f1)" "$sum"
  kt cp -c c "shell:/tmp/50m.$which" "$work/back.$which" >/dev/null 2>&1
  check "$which: and back" "$(sha256sum <"$work/back.$which" | cut -d' ' -f1)" "$sum"
  rm -f "$work/back.$which"

  # Twenty connections at once, of 2 MiB each.
  k port-forward pod/shell :8080 >"$work/forwarded.$which" 2>&1 &
  local forwards=$! port pids=()
  until_holds 60 grep -q 'Forwarding from 127.0.0.1' "$work/forwarded.$which"
  port=$(sed -n 's/Forwarding from 127.0.0.1:\([0-9]*\).*/\1/p' "$work/forwarded.$which")
  output=$(kt exec shell -c c -- sha256sum /tmp/w/big | cut -d' ' -f1)
  for i in {1..20}; do curl -s -m 100 -o "$work/part.$i" "http://127.0.0.1:$port/big" & pids+=($!); done
  answers=0
  for i in "${pids[@]}"; do wait "$i" && answers=$((answers + 1)); done
  check "$which: port-forward, twenty connections at once" "$answers" 20
  check "$which: each with the whole of it" "$(sha256sum "$work"/part.* | grep -c "^$output ")" 20
  kill "$forwards" 2>/dev/null
  wait "$forwards" 2>/dev/null
  rm -f "$work"/part.*

  kt debug shell --image=sublet.test/busybox:1 --target=c -c "look-$which" --profile=baseline -- sh -c 'ps | grep -c "[h]ttpd -f"; sleep 1d' >/dev/null 2>&1
  until_is "$which: debug sees the other container's process" 60 1 kt logs shell -c "look-$which"

  # In place: whoever is old has no word for it, and asks for the path.
  local cpu=60m
  if [ "$which" = newest ]; then
    kt patch pod shell --subresource=resize -p '{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"60m"}}}]}}' >/dev/null
  else
    cpu=70m
    kt get pod shell -o json | jq '.spec.containers[0].resources.requests.cpu = "70m"' | kt replace --raw /api/v1/namespaces/default/pods/shell/resize -f - >/dev/null
  fi
  until_is "$which: a resize, by the kubelet" 90 "$cpu" kt get pod shell -o 'jsonpath={.status.containerStatuses[0].resources.requests.cpu}'
  check "$which: without a restart" "$(kt get pod shell -o 'jsonpath={.status.containerStatuses[0].restartCount}')" 0

  # A container that is found ill begins anew, and its earlier log is kept.
  local before count
  count=$(kt get pod ill -o 'jsonpath={.status.containerStatuses[0].restartCount}')
  before=$(kt logs ill)
  kt exec ill -- touch /tmp/ill
  until_is "$which: a failed liveness probe restarts" 60 "$((count + 1)) true" kt get pod ill -o 'jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].ready}'
  check "$which: the log of the one before" "$(kt logs ill --previous)" "$before"

  top_pod() { kt top pod shell --no-headers 2>/dev/null | grep -qE '^shell +[0-9]+m +[1-9][0-9]*Mi'; }
  if until_holds 90 top_pod; then pass "$which: top"; else flunk "$which: top: $(kt top pod shell 2>&1)"; fi
}

real_sessions() {
  local which client sum followers=() began=$SECONDS
  tenant_config=$work/tenant.yaml
  sublet connect rag --print >"$tenant_config"
  session_pods
  head -c 50000000 /dev/urandom >"$work/50m"
  sum=$(sha256sum <"$work/50m" | cut -d' ' -f1)
  client=$KUBECTL
  check "the pods of the sessions run" "$(kt wait --for=condition=Ready pod/shell pod/ticker pod/listener pod/ill --timeout=90s 2>&1 | grep -c 'condition met')" 4
  while read -r which client; do
    k logs -f ticker >"$work/followed.$which" 2>"$work/following.$which" &
    followers+=("$! $which")
  done < <(session_clients)
  while read -r which client <&8; do session_checks "$which"; done 8< <(session_clients)

  client=$KUBECTL
  until_is "a pod has written to its volume" 60 Succeeded kt get pod writer -o 'jsonpath={.status.phase}'
  kt delete pod writer >/dev/null
  check "its claim is bound" "$(kt get pvc kept -o 'jsonpath={.status.phase} {.spec.storageClassName}')" "Bound on-the-node"
  kt apply -f - >/dev/null <<'Y'
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  restartPolicy: Never
  containers: [{name: c, image: "sublet.test/busybox:1", command: [cat, /data/word], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: kept}}]
Y
  until_is "the next one reads" 60 Succeeded kt get pod reader -o 'jsonpath={.status.phase}'
  check "what was kept" "$(kt logs reader)" "kept by writer"

  # Whoever follows has had all of it, in its order, when the container ends; and ends with it.
  long_enough() { [ $((SECONDS - began)) -ge "${FOLLOW:-0}" ]; }
  until_holds $((${FOLLOW:-0} + 10)) long_enough
  kt exec ticker -- touch /tmp/enough
  until_is "the one that was followed has ended" 60 Succeeded kt get pod ticker -o 'jsonpath={.status.phase}'
  kt logs ticker >"$work/whole"
  check "its log has every line" "$(diff <(seq -f 'line %.0f' "$(wc -l <"$work/whole")") "$work/whole" | head -n 3)" ""
  local follower
  for follower in "${followers[@]}"; do
    which=${follower#* } follower=${follower% *}
    ended_following() { ! kill -0 "$follower" 2>/dev/null; }
    if until_holds 30 ended_following; then wait "$follower"; check "$which: logs -f over $((SECONDS - began)) s ends with the container" "$?" 0; else flunk "$which: logs -f does not end"; kill "$follower"; fi
    check "$which: and missed nothing" "$(diff "$work/whole" "$work/followed.$which" | head -n 3; cat "$work/following.$which")" ""
  done
}
