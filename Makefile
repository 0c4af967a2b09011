# `make demo` and `make test` do all the set-up on a fresh machine: a virtual environment in .venv and the install.

PYTHON ?= python3
JOBS ?= 2
PYTEST_ARGS ?=
# What `make test` installs besides the core: every extra that comes without torch. Tests that need torch skip where
# it is missing; `make venv EXTRAS=dev,all` installs it, too.
EXTRAS ?= dev,no-torch

VENV := .venv
BIN := $(VENV)/bin
SITE := build/site

# An environment for each purpose, all in the same folder: the demo needs a C compiler only.
EXTRAS_demo := c
EXTRAS_docs := docs
EXTRAS_test := $(EXTRAS)
READY := $(VENV)/.ready-test

.DEFAULT_GOAL := help
.PHONY: help venv demo docs pages results test test-slow lint types format coverage clean

help:
	@echo "make demo       map a loop of a C file, verify and simulate it, draw it, write report.html"
	@echo "make test       lint, types and all tests that are not slow"
	@echo "make test-slow  the slow tests"
	@echo "make docs       the documentation as a site in $(SITE); a broken link is an error"
	@echo "make pages      write the pages that follow from code and stored results"
	@echo "make results    measure all quick claims again and compare them with what is stored"
	@echo "make lint | types | format | coverage | venv | clean"

venv: $(READY)

# The constraints hold for the build's own requirements too; which variable says so depends on pip's version.
# The environment of the tests has everything that the others have, so it makes them ready as well.
$(VENV)/.ready-%: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "gridloom needs Python 3.11 or newer: make PYTHON=python3.11 ..." >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
		$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS_$*)]' --constraint constraints.txt
	@touch $@ $(if $(filter test,$*),$(VENV)/.ready-demo $(VENV)/.ready-docs)

demo: $(VENV)/.ready-demo
	$(BIN)/gridloom show examples/kernels/fir.c
	$(BIN)/gridloom map examples/kernels/fir.c --arch torus:4x4 --seed 1 --effort 20000 \
		-o demo-mapping.json --html report.html
	$(BIN)/gridloom show demo-mapping.json

# NO_MKDOCS_2_WARNING keeps the theme's advertisement of its successor out of the output.
docs: $(VENV)/.ready-docs
	$(BIN)/python -m benchmarks pages --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir $(SITE)
	@echo "the site is in $(SITE)/index.html; with search: python3 -m http.server --directory $(SITE)"

# What follows from code and stored results; tests compare each with its source.
pages: $(READY)
	$(BIN)/python -m tests.archs.record_tables
	$(BIN)/python -m tests.target_pages
	$(BIN)/python -m tests.plugins.hook_table
	$(BIN)/python -m tests.glossary
	$(BIN)/python -m tests.public_api
	$(BIN)/python -m tests.reference_pages
	$(BIN)/python -m benchmarks pages

results: $(READY)
	$(BIN)/python -m benchmarks compare --quick

test: $(READY) lint types
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow" $(PYTEST_ARGS)

test-slow: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m slow $(PYTEST_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

coverage: $(READY)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -m "not slow" $(PYTEST_ARGS)
	$(BIN)/coverage combine
	$(BIN)/coverage report

clean:
	rm -rf $(VENV) build dist report.html demo-mapping.json .coverage .coverage.* htmlcov \
		.mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
