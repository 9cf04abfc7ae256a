"""How a budget is spent: rounds of settings, each thinned out by successive halving.

The budget is counted in whole runs, and a run in its tasks: a trial that has learned 5 of 20 tasks has cost a quarter
of a run. All methods have the same rule, and so the same number of settings for the same budget.

A round starts with some settings; all of them learn a quarter of the tasks, the better half of them goes on to half of
the tasks, and the better half of those to the end. What is learned is not learned again: a trial goes on from its
checkpoint. Settings are compared only with those of the same round, when all of these have reached the same point, so
the outcome does not depend on which worker was first.

Why tasks, and not fewer images: a run that has learned some of its tasks is the beginning of the very run that is
wanted, with the same steps per task, the same memory and the same queues. Why a quarter at least, and half of them
kept: docs/tuning.md has what stored runs say about it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from coldtheory.ground.checks import whole

_MOST_ROUNDS = 3
_MOST_RUNS = 100_000
_RUNS_PER_ROUND = 4  # eight settings of which two learn all tasks: fewer leave nothing to halve
_PARTS = (4, 2, 1)  # a trial is looked at after this part of all tasks
_FEWEST_TASKS = 2  # before the second task nothing can be forgotten


@dataclass(frozen=True)
class Rung:
    """`trials` settings have learned `tasks` tasks."""

    tasks: int
    trials: int


@dataclass(frozen=True)
class Round:
    """Trials with the numbers from `first` on, and how many of them come how far."""

    first: int
    rungs: tuple[Rung, ...]

    @property
    def numbers(self) -> range:
        """The numbers of the trials of this round."""
        return range(self.first, self.first + self.rungs[0].trials)

    @property
    def cost(self) -> int:
        """In tasks."""
        before = (0, *(rung.tasks for rung in self.rungs))
        return sum(rung.trials * (rung.tasks - done) for rung, done in zip(self.rungs, before, strict=False))


def planned(budget: int, tasks: int) -> tuple[Round, ...]:
    """The rounds that a budget of whole runs pays for; the later ones learn from the earlier ones.

    >>> [[(rung.tasks, rung.trials) for rung in one.rungs] for one in planned(8, 20)]
    [[(5, 8), (10, 4), (20, 2)], [(5, 8), (10, 4), (20, 2)]]
    """
    left = whole("budget", budget, least=1, most=_MOST_RUNS) * tasks
    count = max(1, min(_MOST_ROUNDS, budget // _RUNS_PER_ROUND))
    rounds: list[Round] = []
    for to_come in range(count, 0, -1):
        first = rounds[-1].numbers.stop if rounds else 0
        rounds.append(_largest_round(first, left // to_come, tasks))
        left -= rounds[-1].cost
    return tuple(rounds)


def best(accuracies: Mapping[int, float], count: int) -> list[int]:
    """The numbers of the `count` best trials, best first; of equal ones, the one that was proposed first.

    >>> best({0: 80.0, 1: 90.0, 2: 80.0}, 2)
    [1, 0]
    """
    return sorted(accuracies, key=lambda number: (-accuracies[number], number))[:count]


def stops(tasks: int) -> tuple[int, ...]:
    """After how many tasks trials are compared.

    >>> stops(20), stops(5), stops(2), stops(1)
    ((5, 10, 20), (2, 3, 5), (2,), (1,))
    """
    least = min(_FEWEST_TASKS, tasks)
    return tuple(dict.fromkeys(max(least, math.ceil(tasks / part)) for part in _PARTS))


def _largest_round(first: int, budget: int, tasks: int) -> Round:
    """The round with as many settings as the budget, in tasks, pays for; at least one."""
    found = _round(first, 1, tasks)
    while (larger := _round(first, found.rungs[0].trials + 1, tasks)).cost <= budget:
        found = larger
    return found


def _round(first: int, trials: int, tasks: int) -> Round:
    return Round(first, tuple(Rung(at, max(1, trials // 2**i)) for i, at in enumerate(stops(tasks))))
