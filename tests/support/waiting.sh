# Sourced by the scripts under tests/: waiting for what comes, never longer than it takes.
moment() { read -rt 0.1 <> <(:) || true; }

# until_holds SECONDS COMMAND...: whether the command succeeded within so many seconds.
until_holds() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    moment
  done
}

# until_prints SECONDS WANTED COMMAND...: whether the command printed that within so many seconds; $got is what it printed
# last.
until_prints() {
  local seconds=$1 wanted=$2
  shift 2
  prints() { got=$("$@" 2>/dev/null); [ "$got" = "$wanted" ]; }
  until_holds "$seconds" prints "$@"
}

# start_server ROLE FLAG...: `subletd ROLE` over $work/data, whose log is $work/log; $server is its process. Returns when its
# administrator's kubeconfig is at $KUBECONFIG (else $work/kubeconfig); fails when it ends before that.
start_server() {
  local kubeconfig=${KUBECONFIG:-$work/kubeconfig}
  subletd "$1" --data "$work/data" --admin-kubeconfig "$kubeconfig" "${@:2}" 2>>"$work/log" &
  server=$!
  started_or_ended() { [ -s "$kubeconfig" ] || ! kill -0 "$server" 2>/dev/null; }
  until_holds 60 started_or_ended && [ -s "$kubeconfig" ] && return
  echo "subletd $1 did not start:" >&2
  tail -n 5 "$work/log" >&2
  return 1
}
stop_server() { [ -z "${server:-}" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true; }
