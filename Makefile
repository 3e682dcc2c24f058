# Every target works by itself on a machine with Python 3.11 or newer, git, and (for conformance) Node 20.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help install demo test test-slow lint conformance bench clean

help:
	@echo "make demo         install, and watch a run of the demo agent with its permission requests decided"
	@echo "make test         install, and run the test suite"
	@echo "make test-slow    the long sweeps: many kills, many runs"
	@echo "make lint         ruff, mypy, the import contract"
	@echo "make conformance  the pinned agents, offline, against a scripted model (needs Node 20)"
	@echo "make bench        the benchmarks"

$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Devplane needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

install: $(VENV)/installed

demo: $(VENV)/installed
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/demo.sh

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n 4 --dist loadfile -m "not slow"

test-slow: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n 2 -m slow --timeout 900

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

conformance: $(VENV)/installed-dev conformance/node_modules/.installed
	$(BIN)/python -m conformance

conformance/node_modules/.installed: conformance/package-lock.json
	npm ci --prefix conformance --no-audit --no-fund
	@touch $@

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/cli.py
	$(BIN)/python benchmarks/stream.py
	$(BIN)/python benchmarks/permission.py
	$(BIN)/python benchmarks/policy.py

clean:
	rm -rf $(VENV) conformance/node_modules .mypy_cache .ruff_cache .hypothesis .import_linter_cache
