"""Tables for readers (terminal, Markdown, LaTeX and CSV, with notes as comments of the format) and for scripts (plain
data: every number, its runs and its settings)."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coldtheory.ground.provenance import provenance
from coldtheory.ground.statistics import Difference, Spread, spread

from . import footnotes
from .comparison import ComparedRow, Comparison
from .make import FilledTable
from .sheet import DASH, Entry, Interval, Sheet, text

_NAME = 16  # columns of the terminal for the first column, whose names are broken between words
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", DASH: "--", "×": r"$\times$",
    "λ": r"$\lambda$", "δ": r"$\delta$", "≥": r"$\geq$", "<": "$<$", ">": "$>$", "’": "'",
}  # fmt: skip


def show(console: Console, sheet: Sheet) -> None:
    """The table, the words below it, and the commands that fill its gaps; columns without an entry are left out."""
    table = Table(box=None, pad_edge=False, title=escape(sheet.title), title_justify="left", title_style="bold")
    filled = [any(row[place].value not in (None, "") for row in sheet.rows) for place in range(len(sheet.columns))]
    places = [place for place, column in enumerate(sheet.columns) if column.terminal and (filled[place] or not place)]
    for place in places:
        column = sheet.columns[place]
        justify: Literal["left", "right"] = "left" if column.kind == "text" else "right"
        table.add_column(escape(column.name), justify=justify, overflow="fold", no_wrap=not place)
    for row in sheet.rows:
        words = [text(row[place], sheet.columns[place]) for place in places]
        words[0] = "\n".join(textwrap.wrap(words[0], _NAME)) or words[0]
        shown = zip(map(escape, words), (row[place].bold for place in places), strict=True)
        table.add_row(*(f"[bold]{word}[/]" if bold else word for word, bold in shown))
    console.print(table)
    for note in sheet.notes:
        console.print(f"[dim]{escape(note)}[/]")
    for line in sheet.origin:
        console.print(f"[dim]{escape(line)}[/]")
    if sheet.commands:
        console.print(f"\n{len(sheet.commands)} runs are missing; --run makes them, or:")
        for command in sheet.commands:
            console.print(escape(command), soft_wrap=True)
    console.print()


def markdown(sheet: Sheet) -> str:
    """A table that GitHub renders; commands for what is missing are folded away."""
    names = [_piped(column.name) for column in sheet.columns]
    lines = [f"**{_piped(sheet.title)}**", "", _piped_row(names)]
    lines.append(_piped_row(["---" if column.kind == "text" else "---:" for column in sheet.columns]))
    for row in sheet.rows:
        cells = [(_piped(text(entry, column)), entry) for entry, column in zip(row, sheet.columns, strict=True)]
        lines.append(_piped_row([f"**{word}**" if entry.bold else word for word, entry in cells]))
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
        more = {"spread": ("sd",), "difference": ("low", "high"), "interval": ("low", "high")}.get(column.kind, ())
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
    if kind in ("difference", "interval"):
        three = (value.mean, value.low, value.high) if isinstance(value, Difference | Interval) else (None,) * 3
        return ["" if number is None else repr(number) for number in three]
    return [value if isinstance(value, str) else ""]


def _piped_row(words: list[str]) -> str:
    return "| " + " | ".join(words) + " |"


def _piped(words: str) -> str:
    return words.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


FORMATS: dict[str, Callable[[Sheet], str]] = {"markdown": markdown, "latex": latex, "csv": comma_separated}


def data_of_runs(made: FilledTable) -> dict[str, Any]:
    """A table that was made of runs."""
    return {
        "table": made.name,
        "comparisons": [_comparison(one) for one in made.comparisons],
        "missing": list(footnotes.commands(made.comparisons, made.stored)),
        "to_come": footnotes.to_come(made.comparisons),
        "problems": list(made.stored.problems.values()),
        "provenance": provenance(),
    }


def data_of_sheets(name: str, sheets: list[Sheet]) -> dict[str, Any]:
    """A table that needs no runs."""
    return {
        "table": name,
        "sheets": [
            {
                "title": sheet.title,
                "columns": [column.name for column in sheet.columns],
                "rows": [[text(e, c) for e, c in zip(row, sheet.columns, strict=True)] for row in sheet.rows],
                "notes": list(sheet.notes),
            }
            for sheet in sheets
        ],
        "provenance": provenance(),
    }


def _comparison(one: Comparison) -> dict[str, Any]:
    return {
        "benchmark": one.terms.name,
        "kind": one.terms.kind,
        "title": one.terms.title,
        "reduced": one.terms.short,
        "base": one.terms.base,
        "rows": [_row(one, row) for row in one.rows],
        "ranking": [row.row.key for row in one.ranking],
        "contrasts": [
            {"left": left.row.key, "right": right.row.key, **asdict(found)} for left, right, found in one.contrasts
        ],
        "p_by_holm": one.adjusted if one.terms.holm else None,
    }


def _row(one: Comparison, row: ComparedRow) -> dict[str, Any]:
    acc, forgetting, gap, printed = (
        spread(row.acc.values()), spread(row.forgetting.values()), one.gap(row), row.printed,
    )  # fmt: skip
    return {
        "row": row.row.key,
        "method": row.row.method,
        "label": row.row.label,
        "settings": row.settings,
        "tried": [{"settings": settings, "validation_acc": value} for settings, value in row.choice.tried],
        "runs": {seed: run.run_id for seed, run in row.runs.items()},
        "acc": row.acc,
        "forgetting": row.forgetting,
        "acc_mean": acc and acc.mean,
        "acc_sd": acc and acc.sd,
        "forgetting_mean": forgetting and forgetting.mean,
        "forgetting_sd": forgetting and forgetting.sd,
        "best_minus_row": gap and asdict(gap),
        "best": one.best(row, "acc"),
        "paper": printed and {"acc": printed.acc, "acc_sd": printed.acc_sd, "forgetting": printed.forgetting,
                              "forgetting_sd": printed.forgetting_sd},
        "reduced": row.row.reduced,
        "absent": row.row.absent,
        "borrowed": row.row.borrowed,
    }  # fmt: skip
