# Sourced by the scripts of tests/package: checks that are counted in $passed and $failed.
passed=0 failed=0
check() {  # check WHAT ACTUAL WANTED
  if [ "$2" = "$3" ]; then passed=$((passed + 1)); echo "ok: $1"; else failed=$((failed + 1)); echo "FAILED: $1: got '$2', wanted '$3'"; fi
}
contains() {  # contains WHAT TEXT PART
  case $2 in *"$3"*) check "$1" yes yes ;; *) check "$1" "$2" "... $3 ..." ;; esac
}
add_totals() {  # add_totals NAME LOG: of a script that closes with "N passed, N failed"
  local p f
  read -r p f < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$2" | tail -n 1)
  if [ -n "${f:-}" ]; then passed=$((passed + p)) failed=$((failed + f)); else check "$1 came to its end" no yes; fi
}
