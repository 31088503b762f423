#!/usr/bin/env bash
# Runs at each boot of a copy of the root, where systemd is the init (tests/package/run): the unit sublet@USER, as an operator uses it.
# Its output is in /trial/log. The package is installed; the machine has no network.
set -uo pipefail
cd /trial
exec >>log 2>&1
. ./checks.sh
. ./waiting.sh
user() { runuser -u tenant -- env HOME=/home/tenant bash -c 'cd && exec "$@"' user "$@"; }
status() { user sublet list -o json | tr -d ' \n' | sed -nE 's/.*"status":"([A-Za-z]*)".*/\1/p'; }
stopped() { status | grep -qx Stopped; }
if [ ! -e booted ]; then
  touch booted
  useradd --create-home --shell /bin/bash tenant
  user sublet create rag >/dev/null
  user sublet connect rag -- kubectl create configmap stored --from-literal=of=rag >/dev/null
  check "before: it runs" "$(status)" Running
  systemctl enable sublet@tenant
  check "systemd has nothing to say of the unit" "$(systemd-analyze verify 'sublet@tenant.service' 2>&1)" ""
  sed -n 's/^/counted: /p' <<<"$passed $failed" >counted
  systemctl --no-block reboot
  exit
fi
read -r passed failed < <(sed -n 's/^counted: //p' counted)
until_prints 60 Running status || true
check "after a restart of the machine it runs again" "$got" Running
check "with what was in it" "$(user sublet connect rag -- kubectl get configmap stored -o 'jsonpath={.data.of}')" rag
check "the unit is active" "$(systemctl is-active sublet@tenant)" active
pid=$(cat /home/tenant/.local/state/sublet/clusters/sublet-rag/rag/daemon.lock)
contains "the daemons are the unit's" "$(cat "/proc/$pid/cgroup")" sublet@tenant.service
check "and the user's" "$(stat -c %U "/proc/$pid")" tenant
systemctl stop sublet@tenant
until_prints 60 Stopped status || true
check "systemctl stop stops it" "$got" Stopped
systemctl start sublet@tenant
until_prints 60 Running status || true
check "systemctl start starts it" "$got" Running
pid=$(cat /home/tenant/.local/state/sublet/clusters/sublet-rag/rag/daemon.lock)
dpkg --purge sublet >/dev/null
check "when the package is removed, the daemons of the unit end" "$(kill -0 "$pid" 2>/dev/null && echo runs)" ""
check "and the machine does not start it any more" "$(find /etc/systemd -name 'sublet*')" ""
check "the state stays" "$(stat -c %U /home/tenant/.local/state/sublet/clusters/sublet-rag/rag/virtual-cluster.json)" tenant
echo "$passed passed, $failed failed"
systemctl --no-block poweroff
