"""What a run that requested forgetting has delivered, by the gauge and by the test data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coldtheory.ground.errors import ColdError

from ..config import make_config
from ..forgetting import CEILING, CEILING_WITH_NEW_CLASSES, request_of
from ..metrics import loss_forgetting
from .schema import Result

_AT = 1e-3  # a weight this near to a ceiling, relative to it, lies there


@dataclass(frozen=True, eq=False)
class Delivered:
    """Forgetting after each task from the second on, mean over the past tasks, (T-1,), in the request's unit."""

    requested: float
    kind: str  #: "loss" in nats, or "accuracy" as a share
    gauge: NDArray[np.float64]  #: as the gauge has measured it
    test: NDArray[np.float64]  #: on the test data
    worst: float  #: of a single task at the end of the run, on the test data
    weight: NDArray[np.float64]  #: of the past at the end of each task
    tolerance: float  #: how far what is delivered may be from the request

    @property
    def smallest(self) -> float | None:
        """delta': the smallest forgetting that could be reached, where the request lies below it; else None.

        The request is out of reach if forgetting exceeds it although the weight reached its ceiling in the second half
        of the tasks. delta' is the average there.
        """
        late = slice(len(self.weight) // 2, None)
        ceilings = (CEILING, CEILING_WITH_NEW_CLASSES)  # a weight is held at one of them, and only passes elsewhere
        at_ceiling = any(np.isclose(self.weight[late], ceiling, rtol=_AT).any() for ceiling in ceilings)
        return self.settled()[0] if at_ceiling and self.exceeded else None

    @property
    def exceeded(self) -> bool:
        """Is more forgotten than requested and tolerated, on average over the second half of the tasks?"""
        return self.settled()[0] > self.requested + self.tolerance

    def settled(self) -> tuple[float, float]:
        """Mean over the second half of the tasks: (on the gauge, on the test data)."""
        half = len(self.test) // 2
        return float(self.gauge[half:].mean()), float(self.test[half:].mean())


def delivered(result: Result) -> Delivered | None:
    """None for a run that requested nothing, or that has a single task."""
    config = make_config(result.config)
    request = request_of(config.forget, config.forget_acc)
    if request is None:
        return None
    gauge, weight = result.array(f"gauge_{request.kind}"), result.array("requested_weight")
    test = result.array(request.kind)
    if gauge is None or weight is None or test is None:
        raise ColdError(f"{result.run_id} requested forgetting and lacks its measurements; run it again")
    if len(test) < 2:
        return None
    sign = 1.0 if request.kind == "loss" else -1.0
    measured, tested = loss_forgetting(sign * gauge), loss_forgetting(sign * test)
    return Delivered(
        requested=request.amount,
        kind=request.kind,
        gauge=np.nanmean(measured[1:], axis=1),
        test=np.nanmean(tested[1:], axis=1),
        worst=float(np.nanmax(tested[-1])),
        weight=np.asarray(weight[1:], dtype=np.float64),
        tolerance=request.tolerance,
    )
