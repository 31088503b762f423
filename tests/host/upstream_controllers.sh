#!/usr/bin/env bash
# host: none, 15 s
# `controllers: upstream`: tests/e2e/controllers.sh with the stand's own kube-controller-manager.
set -uo pipefail
cd "$(dirname "$0")/../.."
KUBE_CONTROLLER_MANAGER=$(tools/testhost/testhost build kube-controller-manager | tail -n 1)
export KUBE_CONTROLLER_MANAGER
if tests/e2e/controllers.sh; then echo "1 passed, 0 failed"; else echo "0 passed, 1 failed"; exit 1; fi
