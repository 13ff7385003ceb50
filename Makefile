# SPDX-License-Identifier: Apache-2.0
# `make run` starts everything and shows a first query; `make test` is what CI runs.
.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

URL := http://127.0.0.1:8181
STATE := .state
DEPS := $(if $(DUCKICELAKE_DEPS_DIR),$(DUCKICELAKE_DEPS_DIR),.deps)
PYTHON := $(DEPS)/venv/bin/python
BINARY := build/release/src/app/duckicelake
JOBS ?= $(shell nproc)
# Lets a clone in another folder find what this one compiled.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

.PHONY: help
help: ## show these lines
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: deps
deps: ## install Debian packages and the pinned downloads (once)
	@tools/deps/install

.PHONY: deps-spark
deps-spark: ## the same, with what the Spark tests and the kit need
	@tools/deps/install --spark

.PHONY: build
build: deps ## build the server (build/release)
	@echo "build: release, $(JOBS) jobs"
	@mkdir -p build; cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log; \
	  echo "build: configuring failed; see the lines above. A missing package: make deps" >&2; exit 1; }
	@cmake --build --preset release -j$(JOBS)

.PHONY: run
run: build ## start everything, seed, ask a first query; then stop with `make stop`
	@tools/devserver stop --state $(STATE)
	@tools/devstack up --state $(STATE)
	@tools/devstack exec --state $(STATE) -- $(BINARY) init || { \
	  echo "run: init failed. What is wrong: tools/devstack exec -- $(BINARY) doctor" >&2; exit 1; }
	@tools/devstack exec --state $(STATE) -- $(BINARY) seed
	@tools/devserver start --state $(STATE) --url $(URL) --binary $(BINARY)
	@tools/devstack exec --state $(STATE) -- $(PYTHON) tools/first_query.py --url $(URL)
	@echo
	@echo "The catalog serves $(URL) (Iceberg REST). Log: $(STATE)/server.log"
	@echo "Stop it: make stop      Start over from nothing: make stop && tools/devstack destroy"

.PHONY: stop
stop: ## stop the server, PostgreSQL and the object store; data stays
	@tools/devserver stop --state $(STATE)
	@tools/devstack down --state $(STATE)
	@echo "stopped; the data is in $(STATE), start again with make run"

.PHONY: test
test: deps-spark ## everything that CI runs
	@tools/run_tests.py

.PHONY: bench
bench: build ## LoadTable beside a static responder, with and without tokens; commits beside DuckDB's own; signing beside OpenSSL
	@$(PYTHON) bench/run.py
	@$(PYTHON) bench/auth_cost.py
	@$(PYTHON) bench/commits.py
	@build/release/bench/sign_rate

.PHONY: soak
soak: deps-spark ## the large cases at whole size, and long fuzzing
	@tools/run_tests.py --soak build unit integration fuzz

.PHONY: format
format: deps ## rewrite the C++ files in the project's format
	@git ls-files -co --exclude-standard -- '*.h' '*.cc' | xargs -d '\n' clang-format-19 -i

.PHONY: clean
clean: ## remove what was built (not the dependencies, not the state)
	rm -rf build
