"""Task sets of many kinds, with settings to match: what `advise` is tried on."""

from __future__ import annotations

from typing import Any

import numpy as np

from coldtheory import Tasks, from_optima

KINDS = ("noise", "walk", "drift", "blocks", "mixed")
COUNT = 200


def random_set(seed: int) -> tuple[Tasks, dict[str, Any]]:
    """Tasks with one Hessian in common, where the closed form can apply, and the settings of `advise`."""
    rng = np.random.default_rng(seed)
    T, d = int(rng.integers(2, 25)), int(rng.integers(1, 7))
    kind = KINDS[seed % len(KINDS)]
    way = rng.normal(0, rng.choice([0.1, 1.0, 5.0]), d) + rng.choice([0.02, 0.2, 1.0]) * rng.standard_normal((T, d))
    if kind in ("walk", "mixed"):
        way = way + np.cumsum(rng.choice([0.05, 0.5]) * rng.standard_normal((T, d)), axis=0)
    if kind in ("drift", "mixed"):
        way = way + np.linspace(0, 1, T)[:, None] * rng.normal(0, 2, d)
    if kind == "blocks":
        side = 1.0 - 2.0 * ((np.arange(T) // rng.integers(1, 8)) % 2)
        way = way + side[:, None] * rng.normal(0, rng.choice([0.3, 3.0]), d)
    return from_optima(way, _hessians(rng, T, d)), {
        "eta": float(10 ** rng.uniform(-4, -1)),
        "delta": float(10 ** rng.uniform(-7, 0)),
        "steps": int(rng.integers(1, 6)),
        "weights": str(rng.choice(["mean", "mean", "sum"])),
        "reference": str(rng.choice(["previous", "best", "stored"])),
    }


def _hessians(rng: np.random.Generator, T: int, d: int) -> np.ndarray:
    scale = float(rng.choice([0.1, 1.0, 30.0]))
    if rng.random() < 0.7:
        return np.full(T, scale)
    A = rng.standard_normal((d, d))
    return np.broadcast_to(scale * A @ A.T / d, (T, d, d))
