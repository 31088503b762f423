#!/usr/bin/env bash
# `kubectl create` of every kind that it has, with wrong flags too, says the same on a real kube-apiserver and on ours, command by
# command. The kube-apiserver is one of its own, where no controller writes: what they say depends on the moment.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/host/support/same_words.sh
name="create-$$"
finish() {
  stop_server
  tools/testhost/testhost down --name "$name" >/dev/null
  rm -rf "$work"
}
trap finish EXIT
tools/testhost/testhost up --name "$name" --with "" >/dev/null || fail_story
reference=$(tools/testhost/testhost env --name "$name" | sed 's/^export KUBECONFIG=//')
start_server apiserver --listen 127.0.0.1:0 --controllers none || fail_story
same_words 170 tests/host/support/create_story.sh "$reference"
