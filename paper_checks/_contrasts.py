"""Claims about trained networks as contrasts: one number per seed that the claim says is positive.

Runs of one seed share their tasks, so a contrast is paired. Its 95 % interval over seeds (Student's t) decides:
above zero in every contrast, the claim holds; below zero in one (by an interval widened for the number of contrasts),
it is false; else the runs do not settle it. Where seeds were added after a first look, the interval is wider: when a
claim may be looked at again, and with which level, is the rule of cold/studies/sequential.toml.

The paper's ablation figures print no numbers, only trends in words. A trend becomes contrasts, such as the forgetting
at V = 10,000 minus that at V = 100. The runs are those of `cold study run ID --profile cpu`: real images, reduced in
size, so a verdict speaks of that size, and the statement says on which data.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cold.catalogue import benchmark_title
from cold.studies import sequential_rule
from coldtheory.claims import Finding, Verdict
from coldtheory.ground.errors import ColdError
from coldtheory.ground.statistics import t_interval
from paper_checks import claim
from paper_checks._runs import RUNS, StoredRuns

BOTH = ("cold-oracle", "cold")
NAMES = {"cold": "COLD", "cold-oracle": "ORACLE"}  # short: evidence is one line
TREND_RULE = """
The verdict speaks of the reduced runs that are stored (profile cpu: real images, fewer of them, for Split-CIFAR10 a
narrow network), not of the paper's size. Each contrast is paired over the seeds; the trend holds if the 95 % interval
of every contrast lies above zero, is false if that of one lies below (widened for the number of contrasts, after
Bonferroni), and is left open otherwise. With seeds that were added after a first look the level is higher, by the rule
of cold/studies/sequential.toml. Accuracy and forgetting are in points (per cent). The margin is the end of the
deciding interval that is nearer to zero.
"""
_LISTED = 4  # contrasts in a line of evidence


@dataclass(frozen=True)
class Contrast:
    """Numbers, one per seed, that are positive if the claim is right."""

    words: str
    values: np.ndarray  # (seeds,)

    def __post_init__(self) -> None:
        if not np.isfinite(self.values).all():
            raise ColdError(f"{self.words}: {self.values} are not all numbers")

    def interval(self, missed: float) -> tuple[float, float]:
        """Where the mean lies, but for a chance of `missed`."""
        return t_interval(self.values.tolist(), 1 - missed)

    def told(self, missed: float) -> str:
        """The mean and its interval."""
        found = (self.values.mean(), *self.interval(missed))
        mean, low, high = (round(float(x), 9) + 0.0 for x in found)  # no -1e-15, no -0
        return f"{self.words} {mean:+.3g} [{low:+.3g}, {high:+.3g}]"


def settle(given: Iterable[Contrast], stored: StoredRuns | None = None) -> Finding:
    """Holds if every contrast is above zero. False if one is below zero by an interval that allows for their number:
    among many contrasts without any effect, one will look like an effect. The evidence says if `stored` runs that were
    looked up for the contrasts were made from a part or a copy of a data set."""
    contrasts = list(given)
    missed = sequential_rule().alpha if stored is None else stored.look.missed
    least = min(contrast.interval(missed)[0] for contrast in contrasts)
    worst = min(contrast.interval(missed / len(contrasts))[1] for contrast in contrasts)
    verdict: Verdict = "holds" if least > 0 else "false" if worst < 0 else "not settled"
    margin = {"holds": least, "false": worst}.get(verdict)
    listed = contrasts
    if len(contrasts) > _LISTED:
        listed = sorted(contrasts, key=lambda contrast: contrast.values.mean())[:_LISTED]
    evidence = "; ".join(contrast.told(missed) for contrast in listed)
    if len(listed) < len(contrasts):
        evidence += f"; {len(contrasts) - len(listed)} more are larger"
    level = "" if missed == sequential_rule().alpha else f", {100 * (1 - missed):g} % intervals"
    evidence += f" ({len(contrasts[0].values)} seeds{level})"
    if stored is not None and stored.about_data:
        evidence += f"; data: {stored.about_data}"
    return Finding(verdict, margin, evidence, {contrast.words: contrast.values.tolist() for contrast in contrasts})


# --------------------------------------------------------------------------------------------------------------- trends

Contrasts = Callable[[StoredRuns, str], Iterator[Contrast]]  # of the runs and a dataset


@dataclass(frozen=True)
class Shown:
    """The verdict recorded for a trend on a dataset, and the gallery's figures in which it is to be seen."""

    recorded: Verdict
    pictures: tuple[str, ...]


def trend(
    *, id: str, label: str, statement: str, on: Mapping[str, Shown], explain: str = ""
) -> Callable[[Contrasts], Contrasts]:
    """Register a generator of contrasts as the check of one claim for each dataset."""

    def register(contrasts: Contrasts) -> Contrasts:
        for dataset, shown in on.items():
            claim(
                id=f"{id}-{dataset.removeprefix('split-')}",
                label=label,
                section="Ablation and Sensitivity Analysis",
                statement=f"{statement} (Here on {benchmark_title(dataset)}, reduced.)",
                recorded=shown.recorded,
                explain="\n\n".join(filter(None, (inspect.cleandoc(explain), TREND_RULE.strip()))),
                runs=RUNS,
                pictures=shown.pictures,
            )(_check(contrasts, dataset))
        return contrasts

    return register


def _check(contrasts: Contrasts, dataset: str) -> Callable[[Path], Finding]:
    @functools.wraps(contrasts)  # the claim belongs to the module that states it
    def check(folder: Path) -> Finding:
        stored = StoredRuns(folder)
        return settle(contrasts(stored, dataset), stored)

    return check


def both(contrast: Callable[[str], np.ndarray], words: str) -> Iterator[Contrast]:
    """The same contrast for COLD-ORACLE and for COLD."""
    for method in BOTH:
        yield Contrast(f"{NAMES[method]} {words}", contrast(method))
