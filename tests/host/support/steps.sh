# steps.sh, sourced by a story with $kubectl_bin, $space, $work and normal() (what differs from run to run is left out).

# s COMMAND...: a step: the command, what it said, and its exit code.
s() {
  printf '$ kubectl %s\n' "$*" | normal
  "$kubectl_bin" -n "$space" "$@" >"$work/out" 2>"$work/err"
  local code=$?
  normal <"$work/out"
  normal <"$work/err" | sed 's/^/! /'
  printf '\n= %s\n' "$code"
}
