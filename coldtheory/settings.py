"""The settings of a run, checked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from itertools import product
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike

from .controllers import Controller, Queue, controller_of
from .geometry import Ball
from .ground.checks import LARGEST_WHOLE, choice, kind_of, number, numbers, whole
from .ground.errors import ColdError
from .ground.limits import array_bytes, demand_memory
from .quadratics import Array

Reference = Literal["previous", "best", "stored"]
OWN = "own"  #: how records call a reference that is a function
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


class MemoryLosses(Protocol):
    """hatPhi_k of the past tasks k = 1..t-1, at any models."""

    def __call__(self, models: ArrayLike) -> Array:
        """At one model per run, (S, P, d), or at one per run and past task, (S, P, t-1, d): (S, P, t-1)."""

    def of_run(self, at: tuple[int, int]) -> MemoryLosses:
        """The same for one run, without the axes S and P: (d,) or (t-1, d) -> (t-1,)."""


@dataclass(frozen=True, eq=False)
class Past:
    """What is known before the step on task t, for S streams and P settings: the argument of a `reference` that is a
    function. With `per_run` it has no axes S and P."""

    t: int  #: the task, from 2 on: the first has no past
    T: int
    models: Array  #: x_0 .. x_{t-1}, (S, P, t, d)
    losses: Array  #: losses[..., s, k-1] = hatPhi_k(x_s) for s = 0..t-1 and the past tasks k = 1..t-1, (S, P, t, t-1)
    loss: MemoryLosses  #: the losses at other models, such as a mean of them


#: A user's own reference: from `Past` to hatPhi_k(ref_{t,k}) for k = 1..t-1, numbers that broadcast to (S, P, t-1).
#: It is called once per task for a part of the streams: a run's reference may depend on that run's own past and on
#: nothing else.
Rule = Callable[[Past], ArrayLike]


def per_run(rule: Rule) -> Rule:
    """A reference rule for `simulate` from one that is written for a single run: it sees models (t, d) and losses
    (t, t-1), and returns t-1 numbers.

    >>> from coldtheory import simulate
    >>> lately = per_run(lambda past: past.losses[-3:].mean(axis=0))    # the mean loss of the last three models
    >>> simulate([[0.0], [1.0], [3.0]], V=[1.0, 2.0], reference=lately).settings.case
    'own'
    """

    @wraps(rule)
    def batched(past: Past) -> Array:
        S, P = past.models.shape[:2]
        found = np.empty((S, P, past.t - 1))
        for at in product(range(S), range(P)):
            found[at] = rule(replace(past, models=past.models[at], losses=past.losses[at], loss=past.loss.of_run(at)))
        return found

    return batched


@dataclass(frozen=True, eq=False)
class Settings:
    """V, eta, delta and steps share one shape, each entry one setting; the rest holds for all of them."""

    V: Array
    eta: Array | Literal["auto"]
    delta: Array
    steps: np.ndarray
    reference: Reference | Rule
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
        reference: Reference | Rule,
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
        choices: list[tuple[str, Any, Any]] = [("weights", weights, Weights), ("solver", solver, Solver)]
        for kind, name, known in choices + [("reference", reference, Reference)] * (not callable(reference)):
            choice(kind, name, get_args(known))
        if isinstance(eta, str) and eta != "auto":
            raise ColdError(f"eta must be a number > 0 or 'auto', got {eta!r}")
        if eta_factor is not None and not isinstance(eta, str):
            raise ColdError("eta_factor goes with eta='auto', where eta_t = eta_factor / alpha_t")
        rule = controller_of(controller)
        if rule.looks == "always" and solver == "exact":
            raise ColdError(
                f"the controller {rule.name} goes with solver='gd': its weights change with every iterate, so "
                "the objective is not quadratic"
            )
        factor = ETA_FACTOR if eta_factor is None else eta_factor
        given = {"V": V, "delta": delta, "steps": steps}
        given |= {"eta_factor": factor} if isinstance(eta, str) else {"eta": eta}
        arrays = _one_shape(given)
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
            eta_factor=arrays.get("eta_factor", np.full(arrays["V"].shape, ETA_FACTOR)),
            V_schedule=_schedule(V_schedule),
            controller=rule,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The common shape of V, eta, delta and steps."""
        return self.V.shape

    @property
    def case(self) -> str:
        """The name of the reference: "previous" (Case 1), "best" (Case 2), "stored" (Case 3), or "own" for a
        function."""
        return self.reference if isinstance(self.reference, str) else OWN


def schedule_factors(text: str, T: int) -> Array:
    """The T factors of a named schedule: `power:P`, `geometric:R`, or `list:F1,F2,...` with the factors themselves.

    >>> schedule_factors("power:0.5", 4)                # V_t = V t^P
    array([1.        , 1.41421356, 1.73205081, 2.        ])
    >>> schedule_factors("geometric:8", 4)              # from V to R V in equal ratios
    array([1., 2., 4., 8.])
    """
    kind, given = _read_schedule(text)
    t = np.arange(1, T + 1, dtype=np.float64)
    if kind == "power":
        with np.errstate(over="ignore"):  # what is not finite is refused with the settings
            return np.asarray(t ** given[0])
    if kind == "geometric":
        return np.asarray(given[0] ** ((t - 1) / max(T - 1, 1)))
    if len(given) != T:
        raise ColdError(f"the schedule has {len(given)} factors, the stream {T} tasks: give one factor per task")
    return np.array(given)


def schedule_text(text: str) -> str:
    """One text per schedule, whichever way its numbers were typed.

    >>> schedule_text("power:.50")
    'power:0.5'
    """
    kind, given = _read_schedule(text)
    return f"{kind}:{','.join(map(repr, given))}"


def _read_schedule(text: str) -> tuple[str, list[float]]:
    kind, _, rest = text.partition(":")
    try:
        given = [float(part) for part in rest.split(",")]
    except ValueError:
        given = []
    one = len(given) == 1 and (kind == "power" or (kind == "geometric" and given[0] > 0))
    if not given or not np.isfinite(given).all() or not (one or kind == "list"):
        raise ColdError(f"cannot read the schedule {text!r}: give power:P, geometric:R or list:F1,F2,... with numbers")
    return kind, given


def _schedule(given: ArrayLike | Callable[[Known], ArrayLike] | None) -> Schedule | None:
    if given is None or callable(given):
        return given
    factors = numbers("V_schedule", given)
    if factors.ndim == 0 or factors.size == 0 or (factors <= 0).any():
        raise ColdError("V_schedule must be T finite factors > 0, one per task, or a function (see settings.Known)")
    return factors


def _one_shape(given: dict[str, ArrayLike]) -> dict[str, Array]:
    arrays = [numbers(name, value, finite=False, copy=False) for name, value in given.items()]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        raise ColdError("V, eta, delta, steps and eta_factor must be numbers, or arrays of one shape") from None
    demand_memory(len(arrays) * array_bytes(shape), f"settings of the shape {shape}")
    if 0 in shape:
        empty = next(name for name, array in zip(given, arrays, strict=True) if array.size == 0)
        raise ColdError(f"{empty} is empty: give at least one value")
    return {name: np.broadcast_to(array, shape).copy() for name, array in zip(given, arrays, strict=True)}


def _keys(noise_seed: Any) -> int | tuple[int, ...]:
    if isinstance(noise_seed, list | tuple | range) or (isinstance(noise_seed, np.ndarray) and noise_seed.ndim):
        return tuple(whole("noise_seed", seed, least=0) for seed in noise_seed)
    return whole("noise_seed", noise_seed, least=0)
