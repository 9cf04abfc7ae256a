"""Outcomes without the minutes that checking takes, and one browser for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coldtheory.claims import all_claims
from coldtheory.ground.provenance import provenance
from coldtheory.report import Outcomes, build_report
from tests.coldtheory.report.browser import Browser, chromium
from tests.coldtheory.report.pixel import PICTURE


@pytest.fixture(scope="session")
def outcomes() -> Outcomes:
    """Every claim of the package with the verdict recorded for it, as if it had been checked."""
    rows = [
        {
            "id": claim.id, "label": claim.label, "section": claim.section, "statement": claim.statement,
            "explain": claim.explain, "verdict": claim.recorded, "recorded": claim.recorded, "changed": False,
            "margin": None, "evidence": "made up for a test of the page", "depends_on": {},
        }
        for claim in all_claims()
    ]  # fmt: skip
    return Outcomes(tuple(rows), provenance())


@pytest.fixture(scope="session")
def page(outcomes: Outcomes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    (folder / "figures").mkdir()
    (folder / "figures" / "pixel.png").write_bytes(PICTURE)
    path = folder / "report.html"
    path.write_text(build_report(outcomes, results=folder, figures=folder / "figures"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")  # the page moves: left open, it would take half a core from all later tests
def chrome() -> Iterator[Browser]:
    program = chromium()
    assert program is not None  # tests that ask for this are marked as needing it
    browser = Browser(program)
    yield browser
    browser.close()
