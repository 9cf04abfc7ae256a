"""Every relative link leads somewhere, and every file that is named in the documents is there."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import IDS, PAGES, ROOT, code_words, links, prose

_PLACES = ("coldtheory", "cold", "paper_checks", "tests", "docs", "benchmarks", "figures", "runs", ".ci", ".github")
_MADE = ("docs/_build",)  # by a command
_GONE = {"CHANGELOG.md"}  # speaks of files that are no more
_FILE = re.compile(r"[\w.-]+\.(md|toml|yaml|yml|txt|cff)")


def anchors(text: str) -> set[str]:
    """Anchors of a page: its headings, as GitHub and MyST spell them, and MyST's own targets."""
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    spelt = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return spelt | set(re.findall(r"^\(([\w-]+)\)=$", text, re.M))


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page):
    for file, anchor in links(page):
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{page.name} links to {file}"
        if anchor:
            assert anchor in anchors(prose(target)), f"{page.name} links to {file}#{anchor}"


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in _GONE], ids=lambda page: page.name)
def test_named_files_are_there(page):
    for word in code_words(page):
        placeholder = re.search(r"[A-Z]{2,}|[*<>{}|,() ]|\.\.\.", word.replace("README.md", "").replace("CITATION", ""))
        in_place = word.startswith(tuple(f"{place}/" for place in _PLACES)) and not word.startswith(_MADE)
        if in_place and not placeholder:
            assert (ROOT / word).exists(), f"{page.name} names {word}"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_files_of_the_root_are_there(name):
    page = ROOT / name
    for word in code_words(page):
        if _FILE.fullmatch(word) and not re.search(r"[A-Z]{2,}\.|style|streams", word):
            assert (ROOT / word).exists(), f"{name} names {word}"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_bytes()) < 8_000
