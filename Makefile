# The front door. Each target does all its own set-up on a fresh Debian 12 (root, or sudo) and is idempotent.
SHELL := bash
.DEFAULT_GOAL := build
JOBS ?= $(shell nproc)
.PHONY: help deps build package demo test test-quick test-sanitizers test-host test-package test-long test-peers attacks soak conformance bench bench-peers format lint coverage clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

deps: ## install the Debian packages of tools/packages.txt that are missing
	@tools/install-deps

build: deps ## build/release/bin/sublet and build/release/bin/subletd
	@JOBS=$(JOBS) tools/build release sublet subletd

package: deps ## dist/sublet_VERSION_ARCH.deb and .tar.zst: programs, man pages, completions, templates, unit, licences, SBOM
	@JOBS=$(JOBS) tools/build release sublet subletd sublet_pages
	@tools/package/package

demo: ## the main job on the embedded host: two tenants share a GPU, shown step by step
	@echo "make demo: installs Debian packages, builds sublet (about 8 minutes on two cores, once), and runs the demo (10 s)"
	@$(MAKE) --no-print-directory build
	@PATH="$(CURDIR)/build/release/bin:$$PATH" KUBECTL="$$(tools/kubectl-path)" examples/demo.sh

test: deps ## every test that needs no real host, once, on one release build
	@tools/run-tests

test-sanitizers: deps ## the same under ASan+UBSan, and the concurrent folders under TSan
	@STAGES="asan-ubsan tsan" tools/run-tests

test-quick: deps ## unit tests of the dev build only, for every save
	@JOBS=$(JOBS) tools/build dev all
	@ctest --test-dir build/dev -LE 'fault|e2e|fuzz|history|simulation|attacks|growth|cel|smd|schema-gen|layers|format|habits' -j$$(($(JOBS) * 3 / 2)) --output-on-failure

test-host: build ## the tests against a real kube-apiserver, built from pinned modules by tools/testhost
	@tools/run-host-tests

test-long: deps ## hours: growth, seeds, histories, kills, soak and fuzzing at full length; PARTS="seeds fuzz" picks some
	@tools/run-long $(PARTS)

test-peers: build ## hours: conformance whole, every operator, 50,000 differential requests, and the benchmark beside its peers
	@tools/run-peers $(PARTS)

test-package: package ## the package in a fresh Debian 12 root: lintian, install with apt, use, upgrade, remove (root only)
	@tests/package/run

attacks: build ## every attack of tests/attacks on a virtual cluster of real processes; prints how many were repelled
	@tests/e2e/run tests/attacks/run

soak: deps ## crashes, kills, failing disks and networks for SOAK_MINUTES (30): the crash model, the simulation, histories, and sessions that stay open
	@JOBS=$(JOBS) tools/build release sublet subletd crash_model store_kill_test sublet_history sublet_simulation
	@tools/soak

conformance: build ## upstream's conformance tests: A and W on a bare `subletd apiserver`, B, C and C2 on `subletd simhost` (fails when a guarded one does), what passes of D in a virtual cluster on a real node
	@tools/run-peers conformance

bench: deps ## store, fan-out, API load, sync latency, memory; prints ratios
	@JOBS=$(JOBS) tools/build release all
	@bench/run

bench-peers: build ## sublet beside kube-apiserver+etcd, +kine and vCluster in one run; writes bench/results/
	@bench/run-peers

format: ## clang-format everything
	@tools/sources | xargs clang-format -i

lint: deps ## formatting, habits, every source compiled alone, and clang-tidy (of the whole tree, or of FILES=..., regular expressions)
	@tools/check-format
	@tools/check-layers
	@tools/check-habits
	@tools/lint $(FILES)

coverage: deps ## unit tests of a build with coverage: lines per folder, the largest untested functions; publishes nothing
	@JOBS=$(JOBS) tools/build coverage all
	@find build/coverage -name '*.gcda' -delete
	@ctest --test-dir build/coverage -LE 'e2e|fuzz|schema-gen' -j$(JOBS) --output-on-failure
	@tools/coverage

clean: ## remove build/ and dist/
	@rm -rf build dist
