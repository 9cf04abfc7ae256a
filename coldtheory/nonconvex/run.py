"""COLD on sums of cosines: gradient descent, or the exact minimiser over a finite set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from ..ground.errors import ColdError
from ..quadratics import Array
from ..settings import Reference
from .cosines import Cosines
from .facts import CosineFacts, CosineTrace
from .sets import Box, Points

Choice = Callable[[int, Array, Array], tuple[Array, list[Array]]]


@dataclass(frozen=True)
class _Rule:
    """V, delta (R,) and how queues are made and weighted."""

    V: Array
    delta: Array
    reference: str
    weights: str


def descend(
    phi: Cosines,
    hat: Cosines | None = None,
    *,
    w0: ArrayLike,
    V: ArrayLike,
    delta: ArrayLike,
    eta: ArrayLike,
    steps: int = 1,
    reference: str = "previous",
    weights: str = "mean",
) -> CosineFacts:
    """J = `steps` gradient steps of size eta on DPP_t for every task; W is the smallest box around all iterates and
    centres. Numbers may be one or (R,) a run; the conventions are those of `coldtheory.simulation`."""
    hat = phi if hat is None else hat
    rule = _rule(phi, V, delta, reference, weights)
    size = np.broadcast_to(np.asarray(eta, dtype=np.float64), (phi.R,))

    def choose(t: int, x: Array, beta: Array) -> tuple[Array, list[Array]]:
        visited = []
        for _ in range(steps):
            visited.append(x)
            now = rule.V[:, None] * phi.gradients(x[:, None])[:, 0, t]
            x = x - size[:, None] * (now + np.vecmat(beta, hat.gradients(x[:, None])[:, 0]))
        return x, visited

    start = np.broadcast_to(np.asarray(w0, dtype=np.float64), (phi.R, phi.d))
    trace = _follow(phi, hat, start, rule, choose)
    W = Box.around(np.concatenate([trace.w, trace.inner.reshape(phi.R, -1, phi.d), phi.centres, hat.centres], axis=1))
    return CosineFacts(phi, hat, trace, W, eta=size, steps=steps, solver="gd")


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
    rule = _rule(phi, V, delta, reference, weights)
    grid = np.array(list(product(np.linspace(low, high, count), repeat=phi.d)))
    points = np.broadcast_to(grid, (phi.R, *grid.shape))
    now, past = phi.values(points), hat.values(points)

    def choose(t: int, x: Array, beta: Array) -> tuple[Array, list[Array]]:
        best = (rule.V[:, None] * now[:, :, t] + np.matvec(past, beta)).argmin(axis=1)
        return grid[best], [x]

    trace = _follow(phi, hat, np.broadcast_to(grid[w0], (phi.R, phi.d)), rule, choose)
    return CosineFacts(phi, hat, trace, Points(points), eta=np.ones(phi.R), steps=1, solver="exact")


def _rule(phi: Cosines, V: ArrayLike, delta: ArrayLike, reference: str, weights: str) -> _Rule:
    if reference not in get_args(Reference) or weights not in ("mean", "sum"):
        raise ColdError("reference must be 'previous', 'best' or 'stored', weights 'mean' or 'sum'")
    numbers = [np.broadcast_to(np.asarray(value, dtype=np.float64), (phi.R,)) for value in (V, delta)]
    if not (numbers[0] > 0).all() or not (numbers[1] >= 0).all():
        raise ColdError("V must be > 0 and delta >= 0")
    return _Rule(numbers[0], numbers[1], reference, weights)


def _follow(phi: Cosines, hat: Cosines, start: Array, rule: _Rule, choose: Choice) -> CosineTrace:
    """The models that `choose(t, x, beta)` picks, with their queues."""
    R, T, d = phi.centres.shape
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
        if rule.reference == "best":  # x_0 is no candidate
            excess = np.maximum(excess + grow, 0.0) if t else excess
        elif rule.reference == "stored":  # of the tasks before this one, each compared with the model at its end
            excess = np.where(np.arange(T) < t, excess + grow, 0.0)
    return CosineTrace(w, np.stack(inner, axis=1), Q, increments, rule.V, rule.delta, rule.reference, rule.weights)
