"""What can be measured on a run: how much the losses vary, how gradients conflict, and which premises hold.

Everything is batched over a run's leading axes `...` (streams, then settings). The paper's set W is a ball,
by default the smallest one around all optima and all models x_0..x_T of the run. Readings of the variation:

    "ball"        sup over the ball, the paper's definition with W made explicit
    "trajectory"  the value at the model the proofs need it at, the weakest premise of all
    "hull"        sup over the convex hull of x_0..x_T, as seen from its corners (see `hull_is_exact`)

A ball given by the user has a center that broadcasts to (..., d). Where a ball is needed, a diverged run gets NaN.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np

from ._flat import FlatRuns, balls_of, blocks, part, per_ball
from .geometry import Ball, difference, inf_inner_gradients, smallest_enclosing_balls, sup_abs_difference
from .ground.checks import choice
from .quadratics import Array, Quadratics
from .simulation import Run

Reading = Literal["ball", "trajectory", "hull"]

_RTOL = 1e-12  # rounding that does not count as a broken premise


def enclosing_ball(run: Run) -> Ball:
    """The smallest ball around the optima of all Phi_t and hatPhi_t and the whole trajectory, of each run: (...).

    The ball of the optima and x_0 is found once per stream. A run that stays inside has the same smallest ball,
    for x_0 is one of its models; only the others need a ball of their own. Diverged runs get NaN.
    The models between two tasks (inner gradient steps) are not looked at: with eta alpha_t <= 1 and isotropic
    losses they lie on the segment from x_{t-1} to x_t.
    """
    flat = FlatRuns.of(run)
    start = flat.w.reshape(flat.S, -1, *flat.w.shape[1:])[:, 0, :1]
    shared = smallest_enclosing_balls(np.concatenate([flat.optima(slice(None)), start], axis=1))
    center, radius = shared.center[flat.stream], shared.radius[flat.stream]
    lost = flat.lost
    inside = Ball.unchecked(center, radius).contains(flat.w, _RTOL).all(axis=-1)
    usual = inside & (flat.w[:, 0] == start[flat.stream, 0]).all(-1)
    own = np.flatnonzero(~usual & ~lost)
    for at in blocks(len(own), flat.w[0].size + flat.optima(slice(1)).size):
        points = np.concatenate([flat.optima(flat.stream[own[at]]), flat.w[own[at]]], axis=1)
        balls = smallest_enclosing_balls(points)
        center[own[at]], radius[own[at]] = balls.center, balls.radius
    center[lost], radius[lost] = np.nan, np.nan
    return Ball.unchecked(center.reshape(*flat.lead, -1), radius.reshape(flat.lead))


# ---------------------------------------------------------------------------------------------------
# Variation of the losses


def loss_variation(run: Run, reading: Reading = "ball", ball: Ball | None = None) -> Array:
    """D_Phi[T] = (1/T) sum_{t=2}^T sup |Phi_t - Phi_{t-1}| (Definition `def:Dphi`; the term t = 1 is 0), (...).

    "trajectory" takes the value at x_{t-1}, which is what the proofs of the gradient theorems use.
    """
    return np.asarray(loss_variation_terms(run, reading, ball).mean(axis=-1))


def memory_variation(run: Run, reading: Reading = "ball", ball: Ball | None = None) -> Array:
    """D_{Phi,hatPhi}[T] = (1/T) sum_{t=2}^T sup |Phi_t - hatPhi_{t-1}| (`def:Dphi`, `thm:queue_stability`), (...).

    "trajectory" takes the value at x_t. The proof needs it there and at w*_t, so this reading alone is a
    part of the premise, not the whole of it.
    """
    return np.asarray(memory_variation_terms(run, reading, ball).mean(axis=-1))


def loss_variation_terms(run: Run, reading: Reading = "ball", ball: Ball | None = None) -> Array:
    """The T terms of `loss_variation`, the first of them 0: (..., T)."""
    return _variation(run, reading, ball, memory=False)


def memory_variation_terms(run: Run, reading: Reading = "ball", ball: Ball | None = None) -> Array:
    """The T terms of `memory_variation`, the first of them 0: (..., T)."""
    return _variation(run, reading, ball, memory=True)


def hull_is_exact(run: Run, *, memory: bool = False) -> np.ndarray:
    """Whether the reading "hull" is the supremum itself, (...); otherwise it is a lower bound of it.

    It looks at the corners x_0..x_T. Where Phi_t and its predecessor have equal Hessians their difference is
    affine and its extremes over the hull are at corners. For other Hessians the maximum may be inside (finding
    it is NP-hard in general).
    """
    flat = FlatRuns.of(run)
    before = (flat.phi_hat if memory else flat.phi).hessians[:, :-1]
    same = (flat.phi.hessians[:, 1:] == before).reshape(flat.S, -1).all(axis=-1)
    return np.asarray(same[flat.stream].reshape(flat.lead))


def _variation(run: Run, reading: Reading, ball: Ball | None, *, memory: bool) -> Array:
    flat = FlatRuns.of(run)
    choice("reading", reading, get_args(Reading))
    previous = flat.phi_hat if memory else flat.phi
    T = run.tasks.T

    def pair(streams: np.ndarray) -> tuple[Quadratics, Quadratics]:
        return part(flat.phi, streams, slice(1, None)), part(previous, streams, slice(None, -1))

    def over_ball(streams: np.ndarray, balls: Ball) -> Array:
        return sup_abs_difference(*pair(streams), balls)

    terms = np.zeros((flat.R, T))
    if T == 1:
        return terms.reshape(*flat.lead, T)
    if reading == "ball":
        terms[:, 1:] = per_ball(flat, _ball(run, ball), over_ball, (T - 1,))
    elif reading == "trajectory":
        models = flat.w[:, 2:] if memory else flat.w[:, 1:-1]
        for at in blocks(flat.R, T * flat.size):
            with np.errstate(over="ignore", invalid="ignore"):
                terms[at, 1:] = np.abs(difference(*pair(flat.stream[at]), models[at])[0])
    else:
        for at in blocks(flat.R, T * max(T, flat.size)):
            terms[at, 1:] = _at_corners(*pair(flat.stream[at]), flat.w[at])
    return terms.reshape(*flat.lead, T)


def _at_corners(phi_1: Quadratics, phi_2: Quadratics, corners: Array) -> Array:
    """max_s |phi_1 - phi_2|(x_s) for n pairs of losses (R, n, d) and corners (R, m, d): (R, n)."""
    origin = phi_1.optima.mean(axis=-2, keepdims=True)
    value, slope = difference(phi_1, phi_2, origin)
    gap = phi_1.hessians - phi_2.hessians
    x = corners - origin
    largest = np.zeros_like(value)
    with np.errstate(over="ignore", invalid="ignore"):
        for at in blocks(x.shape[1], value.size):
            some = x[:, at]
            at_corner = value[:, None, :] + some @ slope.swapaxes(-1, -2)
            at_corner += _half_squares(some, gap, isotropic=phi_1.isotropic)
            largest = np.maximum(largest, np.abs(at_corner).max(axis=1))
    return largest


def _half_squares(x: Array, H: Array, *, isotropic: bool) -> Array:
    """1/2 x_s' H_t x_s for every pair: x (R, m, d), H (R, n) or (R, n, d, d) -> (R, m, n)."""
    if isotropic:
        return np.asarray(0.5 * np.vecdot(x, x)[..., None] * H[:, None, :])
    outer = (x[..., :, None] * x[..., None, :]).reshape(*x.shape[:-1], -1)
    return np.asarray(0.5 * outer @ H.reshape(*H.shape[:2], -1).swapaxes(-1, -2))


# ---------------------------------------------------------------------------------------------------
# Conflict of gradients


def rho_minus(run: Run, reading: Literal["ball", "trajectory"] = "ball", ball: Ball | None = None) -> Array:
    """rho_{t,-} = sum_{k<t} max(-rho_{t,k}, 0), rho_{t,k} = inf_W <grad Phi_t, grad hatPhi_k>: (..., T).

    The conflict term of `thm:gradient_norm_bound`. "trajectory" takes the inner product at x_{t-1} in place
    of the infimum. Matrix Hessians need one trust-region problem per pair of tasks and ball.
    """
    flat = FlatRuns.of(run)
    choice("reading", reading, ("ball", "trajectory"))
    if reading == "ball":
        conflict = _isotropic_conflict if flat.phi.isotropic else _pairwise_conflict
        sums = per_ball(flat, _ball(run, ball), lambda s, b: conflict(flat, s, b), (run.tasks.T,))
    else:
        sums = np.concatenate([_conflict_at_models(flat, at) for at in blocks(flat.R, run.tasks.T * flat.size)])
    return sums.reshape(*flat.lead, -1)


def rho_bar(run: Run, reading: Literal["ball", "trajectory"] = "ball", ball: Ball | None = None) -> Array:
    """(1/T) sum_t rho_{t,-}, (...)."""
    return np.asarray(rho_minus(run, reading, ball).mean(axis=-1))


def _isotropic_conflict(flat: FlatRuns, streams: np.ndarray, balls: Ball) -> Array:
    """(U, T). With all optima in the ball, rho_{t,k} = -h_t h_k |a_t - a_k|^2 / 4 whatever the ball."""
    inside = balls.contains(flat.optima(streams), _RTOL).all(axis=-1)
    sums = np.empty((len(streams), flat.phi.T))
    sums[inside] = _scatter(part(flat.phi, streams[inside]), part(flat.phi_hat, streams[inside]))
    sums[~inside] = _pairwise_conflict(
        flat, streams[~inside], Ball.unchecked(balls.center[~inside], balls.radius[~inside])
    )
    return sums


def _scatter(phi: Quadratics, hat: Quadratics) -> Array:
    """h_t/4 sum_{k<t} h_k |a_t - a_k|^2 for every t, without the T^2 pairs: (U, T).

    With m and M the running mean and scatter of the past optima, the sum is (sum_{k<t} h_k) |a_t - m|^2 + M,
    and M grows by h_k times the (shrunk) squared distance of a_k from the mean before it: no cancellation.
    """
    origin = hat.optima.mean(axis=-2, keepdims=True)
    a, past, h = phi.optima - origin, hat.optima - origin, hat.hessians
    weight = np.cumsum(h, axis=-1)
    safe = np.where(weight > 0, weight, 1.0)
    mean = _delayed(np.cumsum(h[..., None] * past, axis=-2) / safe[..., None], axis=-2)
    before = _delayed(weight, axis=-1)
    growth = h * before / safe * np.square(past - mean).sum(axis=-1)
    scatter = _delayed(np.cumsum(growth, axis=-1), axis=-1)
    return np.asarray(0.25 * phi.hessians * (before * np.square(a - mean).sum(axis=-1) + scatter))


def _delayed(x: Array, axis: int) -> Array:
    """x one step later: 0, x_1, .., x_{T-1}."""
    x = np.roll(x, 1, axis=axis)
    x[(..., 0, slice(None)) if axis == -2 else (..., 0)] = 0.0
    return x


def _pairwise_conflict(flat: FlatRuns, streams: np.ndarray, balls: Ball) -> Array:
    """(U, T) from the infimum of every pair, a block of tasks t at a time."""
    T = flat.phi.T
    sums = np.zeros((len(streams), T))
    if not len(streams):
        return sums
    for at in blocks(T, len(streams) * T * flat.size):
        past = slice(0, min(at.stop, T) - 1)
        rho = inf_inner_gradients(part(flat.phi, streams, at), part(flat.phi_hat, streams, past), balls)
        earlier = np.arange(rho.shape[-1]) < np.arange(T)[at, None]
        sums[:, at] = np.where(earlier, np.maximum(-rho, 0.0), 0.0).sum(axis=-1)
    return sums


def _conflict_at_models(flat: FlatRuns, runs: slice) -> Array:
    """(R, T): the negative parts of <grad Phi_t, grad hatPhi_k> at x_{t-1}, summed over k < t."""
    streams = flat.stream[runs]
    hat = part(flat.phi_hat, streams)
    origin = hat.optima.mean(axis=-2, keepdims=True)
    x, a = flat.w[runs, :-1] - origin, hat.optima - origin
    with np.errstate(over="ignore", invalid="ignore"):
        g = part(flat.phi, streams).gradients_at(flat.w[runs, :-1])
        if hat.isotropic:
            inner = hat.hessians[:, None, :] * (np.vecdot(g, x)[..., None] - g @ a.swapaxes(-1, -2))
        else:
            outer = (g[..., :, None] * x[..., None, :]).reshape(*g.shape[:2], -1)
            pull = np.matvec(hat.hessians, a)
            inner = outer @ hat.hessians.reshape(*a.shape[:2], -1).swapaxes(-1, -2) - g @ pull.swapaxes(-1, -2)
    return np.asarray(np.where(np.tri(hat.T, k=-1, dtype=bool), np.maximum(-inner, 0.0), 0.0).sum(axis=-1))


# ---------------------------------------------------------------------------------------------------
# Premises and constants of the theorems


@dataclass(frozen=True, eq=False)
class Conditions:
    """Which premises of the theorems a run meets: arrays (...) of bool."""

    step_half: np.ndarray  #: eta <= 1/(2 alpha_t) at every task, as `thm:gradient_norm_bound` demands
    step_one: np.ndarray  #: eta <= 1/alpha_t at every task, which is sufficient
    models_inside: np.ndarray  #: x_0..x_T lie in W
    minimisers_inside: np.ndarray  #: the optima of all Phi_t and hatPhi_t lie in W
    unprojected: np.ndarray  #: no step was projected: with projection `thm:gradient_norm_bound` is false
    bounded: np.ndarray  #: the run did not diverge

    @property
    def met(self) -> np.ndarray:
        """All of them but `step_half`, which `step_one` replaces."""
        wanted = [getattr(self, field.name) for field in fields(self) if field.name != "step_half"]
        return np.asarray(np.logical_and.reduce(wanted))


def conditions(run: Run, ball: Ball | None = None) -> Conditions:
    """The premises of the theorems, checked on a run; W is `ball`, or the smallest enclosing one."""
    flat = FlatRuns.of(run)
    W = _ball(run, ball)

    def holds_optima(streams: np.ndarray, balls: Ball) -> Array:
        return np.asarray(balls.contains(flat.optima(streams), _RTOL).all(axis=-1), dtype=np.float64)

    steepest = eta_alpha_max(run)
    return Conditions(
        step_half=np.asarray(steepest <= 0.5 * (1.0 + _RTOL)),
        step_one=np.asarray(steepest <= 1.0 + _RTOL),
        models_inside=np.asarray(_broadcast(W, flat).contains(run.w, _RTOL).all(axis=-1)),
        minimisers_inside=(per_ball(flat, W, holds_optima, ()) == 1.0).reshape(flat.lead),
        unprojected=np.full(flat.lead, run.settings.ball is None),
        bounded=~flat.lost.reshape(flat.lead),
    )


def eta_alpha_max(run: Run) -> Array:
    """max_t eta_t alpha_t, to be compared with 1/2 (`thm:gradient_norm_bound`), 1 or 2, (...)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray((run.eta * run.alpha).max(axis=-1))


def r_constant(run: Run, ball: Ball | None = None) -> Array:
    """r = sup_{w in W} max_k |w - v_k*|, v_k* the minimiser of hatPhi_k: R + max_k |v_k* - c| for a ball, (...).

    This, not the radius of W, is what the lemma `lemm:losses_boundedby_const` needs.
    """
    flat = FlatRuns.of(run)

    def farthest(streams: np.ndarray, balls: Ball) -> Array:
        gap = flat.phi_hat.optima[streams] - balls.center[:, None, :]
        return np.asarray(balls.radius + np.sqrt(np.vecdot(gap, gap)).max(axis=-1))

    return per_ball(flat, _ball(run, ball), farthest, ()).reshape(flat.lead)


def _ball(run: Run, ball: Ball | None) -> Ball:
    return enclosing_ball(run) if ball is None else ball


def _broadcast(ball: Ball, flat: FlatRuns) -> Ball:
    center, radius = balls_of(ball, flat)
    return Ball.unchecked(center.reshape(*flat.lead, flat.phi.d), radius.reshape(flat.lead))
