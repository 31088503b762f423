# same_words.sh, sourced: a story told through kubectl to a real kube-apiserver and to ours at once, and whether it reads the
# same. The script's folder for what it makes is $work; what it starts besides, its own trap ends.
. tests/support/waiting.sh
: "${KUBECTL:=$(tools/kubectl-path)}"
export KUBECTL
unset KUBECONFIG
work=$(mktemp -d "${TMPDIR:-/tmp}/sublet-story-XXXXXX")

# fail_story [WHY]: the closing line of a script that could not even begin.
fail_story() {
  [ $# -eq 0 ] || echo "$*" >&2
  echo "0 passed, 1 failed"
  exit 1
}
# same_words STEPS TELL [REFERENCE]: `TELL KUBECONFIG theirs|ours` on the server of REFERENCE ($HOST_KUBECONFIG) and on the one that
# start_server has started; at least so many steps (lines "= EXIT CODE"), all the same. KEEP=FOLDER keeps both texts.
same_words() {
  local theirs steps
  "$2" "${3:-$HOST_KUBECONFIG}" theirs >"$work/theirs" 2>&1 &
  theirs=$!
  "$2" "$work/kubeconfig" ours >"$work/ours" 2>&1
  wait "$theirs"
  [ -z "${KEEP:-}" ] || cp "$work/ours" "$work/theirs" "$work/log" "$KEEP/"
  steps=$(grep -c '^= ' "$work/ours")
  [ "$steps" -ge "$1" ] || fail_story "the story has $steps steps, wanted $1 at least"
  diff -u "$work/theirs" "$work/ours" || fail_story
  echo "$steps commands say the same on both servers"
  echo "1 passed, 0 failed"
}
