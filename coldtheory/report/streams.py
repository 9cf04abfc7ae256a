"""The task streams that the page carries, so that it can simulate without a network."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ..controllers import CONTROLLERS
from ..paper import TOY
from ..quadratics import Array
from ..tasks import high, make_tasks

REGIMES = ("low", "high", "conflict")
SEEDS = (0, 1, 2)
T, D = TOY.T, TOY.d


def embedded_streams() -> dict[str, Any]:
    """Optima of every regime and seed. The page forms those of the first n tasks as fixed_t + (t/n) slope, which
    is how HIGH spreads its drift over the tasks; the other regimes have slope 0."""
    streams = {
        f"{regime}/{seed}": {"fixed": encoded(fixed), "slope": encoded(slope)}
        for regime in REGIMES
        for seed in SEEDS
        for fixed, slope in [parts(regime, seed)]
    }
    paper = {name: getattr(TOY, name) for name in ("V", "eta", "delta", "steps", "T")}
    return {
        "T": T, "d": D, "regimes": REGIMES, "seeds": SEEDS, "streams": streams, "paper": paper,
        "controllers": {name: vars(kind()) for name, kind in CONTROLLERS.items()},
    }  # fmt: skip


def parts(regime: str, seed: int) -> tuple[Array, Array]:
    """(fixed (T, d), slope (d,)) of one stream."""
    if regime != "high":
        return make_tasks(regime, seed, T=T, d=D).phi.optima, np.zeros(D)
    return high(seed, T=T, d=D, drift=0.0), (high(seed, T=1, d=D) - high(seed, T=1, d=D, drift=0.0))[0]


def encoded(values: Array) -> str:
    """Little-endian float64, base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")
