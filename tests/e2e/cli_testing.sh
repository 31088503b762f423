# Sourced by the scripts that test the command line: a home and a state folder of their own, checks that count, and a
# clean-up that ends every daemon. The caller stands in the root of the tree.
. tests/support/waiting.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-cli-XXXXXX")
export SUBLET_STATE_DIR="$work/state" HOME="$work/home" KUBECONFIG="$work/home/.kube/config"
mkdir -p "$HOME/.kube"
failures=0
cleanup() {
  for record in "$SUBLET_STATE_DIR"/clusters/*/*/virtual-cluster.json; do
    [ -e "$record" ] && sublet delete "$(basename "$(dirname "$record")")" --yes --force >/dev/null 2>&1
  done
  [ -e "$SUBLET_STATE_DIR/host/daemon.lock" ] && kill "$(cat "$SUBLET_STATE_DIR/host/daemon.lock")" 2>/dev/null
  rm -rf "$work"
}
trap cleanup EXIT

check() {  # check WHAT ACTUAL WANTED
  if [ "$2" = "$3" ]; then echo "ok: $1"; else echo "FAILED: $1: got '$2', wanted '$3'" >&2; failures=$((failures + 1)); fi
}
contains() {  # contains WHAT TEXT PART
  case $2 in *"$3"*) echo "ok: $1" ;; *) echo "FAILED: $1: '$3' is not in: $2" >&2; failures=$((failures + 1)) ;; esac
}
# until_is WHAT WANTED COMMAND...: the command prints this in the end.
until_is() {
  until_prints 240 "${@:2}" || true
  check "$1" "$got" "$2"
}
# until_true WHAT COMMAND...: the command succeeds in the end.
until_true() { if until_holds 240 "${@:2}"; then check "$1" yes yes; else check "$1" no yes; fi; }
count() { k get "$@" -o name | wc -l | tr -d ' '; } # k is the caller's kubectl
field() { k get "$1" -o "jsonpath={$2}"; }
code() { "$@" >"$work/out" 2>"$work/err"; echo $?; }
