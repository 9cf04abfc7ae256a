"""The settings of a run, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from .geometry import Ball
from .ground.errors import ColdError, unknown_name
from .quadratics import Array

Reference = Literal["previous", "best"]
Weights = Literal["mean", "sum", "none"]
Solver = Literal["gd", "exact"]


@dataclass(frozen=True, eq=False)
class Settings:
    """V, eta, delta and steps share one shape, each entry one setting; the rest holds for all of them."""

    V: Array
    eta: Array | Literal["auto"]
    delta: Array
    steps: np.ndarray
    reference: Reference
    weights: Weights
    solver: Solver
    window: int | None
    noise: float
    noise_seed: int | tuple[int, ...]  # one for all streams, or one each
    ball: Ball | None

    @staticmethod
    def of(
        *,
        V: ArrayLike,
        eta: ArrayLike | Literal["auto"],
        delta: ArrayLike,
        steps: ArrayLike,
        reference: Reference,
        weights: Weights,
        solver: Solver,
        window: int | None,
        noise: float,
        noise_seed: int | Sequence[int],
        ball: Ball | None,
    ) -> Settings:
        """Settings from what a user gives; see `simulate` for their meaning."""
        choices: tuple[tuple[str, str, Any], ...] = (
            ("reference", reference, Reference), ("weights", weights, Weights), ("solver", solver, Solver),
        )  # fmt: skip
        for kind, name, known in choices:
            if name not in get_args(known):
                raise unknown_name(kind, name, get_args(known))
        if isinstance(eta, str) and eta != "auto":
            raise ColdError(f"eta must be a number > 0 or 'auto', got {eta!r}")
        numbers = {"V": V, "delta": delta, "steps": steps} | ({} if isinstance(eta, str) else {"eta": eta})
        arrays = _one_shape(numbers)
        for name, array in arrays.items():
            bad = ~np.isfinite(array) | ((array < 0) if name == "delta" else (array <= 0))
            if bad.any():
                limit = ">= 0" if name == "delta" else "> 0"
                raise ColdError(f"{name} must be finite and {limit}, got {array[bad].flat[0]}")
        if (arrays["steps"] != np.floor(arrays["steps"])).any():
            raise ColdError("steps must be whole numbers")
        if window is not None and (reference != "best" or window != int(window) or window < 1):
            raise ColdError("window must be a whole number >= 1 and goes with reference='best'")
        if not np.isfinite(noise) or noise < 0:
            raise ColdError(f"noise must be finite and >= 0, got {noise}")
        if noise > 0 and solver == "exact":
            raise ColdError("gradient noise goes with solver='gd': the exact minimiser takes no gradient steps")
        return Settings(
            V=arrays["V"],
            eta="auto" if isinstance(eta, str) else arrays["eta"],
            delta=arrays["delta"],
            steps=arrays["steps"].astype(np.int64),
            reference=reference,
            weights=weights,
            solver=solver,
            window=window,
            noise=float(noise),
            noise_seed=int(noise_seed) if isinstance(noise_seed, int) else tuple(int(s) for s in noise_seed),
            ball=ball,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.V.shape


def _one_shape(numbers: dict[str, ArrayLike]) -> dict[str, Array]:
    try:
        arrays = [np.asarray(value, dtype=np.float64) for value in numbers.values()]
        arrays = [array.copy() for array in np.broadcast_arrays(*arrays)]
    except (TypeError, ValueError):
        raise ColdError("V, eta, delta and steps must be numbers, or arrays of one shape") from None
    if arrays[0].size == 0:
        raise ColdError("V is empty: give at least one value")
    return dict(zip(numbers, arrays, strict=True))
