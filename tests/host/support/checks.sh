# Sourced by the scripts of tests/host from the root of the tree: a state folder of their own, checks that are counted, and
# kubectl on the host. In: HOST_KUBECONFIG, KUBECTL. Out: $work (the caller removes it when it ends), $passed, $failed.
# In a folder of its own because tools/run-host-tests runs every tests/host/*.sh.
. tests/support/waiting.sh
: "${HOST_KUBECONFIG:?}" "${KUBECTL:?}"
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-host-XXXXXX")
export SUBLET_STATE_DIR="$work/state" HOME="$work/home"
mkdir -p "$HOME"
unset KUBECONFIG
passed=0 failed=0

pass() { passed=$((passed + 1)); echo "ok: $1"; }
flunk() { failed=$((failed + 1)); echo "FAILED: $*" >&2; }
check() { if [ "$2" = "$3" ]; then pass "$1"; else flunk "$1: got '$2', wanted '$3'"; fi; }
# until_is WHAT SECONDS WANTED command...: waits for the command's output to be WANTED.
until_is() {
  local what=$1 seconds=$2 wanted=$3
  if until_prints "$seconds" "$wanted" "${@:4}"; then pass "$what"; else flunk "$what: got '$got', wanted '$wanted' within $seconds s"; return 1; fi
}
host() { "$KUBECTL" --kubeconfig "$HOST_KUBECONFIG" "$@"; }
# For a cleanup, before the state folder goes: the ends of the daemons' logs, when a check failed.
show_logs_of_failure() { [ "$failed" -eq 0 ] || tail -n 15 "$SUBLET_STATE_DIR"/clusters/*/*/*.log >&2 2>/dev/null; }
