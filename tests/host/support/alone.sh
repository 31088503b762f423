#!/usr/bin/env bash
# alone.sh NAME STEPS: NAME_story.sh, of so many steps at least, on a kube-apiserver of its own, where no controller writes, and on ours.
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/host/support/same_words.sh
name="$1-$$"
finish() {
  stop_server
  tools/testhost/testhost down --name "$name" >/dev/null
  rm -rf "$work"
}
trap finish EXIT
tools/testhost/testhost up --name "$name" --with "" >/dev/null || fail_story
reference=$(tools/testhost/testhost env --name "$name" | sed 's/^export KUBECONFIG=//')
start_server apiserver --listen 127.0.0.1:0 --controllers none || fail_story
same_words "$2" "tests/host/support/$1_story.sh" "$reference"
