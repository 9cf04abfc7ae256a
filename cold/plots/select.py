"""From stored runs to one tidy table per figure: which runs belong together, and what each of them shows.

Runs may be compared if they had the same terms, and averaged over seeds if they had the same settings in every field
that counts. Where a folder holds several such groups, the one with the most of what the panel wants is drawn.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coldtheory.figures.table import Table

from ..catalogue import same
from ..runs import Result, comparable, of_one_data
from .paper_figures import Panel, TrainingFigure

#: Fields that change nothing about a result, or nothing but its seed.
_FREE = frozenset({"seed", "preset", "device", "threads", "eval_batch", "data_root", "out", "resume"})
#: Profiles whose runs are smaller than the paper's.
REDUCED = ("cpu", "smoke")
#: What all runs of a panel share, unless it is what the panel varies.
_TERMS = ("tasks", "epochs", "memory", "width", "limit_train", "profile")
#: Fields that move along with the one that is varied.
_FOLLOW = {"tasks": ("memory", "limit_train", "limit_test"), "memory": ("memory_batch",)}


@dataclass(frozen=True)
class Curve:
    """Runs of one method that differ in the panel's field and the seed alone."""

    method: str
    runs: tuple[Result, ...]


def curves_of(panel: Panel, runs: Sequence[Result], profile: str | None = None) -> list[Curve]:
    """The runs that a panel draws, by method in the panel's order; empty if none is stored.

    Without a profile, runs of the reduced ones do not count: what is not at full size says so in its name.
    """
    wanted = [
        run
        for run in runs
        if same(run.dataset, panel.dataset)
        and any(same(str(run.config.get("method", "")), method) for method in panel.methods)
        and _of_profile(run, profile)
        and run.config.get("evaluate_on", "test") == "test"  # validation results are used only to choose settings
        and _shows(panel, run)
    ]
    moving = {panel.field, *_FOLLOW.get(panel.field, ())}
    terms = [name for name in _TERMS if name not in moving]
    alike = _largest(of_one_data(wanted), lambda run: _frozen({name: run.config.get(name) for name in terms}), panel)
    methods_of = defaultdict(set)  # seed -> the methods that have it: curves of one panel are compared seed by seed
    for run in alike:
        methods_of[run.config.get("seed")].add(run.config["method"])
    shared = {seed: len(methods) for seed, methods in methods_of.items()}
    curves = []
    for method in panel.methods:
        own = [run for run in alike if same(str(run.config["method"]), method)]
        group = _largest(
            own, lambda run: settings({k: v for k, v in run.config.items() if k not in moving}), panel, shared
        )
        group = _own_values(group, panel)
        if group:
            curves.append(Curve(method, tuple(_latest(group, panel))))
    return curves


def _of_profile(run: Result, profile: str | None) -> bool:
    found = run.config.get("profile")
    return found not in REDUCED if profile is None else bool(found == profile)


def _own_values(runs: list[Result], panel: Panel) -> list[Result]:
    """Curves over tasks, one per value: where two or more of the panel's own values are stored, only these.

    A sweep over one epoch to twenty is thus also the comparison of one with five.
    """
    if panel.kind not in ("tasks", "gap"):
        return runs
    own = [run for run in runs if any(_equal(_value(run, panel), value) for value in panel.values)]
    return own if len({str(_value(run, panel)) for run in own}) > 1 else runs


def table_of(figure: TrainingFigure, runs: Sequence[Result], profile: str | None = None) -> tuple[Table, list[Result]]:
    """The tidy table of a figure, and the runs it is made of."""
    rows: list[dict[str, Any]] = []
    used: dict[str, Result] = {}
    for number, panel in enumerate(figure.panels):
        for curve in curves_of(panel, runs, profile):
            for run in curve.runs:
                used[run.run_id] = run
                about = {
                    "panel": number, "kind": panel.kind, "dataset": panel.dataset, "method": curve.method,
                    "field": panel.field, "value": _value(run, panel), "seed": run.config.get("seed"),
                    "profile": run.config.get("profile") or "own", "made_up": int(run.made_up),
                    "synthetic": int(run.synthetic), "source": "run", "images": run.config.get("limit_train"),
                    "settings": _settings(run) if panel.field == "method" else "", "data": run.about_data,
                }  # fmt: skip
                rows += [{**about, **entry} for entry in _entries(panel, run)]
    return Table.of(rows), list(used.values())


def _settings(run: Result) -> str:
    """What tells two runs of COLD apart where methods are compared."""
    V, delta = run.config.get("V"), run.config.get("delta")
    own = str(run.config.get("method", "")).startswith("cold") and V is not None and delta is not None
    if not own:
        return ""
    number = V if isinstance(V, str) else f"{V:g}"
    return f"V = {number}, δ = {delta:g}"


def _entries(panel: Panel, run: Result) -> Iterator[dict[str, Any]]:
    """What one run shows in a panel: `what`, `t`, `k` and `y`."""
    if panel.kind == "sweep":
        for name in panel.metrics:
            value = run.metrics.get(name, run.diagnostics.get(name))
            yield {"what": name, "t": None, "k": None, "y": value}
    elif panel.kind in ("tasks", "gap"):
        for name in panel.metrics:
            for t, value in enumerate(run.over_tasks(name), start=1):
                yield {"what": name, "t": t, "k": None, "y": value}
    else:
        name, first = ("queues", 0) if panel.kind == "queues" else ("accuracy", 1)
        matrix = run.array(name)
        if matrix is not None:
            for (t, k), value in np.ndenumerate(matrix):
                if k < t + first and math.isfinite(value):  # task k+1 has been trained
                    yield {"what": name, "t": t + first, "k": k + 1, "y": float(value)}


def _shows(panel: Panel, run: Result) -> bool:
    """Whether a run has what the panel draws, at a value the panel draws.

    Every run has its matrix of accuracies, which is read when the run is drawn: of thousands, few are.
    """
    if panel.kind in ("queues", "accuracy"):
        drawn = any(_equal(_value(run, panel), v) for v in panel.values)
        return drawn and (panel.kind == "accuracy" or run.array(panel.kind) is not None)
    if panel.kind == "sweep":
        known = {**run.diagnostics, **run.metrics}
        return any(known.get(name) is not None for name in panel.metrics)
    return True


def _value(run: Result, panel: Panel) -> Any:
    return run.config.get(panel.field)


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return bool(left == right)
    return left is not None and math.isclose(float(left), float(right), rel_tol=1e-9)


def _largest(
    runs: Sequence[Result], key: Callable[[Result], Hashable], panel: Panel, shared: Mapping[Any, int] | None = None
) -> list[Result]:
    """The group with the most different cells, then on all images, with the most runs, most central, newest.

    Where a method was also run with one setting or another changed, the runs with none changed are the central ones.

    shared : by seed, how much a run with it counts; 1 if not given
    """
    groups: dict[Hashable, list[Result]] = defaultdict(list)
    for run in runs:
        groups[key(run)].append(run)

    def rank(group: list[Result]) -> tuple[int, bool, int, int, str]:
        cells = {(str(run.config["method"]), str(_value(run, panel))) for run in group}
        apart = sum(_distance(group[0], other[0]) for other in groups.values())
        whole = group[0].config.get("limit_train") is None
        many = len(group) if shared is None else sum(shared[run.config.get("seed")] for run in group)
        return len(cells), whole, many, -apart, max(run.time for run in group)

    return max(groups.values(), key=rank, default=[])


def _distance(left: Result, right: Result) -> int:
    """In how many settings two runs differ."""
    names = {*left.config, *right.config} - _FREE
    return sum(left.config.get(name) != right.config.get(name) for name in names)


def _latest(runs: Sequence[Result], panel: Panel) -> list[Result]:
    """One run per value and seed: the newest."""
    newest: dict[tuple[str, str], Result] = {}
    for run in sorted(runs, key=lambda run: run.time):
        newest[str(_value(run, panel)), str(run.config.get("seed"))] = run
    return sorted(newest.values(), key=lambda run: (_order(_value(run, panel)), _order(run.config.get("seed"))))


def _order(value: Any) -> tuple[float, str]:
    return (0.0, str(value)) if isinstance(value, str) or value is None else (float(value), "")


def settings(config: Mapping[str, Any]) -> str:
    """All fields that change a result, but for the seed, as one key; a field that is absent has its default."""
    return _frozen({name: value for name, value in comparable(config).items() if name not in _FREE})


def _frozen(config: dict[str, Any]) -> str:
    return json.dumps(config, sort_keys=True, default=str)
