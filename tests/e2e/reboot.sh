#!/usr/bin/env bash
# tests/e2e/reboot.sh: what `sublet boot enable` promises, by a real systemd that really restarts. By hand (root; it needs
# the package systemd-container): not part of `make test`, because not every machine lets a container boot.
#
# A container whose root is an overlay of this machine's boots systemd. The first boot makes two virtual clusters, enables boot and
# restarts the machine; the second only asks, then disables boot; the third asks once more. What the boots say is printed;
# nothing outside of the overlay changes.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=${SUBLET_BIN:-$root/build/release/bin}
command -v systemd-nspawn >/dev/null || { echo "reboot: needs systemd-nspawn: apt-get install systemd-container" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "reboot: needs root" >&2; exit 2; }
kubectl=$("$root/tools/kubectl-path")
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-reboot-XXXXXX")
cleanup() {
  umount "$work/root" 2>/dev/null || true
  umount "$work/layer" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
mkdir "$work/layer" "$work/root"
mount -t tmpfs -o size=2g tmpfs "$work/layer"
mkdir "$work/layer/upper" "$work/layer/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/layer/upper,workdir=$work/layer/work" "$work/root"

# A machine of its own: no units but sublet's and the trial's.
rm -f "$work/root/etc/machine-id" "$work/root/var/lib/dbus/machine-id"
tr -d - </proc/sys/kernel/random/uuid >"$work/root/etc/machine-id"
find "$work/root/etc/systemd/system" -mindepth 1 -delete
mkdir -p "$work/root/opt/trial"
cp "$bin/sublet" "$bin/subletd" "$bin/subletd-supervisor" "$work/root/opt/trial/"
cp "$(readlink -f "$kubectl")" "$work/root/opt/trial/kubectl"
cat >"$work/root/opt/trial/boot.sh" <<'TRIAL'
#!/usr/bin/env bash
# Runs at each boot of the container; /opt/trial/boots counts them.
export HOME=/root KUBECONFIG=/root/trial.kubeconfig PATH=/opt/trial:$PATH
boots=$(($(cat /opt/trial/boots 2>/dev/null || echo 0) + 1))
echo "$boots" >/opt/trial/boots
exec >>/opt/trial/said 2>&1
# k NAME ARGS...: kubectl in a virtual cluster.
k() { sublet connect "$1" >/dev/null && kubectl --request-timeout=5s "${@:2}"; }
states() { sublet list -o json | python3 -c 'import json,sys; print(*(c["name"] + "=" + c["status"] for c in sorted(json.load(sys.stdin), key=lambda c: c["name"])))'; }
case $boots in
  1)
    for name in one two; do
      sublet create "$name" && k "$name" create configmap kept --from-literal=of="$name"
    done
    states >/opt/trial/states.1
    sublet boot enable
    systemctl --no-block reboot
    ;;
  2)
    systemctl is-active sublet.service >/opt/trial/active.2
    states >/opt/trial/states.2
    for name in one two; do k "$name" get configmap kept -o 'jsonpath={.data.of} '; done >/opt/trial/kept.2
    sublet boot disable
    systemctl --no-block reboot
    ;;
  *)
    states >/opt/trial/states.3
    systemctl --no-block poweroff
    ;;
esac
TRIAL
chmod +x "$work/root/opt/trial/boot.sh"
# After sublet.service, when there is one: what is asked is asked of a machine that has started.
cat >"$work/root/etc/systemd/system/trial.service" <<'UNIT'
[Unit]
After=sublet.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/opt/trial/boot.sh
UNIT
mkdir -p "$work/root/etc/systemd/system/multi-user.target.wants" "$work/root/etc/systemd/system/default.target.wants"
ln -s ../trial.service "$work/root/etc/systemd/system/multi-user.target.wants/trial.service"
ln -s /lib/systemd/system/multi-user.target "$work/root/etc/systemd/system/default.target"

# 133 is how nspawn says that the machine wants to start again.
code=133
while [ "$code" -eq 133 ]; do
  code=0
  timeout 60 systemd-nspawn --quiet --boot --directory="$work/root" --machine=sublet-reboot --private-network --register=no \
    --keep-unit --console=passive >>"$work/console" 2>&1 </dev/null || code=$?
done
trial=$work/root/opt/trial
cat "$trial/said" 2>/dev/null || true
failures=0
check() { if [ "$2" = "$3" ]; then echo "ok: $1"; else echo "FAILED: $1: got '$2', wanted '$3'" >&2; failures=$((failures + 1)); fi; }
said() { cat "$trial/$1" 2>/dev/null; }
check "the machine started three times" "$(said boots)" 3
check "before: both run" "$(said states.1)" "one=Running two=Running"
check "after a restart of the machine the unit is active" "$(said active.2)" active
check "and both run again" "$(said states.2)" "one=Running two=Running"
check "with what was in them" "$(said kept.2)" "one two "
check "after boot disable they stay stopped" "$(said states.3)" "one=Stopped two=Stopped"
[ "$failures" -eq 0 ] || tail -n 60 "$work/console" >&2
echo "$((6 - failures)) passed, $failures failed"
exit "$((failures > 0))"
