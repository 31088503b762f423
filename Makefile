# The front door. Each target does all its own set-up on a fresh Debian 12 (root, or sudo) and is idempotent.
SHELL := bash
.DEFAULT_GOAL := build
JOBS ?= $(shell nproc)
.PHONY: help deps build demo test test-quick test-host attacks soak conformance bench bench-peers format lint coverage clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

deps: ## install the Debian packages of tools/packages.txt that are missing
	@tools/install-deps

build: deps ## build/release/bin/sublet and build/release/bin/subletd
	@tools/configure release
	@cmake --build --preset release --target sublet subletd -- -j$(JOBS)

demo: build ## the main job on the embedded host: two tenants share a GPU, shown step by step
	@PATH="$(CURDIR)/build/release/bin:$$PATH" KUBECTL="$$(tools/kubectl-path)" examples/demo.sh

test: deps ## all tests but those against a real host: release, then ASan+UBSan, then TSan
	@tools/run-tests

test-quick: deps ## unit tests of the dev build only, for every save
	@tools/configure dev
	@cmake --build --preset dev -- -j$(JOBS)
	@ctest --test-dir build/dev -LE 'fault|e2e|fuzz|history|schema-gen|format' -j$(JOBS) --output-on-failure

test-host: build ## the tests against a real kube-apiserver, built from pinned modules by tools/testhost
	@tools/run-host-tests

attacks: build ## every attack of tests/attacks on a virtual cluster of real processes; prints how many were repelled
	@tests/e2e/run tests/attacks/run

soak: deps ## crashes, kills, failing disks and networks for SOAK_MINUTES (30): the crash model, the simulation, histories, and sessions that stay open
	@tools/configure release
	@cmake --build --preset release --target sublet subletd crash_model store_kill_test sublet_history sublet_simulation -- -j$(JOBS)
	@tools/soak

conformance: build ## upstream's conformance tests: A and W on a bare `subletd apiserver`, B, C and C2 on `subletd simhost` (fails when a guarded one does), what passes of D in a virtual cluster on a real node
	@tests/conformance/on-sublet --guard A.txt W.txt
	@tests/conformance/on-sublet --simhost --guard --procs 4 --test-timeout 560 B.txt C.txt C2.txt
	@tests/conformance/on-node --test-timeout 240 node.txt

bench: deps ## store, fan-out, API load, sync latency, memory; prints ratios
	@tools/configure release
	@cmake --build --preset release -- -j$(JOBS)
	@bench/run

bench-peers: build ## sublet beside kube-apiserver+etcd, +kine and vCluster in one run; writes bench/results/
	@bench/run-peers

format: ## clang-format everything
	@tools/sources | xargs clang-format -i

lint: deps ## formatting, and clang-tidy of the whole tree (or of FILES=..., regular expressions)
	@tools/check-format
	@tools/lint $(FILES)

coverage: deps ## unit tests of a build with coverage: lines per folder, the largest untested functions; publishes nothing
	@tools/configure coverage
	@cmake --build --preset coverage -- -j$(JOBS)
	@find build/coverage -name '*.gcda' -delete
	@ctest --test-dir build/coverage -LE 'e2e|fuzz|schema-gen' -j$(JOBS) --output-on-failure
	@tools/coverage

clean: ## remove build/
	@rm -rf build
