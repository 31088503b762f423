#!/usr/bin/env bash
# host: own, 85 s
# `kubectl create` of every kind that it has, with wrong flags too, says the same on a real kube-apiserver and on ours, command by
# command. The kube-apiserver is one of its own, where no controller writes: what they say depends on the moment.
exec "$(dirname "$0")/support/alone.sh" create 170
