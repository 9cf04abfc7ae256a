"""Which V: the one that is best prepared for the next task, and the one that does best on all tasks seen.

**For the next task.** V minimises (1/T) sum_t |grad Phi_t(x_{t-1})|^2, the left side of Theorem 3: how far the model is
from each task before it has seen it. Where all tasks have one Hessian and queues do not act, this is a known function
of V (`coldtheory.prediction`), and V is its minimiser. Whether queues act is found by simulation: the closed form
*applies* if with queues the gradient differs by at most `APPLIES` from it, at every V of the sweep. Elsewhere V is the
best one of a sweep, refined around its best point.

**For all tasks seen.** V minimises the mean of hatPhi_k(x_t) over all pairs k <= t. That is the sum of what each task's
own training left and of what was forgotten since, so this V balances learning against forgetting. It has no closed
form.

If eta is a given number, only those V are considered for which Theorem 3 holds, eta alpha_t <= 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..bounds.base import quiet
from ..bounds.run_facts import RunFacts
from ..ground.errors import ColdError
from ..prediction import grad_sq_before_without_queues, has_common_hessian
from ..quadratics import Array
from ..simulation import Run
from ..tasks import Tasks
from .setting import Setting, significant

APPLIES = 0.01  #: share by which queues may change the gradient where the closed form is said to apply

_POINTS, _NEAR, _ROUNDS = 33, 9, 3  # of a sweep: V at first, V around the best one, and how often it is refined
_CLOSED_POINTS, _CLOSED_ROUNDS = 257, 4  # of the closed form, which costs nothing
_STILL = 1e-2  # eta V L J T at the smallest V: the model hardly moves in the whole stream
_QUEUES_RULE, _QUEUES_IDLE = 1e-4, 10.0  # V L over the largest curvature that queues can have, where eta follows V
_SHRINKING = (0.0, 1e-3, 3e-3, 1e-2, 3e-2, 0.1)  # shares by which a V is made smaller until it is allowed
_WIDER = 8


@dataclass(frozen=True, eq=False)
class Balance:
    """The advised V, and what it was chosen from."""

    V: float  #: for the next task
    how: Literal["closed form", "sweep"]
    why: str  #: why a sweep was needed
    V_seen: float  #: for all tasks seen
    low: float  #: the smallest V that was tried
    high: float  #: the largest one that keeps eta alpha_t <= 1
    sweep: Run  #: over V; several streams come first
    allowed: np.ndarray  #: which V of the sweep keep eta alpha_t <= 1 in every stream, (n,)
    closed_form: Array | None  #: the gradient without queues at each V of the sweep, mean over the streams, (n,)

    @property
    def at_end(self) -> Literal["low", "high", ""]:
        """Whether the best V is the end of what was tried."""
        return "low" if self.low * 1.05 >= self.V else "high" if self.high * 0.98 <= self.V else ""


def balance(tasks: Tasks, setting: Setting) -> Balance:
    """The V for these tasks. For several streams the mean is taken: one V for all of them."""
    low, high = _range(tasks, setting)
    for _ in range(_WIDER):  # with long queues only small V may be allowed
        V = np.geomspace(low, high, _POINTS)
        sweep = setting.run(tasks, V)
        allowed = _allowed(sweep, setting)
        if allowed.any():
            break
        low /= 100.0
    else:
        raise ColdError("no V keeps eta alpha_t <= 1 on these tasks; take a much smaller eta, or eta='auto'")
    with quiet():
        gradient = _over_streams(sweep.avg_grad_sq_before)
    closed, why = _closed_form(tasks, setting, V)
    if closed is not None:
        off = (np.abs(gradient - closed) / np.where(closed > 0, closed, 1.0))[allowed].max()
        why = "" if off <= APPLIES else f"queues change the gradient by up to {100 * off:.2g} %"
    limit = _largest_allowed(tasks, setting, V, allowed)
    if why:
        best = _refined(V, np.where(allowed, gradient, np.inf), lambda some: _measured(tasks, setting, some)[0])
    else:
        best = _minimiser(lambda some: _closed(tasks, setting, some), low, limit)
    seen = np.where(allowed, _over_streams(avg_seen_loss(sweep)), np.inf)
    best_seen = _refined(V, seen, lambda some: _measured(tasks, setting, some)[1])
    return Balance(
        V=_admissible(tasks, setting, best), how="sweep" if why else "closed form", why=why,
        V_seen=_admissible(tasks, setting, best_seen), low=low, high=limit, sweep=sweep, allowed=allowed,
        closed_form=closed,
    )  # fmt: skip


def avg_seen_loss(run: Run) -> Array:
    """The mean of hatPhi_k(x_t) over all pairs k <= t, (...): what each task's own training left, and what was
    forgotten since."""
    T = run.tasks.T
    with quiet():
        learnt = RunFacts(run).phi_hat.at(run.w[..., 1:, :])  # hatPhi_k(x_k), which counts for t = k..T
        left = (learnt * np.arange(T, 0, -1.0)).sum(axis=-1)
        return np.asarray((left + run.avg_forgetting * T * (T - 1) / 2.0) / (T * (T + 1) / 2.0))


def _range(tasks: Tasks, setting: Setting) -> tuple[float, float]:
    """From a V with which the model hardly moves to the largest one that eta allows; or, where the step follows V, from
    a V with which the queues dominate to one with which they have no effect."""
    L, l = float(tasks.phi.smoothness.max()), float(tasks.phi_hat.smoothness.max())  # noqa: E741
    if L == 0:
        raise ColdError("all losses are flat: there is nothing to learn, and no V to choose")
    if setting.fixed_step:
        high = 1.0 / (float(setting.eta) * L)
        return high * _STILL / (setting.steps * tasks.T), high
    start = np.zeros(tasks.d) if setting.w0 is None else np.asarray(setting.w0)
    points = np.concatenate(
        [tasks.phi_hat.optima, tasks.phi.optima, np.broadcast_to(start, tasks.phi.optima.shape)], -2
    )
    reach = np.square(np.ptp(points, axis=-2)).sum(axis=-1).max()
    queues = 0.5 * l**2 * float(reach) * (tasks.T if setting.weights == "sum" else 1)
    scale = queues / L if queues > 0 else 1.0
    return _QUEUES_RULE * scale, _QUEUES_IDLE * scale


def _allowed(run: Run, setting: Setting) -> np.ndarray:
    """Whether eta alpha_t <= 1 at every task of every stream, (n,)."""
    fine = ~run.diverged
    if setting.fixed_step:
        with np.errstate(over="ignore", invalid="ignore"):
            fine &= (run.eta * run.alpha).max(axis=-1) <= 1.0 + 1e-12
    return np.asarray(fine.all(axis=0) if run.tasks.streams else fine)


def _largest_allowed(tasks: Tasks, setting: Setting, V: Array, allowed: np.ndarray) -> float:
    """The largest V that is allowed, to a thousandth: the last one of the sweep, or one up to the next."""
    for _ in range(_ROUNDS + 1):
        last = int(np.flatnonzero(allowed)[-1])
        if last == len(V) - 1:
            break
        V = np.geomspace(V[last], V[last + 1], _NEAR)
        allowed = _allowed(setting.run(tasks, V), setting)
        allowed[0] = True  # it was allowed; a difference is due to rounding
    return float(V[np.flatnonzero(allowed)[-1]])


def _over_streams(values: Array) -> Array:
    """(streams..., n) -> (n,)."""
    with quiet():
        return np.asarray(values.mean(axis=0) if values.ndim > 1 else values)


def _measured(tasks: Tasks, setting: Setting, V: Array) -> tuple[Array, Array]:
    """Gradient before a task and loss on all tasks seen for each V, infinite where V is not allowed."""
    run = setting.run(tasks, V)
    allowed = _allowed(run, setting)
    with quiet():
        curves = (_over_streams(run.avg_grad_sq_before), _over_streams(avg_seen_loss(run)))
    return np.where(allowed, curves[0], np.inf), np.where(allowed, curves[1], np.inf)


def _closed_form(tasks: Tasks, setting: Setting, V: Array) -> tuple[Array | None, str]:
    if setting.solver == "exact":
        return None, "with the exact minimiser V acts through the queues alone"
    if not setting.fixed_step:
        return None, "with eta = auto V acts through the queues alone"
    if not has_common_hessian(tasks.phi):
        return None, "the tasks have different Hessians"
    return _closed(tasks, setting, V), ""


def _closed(tasks: Tasks, setting: Setting, V: Array) -> Array:
    found = grad_sq_before_without_queues(tasks, V, eta=float(setting.eta), steps=setting.steps, w0=setting.w0)
    return _over_streams(found)


def _minimiser(curve: Callable[[Array], Array], low: float, high: float) -> float:
    V = np.geomspace(low, high, _CLOSED_POINTS)
    values = curve(V)
    for _ in range(_CLOSED_ROUNDS):
        V, values = _closer(V, values, curve)
    return float(V[values.argmin()])


def _refined(V: Array, values: Array, curve: Callable[[Array], Array]) -> float:
    """The best V of a sweep, after a few sweeps between its neighbours."""
    for _ in range(_ROUNDS):
        V, values = _closer(V, values, curve)
    return float(V[values.argmin()])


def _closer(V: Array, values: Array, curve: Callable[[Array], Array]) -> tuple[Array, Array]:
    best = int(values.argmin())
    around = np.geomspace(V[max(best - 1, 0)], V[min(best + 1, len(V) - 1)], _NEAR)
    found = curve(around)
    return (V[best : best + 1], values[best : best + 1]) if found.min() > values[best] else (around, found)


def _admissible(tasks: Tasks, setting: Setting, V: float) -> float:
    """The V with three digits that is next to this one, and a smaller one if a step would be too long."""
    rounded = significant(V)
    for shrink in _SHRINKING:
        if _allowed(setting.run(tasks, np.array([rounded])), setting).all():
            break
        rounded = significant(V * (1.0 - shrink), up=False)
    return rounded
