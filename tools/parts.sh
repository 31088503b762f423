# Sourced by tools/run-long and tools/run-peers: parts that are picked by name, checks that are counted, and the closing line.
passed=0 failed=0

# known_parts ALL PART...: fails with the list when a part is unknown.
known_parts() {
  local all=$1 part
  shift
  for part in "$@"; do
    [[ " $all " == *" $part "* ]] || { echo "$(basename "$0"): no part \"$part\"; the parts are: $all" >&2; exit 2; }
  done
}

# check NAME COMMAND...: runs one check, prints its time, and counts it.
check() {
  local name=$1 started=$SECONDS
  shift
  echo "== $name: $*"
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$(basename "$0"): $name failed"
  fi
  echo "== $name took $((SECONDS - started)) s"
}

# totals: prints the closing line; fails when a check failed.
totals() {
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}
