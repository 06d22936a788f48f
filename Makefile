# make run    a first message: sets up .venv when needed, then opens the terminal chat
# make test   everything that the tests need, then the tests
# make lint   style, types, layers, sizes
# make bench  what is measured, beside its floors
# make docs   write the generated pages of the reference
# make lock   pin the requirements anew (maintainers)
#
# Standard output belongs to the program: what make and pip have to say goes to standard error. Works with GNU make 3.81.

.SILENT:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help run test lint bench docs lock clean

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip -qq --no-input --disable-pip-version-check install
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
# The first of these that is new enough; PYTHON=... chooses another.
CANDIDATES := python3 python3.13 python3.12 python3.11
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for name in $(CANDIDATES); do $$name -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$name && break; done)

help:
	sed -n 's/^# make /make /p' Makefile

run: $(RUNTIME)
	exec $(PY) -m push chat

test: $(DEV)
	$(PY) -m pytest -n auto $(ARGS)

bench: $(DEV)
	exec $(PY) -m benchmarks $(ARGS)

# All of them, so that one run shows everything.
CHECKS := "ruff check ." "ruff format --check ." "mypy" "lint-imports --no-logo" \
	"pytest -q -p no:cacheprovider tests/architecture/test_sizes.py"

lint: $(DEV)
	status=0; for check in $(CHECKS); do $(VENV)/bin/$$check || status=1; done; exit $$status

docs: $(DEV)
	$(PY) -m push config schema --markdown >docs/reference/configuration.md
	$(PY) -m docs.generate

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# --- set-up -------------------------------------------------------------------------------------------------------

$(PY):
	test -n "$(PYTHON)" || { echo "Push needs Python 3.11 or newer; none of $(CANDIDATES) is." >&2; \
		echo "Install it, or name it: make run PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -c '$(NEW_ENOUGH)' || { echo "Push needs Python 3.11 or newer; $(PYTHON) is not." >&2; exit 1; }
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) comes without venv." >&2; \
		echo "Install it (on Debian and Ubuntu: apt-get install python3-venv)." >&2; exit 1; }
	echo "Setting up $(VENV) (once) ..." >&2
	$(PYTHON) -m venv $(VENV) </dev/null >&2

# cysqlite is a wheel with a SQLite of its own; where none fits, the standard library's serves (docs/adr/0009).
$(RUNTIME): requirements.txt requirements-sqlite.txt pyproject.toml | $(PY)
	echo "Installing what Push needs ..." >&2
	$(PIP) --require-hashes -r requirements.txt </dev/null >&2
	$(PIP) --require-hashes --only-binary :all: -r requirements-sqlite.txt </dev/null >&2 \
		|| echo "cysqlite does not install here; the SQLite of Python is used ('push doctor' tells about it)." >&2
	$(PIP) --no-deps --no-build-isolation --editable . </dev/null >&2
	echo "Installed. To have push on your PATH, in each terminal: . $(VENV)/bin/activate" >&2
	touch $@

$(DEV): requirements-dev.txt $(RUNTIME)
	echo "Installing what the tests need ..." >&2
	$(PIP) --require-hashes -r requirements-dev.txt </dev/null >&2
	touch $@

# --- pins ---------------------------------------------------------------------------------------------------------

# All hashes of each release, so that one file serves every platform; nothing about where they were found.
# Existing pins are kept; UPGRADE=--upgrade moves them all, UPGRADE='--upgrade-package NAME' one.
LOCK := .venv/lock
COMPILE := $(LOCK)/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header $(UPGRADE) \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --annotation-style=line

lock: | $(PY)
	test -x $(LOCK)/bin/pip-compile || { $(PY) -m venv $(LOCK) && $(LOCK)/bin/pip --quiet install pip-tools==7.6.2; } >&2
	$(COMPILE) --build-deps-for=editable --output-file=requirements.txt pyproject.toml
	$(COMPILE) --extra=sqlite --constraint=requirements.txt --output-file=$(LOCK)/all.txt pyproject.toml
	sed -n '/^cysqlite==/,/# via/p' $(LOCK)/all.txt >requirements-sqlite.txt
	$(COMPILE) --extra=dev --constraint=requirements.txt --output-file=requirements-dev.txt pyproject.toml
