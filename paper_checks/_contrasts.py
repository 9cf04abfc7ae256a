"""Claims about trained networks as contrasts: one number a seed that the claim says is positive.

Runs of one seed share their tasks, so that a contrast is paired. Its 95 % interval over seeds (Student's t) decides:
above zero in every contrast, the claim holds; below zero in one (by an interval widened for the number of contrasts),
it is false; else the runs do not settle it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from coldtheory.ground.errors import ColdError
from paper_checks.base import Finding, Verdict

_LISTED = 4  # contrasts in a line of evidence


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


def settled(contrasts: Iterable[Contrast]) -> Finding:
    """The same, or what to run if the contrasts lack stored runs."""
    try:
        return settle(list(contrasts))
    except Missing as error:
        return Finding("not reproducible here", None, str(error))
