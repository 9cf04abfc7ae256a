# make          the main job: sweeps, checks, figures, report (no torch)
# make test     the tests; `make test-slow` runs those that take longer
# make lint     style, types, spelling and the direction of imports
# make docs     the documentation; `make release` and `make pre-commit` stand at the end
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: all test test-slow lint clean
.DELETE_ON_ERROR:

all: .venv/main
	$(BIN)/coldtheory sweep-V --regime all --fit 50:200
	$(BIN)/coldtheory check --out results
	$(BIN)/coldtheory plot all
	$(BIN)/coldtheory report

test: .venv/dev
	$(PYTEST) -m "not slow"

test-slow: .venv/dev
	$(PYTEST) -m slow

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip --disable-pip-version-check install --quiet 'pip>=25.1'

.venv/main: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) -e .
	touch $@

.venv/dev: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) -e . --group dev
	touch $@ .venv/main

clean:
	rm -rf .venv results report.html

# The documentation, in docs/_build/html; a warning is an error. Nothing is loaded from a network.
docs: .venv/docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# An sdist and a wheel in dist/, their metadata checked, and what users have to know; nothing is uploaded.
release: .venv/release
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	@echo "version $$($(BIN)/python -c "import coldtheory; print(coldtheory.__version__)"); from CHANGELOG.md:"
	@awk "/^## /{n++} n==1" CHANGELOG.md

pre-commit: .venv/dev
	$(BIN)/pre-commit run --all-files

.PHONY: docs release pre-commit

.venv/docs .venv/release: .venv/%: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) -e . --group $*
	touch $@
