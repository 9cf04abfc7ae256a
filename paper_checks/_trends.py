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

import numpy as np
from scipy.stats import t as student

from cold.plots.names import dataset_name
from coldtheory.errors import ColdError
from paper_checks._trend_runs import Missing
from paper_checks.base import Check, Finding, Verdict, claim

_LISTED = 4  # contrasts in a line of evidence
BOTH = ("cold-oracle", "cold")
NAMES = {"cold": "COLD", "cold-oracle": "ORACLE"}  # short: evidence is one line
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
                statement=f"{statement} (Here on {dataset_name(dataset)}, reduced.)",
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
