# Two commands matter: `make demo` and `make test`. Each builds what it needs into .venv and
# is quick the second time. Written for GNU make 4.3, python3 >= 3.11 with venv, and pip.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PYTHON ?= python3

.PHONY: help
help:  ## Print this list.
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---------------------------------------------------------------- environment

.PHONY: venv
venv: $(STAMP)  ## Build .venv with everything the other targets need.

# Only pyproject.toml and constraints.txt can make the environment stale: the three packages
# are installed editable.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "pdwire needs Python 3.11 or newer; $(PYTHON) is" \
	         "$$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
	    echo "$(PYTHON) cannot build virtual environments. Debian: apt install python3-venv" >&2; \
	    rm -rf $(VENV); exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --constraint constraints.txt --editable '.[dev]'
	@touch $@

# Engines move real KV bytes; codecs, command line and proofs need none of them.
.PHONY: engines
engines: $(VENV)/.engines  ## Add the Mooncake and NIXL engines (CPU builds) and torch to .venv.

$(VENV)/.engines: $(STAMP)
	@$(MAKE) libibverbs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --constraint constraints.txt --editable '.[dev,mooncake,nixl,torch]'
	@touch $@

# Mooncake's wheel links Debian's libibverbs1. Where the account may, apt installs it.
.PHONY: libibverbs
libibverbs: $(STAMP)
	@if $(BIN)/python -c 'import ctypes; ctypes.CDLL("libibverbs.so.1")' 2>/dev/null; then exit 0; \
	elif ! command -v apt-get >/dev/null; then as=false; \
	elif [ "$$(id -u)" = 0 ]; then as=env; \
	elif sudo -n true 2>/dev/null; then as='sudo -n'; else as=false; fi; \
	$$as apt-get install -y -qq libibverbs1 >/dev/null 2>&1 \
	    || { $$as apt-get update -qq && $$as apt-get install -y -qq libibverbs1 >/dev/null; } \
	    || { echo "The Mooncake engine needs the system package libibverbs1 (Debian: as root," \
	              "apt-get install libibverbs1), then run make again." >&2; exit 1; }

# ---------------------------------------------------------------- the main job

.PHONY: demo
demo: $(STAMP) try-engines  ## Exchange messages with a real SGLang release, then hand KV cache over.
	$(BIN)/pdwire demo

# Engines and torch where they can be had; what needs them is left out, and says so, elsewhere.
.PHONY: try-engines
try-engines: $(STAMP)
	@test "$(ENGINES)" = no || test -e $(VENV)/.engines || $(MAKE) engines \
	    || echo "The engines could not be installed; what needs them is left out." >&2

.PHONY: test
test: try-engines lint types contracts check pytest  ## Lint, types, import contracts, generated code, tests.

.PHONY: lint
lint: $(STAMP)  ## Ruff: rules and format.
	$(BIN)/ruff check
	$(BIN)/ruff format --check

.PHONY: types
types: $(STAMP)  ## Mypy, strict, over everything.
	$(BIN)/mypy

.PHONY: contracts
contracts: $(STAMP)  ## Import contracts: who may import whom.
	$(BIN)/lint-imports

.PHONY: check
check: $(STAMP)  ## Does the generated code say what the spec says?
	$(BIN)/pdwire generate --check

.PHONY: pytest
pytest: $(STAMP)  ## The tests alone.
	$(BIN)/pytest

.PHONY: generate
generate: $(STAMP)  ## Spec -> codecs, reference pages, vectors.
	$(BIN)/pdwire generate

.PHONY: verify
verify: $(STAMP)  ## The full live proof: every release; writes docs/verified.md. Minutes.
	$(BIN)/pdwire verify --all --write

.PHONY: conformance
conformance: $(STAMP) try-engines  ## The suite against every release; writes docs/conformance*. Minutes.
	$(BIN)/python -m pdwire_conformance.reports.published

.PHONY: nightly
nightly: $(STAMP) try-engines  ## What takes long: mutants of the spec, fuzzing with coverage, whole shapes.
	HYPOTHESIS_PROFILE=nightly $(BIN)/pytest -m slow
	HYPOTHESIS_PROFILE=nightly $(BIN)/pytest tests/pdwire/managers/test_shapes.py

.PHONY: bench
bench: $(STAMP)  ## Codecs side by side with the real release, construct and msgspec.
	$(BIN)/pdwire bench codec

.PHONY: clean
clean:  ## Remove .venv and every cache of the tools.
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache \
	    .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
