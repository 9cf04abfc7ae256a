"""The two tables that need no runs: complexity and hyper-parameters, the paper's numbers beside those declared here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from coldtheory.ground.errors import ColdError
from coldtheory.ground.reading import read_json
from coldtheory.paper import Hyperparameters, paper

from ..catalogue import COST_LETTERS, METHODS, method, printed_costs
from ..presets import build_config
from .footnotes import origin
from .sheet import Column, Entry, Sheet
from .stored import RunsOnHand

MEASURED = Path("runs/methods.json")
_FIELDS = {
    "learning_rate": "lr", "optimizer": "optimizer", "epochs": "epochs", "tasks": "tasks", "V": "V", "delta": "delta",
    "task_batch_size": "batch_size", "memory_batch_size": "memory_batch",
}  # fmt: skip


def complexity(call: str, measured: Path | None = None) -> Sheet:
    """Operations per batch and storage: printed, declared, and measured where `cold methods --measure` was kept."""
    printed, found = printed_costs(), _measured(measured)
    columns = ["method", "printed: per batch", "declared", "printed: storage", "declared"]
    if found:
        columns += ["ms per step, task 2", "last task", "numbers stored, task 2", "last task"]
    rows = []
    for name in (*printed, *(name for name in sorted(METHODS) if name not in printed)):
        own, row = METHODS[name], printed.get(name)
        operations, storage = ("", "") if row is None else (row.operations, row.storage)
        words = [own.title, operations, own.cost, storage, own.storage]
        rows.append(tuple(Entry(word) for word in words + (_costs(found.get(name)) if found else [])))
    notes = [
        COST_LETTERS,
        "the paper prints two rows named COLD; its second is COLD-ORACLE",
    ]
    if not found:
        notes.append(f"no measured costs: cold methods --measure --json > {MEASURED} keeps some for this table")
    title = "Operations per batch and storage beside the model (tab:complexity_comparison)"
    return Sheet(title, tuple(Column(name) for name in columns), tuple(rows), tuple(notes), (), _origin(call))


def hyperparameters(call: str) -> list[Sheet]:
    """The paper's two tables; an entry from which the preset departs says so."""
    labels = dict.fromkeys(run.table for run in paper().hyperparameters)
    return [_hyperparameter_sheet(label, call) for label in labels]


def _hyperparameter_sheet(label: str, call: str) -> Sheet:
    runs = [run for run in paper().hyperparameters if run.table == label]
    names = [f"{paper().datasets[run.dataset].name}, M = {run.memory}" for run in runs]
    rows = [
        (Entry(name.replace("_", " ")), *(_entry(run, name, setting) for run in runs))
        for name, setting in _FIELDS.items()
    ]
    rows.append((Entry("queue initialization"), *(Entry(f"{run.queue_initialization:g}") for run in runs)))
    departures = any("preset" in str(entry.value) for row in rows for entry in row)
    notes = ["every entry is what `--preset paper` sets" if not departures else "where the preset departs, it is said"]
    notes.append("what the tables of results choose on validation data instead: cold table pmnist")
    columns = (Column(runs[0].method), *(Column(name) for name in names))
    return Sheet(
        f"Hyper-parameters of {runs[0].method} ({label})", columns, tuple(rows), tuple(notes), (), _origin(call)
    )


def _entry(run: Hyperparameters, name: str, setting: str) -> Entry:
    flags = {"dataset": run.dataset, "method": method(run.method).name, "memory": run.memory, "preset": "paper"}
    preset: Any = getattr(build_config(None, flags), setting)
    value: Any = getattr(run, name)
    shown = f"{value:g}" if isinstance(value, int | float) else str(value)
    same = str(preset).replace("-", "").upper() == str(value).replace("-", "").upper() or preset == value
    return Entry(shown if same else f"{shown} (preset: {preset})")


def _measured(path: Path | None) -> dict[str, Any]:
    """Rows of `cold methods --measure --json`, by name."""
    chosen = MEASURED if path is None else path
    if path is None and not chosen.exists():
        return {}
    content = read_json(chosen, "make it again with `cold methods --measure --json`")
    try:
        told = msgspec.convert(content, _Printed)
    except (msgspec.ValidationError, RecursionError):
        raise ColdError(f"{chosen} is not what `cold methods --measure --json` prints; make it again") from None
    return {row.name: {"step_ms": row.measured.step_ms, "stored": row.measured.stored} for row in told.methods}


class _Costs(msgspec.Struct):
    step_ms: tuple[float, float]
    stored: tuple[int | float, int | float]


class _Measured(msgspec.Struct):
    name: str
    measured: _Costs


class _Printed(msgspec.Struct):
    """What `_measured` needs of the file."""

    methods: list[_Measured]


def _costs(row: dict[str, Any] | None) -> list[str]:
    if row is None:
        return [""] * 4
    return [f"{ms:.2f}" for ms in row["step_ms"]] + [str(number) for number in row["stored"]]


def _origin(call: str) -> tuple[str, ...]:
    return origin(call, RunsOnHand(()))
