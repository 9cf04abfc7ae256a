"""The stored runs that claims read: where they lie, those of a study, and what is measured on them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from typing import TypeVar

import numpy as np

from cold.catalogue import IID
from cold.runs import Result, comparable, evidence, find_runs
from cold.studies import Look, Planned, find_study, planned, sequential_rule, studies
from coldtheory.claims import CheckedClaim, Further, NoRuns, RunSource
from coldtheory.ground.dependencies import ABSENT, note
from coldtheory.ground.errors import ColdError

PROFILE = "cpu"
_MATRICES = ("accuracy", "queues")
_Found = TypeVar("_Found")


def _folder() -> Path:
    """`runs` in the current folder if it holds runs, else those that travel with the package."""
    here = Path("runs")
    return here if find_runs(here) else evidence()


@lru_cache(maxsize=4096)  # many claims read the same row; a changed file gives another object
def _digest(run: Result) -> str:
    """A digest of what a claim can read in a run; when, where and in which file it was stored does not count."""
    told = hashlib.sha256(json.dumps([run.config, run.metrics, run.diagnostics], sort_keys=True).encode())
    for name in _MATRICES:
        matrix = run.array(name)
        told.update(b"\0" if matrix is None else f"{matrix.shape}".encode() + matrix.tobytes())
    return told.hexdigest()[:16]


def further(folder: Path, checked: CheckedClaim) -> Further:
    """What more seeds of the runs behind a claim would cost: those of the study that has them, else of the table."""
    stored = find_runs(folder)
    ids = (name.removeprefix("run ") for name, digest in checked.notes.items() if name.startswith("run "))
    used = [stored[name] for name in ids if name in stored and stored[name].config.get("evaluate_on") != "validation"]
    seconds: dict[str, list[float]] = {}
    for run in used:
        seconds.setdefault(_kind(run.config), []).append(math.nan if run.seconds is None else run.seconds)
    study, dataset, declared = _study_of(set(seconds)), used[0].dataset.removesuffix(IID), _seeds(used)
    rule, first = sequential_rule(), len(declared)
    if study is not None:
        declared = sorted({cell.seed for cell in _cells(study, dataset, {})})
        first = rule.first(study, dataset, len(declared))

    def command(have: int, want: int) -> str:
        last = declared[0] + want - 1
        if study is None:
            name = (used[0].folder or folder).parent.name
            return f"cold table {name} --run --seeds {declared[0]}-{last}, and seeds in cold/tables/comparisons.toml"
        seeds, place = f"{declared[0] + have}-{last}", f"--out runs/study-{study} --runs runs"
        return f"cold study run {study} --profile {PROFILE} --dataset {dataset} --seeds {seeds} {place}"

    looks = tuple((look.seeds, look.missed) for look in rule.looks(first))
    return Further(looks, {kind: sum(found) / len(found) for kind, found in seconds.items()}, command)


def _seeds(runs: Sequence[Result]) -> list[int]:
    return sorted({int(run.config.get("seed", 0)) for run in runs})


def _kind(config: Mapping[str, object]) -> str:
    """Settings without the seed."""
    return json.dumps({**comparable(config), "seed": 0}, sort_keys=True)


@lru_cache(maxsize=1)
def _kinds_of_studies() -> Mapping[str, set[str]]:
    known = (study for study in studies() if PROFILE in study.grids)
    return {study.id: {_kind(one.config.as_dict()) for one in planned(study, PROFILE)} for study in known}


def _study_of(kinds: set[str]) -> str | None:
    """The study that has runs of all these kinds, and the fewest others on the same data."""
    datasets = {json.loads(kind)["dataset"] for kind in kinds}
    having = {
        name: sum(json.loads(kind)["dataset"] in datasets for kind in own)
        for name, own in _kinds_of_studies().items()
        if kinds <= own
    }
    return min(having, key=having.__getitem__, default=None)


#: Claims that read runs say so with `runs=RUNS`.
RUNS = RunSource(_folder, lambda folder: {name: _digest(run) for name, run in find_runs(folder).items()}, further)


class StoredRuns:
    """The finished runs of a folder. Every look-up is recorded, so that a verdict can name the rows it used."""

    def __init__(self, folder: Path) -> None:
        self._runs = find_runs(folder)
        self._about: dict[str, None] = {}
        self.look = Look(0, sequential_rule().alpha)  #: the one that was taken at the study that was asked for last

    @property
    def about_data(self) -> str:
        """How the data of the runs that were looked up differ from the whole data set in its canonical form."""
        return "; ".join(self._about)

    def get(self, run_id: str) -> Result | None:
        run = self._runs.get(run_id)
        note("run", run_id, ABSENT if run is None else _digest(run))
        if run is not None and run.about_data:
            self._about[run.about_data] = None
        return run

    def study(self, name: str, dataset: str, **settings: object) -> StudyRuns:
        """All runs of a study on a dataset (with these settings); `NoRuns` says which command makes absent ones.

        More seeds than the study's own count if they follow on those, are complete, and are enough for the next look
        that cold/studies/sequential.toml allows.
        """
        cells = _cells(name, dataset, settings)
        found = [(cell, self.get(cell.config.run_id)) for cell in cells]
        lacking = sum(run is None for _, run in found)
        if lacking:
            command = f"cold study run {name} --profile {PROFILE} --out runs/study-{name} --runs runs"
            raise NoRuns(f"{lacking} of {len(cells)} runs are not stored", command)
        for seed in count(max(cell.seed for cell in cells) + 1):
            more = [(cell, self.get(cell.config.run_id)) for cell in _cells(name, dataset, settings, seed)]
            if any(run is None for _, run in more):
                break
            found += more
        seeds = tuple(dict.fromkeys(cell.seed for cell, _ in found))
        rule, declared = sequential_rule(), len({cell.seed for cell in cells})
        self.look = rule.present(len(seeds), rule.first(name, dataset, declared))
        return StudyRuns(
            {(cell.method, cell.value, cell.seed): run for cell, run in found if run is not None},
            seeds[: self.look.seeds],
            tuple(dict.fromkeys(cell.value for cell, _ in found)),
        )


def _cells(study: str, dataset: str, settings: Mapping[str, object], seed: int | None = None) -> list[Planned]:
    return [
        one
        for one in _planned(study, seed)
        if one.config.dataset == dataset and all(getattr(one.config, n) == v for n, v in settings.items())
    ]


@cache  # many claims ask for the cells of one study
def _planned(study: str, seed: int | None) -> tuple[Planned, ...]:
    chosen = find_study(study)
    return tuple(planned(chosen if seed is None else chosen.with_seeds([seed]), PROFILE))


@dataclass(frozen=True)
class StudyRuns:
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
    """The share of the task just before in the sum of all queues: 1 if constraints act on the newest task alone."""
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
