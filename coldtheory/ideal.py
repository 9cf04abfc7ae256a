"""The idealised problem of eq. `ideal_cl` and the smallest tolerance for which it has a solution.

    w*_t in argmin Phi_t(w)   subject to   hatPhi_k(w) - inf hatPhi_k <= delta'   for all k < t

For quadratics inf hatPhi_k is the offset c_k (the infimum over R^d: optima are assumed to lie in W), so
a constraint reads q_k(w) := 1/2 (w - a_k)' H_k (w - a_k) <= delta'. The smallest delta' is the value of

    min_w max_k q_k(w),

which for identity Hessians is half the squared radius of the smallest ball around a_1..a_{t-1}.
Both are convex programmes with quadratic constraints; all tasks of a stream are solved in one batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ._qcqp import Losses, Programme, interior_point
from .ground.checks import kind_of, number, whole
from .ground.errors import ColdError
from .quadratics import Array, Quadratics
from .tasks import Tasks

_EPS = float(np.finfo(np.float64).eps)
_INTERIOR = 1e-9  # delta' must exceed the smallest feasible one by this share, or there is no interior
_HIDDEN = 1e-12  # share of delta' up to which rounding at the boundary needs no second solution
_DOUBLINGS = 53  # of a share of the way back, from one eps to the whole way
_HALVINGS = 8  # after which the way back is at most 1/128 longer than it has to be
_BLOCK = 1 << 21  # programmes are solved in blocks whose constraint gradients hold about this many numbers


@dataclass(frozen=True, eq=False)
class IdealSolution:
    """A solution of eq. `ideal_cl` with its certificate. Leading axes `...`: the tasks, if several.

    `w_star` satisfies every constraint, whatever the order in which a machine sums 1/2 (w - a_k)' H_k (w - a_k):
    it stays away from the boundary by the rounding that such a sum may have. So it is a valid comparator w*_t even
    where it is not optimal to the last digit; by weak duality its loss exceeds the optimal one by at most `gap`.
    Its digits beyond that gap depend on the machine's kernels.
    """

    w_star: Array  #: (..., d)
    value: Array  #: Phi_t(w*_t), offset included, (...)
    multipliers: Array  #: one per past task, (..., n); 0 where the constraint is slack
    violation: Array  #: max_k q_k(w*) - delta', positive only if a constraint is broken, (...)
    stationarity: Array  #: |grad Phi_t + sum_k lambda_k grad hatPhi_k| at w*, (...)
    gap: Array  #: Phi_t(w*) minus the dual value at the multipliers, (...)


def smallest_feasible_delta(phi_hat: Quadratics, upto: int | None = None) -> float:
    """The smallest delta' for which eq. `ideal_cl` is feasible with tasks 1..upto as the past ones.

    `phi_hat` is one stream (T, d); `upto` = None takes all tasks that ever are past, T - 1.
    The value is that of a point found, so it is feasible (with equality), at most 1e-10 above the smallest.

    >>> round(smallest_feasible_delta(Quadratics.of([[0.0], [2.0], [9.0]])), 12)    # balls around 0 and 2
    0.5
    """
    _check_stream(phi_hat)
    past = _past(phi_hat, phi_hat.T - 1 if upto is None else whole("upto", upto))
    if past.T == 0:
        return 0.0
    return float(_minimax(Losses.of(past), np.ones((1, past.T), bool))[1][0])


def ideal_point(phi: Quadratics, phi_hat: Quadratics, t: int, delta_prime: float) -> IdealSolution:
    """w*_t of eq. `ideal_cl` for task t (counted from 1) of one stream; t = 1 has no constraint.

    Arrays of the record have no leading axis; `multipliers` has t - 1 entries.

    >>> phi = Quadratics.of([[0.0], [2.0], [9.0]])
    >>> ideal_point(phi, phi, t=3, delta_prime=2.0).w_star.round(9)      # |w| <= 2 and |w - 2| <= 2
    array([2.])
    """
    _check_stream(phi)
    t = whole("t", t)
    if not 1 <= t <= phi.T:
        raise ColdError(f"task t must be between 1 and {phi.T}, got {t}")
    past = _past(phi_hat, t - 1)
    now = Quadratics(phi.optima[t - 1 : t], phi.hessians[t - 1 : t], phi.offsets[t - 1 : t])
    solution = _solve_ideal(now, past, np.ones((1, t - 1), bool), delta_prime)
    return _pick(solution, 0)


def ideal_points(tasks: Tasks, delta_prime: float) -> IdealSolution:
    """w*_t of eq. `ideal_cl` for every task of one stream: w_star (T, d), multipliers (T, T - 1)."""
    kind_of("tasks", tasks, Tasks, "make them with from_optima or make_tasks")
    _check_stream(tasks.phi)
    past = _past(tasks.phi_hat, tasks.T - 1)
    before = np.arange(tasks.T - 1)[None, :] < np.arange(tasks.T)[:, None]
    return _solve_ideal(tasks.phi, past, before, delta_prime)


def minimax_centre(points: Array) -> tuple[Array, Array]:
    """argmin_w max_k 1/2 |w - p_k|^2 and its value, for each batch of points (B, n, d): (B, d) and (B,)."""
    B, n, d = points.shape
    block = max(1, _BLOCK // (n * (d + 1)))
    parts = [
        _minimax(Losses(points[at : at + block], np.ones((1, n))), np.ones((len(points[at : at + block]), n), bool))
        for at in range(0, B, block)
    ]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


# ---------------------------------------------------------------------------------------------------
# The two programmes


def _minimax(losses: Losses, mask: np.ndarray) -> tuple[Array, Array]:
    """argmin_w max_k q_k(w) over the constraints in `mask` (B, n), and the value there: (B, d), (B,)."""
    share = mask / np.maximum(mask.sum(axis=-1, keepdims=True), 1)
    centre = np.vecmat(share, losses.optima)
    gap = np.where(mask[..., None], losses.optima - centre[:, None, :], 0.0)
    size = np.sqrt(np.vecdot(gap, gap).max(axis=-1, initial=0.0))
    steep = losses.stiffness()
    unit = np.where(size > 0, size, 1.0)
    stiff = np.where(steep > 0, steep, 1.0)
    curved = losses.hessians / (stiff[:, None] if losses.isotropic else stiff[0])
    scaled = Losses(gap / unit[:, None, None], curved)
    B, d = centre.shape
    programme = Programme(scaled, mask, np.zeros((B, d, d)), np.zeros((B, d)))
    z = np.zeros((B, d + 1))
    z[:, -1] = 1.0
    z, _ = interior_point(programme, z)
    w = centre + np.where((size > 0)[:, None], unit[:, None] * z[:, :-1], 0.0)
    return w, losses.highest(mask, w)


def _solve_ideal(now: Quadratics, past: Quadratics, mask: np.ndarray, delta_prime: float) -> IdealSolution:
    """One programme per row of `now` (B, d), with the past tasks in `mask` (B, n)."""
    delta_prime = number("delta_prime", delta_prime, least=0)
    if past.d != now.d:
        raise ColdError(f"phi has {now.d} coordinates and phi_hat {past.d}: both must be of one stream")
    block = max(1, _BLOCK // max(1, past.T * (past.d + 1)))
    cut = [slice(at, at + block) for at in range(0, now.T, block)]
    parts = [
        _solve_block(Quadratics(now.optima[at], now.hessians[at], now.offsets[at]), past, mask[at], delta_prime)
        for at in cut
    ]
    fields = IdealSolution.__dataclass_fields__
    return IdealSolution(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in fields})


def _solve_block(now: Quadratics, past: Quadratics, mask: np.ndarray, delta_prime: float) -> IdealSolution:
    losses = Losses.of(past)
    centre, smallest = _minimax(losses, mask)
    surely = losses.ceiling(mask, centre)
    needed = np.maximum(smallest * (1.0 + _INTERIOR), surely)
    if (mask.any(axis=-1) & (needed >= delta_prime)).any():
        raise ColdError(
            f"eq. ideal_cl is infeasible for delta' = {delta_prime:.6g}: it must exceed {surely.max():.9g}, "
            "the smallest one that is feasible up to rounding"
        )
    stiff = float(losses.stiffness().max())
    unit = math.sqrt(2.0 * delta_prime / stiff) if stiff * delta_prime > 0 else 1.0
    height = delta_prime or 1.0  # delta' = 0 gets here for the first task only, which has no constraint
    scaled = Losses((losses.optima - centre[:, None, :]) / unit, losses.hessians * (unit**2 / height))
    M = now.matrices() * unit**2
    b = np.matvec(M, (centre - now.optima) / unit)
    weight = np.sqrt(np.vecdot(b, b)) + np.trace(M, axis1=-2, axis2=-1) / now.d
    weight = np.where(weight > 0, weight, 1.0)
    programme = Programme(scaled, mask, M / weight[:, None, None], b / weight[:, None], np.ones(len(centre)))
    z, lam = interior_point(programme, np.zeros_like(centre))
    z, lam = _away_from_rounding(programme, z, lam)
    w = _pull_back(centre + unit * z, centre, losses, mask, delta_prime)
    lam = lam * (weight / height)[:, None]
    free = losses.ceiling(mask, now.optima) <= delta_prime  # the optimum of task t breaks no constraint
    w, lam = np.where(free[:, None], now.optima, w), np.where(free[:, None], 0.0, lam)
    return _certified(now, losses, mask, delta_prime, w=w, lam=lam)


def _away_from_rounding(programme: Programme, z: Array, lam: Array) -> tuple[Array, Array]:
    """Solutions as before, but where rounding hides the boundary, those of the programme with a correspondingly smaller
    tolerance. If a solution were pulled straight back over such a distance, it would no longer be stationary.
    """
    losses, mask = programme.losses, programme.mask
    hidden = losses.ceiling(mask, z) - losses.highest(mask, z)
    again = np.flatnonzero(hidden > _HIDDEN)
    if again.size:
        centre = losses.highest(mask, np.zeros_like(z))  # the start must stay strictly feasible
        level = np.maximum(1.0 - hidden, 0.5 * (1.0 + centre))[again]
        tighter = replace(programme.rows(again), level=level)
        z[again], lam[again] = interior_point(tighter, np.zeros_like(z[again]))
    return z, lam


def _pull_back(w: Array, centre: Array, losses: Losses, mask: np.ndarray, delta_prime: float) -> Array:
    """w moved towards the strictly feasible centre just enough to surely satisfy every constraint, (B, d).

    "Surely" means in any order of the sums, not in one alone (see `Losses.ceiling`). Where q_k cancels, as along the
    flat directions of a singular Hessian, that takes many units in the last place of delta'.
    """

    def surely(moved: Array) -> np.ndarray:
        return np.asarray(losses.ceiling(mask, moved) <= delta_prime)  # false where a coordinate is not a number

    def moved(back: Array) -> Array:
        return np.asarray(w + back[:, None] * (centre - w))

    if surely(w).all():
        return w
    low, high = np.zeros(len(w)), np.where(surely(w), 0.0, _EPS)  # shares of the way: too few, and enough
    for _ in range(_DOUBLINGS):
        short = ~surely(moved(high))
        if not short.any():
            break
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        enough = surely(moved(middle))
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    pulled = np.where((high > 0)[:, None], moved(high), w)
    return np.where(surely(pulled)[:, None], pulled, centre)


def _certified(
    now: Quadratics, losses: Losses, mask: np.ndarray, delta_prime: float, *, w: Array, lam: Array
) -> IdealSolution:
    """The dual function is inf_w Phi(w) + sum_k lambda_k (q_k(w) - delta'): with r the Lagrangian's
    gradient at w and H its Hessian, it lies sum_k lambda_k (delta' - q_k(w)) + 1/2 r' H^+ r below Phi(w)."""
    room = np.where(mask, delta_prime - losses.values(w), np.inf)
    r = now.gradients_at(w) + np.vecmat(lam, losses.gradients(w))
    H = now.matrices() + losses.curvature(lam)
    newton = np.matvec(np.linalg.pinv(H, hermitian=True), r)
    gap = np.vecdot(lam, np.where(mask, room, 0.0)) + 0.5 * np.vecdot(r, newton)
    stationarity = np.sqrt(np.vecdot(r, r))
    violation = -room.min(axis=-1, initial=np.inf)
    return IdealSolution(w, now.at(w), lam, violation, stationarity, gap)


def _pick(solution: IdealSolution, row: int) -> IdealSolution:
    return replace(solution, **{name: getattr(solution, name)[row] for name in IdealSolution.__dataclass_fields__})


def _past(phi_hat: Quadratics, count: int) -> Quadratics:
    _check_stream(phi_hat)
    if not 0 <= count <= phi_hat.T:
        raise ColdError(f"upto, the number of past tasks, must be between 0 and {phi_hat.T}, got {count}")
    return Quadratics(phi_hat.optima[:count], phi_hat.hessians[:count], phi_hat.offsets[:count])


def _check_stream(losses: Quadratics) -> None:
    kind_of("phi", losses, Quadratics, "make one with Quadratics.of(optima)")
    if losses.optima.ndim != 2:
        raise ColdError(f"give one stream (T, d), not a batch of shape {losses.optima.shape}: pick one, as in tasks[0]")
