"""Claims in words: folded paragraphs, values as JSON, and the page with the table of all claims."""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..vocabulary import beyond_the_paper

PAGE_COMMAND = "coldtheory check --markdown"
_HEAD = ("claim", "in the paper", "verdict", "margin", "what it says, and what was found")


def reflow(text: str, width: int = 100) -> str:
    """Paragraphs filled to one width. Indented lines (formulas, lists) stay, unless they are too long.

    >>> print(reflow("a b\\nc\\n\\n    x <= y + z", 12))
    a b c
    <BLANKLINE>
        x <= y +
            z
    """
    paragraphs = text.split("\n\n")
    return "\n\n".join(_folded(p, width) if re.search(r"^\s", p, re.M) else _filled(p, width) for p in paragraphs)


def _filled(paragraph: str, width: int) -> str:
    """Ids of claims, such as toy-one-step, stay whole."""
    return textwrap.fill(paragraph, width, break_on_hyphens=False)


def _folded(paragraph: str, width: int) -> str:
    lines = []
    for line in paragraph.split("\n"):
        hang = line[: len(line) - len(line.lstrip())] + " " * 4
        lines += textwrap.wrap(line, width, subsequent_indent=hang, break_on_hyphens=False) or [""]
    return "\n".join(lines)


def plain(value: Any) -> Any:
    """`value` with only the types that JSON has (numpy numbers and arrays included)."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def tallies(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """How many claims there are with each verdict: those of the paper, and separately the theorems that it lacks.

    >>> tallies([{"label": "thm:one", "verdict": "false"}, {"label": "new:two", "verdict": "holds"}])
    ['1 claims: 1 false', '1 claims beyond the paper: 1 holds']
    """
    lines = []
    for words, beyond in (("claims", False), ("claims beyond the paper", True)):
        counts = Counter(row["verdict"] for row in rows if beyond_the_paper(row["label"]) == beyond)
        if counts:
            each = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
            lines.append(f"{counts.total()} {words}: {each}")
    return lines


def table_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """A page of Markdown with every claim, section by section; the rows are those of `coldtheory check --json`."""
    lines = [
        "# Every claim",
        "",
        f"Each claim is a program with a verdict. This page is what `{PAGE_COMMAND}` prints; `coldtheory check "
        "--explain ID` tells how a claim is read and checked. The margin says how far a claim is from flipping: "
        "positive, it holds by that much; negative, it is broken by that much.",
    ]
    for line in tallies(rows):
        lines += ["", f"{line}."]
    for section in dict.fromkeys(row["section"] for row in rows):
        lines += ["", f"## {_escaped(section)}", "", _line(*_HEAD), _line("---", "---", "---", "---:", "---")]
        for row in rows:
            if row["section"] == section:
                margin = "" if row["margin"] is None else f"{row['margin']:+.2g}"
                said = f"{_escaped(row['statement'])}<br>**Found:** {_escaped(row['evidence'])}"
                lines.append(_line(f"`{row['id']}`", f"`{row['label']}`", row["verdict"], margin, said))
    return "\n".join(lines) + "\n"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Text that Markdown prints as it is; what stands between backticks stays code.

    >>> print(_escaped("a_b | `c_d` *"))
    a\\_b \\| `c_d` \\*
    """
    parts = re.split(r"(`[^`|]+`)", text)
    return "".join(p if i % 2 else re.sub(r"([\\`*_\[\]<>|$~])", r"\\\1", p) for i, p in enumerate(parts))
