"""What must agree between files of the repository's root, and how docstrings become pages."""

from __future__ import annotations

import doctest
import re
import tomllib

import pytest

import coldtheory
from tests.docs.pages import ROOT, load

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize("package", ["coldtheory", "cold", "paper_checks"])
def test_packages_are_typed(package):
    assert (ROOT / package / "py.typed").is_file()


@pytest.mark.parametrize(("tool", "repository"), [("ruff", "astral-sh/ruff-pre-commit"), ("codespell", "/codespell")])
def test_pre_commit_has_the_pinned_versions(tool, repository):
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    (pinned,) = re.findall(rf"^{tool}==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M)
    (used,) = re.findall(rf"{repository}\n    rev: v(\S+)\n", hooks)
    assert used == pinned


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "coldtheory/__init__.py"
    assert f'__version__ = "{coldtheory.__version__}"' in (ROOT / "coldtheory/__init__.py").read_text()
    assert "version:" not in (ROOT / "CITATION.cff").read_text().replace("cff-version:", "")


def test_the_paper_is_cited_alike():
    paper = PROJECT["project"]["urls"]["Paper"]
    assert paper in (ROOT / "CITATION.cff").read_text()
    assert paper in (ROOT / "README.md").read_text()


def test_the_changes_begin_with_what_is_not_released():
    first = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert first is not None
    assert "[Unreleased]" in first[1]


def test_exceptions_from_repo_review_have_a_reason():
    table = (ROOT / "CONTRIBUTING.md").read_text().split("## What repo-review says")[1]
    for check in PROJECT["tool"]["repo-review"]["ignore"]:
        first, last = int(check[2:]) - 2, int(check[2:])
        assert check in table or any(f"{check[:2]}{n} to " in table for n in range(first, last)), check


pytest.importorskip("sphinx")
plain = load("docs/extensions/plain_docstrings.py")


def test_the_example_of_plain_docstrings():
    assert doctest.testmod(plain).failed == 0


@pytest.mark.parametrize(
    ("text", "rst"),
    [
        ("a*b and x_ of |y|", r"a\*b and x\_ of \|y\|"),
        ("Use `run_id`s here.", r"Use ``run_id``\ s here."),
        ("**Bold** words", "**Bold** words"),
        ("1. not a list", r"\1. not a list"),
        ("- one\n- two\n  more", "- one\n- two more"),
        (
            "name   what it is\nother  what that is",
            ".. code-block:: none\n\n   name   what it is\n   other  what that is\n",
        ),
        (">>> 1 + 1\n2", ">>> 1 + 1\n2"),
        ("Two files::\n\n    a", "Two files:\n\n.. code-block:: none\n\n       a\n"),
    ],
)
def test_plain_text_for_docutils(text, rst):
    assert plain.plain_to_rst(text) == rst


def test_private_modules_have_no_page():
    pages = load("docs/extensions/pages.py")
    modules = [module for page in pages.api_pages().values() for module in page]
    assert "coldtheory.simulation" in modules
    assert not [module for module in modules if "._" in module]
    assert len(modules) == len(set(modules))
