# For scripts that bring up a real node: ends the script where none can be, which is a failure in CI alone. Sourced before checks.sh.
# shellcheck shell=bash
if [ "$(id -u)" != 0 ] || ! command -v containerd nft conntrack >/dev/null; then
  echo "skipped: a real node needs root and the packages of tools/packages.txt"
  [ -z "${CI:-}" ] || exit 1
  echo "0 passed, 0 failed"
  exit 0
fi
home=$HOME  # the checks take another one, and the cache is in this one
testhost() { HOME=$home tools/testhost/testhost "$@"; }
