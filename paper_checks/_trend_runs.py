"""The stored runs of the reduced studies, and what is measured on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeVar

import numpy as np

from cold.runs import Result, find_runs
from cold.studies import Planned, find_study, planned
from coldtheory.ground.errors import ColdError
from paper_checks._contrasts import Missing

RUNS = Path(__file__).parents[1] / "runs"
PROFILE = "cpu"
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Grid:
    """The stored runs of a study on one dataset."""

    runs: Mapping[tuple[str, float | str, int], Result]  # (method, value, seed)
    seeds: tuple[int, ...]
    values: tuple[float | str, ...]

    def each(self, method: str, value: float | str, measure: Callable[[Result], float]) -> np.ndarray:
        """(seeds,)"""
        return np.array([measure(self.runs[method, value, seed]) for seed in self.seeds])

    def over(self, method: str, measure: Callable[[Result], float]) -> np.ndarray:
        """(values, seeds)"""
        return np.stack([self.each(method, value, measure) for value in self.values])

    def slope(self, method: str, measure: Callable[[Result], float]) -> np.ndarray:
        """(seeds,): least-squares change of the measure when the value doubles."""
        return per_doubling(self.values, self.over(method, measure))


def per_doubling(values: Sequence[float | str], measured: np.ndarray) -> np.ndarray:
    """
    >>> per_doubling([1, 2, 4], np.array([[1.0], [3.0], [5.0]]))
    array([2.])
    """
    x = np.log2(np.array(values, dtype=np.float64))
    x -= x.mean()
    slopes: np.ndarray = x @ measured / (x @ x)
    return slopes


def grid(study: str, dataset: str, **settings: object) -> Grid:
    """All runs of a study on a dataset (with these settings); `Missing` says which command makes what is not there.

    More seeds than the study's own count if they follow on those and are complete.
    """
    stored = find_runs(RUNS)
    cells = _cells(study, dataset, settings)
    lacking = [one for one in cells if one.config.run_id not in stored]
    if lacking:
        command = f"cold study run {study} --profile {PROFILE} --out runs/study-{study} --reuse runs"
        raise Missing(f"{len(lacking)} of {len(cells)} runs are not stored; make them: {command}")
    last = max(one.seed for one in cells)
    for seed in count(last + 1):
        more = _cells(study, dataset, settings, seed)
        if not all(one.config.run_id in stored for one in more):
            break
        cells += more
    return Grid(
        {(one.method, one.value, one.seed): stored[one.config.run_id] for one in cells},
        tuple(dict.fromkeys(one.seed for one in cells)),
        tuple(dict.fromkeys(one.value for one in cells)),
    )


def _cells(study: str, dataset: str, settings: Mapping[str, object], seed: int | None = None) -> list[Planned]:
    chosen = find_study(study)
    return [
        one
        for one in planned(chosen if seed is None else chosen.with_seeds([seed]), PROFILE)
        if one.config.dataset == dataset and all(getattr(one.config, n) == v for n, v in settings.items())
    ]


# ----------------------------------------------------------------------------------------------------- what is measured


def acc(run: Result) -> float:
    """Average accuracy after the last task, per cent."""
    return _metric(run, "acc")


def forgetting(run: Result) -> float:
    """Forgetting in points of accuracy."""
    return 100.0 * _metric(run, "forgetting")


def diagnostic(name: str) -> Callable[[Result], float]:
    """A measure of what `--diagnostics` stored under a name."""
    return lambda run: _there(run, name, run.diagnostics.get(name))


def learning_acc(run: Result) -> float:
    """Average accuracy on each task just after it was learnt, per cent."""
    return 100.0 * float(np.diag(_matrix(run, "accuracy")).mean())


def acc_on_the_way(run: Result) -> float:
    """The average over t of the accuracy after task t, per cent."""
    return float(np.mean(run.over_tasks("acc")))


def queue(run: Result) -> float:
    """The mean of Q_k[t] over the past tasks k < t of all t."""
    past = _past_queues(run)
    return float(np.mean(np.concatenate(past)))


def newest_share(run: Result) -> float:
    """Of all that stands in queues, the part of the task just before: 1 if constraints act on the newest task alone."""
    past = _past_queues(run)[1:]  # with one past task there is nothing to share
    total = sum(float(row.sum()) for row in past)
    return sum(float(row[-1]) for row in past) / total if total else math.nan


def _past_queues(run: Result) -> list[np.ndarray]:
    """Row by row, the queues at the end of task t = 2, ..., T of tasks 1, ..., t-1."""
    queues = _matrix(run, "queues")  # (T+1, T), row t: after task t
    return [row[: t - 1] for t, row in enumerate(queues) if t > 1]


def _metric(run: Result, name: str) -> float:
    return _there(run, name, run.metrics.get(name))


def _matrix(run: Result, name: str) -> np.ndarray:
    return _there(run, name, run.array(name))


def _there(run: Result, name: str, found: _Found | None) -> _Found:
    if found is None:
        raise ColdError(f"{run.run_id} has no {name}; run it again")
    return found


def share(larger: np.ndarray, smaller: np.ndarray) -> np.ndarray:
    """(larger - smaller) / (larger + smaller): a difference in [-1, 1] for what spans decades; 0 where both are 0."""
    total = larger + smaller
    ratio: np.ndarray = np.divide(larger - smaller, total, out=np.zeros_like(total), where=total > 0)
    return ratio
