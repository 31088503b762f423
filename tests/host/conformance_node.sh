#!/usr/bin/env bash
# host: own, 140 s
# Upstream's conformance tests in a virtual cluster on a real node: those of tests/conformance/passing-node.txt must still pass.
exec "$(dirname "$0")/../conformance/on-node" --guard
