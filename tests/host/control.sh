#!/usr/bin/env bash
# host: given, 140 s
# Jobs, stuck workloads, budgets, services, quotas, tokens, volumes, autoscalers, devices, garbage: 70 objects, the same end
# under upstream's controller manager and ours. No kubelet has a say: the story says what becomes of pods.
exec "$(dirname "$0")/support/same_end.sh" control apiserver
