"""The paper's printed numbers as rows of a figure's table, for the option --paper."""

from __future__ import annotations

from typing import Any

from coldtheory.paper import Hyperparameters, PrintedResult, paper

from ..catalogue import same
from .paper_figures import Panel, TrainingFigure


def printed_rows(figure: TrainingFigure) -> list[dict[str, Any]]:
    """A row for each printed accuracy and forgetting that has a place in one of the figure's panels."""
    rows = []
    for number, panel in enumerate(figure.panels):
        for cell in _cells(panel):
            place = _place(panel, cell)
            if place is None:
                continue
            about: dict[str, Any] = {
                "panel": number,
                "kind": panel.kind,
                "dataset": panel.dataset,
                "method": _method(panel, cell),
            }
            about |= {"field": panel.field, "profile": "", "made_up": 0, "synthetic": 0, "source": "paper"}
            about |= {"images": None, "settings": "", "data": "", **place}
            for name in panel.metrics:
                value = getattr(cell, name, None)
                if value is not None:
                    rows.append({**about, "what": name, "y": value})
    return rows


def _cells(panel: Panel) -> list[PrintedResult]:
    """The printed cells of a panel's dataset and methods, each setting once: tables repeat one another."""
    if panel.kind not in ("sweep", "tasks"):
        return []
    found: dict[tuple[str, int], PrintedResult] = {}
    for cell in paper().cells():
        mine = same(cell.dataset, panel.dataset) and any(same(cell.method, method) for method in panel.methods)
        if mine and panel.memory in (None, cell.memory):
            found.setdefault((cell.method, cell.memory), cell)
    return list(found.values())


def _place(panel: Panel, cell: PrintedResult) -> dict[str, Any] | None:
    """Where in the panel a printed number belongs: at the printed setting, or after the last task."""
    if panel.kind == "sweep" and panel.field == "memory":
        return {"value": cell.memory}
    run = _setting(cell)
    if panel.field == "method":
        tasks = sorted(paper().tasks_in_tables(cell.dataset))
        return {"value": _method(panel, cell), "t": tasks[-1]} if tasks else None
    if run is None:
        return None
    value = getattr(run, "task_batch_size" if panel.field == "batch_size" else panel.field)
    return {"value": value} if panel.kind == "sweep" else {"value": value, "t": run.tasks}


def _setting(cell: PrintedResult) -> Hyperparameters | None:
    runs = [run for run in paper().runs(cell.dataset) if same(run.method, cell.method) and run.memory == cell.memory]
    return runs[0] if runs else None


def _method(panel: Panel, cell: PrintedResult) -> str:
    return next(method for method in panel.methods if same(method, cell.method))
