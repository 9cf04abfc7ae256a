"""The paper's ablation figures print no numbers, only trends in words; here a trend is held against stored runs.

A trend becomes *contrasts*: one number a seed that the claim says is positive, such as the forgetting at V = 10,000
minus that at V = 100. Runs of one seed share their tasks, so that a contrast is paired. Its 95 % interval over seeds
(Student's t) decides: above zero in every contrast, the trend holds; below zero in one (by an interval widened for the
number of contrasts), it is false; else the runs do not settle it. The runs are those of `cold study run ID --profile
cpu`: real images, reduced in size, so a verdict speaks of that size, and the statement says on which data.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from cold.plots.store import Run, read_runs
from cold.studies import Planned, find_study, planned
from coldtheory.errors import ColdError
from paper_checks.base import Check, Finding, Verdict, claim

RUNS = Path(__file__).parents[1] / "runs"
PROFILE = "cpu"
_LISTED = 4  # contrasts in a line of evidence
BOTH = ("cold-oracle", "cold")
NAMES = {
    "cold": "COLD", "cold-oracle": "ORACLE",
    "pmnist": "Permuted-MNIST", "split-mnist": "Split-MNIST", "split-cifar10": "Split-CIFAR10",
}  # fmt: skip
RULE = """
The verdict speaks of the reduced runs that are stored (profile cpu: real images, fewer of them, for Split-CIFAR10 a
narrow network), not of the paper's size. Each contrast is paired over the seeds; the trend holds if the 95 % interval
of every contrast lies above zero, is false if that of one lies below (widened for the number of contrasts, after
Bonferroni), and is left open otherwise. Accuracy and forgetting are in points (per cent). The margin is the end of the
deciding interval that is nearer to zero.
"""

#: claim -> the pictures of the gallery in which its trend is to be seen
PICTURES: dict[str, tuple[str, ...]] = {}


Contrasts = Callable[[str], Iterator["Contrast"]]  # of a dataset


class Missing(ColdError):
    """Runs that a claim needs are not stored."""


@dataclass(frozen=True)
class Contrast:
    """Numbers, one a seed, that are positive if the claim is right."""

    words: str
    values: np.ndarray  # (seeds,)

    def __post_init__(self) -> None:
        if not np.isfinite(self.values).all():
            raise ColdError(f"{self.words}: {self.values} are not all numbers")

    def interval(self, missed: float = 0.05) -> tuple[float, float]:
        """Where the mean lies, but for a chance of `missed`; Student's t over the seeds."""
        n, mean = len(self.values), float(self.values.mean())
        half = float(student.ppf(1 - missed / 2, n - 1) * self.values.std(ddof=1) / math.sqrt(n))
        return mean - half, mean + half

    def __str__(self) -> str:
        mean, low, high = (round(float(x), 9) + 0.0 for x in (self.values.mean(), *self.interval()))  # no -1e-15, no -0
        return f"{self.words} {mean:+.3g} [{low:+.3g}, {high:+.3g}]"


@dataclass(frozen=True)
class Grid:
    """The stored runs of a study on one dataset."""

    runs: Mapping[tuple[str, float | str, int], Run]  # (method, value, seed)
    seeds: tuple[int, ...]
    values: tuple[float | str, ...]

    def each(self, method: str, value: float | str, measure: Callable[[Run], float]) -> np.ndarray:
        """(seeds,)"""
        return np.array([measure(self.runs[method, value, seed]) for seed in self.seeds])

    def over(self, method: str, measure: Callable[[Run], float]) -> np.ndarray:
        """(values, seeds)"""
        return np.stack([self.each(method, value, measure) for value in self.values])

    def slope(self, method: str, measure: Callable[[Run], float]) -> np.ndarray:
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
    stored = _stored(RUNS)
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


def _stored(folder: Path) -> dict[str, Run]:
    runs, _ = read_runs(folder)
    return {run.id: run for run in runs}


# ----------------------------------------------------------------------------------------------------- what is measured


def acc(run: Run) -> float:
    """Average accuracy after the last task, per cent."""
    return float(run.metrics["acc"] or 0.0)


def forgetting(run: Run) -> float:
    """Forgetting in points of accuracy."""
    return 100.0 * float(run.metrics["forgetting"] or 0.0)


def learning_acc(run: Run) -> float:
    """Average accuracy on each task just after it was learnt, per cent."""
    return 100.0 * float(np.diag(_matrix(run, "accuracy")).mean())


def acc_on_the_way(run: Run) -> float:
    """The average over t of the accuracy after task t, per cent."""
    return float(np.mean(run.over_tasks("acc")))


def queue(run: Run) -> float:
    """The mean of Q_k[t] over the past tasks k < t of all t."""
    past = _past_queues(run)
    return float(np.mean(np.concatenate(past)))


def newest_share(run: Run) -> float:
    """Of all that stands in queues, the part of the task just before: 1 if constraints act on the newest task alone."""
    past = _past_queues(run)[1:]  # with one past task there is nothing to share
    total = sum(float(row.sum()) for row in past)
    return sum(float(row[-1]) for row in past) / total if total else math.nan


def _past_queues(run: Run) -> list[np.ndarray]:
    """Row by row, the queues at the end of task t = 2, ..., T of tasks 1, ..., t-1."""
    queues = _matrix(run, "queues")  # (T+1, T), row t: after task t
    return [row[: t - 1] for t, row in enumerate(queues) if t > 1]


def _matrix(run: Run, name: str) -> np.ndarray:
    found = run.array(name)
    if found is None:
        raise ColdError(f"{run.id} has no {name}; run it again")
    return found


def share(larger: np.ndarray, smaller: np.ndarray) -> np.ndarray:
    """(larger - smaller) / (larger + smaller): a difference in [-1, 1] for what spans decades; 0 where both are 0."""
    total = larger + smaller
    ratio: np.ndarray = np.divide(larger - smaller, total, out=np.zeros_like(total), where=total > 0)
    return ratio


# ---------------------------------------------------------------------------------------------------------- the verdict


def settle(contrasts: Sequence[Contrast]) -> Finding:
    """Holds if every contrast is above zero. False if one is below zero by an interval that allows for their number:
    of many contrasts without any effect, one will look like one."""
    least = min(contrast.interval()[0] for contrast in contrasts)
    worst = min(contrast.interval(0.05 / len(contrasts))[1] for contrast in contrasts)
    verdict: Verdict = "holds" if least > 0 else "false" if worst < 0 else "not settled"
    margin = {"holds": least, "false": worst}.get(verdict)
    listed = contrasts
    if len(contrasts) > _LISTED:
        listed = sorted(contrasts, key=lambda contrast: contrast.values.mean())[:_LISTED]
    evidence = "; ".join(map(str, listed))
    if len(listed) < len(contrasts):
        evidence += f"; {len(contrasts) - len(listed)} more are larger"
    evidence += f" ({len(contrasts[0].values)} seeds)"
    return Finding(verdict, margin, evidence, {contrast.words: contrast.values.tolist() for contrast in contrasts})


@dataclass(frozen=True)
class Shown:
    """Where a trend is to be seen here, and the verdict recorded for it."""

    recorded: Verdict
    pictures: tuple[str, ...]  #: of the gallery


def trend(
    *, id: str, label: str, statement: str, on: Mapping[str, Shown], explain: str = ""
) -> Callable[[Contrasts], Contrasts]:
    """Register a generator of contrasts as the check of one claim for each dataset."""

    def register(contrasts: Contrasts) -> Contrasts:
        for dataset, shown in on.items():
            name = f"{id}-{dataset.removeprefix('split-')}"
            PICTURES[name] = shown.pictures
            claim(
                id=name,
                label=label,
                section="Ablation and Sensitivity Analysis",
                statement=f"{statement} (Here on {NAMES[dataset]}, reduced.)",
                recorded=shown.recorded,
                explain="\n\n".join(filter(None, (inspect.cleandoc(explain), RULE.strip()))),
            )(_check(contrasts, dataset))
        return contrasts

    return register


def _check(contrasts: Contrasts, dataset: str) -> Check:
    @functools.wraps(contrasts)  # the claim belongs to the module that states it
    def check() -> Finding:
        try:
            return settle(list(contrasts(dataset)))
        except Missing as error:
            return Finding("not reproducible here", None, str(error))

    return check


def both(contrast: Callable[[str], np.ndarray], words: str) -> Iterator[Contrast]:
    """The same contrast for COLD-ORACLE and for COLD."""
    for method in BOTH:
        yield Contrast(f"{NAMES[method]} {words}", contrast(method))
