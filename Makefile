# The commands of the house. The work is done by scripts/.
#   PYTHON=python3.12   the interpreter of a new .venv
#   JOBS=2              parallel build jobs (all CPUs)
.DEFAULT_GOAL := help
.PHONY: help setup tools build run test lint format bench fuzz wheel clean
export PYTHON JOBS FUZZ_SECONDS

help: ## show this list
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 10

setup: ## install missing Debian packages, make .venv
	@scripts/install-deps
	@scripts/setup-venv dev

tools: setup ## and what only the tests and the linters use
	@scripts/install-deps test

build: setup ## build the library, its tests and the Python module
	@scripts/build release

run: setup ## from a bare clone to the demo
	@TARGET=_core_stub scripts/build release
	@.venv/bin/penstock demo

test: tools ## everything that must hold; ONLY="release lint" for some parts
	@scripts/setup-venv dev test
	@.venv/bin/python scripts/test.py $(ONLY)

lint: build tools ## check form and types
	@scripts/lint

format: tools ## format C++ and Python
	@scripts/lint --fix

bench: build ## run the C++ benchmarks; BENCH="permutation --benchmark_filter=x"
	@scripts/bench $(BENCH)

fuzz: tools ## fuzz each target for FUZZ_SECONDS (600); FUZZ="name" for one
	@scripts/build fuzz
	@scripts/fuzz $(FUZZ)

wheel: setup ## build the wheel into dist/
	@scripts/wheel

clean: ## remove what was built; .venv stays
	rm -rf build dist python/penstock/_core.*
