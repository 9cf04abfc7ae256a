"""The committed page of all claims, as tests read it."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

from tests.docs.pages import load

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"
_ROW = load("tools/open_claims.py").ROW


@cache
def rows_on_the_page() -> dict[str, tuple[str, float | None]]:
    """Claim -> verdict and margin."""
    text = PAGE.read_text(encoding="utf-8")
    return {row["id"]: (row["verdict"], float(row["margin"]) if row["margin"] else None) for row in _ROW.finditer(text)}


def check_on_the_page(row: dict[str, object]) -> None:
    """A fresh outcome stands on the page: the same verdict, and the same margin.

    Margins are printed with two digits. Kernels of another CPU may turn the last one; 1.5 units of it are allowed.
    """
    verdict, margin = rows_on_the_page()[str(row["id"])]
    assert row["verdict"] == verdict
    found = row["margin"]
    if not isinstance(found, float | int):
        assert margin is None
    else:
        assert margin is not None
        unit = 10.0 ** (math.floor(math.log10(abs(margin))) - 1) if margin else 1e-9
        assert abs(found - margin) <= 1.5 * unit
