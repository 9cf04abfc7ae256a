# make        the main job: sweeps, checks, figures, report (no torch)
# make test   the tests
# make lint   ruff and mypy
# make docs, make release, make pre-commit: see below
PYTHON ?= python3
BIN := .venv/bin

.PHONY: all test lint clean
.DELETE_ON_ERROR:

all: .venv/main
	$(BIN)/coldtheory sweep-V --regime all --fit 50:200
	$(BIN)/coldtheory check --out results
	$(BIN)/coldtheory plot all --run
	$(BIN)/coldtheory report

test: .venv/dev
	$(BIN)/python -m pytest

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/main: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/dev: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e . --group $*
	touch $@
