#!/usr/bin/env bash
# host: none, 220 s
# Upstream's conformance tests on `subletd simhost`: those of tests/conformance/passing-simhost.txt must still pass.
exec "$(dirname "$0")/../conformance/on-sublet" --simhost --guard
