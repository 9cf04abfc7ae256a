"""A run that turns the queues' pull into a swing: the counterexample to sum weights under the printed step condition.

All memory losses are w^2/2. First some tasks rest at 0. One task throws the model to `height`, which fills all their
queues. With eta sum_k Q_k = 2 - eta V a step then multiplies the model by -1: it swings from side to side although the
optima of the remaining tasks hardly differ from 0. Every swing climbs by a share of delta below 1: the full queues
hardly shrink, and the new ones stay empty.
The printed alpha_t contains the mean of the queues, so it does not notice that their sum makes the step too long.

The swing is unstable: a rounding error grows fourfold per task. So the optima are found in a closed loop, a few at a
time, from the models and queues that the simulator itself has reached.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..ground.errors import ColdError
from ..simulation import simulate
from ..tasks import Tasks, from_optima

_BLOCK = 8  # optima between two looks at the simulator: 4^8 roundings are still below 1e-11


def flips(
    *, resting: int, swings: int, u: float, height: float, delta: float, climb: float = 0.0
) -> tuple[Tasks, dict[str, Any]]:
    """Tasks, and the settings of `simulate`; u = eta V, and a swing climbs by climb * delta.

    There are resting + 1 + swings tasks.
    """
    if not (resting >= 1 and swings >= 0 and 0 < u < 2 and height**2 > 2.0 * delta > 0 and 0 <= climb < 1):
        raise ColdError("flips needs resting >= 1, swings >= 0, 0 < u < 2, 0 < 2 delta < height^2 and 0 <= climb < 1")
    eta = 2.0 * (2.0 - u) / (resting * (height**2 - 2.0 * delta))
    settings: dict[str, Any] = {"V": u / eta, "eta": eta, "delta": delta, "steps": 1, "weights": "sum"}
    optima = [0.0] * resting + [height / u]
    while len(optima) < resting + 1 + swings:
        # One more task, so that the run contains the queues that the next step will use.
        run = simulate(_tasks([*optima, 0.0]), **settings)
        x, pull = float(run.w[-2, 0]), eta * float(run.Qbar[-1]) * len(optima)
        for _ in range(min(_BLOCK, resting + 1 + swings - len(optima))):
            target = -math.copysign(math.sqrt(x * x + 2.0 * climb * delta), x)
            optima.append((target - (1.0 - u - pull) * x) / u)
            x, pull = target, pull - eta * resting * (1.0 - climb) * delta
    return _tasks(optima), settings


def _tasks(optima: list[float]) -> Tasks:
    return from_optima(np.array(optima)[:, None], memory_optima=np.zeros((len(optima), 1)))


def exact_flips(
    *, resting: int, swings: int, u: Fraction, height: Fraction, delta: Fraction, climb: Fraction = Fraction(0)
) -> dict[str, dict[str, Any]]:
    """The same run in fractions, as the tables of a file: the models are given, and each optimum solves its step.

    A model after a swing is a fraction of eight decimals just below the square root that it stands for.
    """
    eta = 2 * (2 - u) / (resting * (height**2 - 2 * delta))
    optima, x, queue = [Fraction(0)] * resting + [height / u], height, height**2 / 2 - delta
    for _ in range(swings):
        size = Fraction(math.isqrt(int((x * x + 2 * climb * delta) * 10**16)), 10**8)
        target = -size if x > 0 else size
        optima.append((target - (1 - u - eta * resting * queue) * x) / u)
        queue, x = max(queue + (target**2 - x**2) / 2 - delta, Fraction(0)), target
    tasks = {"optima": [[a] for a in optima], "memory_optima": [[Fraction(0)] for _ in optima]}
    settings: dict[str, Any] = {"V": u / eta, "eta": eta, "delta": delta, "steps": 1, "weights": "sum"}
    return {"tasks": tasks, "settings": settings}
