"""The settings of a run, checked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from .controllers import Controller, Queue, controller_of
from .geometry import Ball
from .ground.errors import ColdError, unknown_name
from .quadratics import Array

Reference = Literal["previous", "best", "stored"]
Weights = Literal["mean", "sum", "none"]
Solver = Literal["gd", "exact"]

ETA_FACTOR = 0.5  # of eta="auto": eta_t = ETA_FACTOR / alpha_t, the paper's largest step size


@dataclass(frozen=True)
class Known:
    """What is known before task t, for S streams and P settings: the argument of a `V_schedule` that is a function."""

    t: int  #: the task, counted from 1
    T: int
    V: Array  #: the settings' V, (1, P)
    delta: Array  #: (1, P)
    x: Array  #: x_{t-1}, (S, P, d)
    Q: Array  #: Q_k[t-1] for k = 1..t-2; Q_{t-1}[t-1] = 0 is left out, (S, P, max(t-2, 0))
    Qbar: Array  #: Qbar[t-1], (S, P)
    lyapunov: Array  #: Lyap[t-1], (S, P)
    factor: Array  #: what the function returned for task t-1, 1 before the first, (S, P)


#: V_t = V * factor_t: factors (T,) or (..., T), or a function from `Known` to factors that broadcast to (S, P). It is
#: called once per task for a part of the streams: a run's factor may depend on that run's own past and on nothing else.
Schedule = Array | Callable[[Known], ArrayLike]


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
    eta_factor: Array = field(default_factory=lambda: np.asarray(ETA_FACTOR))  # of eta="auto", the shape of V
    V_schedule: Schedule | None = None
    controller: Controller = field(default_factory=Queue)

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
        eta_factor: ArrayLike | None = None,
        V_schedule: ArrayLike | Callable[[Known], ArrayLike] | None = None,
        controller: Controller | str | None = None,
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
        if eta_factor is not None and not isinstance(eta, str):
            raise ColdError("eta_factor goes with eta='auto', where eta_t = eta_factor / alpha_t")
        rule = controller_of(controller)
        if rule.looks == "always" and solver == "exact":
            raise ColdError(
                f"the controller {rule.name} goes with solver='gd': its weights change with every iterate, so that "
                "the objective is not quadratic"
            )
        factor = ETA_FACTOR if eta_factor is None else eta_factor
        numbers = {"V": V, "delta": delta, "steps": steps}
        numbers |= {"eta_factor": factor} if isinstance(eta, str) else {"eta": eta}
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
            eta_factor=arrays.get("eta_factor", np.full(arrays["V"].shape, ETA_FACTOR)),
            V_schedule=_schedule(V_schedule),
            controller=rule,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.V.shape


def schedule_factors(text: str, T: int) -> Array:
    """The T factors of a named schedule: `power:P`, `geometric:R`, or `list:F1,F2,...` with the factors themselves.

    >>> schedule_factors("power:0.5", 4)                # V_t = V t^P
    array([1.        , 1.41421356, 1.73205081, 2.        ])
    >>> schedule_factors("geometric:8", 4)              # from V to R V in equal ratios
    array([1., 2., 4., 8.])
    """
    kind, numbers = _read_schedule(text)
    t = np.arange(1, T + 1, dtype=np.float64)
    if kind == "power":
        return np.asarray(t ** numbers[0])
    if kind == "geometric":
        return np.asarray(numbers[0] ** ((t - 1) / max(T - 1, 1)))
    if len(numbers) != T:
        raise ColdError(f"the schedule has {len(numbers)} factors, the stream {T} tasks: give one factor per task")
    return np.array(numbers)


def schedule_text(text: str) -> str:
    """One text per schedule, whichever way its numbers were typed.

    >>> schedule_text("power:.50")
    'power:0.5'
    """
    kind, numbers = _read_schedule(text)
    return f"{kind}:{','.join(map(repr, numbers))}"


def _read_schedule(text: str) -> tuple[str, list[float]]:
    kind, _, rest = text.partition(":")
    try:
        numbers = [float(part) for part in rest.split(",")]
    except ValueError:
        numbers = []
    one = len(numbers) == 1 and (kind == "power" or (kind == "geometric" and numbers[0] > 0))
    if not numbers or not np.isfinite(numbers).all() or not (one or kind == "list"):
        raise ColdError(f"cannot read the schedule {text!r}: give power:P, geometric:R or list:F1,F2,... with numbers")
    return kind, numbers


def _schedule(given: ArrayLike | Callable[[Known], ArrayLike] | None) -> Schedule | None:
    if given is None or callable(given):
        return given
    try:
        factors = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        factors = np.zeros(0)
    if factors.ndim == 0 or factors.size == 0 or not np.isfinite(factors).all() or (factors <= 0).any():
        raise ColdError("V_schedule must be T finite factors > 0, one per task, or a function (see settings.Known)")
    return factors


def _one_shape(numbers: dict[str, ArrayLike]) -> dict[str, Array]:
    try:
        arrays = [np.asarray(value, dtype=np.float64) for value in numbers.values()]
        arrays = [array.copy() for array in np.broadcast_arrays(*arrays)]
    except (TypeError, ValueError):
        raise ColdError("V, eta, delta, steps and eta_factor must be numbers, or arrays of one shape") from None
    if arrays[0].size == 0:
        raise ColdError("V is empty: give at least one value")
    return dict(zip(numbers, arrays, strict=True))
