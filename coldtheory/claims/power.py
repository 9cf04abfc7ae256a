"""How many seeds would settle a claim that stored runs do not settle, and what they would cost.

A claim of this kind is a set of contrasts: numbers d_1, ..., d_n, one per seed, whose mean the claim says is positive.
With mean m and standard deviation s of a contrast, n seeds would settle it if the paired Student interval leaves out
zero,

    t(n - 1, 1 - a/2) s / sqrt(n) < |m|,

t being the quantile with n - 1 degrees of freedom and a the chance of an interval that misses, which depends on how
often the claim has been looked at before: the looks are given from outside (`Further`). To hold, every contrast has to
be above zero, so the one that needs the most seeds decides. To be false, one contrast has to be below zero by an
interval with a / (number of contrasts) in the place of a, so the one that needs the fewest seeds decides.

m and s are those of the seeds that are stored. An effect of that size is found by n seeds about half of the time; if
the stored seeds exaggerate it, more are needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..ground.statistics import mean_of, standard_deviation, student_quantile
from .base import CheckedClaim, Claim, Further, Verdict, run_claim

_MOST_SEEDS = 1_000_000


@dataclass(frozen=True)
class Power:
    """What one open claim would take.

    seeds    that are stored and looked at
    mean, sd of the contrast that decides
    way      the verdict that the observed means point to
    needed   the smallest number of seeds that would settle it; None if none would (no difference between the seeds)
    look     the look at which it would be settled, in seeds; None: at none of those that are allowed
    seconds  of processor time for the seeds from `seeds` to `look`, by kind of run, as stored runs took it
    command  that makes them
    """

    claim: str
    statement: str
    seeds: int
    contrast: str
    mean: float
    sd: float
    way: Verdict
    needed: int | None
    look: int | None
    seconds: Mapping[str, float]
    command: str

    @property
    def minutes(self) -> float | None:
        """Core-minutes; None where nothing that is allowed would settle the claim."""
        return None if self.look is None else (self.look - self.seeds) * sum(self.seconds.values()) / 60

    def as_dict(self) -> dict[str, Any]:
        """All fields and the core-minutes as plain values."""
        return {**asdict(self), "minutes": self.minutes}


def seeds_needed(mean: float, sd: float, missed: float) -> int | None:
    """The smallest n >= 2 with t(n - 1, 1 - missed/2) sd / sqrt(n) < |mean|; None if there is none.

    >>> seeds_needed(1.0, 1.0, 0.05), seeds_needed(0.5, 1.0, 0.05), seeds_needed(0.0, 1.0, 0.05)
    (7, 18, None)
    """
    if not (mean and math.isfinite(mean) and math.isfinite(sd)):
        return None

    def enough(n: int) -> bool:
        return student_quantile(n - 1, 1 - missed) * sd < abs(mean) * math.sqrt(n)

    high = 2
    while not enough(high):
        high *= 2
        if high > _MOST_SEEDS:
            return None
    low = high // 2  # the half-width falls with n, so the first sufficient number can be found by bisection
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle >= 2 and enough(middle) else (middle, high)
    return high


def power_of(checked: CheckedClaim, further: Further) -> Power:
    """What would settle an open claim, from the contrasts that its check found."""
    found = {words: list(map(float, values)) for words, values in checked.finding.data.items()}
    facts = {words: (_mean(values), standard_deviation(values)) for words, values in found.items()}
    below = {words: fact for words, fact in facts.items() if fact[0] <= 0}
    way: Verdict = "false" if below else "holds"

    def decides(missed: float) -> tuple[str, int | None]:
        """The contrast that decides, and the seeds it needs."""
        chance = missed / len(facts) if below else missed
        each = {words: seeds_needed(*fact, chance) for words, fact in (below or facts).items()}
        numbers = {words: math.inf if needed is None else float(needed) for words, needed in each.items()}
        chosen = (min if below else max)(numbers, key=numbers.__getitem__)
        return chosen, each[chosen]

    seeds = len(next(iter(found.values())))
    later = [look for look in further.looks if look[0] > seeds]
    settled = next((look for look in later if _at_most(decides(look[1])[1], look[0])), None)
    contrast, needed = decides((settled or (later or further.looks)[-1])[1])
    mean, sd = facts[contrast]
    look = None if settled is None else settled[0]
    return Power(
        checked.claim.id, checked.claim.statement, seeds, contrast, mean, sd, way, needed, look, further.seconds,
        further.command(seeds, look if look is not None else needed or seeds),
    )  # fmt: skip


def _mean(values: list[float]) -> float:
    """Zero where nothing but rounding is left."""
    mean = mean_of(values)
    return 0.0 if abs(mean) < 1e-12 * max(map(abs, values)) else mean


def _at_most(needed: int | None, seeds: int) -> bool:
    return needed is not None and needed <= seeds


def powers(claims: Iterable[Claim], runs: Path | None = None) -> list[Power]:
    """The power of every claim that stored runs do not settle and that states the cost of further runs; cheapest
    first."""
    found = []
    for claim in claims:
        if claim.runs is None or claim.runs.further is None:
            continue
        checked = run_claim(claim, runs)
        if checked.finding.verdict == "not settled":
            folder = claim.runs.folder() if runs is None else runs
            found.append(power_of(checked, claim.runs.further(folder, checked)))
    return sorted(found, key=lambda one: math.inf if one.minutes is None else one.minutes)


def together(plan: Sequence[Power]) -> list[float]:
    """Core-minutes after each entry of a plan, if runs that an earlier entry makes are not made again."""
    made: dict[str, int] = {}
    total, sums = 0.0, []
    for one in plan:
        for kind, seconds in one.seconds.items() if one.look is not None else ():
            assert one.look is not None
            more = one.look - max(one.seeds, made.get(kind, 0))
            total += max(0, more) * seconds / 60
            made[kind] = max(made.get(kind, 0), one.look)
        sums.append(total)
    return sums
