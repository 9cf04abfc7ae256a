"""The settings of a run, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from .geometry import Ball
from .ground.checks import LARGEST_WHOLE, choice, kind_of, number, numbers, whole
from .ground.errors import ColdError
from .ground.limits import array_bytes, demand_memory
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
            choice(kind, name, get_args(known))
        if isinstance(eta, str) and eta != "auto":
            raise ColdError(f"eta must be a number > 0 or 'auto', got {eta!r}")
        arrays = _one_shape({"V": V, "delta": delta, "steps": steps} | ({} if isinstance(eta, str) else {"eta": eta}))
        for name, array in arrays.items():
            bad = ~np.isfinite(array) | ((array < 0) if name == "delta" else (array <= 0))
            if bad.any():
                limit = ">= 0" if name == "delta" else "> 0"
                raise ColdError(f"{name} must be finite and {limit}, got {array[bad].flat[0]}")
        if (arrays["steps"] != np.floor(arrays["steps"])).any():
            raise ColdError("steps must be whole numbers")
        if (arrays["steps"] > LARGEST_WHOLE).any():
            raise ColdError(f"steps must be at most {LARGEST_WHOLE}, got {arrays['steps'].max():g}")
        if window is not None:
            window = whole("window", window, least=1)
            if reference != "best":
                raise ColdError("window must be a whole number >= 1 and goes with reference='best'")
        noise = number("noise", noise, least=0)
        if ball is not None:
            kind_of("ball", ball, Ball, "make one with Ball(center, radius)")
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
            noise=noise,
            noise_seed=_keys(noise_seed),
            ball=ball,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.V.shape


def _one_shape(given: dict[str, ArrayLike]) -> dict[str, Array]:
    arrays = [numbers(name, value, finite=False, copy=False) for name, value in given.items()]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        raise ColdError("V, eta, delta and steps must be numbers, or arrays of one shape") from None
    demand_memory(len(arrays) * array_bytes(shape), f"settings of the shape {shape}")
    if 0 in shape:
        raise ColdError("V is empty: give at least one value")
    return {name: np.broadcast_to(array, shape).copy() for name, array in zip(given, arrays, strict=True)}


def _keys(noise_seed: int | Sequence[int]) -> int | tuple[int, ...]:
    if isinstance(noise_seed, list | tuple | range | np.ndarray):
        return tuple(whole("noise_seed", seed, least=0) for seed in noise_seed)
    return whole("noise_seed", noise_seed, least=0)
