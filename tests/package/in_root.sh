#!/usr/bin/env bash
# Runs in a fresh Debian 12 root, as root (tests/package/run): installs the package with apt, uses it as an ordinary user, upgrades
# and removes it. In: VERSION; /trial has sublet.deb, later.deb and the scripts.
set -uo pipefail
cd /trial
. ./checks.sh
. ./waiting.sh
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
apt() { apt-get "$@" >/tmp/apt.log 2>&1 || { tail -n 20 /tmp/apt.log; return 1; }; }

# What apt, the linker, kubectl and fish keep for themselves is not the package's.
all_files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /trial -o -path /var/lib/apt -o -path /var/cache \
    -o -path /var/log -o -path /var/lib/dpkg -o -path /home/tenant/.local/state/sublet -o -path /home/tenant/.kube/cache -o -path /home/tenant/.local/share/fish -o -path /home/tenant/.config/fish \) -prune -o -printf '%p %y %m %u\n' | sort
  find /etc -xdev -type f ! -path /etc/ld.so.cache -exec md5sum {} + | sort
  find /var/lib/dpkg -name 'sublet*'
}

useradd --create-home --shell /bin/bash tenant
runuser -u tenant -- mkdir -p /home/tenant/.local/state /home/tenant/.local/share /home/tenant/.config /home/tenant/.kube
chmod 700 /home/tenant/.local /home/tenant/.local/state /home/tenant/.local/share /home/tenant/.config /home/tenant/.kube
apt update
all_files >/tmp/before

started=$(date +%s%N)
apt install -y ./sublet.deb
check "apt installs the package" $? 0
printf 'installed in %.1f s, with its libraries\n' "$(($(date +%s%N) - started))e-9"
check "it is the version" "$(dpkg-query -W -f '${Version}' sublet)" "$VERSION"

# user WORDS...: a command of the ordinary user's.
user() { runuser -u tenant -- env HOME=/home/tenant bash -c 'cd && exec "$@"' user "$@"; }
contains "sublet runs as an ordinary user" "$(user sublet version)" "sublet $VERSION ("

started=$(date +%s%N)
user sublet create rag -n team-rag -f /usr/share/sublet/templates/gpu-fraction.yaml >/tmp/create.log 2>&1
check "a virtual cluster is created, with a template of the package" $? 0
printf 'created in %.1f s\n' "$(($(date +%s%N) - started))e-9"
k() { user sublet connect "$1" -- kubectl --request-timeout=20s "${@:2}"; }
phase() { k "$1" get pod "$2" -o jsonpath='{.status.phase}'; }
k rag apply -f /usr/share/doc/sublet/examples/gpu-sharing-pod.yaml >/dev/null
until_prints 120 Running phase rag gpu-sharing-pod || true
check "a pod runs" "$got" Running
user sublet create stays >/dev/null 2>&1
k stays run web --image=nginx >/dev/null
until_prints 120 Running phase stays web || true
check "so does one of another virtual cluster" "$got" Running

# Tab, in each shell.
tab_bash='. /usr/share/bash-completion/bash_completion; _completion_loader sublet; COMP_WORDS=(sublet connect s); COMP_CWORD=2; _sublet; echo "${COMPREPLY[*]}"'
check "bash completes a name" "$(user bash -c "$tab_bash")" stays
tab_bash='. /usr/share/bash-completion/bash_completion; _completion_loader sublet; COMP_LINE="sublet connect rag -- kubect"; COMP_POINT=${#COMP_LINE}; COMP_WORDS=($COMP_LINE); COMP_CWORD=4; _sublet 2>/dev/null; echo "${COMPREPLY[*]}"'
check "bash completes the command after --" "$(user bash -c "$tab_bash")" kubectl
check "fish completes a command" "$(user fish -c 'complete -C "sublet certs ch" | string split -f1 \t')" check
check "fish completes a name" "$(user fish -c 'complete -C "sublet delete rag st"')" stays
check "fish completes a value" "$(user fish -c 'complete -C "sublet list -o js" | string split -f1 \t')" json
check "fish completes the command after --" "$(user fish -c 'complete -C "sublet connect rag -- kubect" | string split -f1 \t')" kubectl
for case in 'sublet certs ch|check' 'sublet connect st|stays' 'sublet list -o js|json' 'sublet connect rag -- kubect|kubectl'; do
  contains "zsh completes '${case%|*}'" "$(user zsh -f /trial/tab.zsh "${case%|*}" "${case#*|}")" "${case#*|}"
done

k rag delete pod gpu-sharing-pod --wait >/dev/null
check "the pod is deleted" "$(k rag get pods -o name)" ""
user sublet delete rag --yes >/dev/null 2>&1
check "and the virtual cluster" "$(user sublet list -o name)" virtualcluster/stays

status() { user sublet list -o json | tr -d ' \n' | sed -nE 's/.*"status":"([A-Za-z]*)".*/\1/p'; }
apt install -y ./later.deb
check "a later version is installed over it" "$(dpkg-query -W -f '${Version}' sublet)" "$VERSION+later"
check "what ran goes on" "$(status) $(phase stays web)" "Running Running"
folder=/home/tenant/.local/state/sublet/clusters/sublet-stays/stays
kill "$(cat "$folder/daemon.lock")"
until_prints 60 Stopped status || true
check "a virtual cluster that is stopped" "$got" Stopped
user sublet create stays >/dev/null 2>&1
until_prints 60 Running status || true
check "starts again, with the later version's programs" "$got $(phase stays web)" "Running Running"

apt purge -y sublet && apt autoremove -y --purge
check "apt removes the package and its libraries" "$(dpkg-query -W -f '${Status}' sublet 2>/dev/null)" ""
all_files >/tmp/after
difference=$(diff /tmp/before /tmp/after)
check "nothing is left but the user's state" "$difference" ""
check "which is there" "$(stat -c %U "$folder/virtual-cluster.json")" tenant
echo "$passed passed, $failed failed"
