# make        the main job: sweeps, checks, figures, report (no torch)
# make test   the tests
# make lint   ruff, mypy and the direction of imports
PYTHON ?= python3
BIN := .venv/bin

.PHONY: all test lint clean
.DELETE_ON_ERROR:

all: .venv/main
	$(BIN)/coldtheory sweep-V --regime all --fit 50:200
	$(BIN)/coldtheory check --out results
	$(BIN)/coldtheory plot all
	$(BIN)/coldtheory report

test: .venv/dev
	$(BIN)/python -m pytest

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

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
