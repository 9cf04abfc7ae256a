"""Forgetting on request, in pictures: what was requested and delivered, what the gauge measured, and what it cost.

The runs are those of the studies `forget`, `front` and `robust` (cold/studies), found by their settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from coldtheory.figures import Figure
from coldtheory.figures.figure import State, Stored
from coldtheory.figures.table import Table, Tell
from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import config_key

from ..catalogue import benchmark_title
from ..runs import FORMAT, Result, default_roots, delivered, earlier_rule
from ..studies import find_study, planned
from .data import RunsFoundOnce
from .robust import robust_rows
from .select import settings

_PROFILE = "cpu"
_VERSION = 1  # raise it when a table means something else
_Rows = Callable[[Sequence[Result]], list[dict[str, Any]]]


@dataclass(frozen=True)
class StudiedRuns:
    """The finished runs of some studies, as the table of one figure."""

    name: str
    studies: tuple[str, ...]
    rows: _Rows = field(compare=False)
    kept: bool = False  #: whether the runs in their usual places count, too
    shared: RunsFoundOnce = field(default_factory=RunsFoundOnce, repr=False, compare=False)

    @property
    def command(self) -> str:
        return " && ".join(self.commands())

    @property
    def key(self) -> str:
        return config_key({"study": self.name, "format": FORMAT, "version": _VERSION})

    def commands(self) -> Iterator[str]:
        yield from (f"cold study run {name} --profile {_PROFILE}" for name in self.studies)

    def state(self, folder: Path) -> State:
        if self._found(folder):
            return "present"
        return "stale" if self.shared.below(self._folders(folder)).problems else "missing"

    def load(self, folder: Path) -> Stored:
        runs = self._found(folder)
        if not runs:
            raise ColdError(f"no finished runs of the studies {' and '.join(self.studies)}; make them: {self.command}")
        origin = {str(run.provenance.get("commit")): run.provenance for run in runs}
        config = {"runs": sorted(run.run_id for run in runs), "studies": list(self.studies)}
        return Stored(Table.of(self.rows(runs)), config, self.key, list(origin.values()))

    def make(self, folder: Path, tell: Tell) -> None:
        raise ColdError(f"training runs are not made here; make them with: {self.command}")

    def _found(self, folder: Path) -> tuple[Result, ...]:
        wanted = dict.fromkeys(
            settings(run.config.as_dict()) for name in self.studies for run in planned(find_study(name), _PROFILE)
        )
        found = self.shared.of_settings(self._folders(folder), wanted)
        present = tuple(run for run in found if earlier_rule(run) is None)
        return present if self.rows(present) else ()

    def _folders(self, folder: Path) -> tuple[Path, ...]:
        usual = default_roots() if self.kept else ()
        return (folder, *(root for root in usual if folder not in root.parents))


def requested_figures(shared: RunsFoundOnce, *, kept: bool) -> Iterator[Figure]:
    """Figures beyond the paper."""
    about = (
        ("requested_forgetting", ("forget",), _calibration, "Requested and delivered forgetting",
         "What was forgotten on the test data, mean over past tasks and over the second half of the stream, against "
         "what was requested; and the accuracy that was reached. Shaded: within 0.02 nats or a fifth of the request.",
         "draw_requested"),
        ("gauge", ("forget",), _gauge, "Forgetting by the gauge and on the test data",
         "Mean forgetting after each task from the second on: by samples that were never trained on, and by test data.",
         "draw_gauge"),
        ("plasticity_forgetting", ("forget", "front"), _front, "Plasticity against forgetting",
         "Accuracy of each task when it has just been learnt against the loss that past tasks gained, every method "
         "over its own parameter; COLD-distill over V, and over its request with a fifth of the memory set aside. Up "
         "and to the left is better.", "draw_front"),
        ("robustness", ("robust",), robust_rows, "A quarter, once and four times the default",
         "Accuracy at 1/4, 1 and 4 times each method's main parameter, chosen for 10,000 images per task (V of "
         "COLD-distill: by rule), at three sizes; one learning rate for all.", "draw_robust"),
    )  # fmt: skip
    for name, studies, rows, title, sentence, draw in about:
        data = StudiedRuns(name, studies, rows, kept, shared)
        yield Figure(
            id=name, label="", title=f"{title} ({_PROFILE} profile)", sentence=sentence, kind="training", data=(data,),
            draw=f"cold.plots.draw_requested:{draw}", profile=_PROFILE,
        )  # fmt: skip


def _calibration(runs: Sequence[Result]) -> list[dict[str, Any]]:
    rows = []
    for run in runs:
        found = delivered(run)
        if found is None:
            continue
        by_gauge, by_test = found.settled()
        rows.append({
            "dataset": run.dataset, "title": _where(run), "seed": run.config["seed"], "requested": found.requested,
            "delivered": by_test, "gauge": by_gauge, "last": float(found.test[-1]), "worst": found.worst,
            "acc": run.metrics["acc"], "smallest": np.nan if found.smallest is None else found.smallest,
        })  # fmt: skip
    return sorted(rows, key=lambda row: (row["dataset"], row["requested"], row["seed"]))


def _gauge(runs: Sequence[Result]) -> list[dict[str, Any]]:
    rows = []
    for run in runs:
        found = delivered(run)
        if found is None:
            continue
        about = {"dataset": run.dataset, "title": _where(run), "seed": run.config["seed"], "requested": found.requested}
        pairs = zip(found.gauge.tolist(), found.test.tolist(), strict=True)
        rows += [{**about, "task": t, "gauge": g, "test": f} for t, (g, f) in enumerate(pairs, start=2)]
    return rows


def _front(runs: Sequence[Result]) -> list[dict[str, Any]]:
    """The runs on the benchmarks on which baselines were run, too."""
    compared = {run.dataset for run in runs if run.config["method"] != "cold-distill"}
    rows = []
    for run in runs:
        if run.dataset not in compared or run.metrics.get("forgetting_loss") is None:
            continue
        forget, V = run.config.get("forget"), run.config.get("V")
        own = {"forget": forget} if forget is not None else run.config.get("options") or {"V": V}
        rows.append({
            "dataset": run.dataset, "title": _where(run), "method": run.config["method"], "seed": run.config["seed"],
            "setting": " ".join(f"{k}={v}" for k, v in own.items() if k != "same_draw"),
            "requested": int(forget is not None), "forgetting_loss": run.metrics["forgetting_loss"],
            "learning_acc": run.metrics["learning_acc"], "acc": run.metrics["acc"],
        })  # fmt: skip
    return rows


def _where(run: Result) -> str:
    scenario = run.config.get("scenario")
    return benchmark_title(run.dataset) + (f", {scenario}-incremental" if scenario else "")
