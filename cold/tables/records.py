"""Tables as plain data for scripts: every number, its runs and its settings."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from coldtheory.ground.provenance import provenance
from coldtheory.ground.statistics import spread

from . import words
from .compared import Comparison, Line
from .make import Made
from .sheet import Sheet, text


def of_runs(made: Made) -> dict[str, Any]:
    return {
        "table": made.name,
        "comparisons": [_comparison(one) for one in made.comparisons],
        "missing": list(words.commands(made.comparisons, made.shelf)),
        "to_come": words.to_come(made.comparisons),
        "problems": list(made.shelf.problems.values()),
        "provenance": provenance(),
    }


def of_sheets(name: str, sheets: list[Sheet]) -> dict[str, Any]:
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
        "rows": [_row(one, line) for line in one.lines],
        "ranking": [line.row.key for line in one.ranking],
        "contrasts": [
            {"left": left.row.key, "right": right.row.key, **asdict(found)} for left, right, found in one.contrasts
        ],
    }


def _row(one: Comparison, line: Line) -> dict[str, Any]:
    acc, forgetting, gap, printed = (
        spread(line.acc.values()), spread(line.forgetting.values()), one.gap(line), line.printed,
    )  # fmt: skip
    return {
        "row": line.row.key,
        "method": line.row.method,
        "label": line.row.label,
        "settings": line.settings,
        "tried": [{"settings": settings, "validation_acc": value} for settings, value in line.choice.tried],
        "runs": {seed: run.run_id for seed, run in line.runs.items()},
        "acc": line.acc,
        "forgetting": line.forgetting,
        "acc_mean": acc and acc.mean,
        "acc_sd": acc and acc.sd,
        "forgetting_mean": forgetting and forgetting.mean,
        "forgetting_sd": forgetting and forgetting.sd,
        "best_minus_row": gap and asdict(gap),
        "best": one.best(line, "acc"),
        "paper": printed and {"acc": printed.acc, "acc_sd": printed.acc_sd, "forgetting": printed.forgetting,
                              "forgetting_sd": printed.forgetting_sd},
        "reduced": line.row.reduced,
        "absent": line.row.absent,
        "borrowed": line.row.borrowed,
    }  # fmt: skip
