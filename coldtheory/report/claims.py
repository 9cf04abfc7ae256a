"""The verdict table: claims with what their checks found, as rows of HTML."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..errors import ColdError
from .mathml import formula, paragraphs, typeset

Row = dict[str, Any]

FAILED = "check failed"
_ORDER = ("holds", "holds with correction", "false", "not applicable", "not reproducible here", FAILED)
_NEEDED = ("id", "verdict", "evidence")
_FROM_CLAIM = ("label", "section", "statement", "explain")


def run_checks() -> list[Row]:
    """Every claim of the paper, checked now. A check that breaks becomes a row that says so."""
    from paper_checks.base import all_claims, run_claim  # noqa: PLC0415 - imports every check

    rows = []
    for claim in all_claims():
        try:
            row = run_claim(claim).as_json()
        except Exception as error:
            row = {name: getattr(claim, name) for name in ("id", "label", "section", "statement", "recorded")}
            row |= {"verdict": FAILED, "margin": None, "evidence": f"{type(error).__name__}: {error}", "changed": True}
        rows.append({"explain": claim.explain, **row})
    return rows


def read_outcomes(path: Path) -> list[Row]:
    """Outcomes that were stored as JSON: a list of them, or an object that holds the list."""
    remedy = "make it with 'coldtheory check --json > outcomes.json'"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ColdError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError:
        raise ColdError(f"{path} is not JSON; {remedy}") from None
    if isinstance(content, dict):
        content = next((content[key] for key in ("outcomes", "claims") if key in content), None)
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise ColdError(f"{path} holds no list of outcomes; {remedy}")
    for row in content:
        missing = [key for key in _NEEDED if not isinstance(row.get(key), str)]
        if missing:
            raise ColdError(f"an outcome in {path} has no {missing[0]!r}; {remedy}")
    return completed(content)


def completed(rows: Iterable[Row]) -> list[Row]:
    """What stored outcomes leave out (the explanation, at least) the claims of this version give by id."""
    from paper_checks.base import all_claims  # noqa: PLC0415 - imports every check

    known = {claim.id: claim for claim in all_claims()}
    return [{key: getattr(known.get(row["id"]), key, "") for key in _FROM_CLAIM} | row for row in rows]


def verdicts_of(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """The verdicts that occur, with their numbers, in a fixed order."""
    counts = Counter(row["verdict"] for row in rows)
    order = [*(name for name in _ORDER if name in counts), *sorted(set(counts) - set(_ORDER))]
    return [(name, counts[name]) for name in order]


def verdict_buttons(rows: Sequence[Row]) -> str:
    return "".join(
        f'<button type="button" class="chip {kind(name)}" data-verdict="{escape(name)}" aria-pressed="false">'
        f"<span>{escape(name)}</span> <b>{count}</b></button>"
        for name, count in verdicts_of(rows)
    )


def section_options(rows: Sequence[Row]) -> str:
    sections = dict.fromkeys(row["section"] for row in rows)
    return "".join(f"<option>{escape(name)}</option>" for name in sections)


def verdict_table(rows: Sequence[Row], latex: Mapping[str, str]) -> str:
    """One table body a claim: a row of numbers, and below it, folded, statement and explanation.

    `latex` holds the formulas of the statements by the paper's label.
    """
    return "\n".join(_body(row, latex.get(row["label"], "")) for row in rows)


def kind(verdict: str) -> str:
    """A verdict as a CSS class."""
    return "v-" + re.sub(r"[^a-z]+", "-", verdict.lower())


def short(value: object) -> str:
    """A margin in few characters: +0.0419, -200, 1.2e-5 written with a real minus sign; a dash for none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return "–"
    text = re.sub(r"e([+-])0+", r"e\1", f"{value:+.3g}" if value else "0")
    return text.replace("-", "−")


def _body(row: Row, latex: str) -> str:
    recorded, verdict = row.get("recorded"), row["verdict"]
    was = f'<small class="was">recorded: {escape(str(recorded))}</small>' if recorded and recorded != verdict else ""
    margin = short(row.get("margin"))
    exact = "" if row.get("margin") is None else f' title="{escape(str(row["margin"]))}"'
    words = " ".join(str(row.get(key) or "") for key in (*_NEEDED, *_FROM_CLAIM))
    shown = formula(latex, block=True) if latex else ""
    return (
        f'<tbody class="claim" id="claim-{escape(row["id"])}" data-verdict="{escape(verdict)}"'
        f' data-section="{escape(row["section"])}" data-text="{escape(" ".join(words.lower().split()))}">'
        f'<tr><th scope="row" data-name="id">{escape(row["id"])}</th>'
        f'<td data-name="verdict"><span class="badge {kind(verdict)}">{escape(verdict)}</span>{was}</td>'
        f'<td data-name="margin" class="number"{exact}>{margin}</td>'
        f'<td data-name="evidence">{typeset(row["evidence"])}</td>'
        f'<td data-name="paper label"><code>{escape(row["label"])}</code></td></tr>'
        f'<tr class="more"><td colspan="5"><details><summary>{typeset(row["statement"])}</summary>'
        f'<div class="explain">{_scroll(shown)}{paragraphs(row.get("explain") or "")}'
        f'<p class="meta">Section: {escape(row["section"])}</p></div></details></td></tr></tbody>'
    )


def _scroll(math: str) -> str:
    return f'<div class="scroll" tabindex="0" role="region" aria-label="formula">{math}</div>' if math else ""
