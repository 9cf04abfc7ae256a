"""Forgetting on request: a weight of the past that follows a gauge until forgetting is what was asked for.

All past tasks share one weight, and a step minimises

    (mean loss on the batch) + weight * sum_{k<t} (constraint of task k)

The more weight, the less is forgotten: measured forgetting falls about as weight^(-3/4). The gauge (`cold.gauge`) is
looked at some twenty times per task, and the weight moves by a factor:

    e = clip((q F - requested) / requested, -1, 1),     weight <- clip(weight * exp(2 p r e / looks), floor, ceiling)

F is the mean of F_k over the past tasks and p, from 0 to 1, how far the task has gone. Forgetting is larger while the
network begins a task than at its end, where a user measures it. So the last looks count most, and q turns what is seen
at looks into what will be left at the end: it is learnt from the tasks before, as half of the old q and half of the
last task's (F at the end) / (mean of F at the looks, weighted by p). The steps are factors and not sums because the
weight that is needed ranges over orders of magnitude.

**Nothing winds up.** At the floor, where forgetting stays below the request by itself, the past has no weight at all:
the queues are empty. The ceiling is where more weight no longer pays: from there on the present task suffers and the
past hardly gains. It is higher where classes come one after the other to one head, for there the past has to hold its
ground against the new classes. A request that is exceeded there by more than `tolerance`, on average over the second
half of the tasks, cannot be met: the run goes on with the weight that serves accuracy best, and says which forgetting,
delta', is the smallest that it could reach: the theory's premise delta > delta'.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import e
from typing import Any, Literal

from .config import check_request

Number = Any  # an array or a tensor
LOOKS = 20  #: at the gauge during one task
LOOK_COST = 0.05  #: share of a step's arithmetic that looks may take
RATE = 4.0  #: r above: how far, in log units, a task of the largest error moves the weight
FLOOR, CEILING, START = 1e-3, 0.6, 0.3
CEILING_WITH_NEW_CLASSES = 3.0  #: where classes come one after the other to one head
RATIOS = (0.5, 2.0)  #: between which a task may move the factor of the looks
_SMALLEST = {"loss": 0.01, "accuracy": 0.002}  # in whose units the error is taken where less is asked for


@dataclass(frozen=True)
class Request:
    """How much may be forgotten, on average over the past tasks: nats of loss, or a share of right answers."""

    amount: float
    kind: Literal["loss", "accuracy"] = "loss"

    @property
    def smallest(self) -> float:
        """An amount that no gauge of usual size tells from nothing."""
        return _SMALLEST[self.kind]

    @property
    def tolerance(self) -> float:
        """How far delivered forgetting may be from the request: a fifth, or what a gauge of usual size can tell."""
        return max(self.smallest, 0.2 * self.amount)

    def moved(
        self, weight: Number, forgetting: Number, progress: float, looks: int, ceiling: float = CEILING
    ) -> Number:
        """The weight after a look at `progress` of the task, one of so many looks.

        >>> import numpy as np
        >>> Request(0.1).moved(np.array(0.1), np.array(0.3), 1.0, 8).round(4)
        np.float64(0.2718)
        """
        error = ((forgetting - self.amount) / max(self.amount, self.smallest)).clip(-1.0, 1.0)
        return (weight * e ** (2.0 * progress * RATE * error / looks)).clip(FLOOR, ceiling)


def request_of(forget: float | None, forget_acc: float | None) -> Request | None:
    """The request that `--forget` or `--forget-acc` makes; None if neither is given."""
    check_request(forget, forget_acc)
    if forget is not None:
        return Request(float(forget))
    return None if forget_acc is None else Request(float(forget_acc), "accuracy")


def looks_of(steps: int, batch: int, past: int) -> tuple[int, int]:
    """(every which step to look, at how many samples): looks cost at most `LOOK_COST` of the arithmetic of a task of
    `steps` steps on `batch` samples each, counting a backward pass as two forward passes; one sample per task at least.

    >>> looks_of(400, 140, 10)
    (20, 420)
    """
    looks = min(LOOKS, max(1, steps))
    return max(1, steps // looks), max(past, int(3 * LOOK_COST * steps * batch / looks))
