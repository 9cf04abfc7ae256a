"""A sheet as Markdown, LaTeX or CSV; what to know about it stands in comments of the format."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable

from coldtheory.ground.statistics import Difference, Spread

from .sheet import DASH, Entry, Sheet, text

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", DASH: "--", "×": r"$\times$",
    "λ": r"$\lambda$", "δ": r"$\delta$", "≥": r"$\geq$", "<": "$<$", ">": "$>$", "’": "'",
}  # fmt: skip


def markdown(sheet: Sheet) -> str:
    """A table that GitHub renders; commands for what is missing are folded away."""
    names = [_piped(column.name) for column in sheet.columns]
    lines = [f"**{_piped(sheet.title)}**", "", _row(names)]
    lines.append(_row(["---" if column.kind == "text" else "---:" for column in sheet.columns]))
    for row in sheet.rows:
        cells = [(_piped(text(entry, column)), entry) for entry, column in zip(row, sheet.columns, strict=True)]
        lines.append(_row([f"**{word}**" if entry.bold else word for word, entry in cells]))
    lines += ["", *(f"- {_piped(note)}" for note in sheet.notes)]
    if sheet.commands:
        lines += ["", "<details>", f"<summary>missing: {len(sheet.commands)} runs</summary>", "", "```"]
        lines += [*sheet.commands, "```", "", "</details>"]
    lines += ["", *(f"<!-- {line.replace('--', '- -')} -->" for line in sheet.origin)]
    return "\n".join(lines) + "\n"


def latex(sheet: Sheet) -> str:
    """A table environment for booktabs."""
    align = "".join("l" if column.kind == "text" else "r" for column in sheet.columns)
    lines = [f"% {line}" for line in (*sheet.origin, *(f"missing: {command}" for command in sheet.commands))]
    lines += [r"\begin{table}", r"\centering", rf"\caption{{{escaped(sheet.title)}}}"]
    lines += [rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
    lines += [" & ".join(escaped(column.name) for column in sheet.columns) + r" \\", r"\midrule"]
    for row in sheet.rows:
        cells = [(escaped(text(entry, column)), entry) for entry, column in zip(row, sheet.columns, strict=True)]
        lines.append(" & ".join(rf"\textbf{{{word}}}" if entry.bold else word for word, entry in cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip\footnotesize {escaped(note)}" for note in sheet.notes]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def comma_separated(sheet: Sheet) -> str:
    """Full digits, a column for each number; a comment before the header for all else."""
    out = io.StringIO()
    about = (sheet.title, *sheet.origin, *sheet.notes, *(f"missing: {command}" for command in sheet.commands))
    out.writelines(f"# {line}\n" for line in about)
    writer = csv.writer(out, lineterminator="\n")
    header: list[str] = []
    for column in sheet.columns:
        more = {"spread": ("sd",), "difference": ("low", "high")}.get(column.kind, ())
        header += [column.name, *(f"{column.name} {word}" for word in more)]
    writer.writerow(header)
    for row in sheet.rows:
        writer.writerow(
            [word for entry, column in zip(row, sheet.columns, strict=True) for word in _numbers(entry, column.kind)]
        )
    return out.getvalue()


def escaped(words: str) -> str:
    """
    >>> escaped("ACC %, λ_1 ± 2")
    'ACC \\\\%, $\\\\lambda$\\\\_1 $\\\\pm$ 2'
    """
    return re.sub("|".join(map(re.escape, _LATEX)), lambda found: _LATEX[found[0]], words)


def _numbers(entry: Entry, kind: str) -> list[str]:
    value = entry.value
    if kind == "spread":
        found = (value.mean, value.sd) if isinstance(value, Spread) else (None, None)
        return ["" if number is None else repr(number) for number in found]
    if kind == "difference":
        three = (value.mean, value.low, value.high) if isinstance(value, Difference) else (None, None, None)
        return ["" if number is None else repr(number) for number in three]
    return [value if isinstance(value, str) else ""]


def _row(words: list[str]) -> str:
    return "| " + " | ".join(words) + " |"


def _piped(words: str) -> str:
    return words.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


FORMATS: dict[str, Callable[[Sheet], str]] = {"markdown": markdown, "latex": latex, "csv": comma_separated}
