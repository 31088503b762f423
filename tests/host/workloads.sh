#!/usr/bin/env bash
# host: given, 200 s
# Workloads whose pods run: the same end under upstream's controller manager and ours.
exec "$(dirname "$0")/support/same_end.sh" workloads simhost --nodes 5 --gpu-nodes 0
