"""COLD on losses that are not quadratic: gradient descent, or, on sums of cosines, the minimiser over a finite set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from ..ground.checks import choice, numbers, whole
from ..ground.errors import ColdError
from ..quadratics import Array
from ..settings import Reference
from .cosines import Cosines
from .facts import CosineFacts
from .sets import Box, Points
from .smooth import Smooth
from .trace import Losses, SmoothFacts, Trace

Choice = Callable[[int, Array, Array], tuple[Array, list[Array]]]


@dataclass(frozen=True)
class _Rule:
    """V, delta (R,) and how queues are made and weighted."""

    V: Array
    delta: Array
    reference: str
    weights: str


@overload
def descend(
    phi: Cosines, hat: Cosines | None = None, *, w0: ArrayLike, V: ArrayLike, delta: ArrayLike, eta: ArrayLike,
    steps: int = 1, reference: str = "previous", weights: str = "mean",
) -> CosineFacts: ...  # fmt: skip
@overload
def descend(
    phi: Smooth, hat: Smooth | None = None, *, w0: ArrayLike, V: ArrayLike, delta: ArrayLike, eta: ArrayLike,
    steps: int = 1, reference: str = "previous", weights: str = "mean",
) -> SmoothFacts: ...  # fmt: skip
def descend(
    phi: Cosines | Smooth,
    hat: Cosines | Smooth | None = None,
    *,
    w0: ArrayLike,
    V: ArrayLike,
    delta: ArrayLike,
    eta: ArrayLike,
    steps: int = 1,
    reference: str = "previous",
    weights: str = "mean",
) -> CosineFacts | SmoothFacts:
    """J = `steps` gradient steps of size eta on DPP_t for every task. What is returned can be given to
    `coldtheory.bounds.evaluate`; the conventions are those of `coldtheory.simulation`.

    phi, hat      : the losses, and those that the memory sees (the same, unless given)
    w0            : x_0, (d,) or (R, d)
    V, delta, eta : one number, or one per run, (R,). Sums of cosines may differ from run to run; losses of one's own
                    are the same in all runs, of which there are as many as numbers are given

    For sums of cosines W is the smallest box around all iterates and centres. For other losses there is no W.
    """
    hat = phi if hat is None else hat
    if isinstance(phi, Smooth) != isinstance(hat, Smooth) or (phi.T, phi.d) != (hat.T, hat.d):
        raise ColdError("phi and hat must be losses of one kind, with the same numbers of tasks and parameters")
    given = {name: numbers(name, value) for name, value in (("V", V), ("delta", delta), ("eta", eta))}
    start = numbers("w0", w0)
    if isinstance(phi, Smooth) and isinstance(hat, Smooth):
        R = max([len(value) for value in given.values() if value.ndim] + [len(start)] * (start.ndim == 2), default=1)
        same = hat is phi
        phi = phi.for_runs(R)
        hat = phi if same else hat.for_runs(R)
    rule = _rule(phi.R, given["V"], given["delta"], reference, weights)
    size, start = _per_run("eta", given["eta"], (phi.R,)), _per_run("w0", start, (phi.R, phi.d))
    J = whole("steps", steps, least=1)

    def choose(t: int, x: Array, beta: Array) -> tuple[Array, list[Array]]:
        visited, present = [], np.zeros_like(beta)
        present[:, t] = rule.V
        for _ in range(J):
            visited.append(x)
            x = x - size[:, None] * (phi.pull(x, present) + hat.pull(x, beta))
            if isinstance(phi, Smooth) and isinstance(hat, Smooth):
                phi.check_step([t], visited[-1], x)
                hat.check_step(np.flatnonzero(beta.any(axis=0)), visited[-1], x)
        return x, visited

    trace = _follow(phi, hat, start, rule, choose)
    if isinstance(phi, Smooth) and isinstance(hat, Smooth):
        return SmoothFacts(phi, hat, trace, eta=size, steps=J)
    assert isinstance(phi, Cosines)
    assert isinstance(hat, Cosines)
    W = Box.around(np.concatenate([trace.w, trace.inner.reshape(phi.R, -1, phi.d), phi.centres, hat.centres], axis=1))
    return CosineFacts(phi, hat, trace, W, eta=size, steps=J, solver="gd")


def minimise_on_grid(
    phi: Cosines,
    hat: Cosines | None = None,
    *,
    low: float,
    high: float,
    count: int,
    w0: int = 0,
    V: ArrayLike,
    delta: ArrayLike,
    reference: str = "previous",
    weights: str = "mean",
) -> CosineFacts:
    """x_t the exact minimiser of DPP_t over W, a grid of `count` points per coordinate; x_0 is its point number w0."""
    hat = phi if hat is None else hat
    rule = _rule(phi.R, V, delta, reference, weights)
    grid = np.array(list(product(np.linspace(low, high, count), repeat=phi.d)))
    points = np.broadcast_to(grid, (phi.R, *grid.shape))
    now, past = phi.values(points), hat.values(points)

    def choose(t: int, x: Array, beta: Array) -> tuple[Array, list[Array]]:
        best = (rule.V[:, None] * now[:, :, t] + np.matvec(past, beta)).argmin(axis=1)
        return grid[best], [x]

    trace = _follow(phi, hat, np.broadcast_to(grid[w0], (phi.R, phi.d)), rule, choose)
    return CosineFacts(phi, hat, trace, Points(points), eta=np.ones(phi.R), steps=1, solver="exact")


def _rule(R: int, V: ArrayLike, delta: ArrayLike, reference: str, weights: str) -> _Rule:
    choice("reference", reference, get_args(Reference))
    choice("weights", weights, ("mean", "sum"))
    found = [_per_run(name, numbers(name, value), (R,)) for name, value in (("V", V), ("delta", delta))]
    if not (found[0] > 0).all() or not (found[1] >= 0).all():
        raise ColdError("V must be > 0 and delta >= 0")
    return _Rule(found[0], found[1], reference, weights)


def _per_run(name: str, values: Array, shape: tuple[int, ...]) -> Array:
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ColdError(f"{name} must have a shape that broadcasts to {shape}, got {values.shape}") from None


def _follow(phi: Losses, hat: Losses, start: Array, rule: _Rule, choose: Choice) -> Trace:
    """The models that `choose(t, x, beta)` picks, with their queues."""
    R, T, d = phi.R, phi.T, phi.d
    w, inner = np.empty((R, T + 1, d)), []
    Q, increments = np.zeros((R, T + 1, T)), np.zeros((R, T, T))
    w[:, 0] = start
    excess = np.zeros((R, T))  # of the last model over the reference, on every memory loss
    for t in range(T):
        beta = Q[:, t] / (max(t, 1) if rule.weights == "mean" else 1)
        w[:, t + 1], visited = choose(t, w[:, t], beta)
        inner.append(np.stack(visited, axis=1))
        grow = hat.rises(w[:, t], w[:, t + 1] - w[:, t])
        increments[:, t, :t] = (excess + grow)[:, :t]
        Q[:, t + 1, :t] = np.maximum(Q[:, t, :t] + increments[:, t, :t] - rule.delta[:, None], 0.0)
        if rule.reference == "best":  # x_0 is not a candidate
            excess = np.maximum(excess + grow, 0.0) if t else excess
        elif rule.reference == "stored":  # of the tasks before this one, each compared with the model at its end
            excess = np.where(np.arange(T) < t, excess + grow, 0.0)
    return Trace(w, np.stack(inner, axis=1), Q, increments, rule.V, rule.delta, rule.reference, rule.weights)
