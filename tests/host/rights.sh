#!/usr/bin/env bash
# host: own, 75 s
# `kubectl auth`, `create token`, `certificate`, `cordon` and `drain` say the same on a real kube-apiserver and on ours, command by command.
# The kube-apiserver is one of its own, where no controller writes: what they say depends on the moment.
exec "$(dirname "$0")/support/alone.sh" rights 150
