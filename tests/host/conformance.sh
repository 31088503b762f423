#!/usr/bin/env bash
# host: none, 250 s
# Upstream's conformance tests on `subletd apiserver`: those of tests/conformance/passing.txt must still pass.
exec "$(dirname "$0")/../conformance/on-sublet" --guard
