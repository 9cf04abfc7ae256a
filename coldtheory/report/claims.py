"""The verdicts: claims with what their checks found, folded by section, as HTML."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

from ..claims import NO_RUNS, VERDICTS
from ..vocabulary import beyond_the_paper
from .mathml import command, paragraphs, scrolled, typeset
from .outcomes import FAILED, FROM_CLAIM, NEEDED, Row

_ORDER = (*VERDICTS, FAILED)
_HEAD = (
    '<thead><tr><th scope="col">Claim</th><th scope="col">Verdict</th><th scope="col" class="number">Margin</th>'
    '<th scope="col">Statement and what was found</th></tr></thead>'
)
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def verdicts_of(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """The verdicts that occur, with their numbers, in a fixed order."""
    counts = Counter(row["verdict"] for row in rows)
    order = [*(name for name in _ORDER if name in counts), *sorted(set(counts) - set(_ORDER))]
    return [(name, counts[name]) for name in order]


def verdict_share(rows: Sequence[Row]) -> str:
    """A bar of all verdicts on the paper and their numbers below it; then those of theorems that the paper lacks."""
    beyond = [row for row in rows if beyond_the_paper(row["label"])]
    paper = [row for row in rows if not beyond_the_paper(row["label"])]
    counts = verdicts_of(paper)
    parts = "".join(f'<span class="{kind(name)}" style="flex-grow:{count}"></span>' for name, count in counts)
    tallies = _tally(paper, "claims") + (_tally(beyond, "claims beyond the paper") if beyond else "")
    return f'<div class="share" aria-hidden="true">{parts}</div>{tallies}'


def _tally(rows: Sequence[Row], words: str) -> str:
    told = "".join(_badge(name, f"{count} {escape(name)}") for name, count in verdicts_of(rows))
    return f'<p class="tally"><a href="#verdicts">{len(rows)} {words}</a>{told}</p>'


def verdict_buttons(rows: Sequence[Row]) -> str:
    """The buttons that filter claims by verdict, each with its count, as HTML."""
    return "".join(
        f'<button type="button" class="chip {kind(name)}" data-verdict="{escape(name)}" aria-pressed="false">'
        f"<span>{escape(name)}</span> <b>{count}</b></button>"
        for name, count in verdicts_of(rows)
    )


def verdict_sections(rows: Sequence[Row], latex: Mapping[str, tuple[str, str]]) -> str:
    """The claims section by section, each folded below its counts of verdicts.

    `latex` gives, by the paper's label, the id and the formula of the statement that has it.
    """
    by_section: dict[str, list[Row]] = {}
    for row in rows:
        by_section.setdefault(row["section"], []).append(row)
    return "\n".join(_section(at, name, part, latex) for at, (name, part) in enumerate(by_section.items(), start=1))


def _section(number: int, name: str, rows: Sequence[Row], latex: Mapping[str, tuple[str, str]]) -> str:
    counts = "".join(
        _badge(verdict, f'{count}<span class="hidden"> {escape(verdict)}</span>', title=verdict)
        for verdict, count in verdicts_of(rows)
    )
    claims = "\n".join(_row(row, latex.get(row["label"])) for row in rows)
    return (
        f'<details class="part" id="section-{number}"><summary><b>{escape(name or "Other claims")}</b> '
        f'<span class="counts"><span class="found">{_number(len(rows))}</span>{counts}</span></summary>'
        f'<table class="claims">{_HEAD}<tbody>\n{claims}\n</tbody></table></details>'
    )


def _number(count: int) -> str:
    return f"{count} claim" if count == 1 else f"{count} claims"


def _badge(verdict: str, text: str, title: str = "") -> str:
    told = f' title="{escape(title)}"' if title else ""
    return f'<span class="badge {kind(verdict)}"{told}>{text}</span>'


def kind(verdict: str) -> str:
    """A verdict as a CSS class."""
    return "v-" + re.sub(r"[^a-z]+", "-", verdict.lower())


def short(value: object) -> str:
    """A margin in few characters: +0.0419, −200, +1.2·10⁻⁵; a dash for none.

    >>> short(-1.234e-5), short(200), short(None)
    ('−1.23·10⁻⁵', '+200', '–')
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return "–"
    digits, _, power = (f"{value:+.3g}" if value else "0").partition("e")
    raised = f"·10{str(int(power)).translate(_RAISED)}" if power else ""
    return digits.replace("-", "−") + raised


def _row(row: Row, statement: tuple[str, str] | None) -> str:
    recorded, verdict = row.get("recorded"), row["verdict"]
    tone = "faint" if verdict == NO_RUNS else "was"  # absent runs are no change
    was = f'<small class="{tone}">recorded: {escape(str(recorded))}</small>' if recorded not in (None, verdict) else ""
    exact = "" if row.get("margin") is None else f' title="{escape(str(row["margin"]))}"'
    words = " ".join(str(row.get(key) or "") for key in (*NEEDED, *FROM_CLAIM))
    id_ = escape(row["id"])
    return (
        f'<tr class="claim" id="claim-{id_}" data-verdict="{escape(verdict)}"'
        f' data-text="{escape(" ".join(words.lower().split()))}">'
        f'<th scope="row"><a href="#claim-{id_}">{id_}</a> <code>{escape(row["label"])}</code></th>'
        f'<td class="verdict">{_badge(verdict, escape(verdict))}{was}</td>'
        f'<td class="number"{exact}>{short(row.get("margin"))}</td>'
        f"<td><details><summary>{typeset(row['statement'] or row['id'])}</summary>"
        f'<div class="explain">{_explanation(row, statement)}</div></details>'
        f'<p class="evidence"><b>Found:</b> {_evidence(row)}</p></td></tr>'
    )


def _evidence(row: Row) -> str:
    """What was found; the command that makes absent runs stands as code."""
    data = row.get("data")
    remedy = str(data.get("command", "")) if row["verdict"] == NO_RUNS and isinstance(data, dict) else ""
    if not remedy or not row["evidence"].endswith(remedy):
        return typeset(row["evidence"])
    return f"{typeset(row['evidence'].removesuffix(remedy))}{command(remedy)}"


def _explanation(row: Row, statement: tuple[str, str] | None) -> str:
    told = paragraphs(row["explain"] or "")
    if statement is None:
        return told
    name, latex = statement
    link = f'<a href="#statement-{escape(name)}">the statement, its correct form and proof</a>'
    return f'{scrolled(latex)}{told}<p class="meta">{link}</p>'
