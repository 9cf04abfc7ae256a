"""What the gradient before a task should be when no queue acts, in closed form.

**Given tasks** with one Hessian H in common. J gradient steps of size eta on V Phi_t leave q = (1 - eta V H)^J of the
way from x_{t-1} to a_t. So e_t = a_t - x_{t-1}, which H turns into the gradient, obeys

    e_1 = a_1 - x_0,   e_{t+1} = q e_t + (a_{t+1} - a_t)
    e_t = q^{t-1} e_1 + sum_{s=2}^t q^{t-s} (a_s - a_{s-1})

and (1/T) sum_t |H e_t|^2 is a polynomial in q, whose coefficients are inner products of the steps from task to task.
V enters through eta V alone. A small V keeps e_1, the distance from the start; a large V makes every model follow the
last task, so steps that undo each other count in full. In between lies the V whose models are best prepared for the
next task.

**Random tasks**: a_t = w_base + t g + xi_t with xi_t ~ N(0, c2 I) (LOW: g = 0; HIGH: g = drift v / T), identity
Hessians. J gradient steps of size eta on V Phi_t go the share f = 1 - (1 - eta V)^J of the way to a_t:

    x_t = x_{t-1} + f (a_t - x_{t-1})

The mean of a_t - x_{t-1} obeys e_{t+1} = (1 - f) e_t + g from e_1 = w_base + g - x_0. The noise in x_{t-1} has
the variance f^2 c2 sum_{i < t-1} (1 - f)^{2i} per coordinate and is independent of xi_t. Together

    E |grad Phi_t(x_{t-1})|^2 = |e_t|^2 + c2 d (1 + f^2 sum_{i < t-1} (1 - f)^{2i}).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._dynamics import progress
from .ground.errors import ColdError
from .quadratics import Array, Quadratics
from .tasks import Tasks


def has_common_hessian(phi: Quadratics) -> bool:
    """Whether all losses of each stream have the same Hessian, as the closed form for given tasks asks."""
    first = phi.hessians[..., :1] if phi.isotropic else phi.hessians[..., :1, :, :]
    return bool((phi.hessians == first).all())


def grad_sq_before_without_queues(
    tasks: Tasks, V: ArrayLike, *, eta: float, steps: int, w0: ArrayLike | None = None
) -> Array:
    """(1/T) sum_t |grad Phi_t(x_{t-1})|^2 of these tasks without queues, for each V: (streams..., len(V)).

    The tasks must have one Hessian in common; w0 is x_0, (d,) or one per stream.

    >>> from coldtheory import from_optima
    >>> grad_sq_before_without_queues(from_optima([[2.0], [2.0]]), [1.0, 2.0], eta=0.5, steps=1)     # (4 + 1)/2, 4/2
    array([2.5, 2. ])
    """
    if not has_common_hessian(tasks.phi):
        raise ColdError("the closed form asks for one Hessian in common; simulate with weights='none' instead")
    weights = np.atleast_1d(np.asarray(V, dtype=np.float64))
    a = tasks.phi.optima
    start = np.zeros(tasks.d) if w0 is None else np.asarray(w0, dtype=np.float64)
    ways = np.diff(a, axis=-2, prepend=np.broadcast_to(start, (*tasks.streams, tasks.d))[..., None, :])
    if tasks.phi.isotropic:
        curvature = np.broadcast_to(tasks.phi.hessians[..., :1], (*tasks.streams, tasks.d))
    else:
        curvature, basis = np.linalg.eigh(tasks.phi.hessians[..., 0, :, :])
        ways = ways @ basis
    lam = curvature[..., None, :]  # (streams..., 1, d)
    done = progress(weights[:, None] * lam, np.asarray(eta), np.asarray(steps))
    e = np.zeros_like(done)
    total = np.zeros(done.shape[:-1])
    for t in range(tasks.T):
        e = (1.0 - done) * e + ways[..., t, None, :]
        total += np.square(lam * e).sum(axis=-1)
    return np.asarray(total / tasks.T)


def predicted_grad_sq_before(
    V: ArrayLike,
    *,
    w_base: ArrayLike,
    drift_vector: ArrayLike | None = None,
    w0: ArrayLike | None = None,
    c2: float,
    T: int,
    eta: float,
    steps: int,
) -> Array:
    """E |grad Phi_t(x_{t-1})|^2 over the tasks' noise, for t = 1..T and each V: (len(V), T).

    drift_vector : how far the centre moves over all T tasks, drift * v in HIGH (None: it does not move)
    w0           : x_0, (d,); None is the origin

    >>> predicted_grad_sq_before([1.0], w_base=[2.0], c2=0.0, T=3, eta=0.5, steps=1)     # the error halves
    array([[4.  , 1.  , 0.25]])
    """
    V = np.atleast_1d(np.asarray(V, dtype=np.float64))
    base = np.asarray(w_base, dtype=np.float64)
    if base.ndim != 1 or V.ndim != 1:
        raise ColdError(f"w_base must have shape (d,) and V shape (n,), got {base.shape} and {V.shape}")
    if T < 1 or steps < 1 or not eta > 0 or not (V > 0).all() or not c2 >= 0:
        raise ColdError("T and steps must be at least 1, eta and V > 0, c2 >= 0")
    g = np.zeros_like(base) if drift_vector is None else np.asarray(drift_vector, dtype=np.float64) / T
    first = base + g - (0.0 if w0 is None else np.asarray(w0, dtype=np.float64))
    f = progress(V, np.asarray(eta), np.asarray(steps))[:, None]
    before = np.arange(T)[None, :]  # t - 1
    left = (1.0 - f) ** before
    moved = _geometric_sum(f, before)
    e = left[..., None] * first + moved[..., None] * g
    noise = 1.0 + f**2 * _geometric_sum(f * (2.0 - f), before)
    return np.asarray(np.vecdot(e, e) + c2 * base.size * noise)


def _geometric_sum(share: Array, n: np.ndarray) -> Array:
    """sum_{i < n} (1 - share)^i, also for shares near 0, where (1 - (1 - share)^n) / share loses digits."""
    small = np.abs(share) < 0.5
    flat = share == 0.0
    accurate = -np.expm1(n * np.log1p(-np.where(small, share, 0.0)))
    total = np.where(small, accurate, 1.0 - (1.0 - share) ** n)
    return np.asarray(np.where(flat, n, total / np.where(flat, 1.0, share)))
