"""Where a line may end inside a formula, so that none is cut off on a narrow screen."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
_PATH = Path(__file__).parents[2] / "docs/extensions/mathml.py"
_SPEC = importlib.util.spec_from_file_location("docs_mathml", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
mathml = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(mathml)


@pytest.mark.parametrize(
    ("latex", "pieces"),
    [
        ("a = b", ["a = b"]),
        (
            r"Q_k[t] = \max\{Q_k[t-1] + d_k[t], 0\} \le \delta",
            ["Q_k[t]", r"{}= \max\{Q_k[t-1] + d_k[t], 0\}", r"{}\le \delta"],
        ),
        (r"\tfrac12\|w - a\|^2 \le -3 + y_{a+b}", [r"\tfrac12\|w - a\|^2", r"{}\le -3", "{}+ y_{a+b}"]),
        (
            r"\left(\frac{a}{b} - c\right) = d\lVert w - a\rVert",
            [r"\left(\frac{a}{b} - c\right)", r"{}= d\lVert w - a\rVert"],
        ),
        (r"x \in \left[0, 1\right) + yyyyyyyyyyyyy", ["x", r"{}\in \left[0, 1\right)", "{}+ yyyyyyyyyyyyy"]),
    ],
)
def test_lines_end_in_front_of_relations_and_terms_outside_brackets(latex, pieces):
    assert mathml.broken(latex) == pieces


def test_no_piece_of_a_formula_in_the_pages_is_left_unread():
    pages = sorted(_PATH.parents[1].glob("**/*.md"))
    formulas = [f for page in pages for f in _inline(page.read_text(encoding="utf-8"))]
    assert len(formulas) > 100
    for latex in formulas:
        for piece in mathml.broken(latex):
            assert "<math" in mathml.formula(piece), (latex, piece)


def _inline(text: str) -> list[str]:
    return re.findall(r"(?<![$\\`])\$([^$\n]+)\$(?!\$)", text)
