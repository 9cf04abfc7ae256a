"""The numbers of a trajectory that the statements are about, each computed once and only when asked for.

`Facts` is the interface: any trajectory of any losses that provides these numbers can be checked. `RunFacts`
computes them for runs on quadratics. Axes: `...` a run's leading ones, then t = 1..T (or 0..T for states), then k.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..ground.errors import ColdError, unknown_name
from ..memory import Samples
from ..quadratics import Array
from ..settings import OWN
from ..tolerance import RTOL, loss_rounding

if TYPE_CHECKING:
    from .comparators import Comparators

Reading = Literal["ball", "trajectory"]

_ROUNDING = 1e-12  # a step size at its limit is not over it


class Facts:
    """What is known of a batch of trajectories; see `coldtheory.simulation` for the symbols."""

    T: int
    lead: tuple[int, ...]
    reference: str  #: "previous" (Case 1), "best" (Case 2), "stored" (Case 3), or "own" for a rule of the user's
    weights: str  #: "mean", "sum" or "none"
    solver: str  #: "gd", "exact", or "prescribed" for models that follow no rule
    projected: bool
    noisy: bool
    convex: bool
    controller: str = "queue"  #: the name of the rule that makes weights of constraints, see `coldtheory.controllers`
    leak: float = 0.0  #: the share a of its length that a leaky queue forgets at every update
    samples: Samples | None = None  #: what is known of the samples, where tasks are means over samples
    noise_sq: Array | float = 0.0  #: s^2 = E|xi|^2 of the noise xi that is added to grad Phi_t
    streams: tuple[int, ...] = ()  #: the first of the leading axes, along which noise is independent

    V: Array
    delta: Array
    steps: np.ndarray  #: J
    L: Array
    l: Array  # noqa: E741  (the paper's letter)
    eta: Array  #: (..., T)
    bounded: np.ndarray  #: the run did not diverge
    eps: Array  #: eps_t = DPP_t(x_t) - min DPP_t, (..., T)

    Q: Array  #: Q[..., t, k-1] = Q_k[t], (..., T+1, T)
    Qbar: Array  #: Qbar[t-1], (..., T)
    Delta: Array  #: (..., T)
    cross: Array  #: S_t, (..., T)
    alpha: Array  #: smoothness constant of the DPP_t that was used, (..., T)
    lyapunov: Array  #: (..., T+1)
    grad_sq_before: Array  #: |grad Phi_t(x_{t-1})|^2, (..., T)
    grad_sq_after: Array  #: |grad Phi_t(x_t)|^2, (..., T)
    grad_inner: Array  #: mean over the J inner iterates of |grad Phi_t(y_{t,j})|^2, (..., T)
    phi_before: Array  #: Phi_t(x_{t-1}), (..., T)
    phi_after: Array  #: Phi_t(x_t), (..., T)
    hat: Array  #: hatPhi_k(x_t), (..., T+1, T)
    hat_above: Array  #: hatPhi_k(x_t) - inf hatPhi_k, the infimum over R^d or W, (..., T+1, T)
    hat_ref: Array  #: hatPhi_k(ref_{t,k}), (..., T, T)
    conflict: Array  #: sum_{k<t} beta_k max(0, -<grad Phi_t, grad hatPhi_k>(x_{t-1})), (..., T)
    curvature: Array  #: largest curvature of DPP_t, (..., T)

    r: Array  #: sup_{w in W} max_k |w - v_k*|
    radius: Array  #: of W
    r_models: Array  #: max_{t,k} |x_t - v_k*|
    sup_first: Array  #: sup_W Phi_1
    gaps: Array  #: sup_W hatPhi_k - inf_W hatPhi_k, (..., T)
    models_inside: np.ndarray
    inner_inside: np.ndarray  #: also the iterates between two tasks are in W
    memory_error: Array  #: sup_W |Phi_k - hatPhi_k|, (..., T)
    memory_rounding: Array  #: how far such a difference is off by rounding, (...)
    mean_distance: Array  #: the largest distance from the optimum of Phi_k to a point of W, (..., T)

    def variation(self, reading: Reading) -> Array:
        """|Phi_t - Phi_{t-1}|, the supremum over W or the value at x_{t-1}; 0 at t = 1: (..., T)."""
        raise NotImplementedError

    def rho(self, reading: Reading) -> Array:
        """rho_{t,-}, from the infimum over W or the value at x_{t-1}: (..., T)."""
        raise NotImplementedError

    def memory_variation(self, reading: Reading) -> Array:
        """|Phi_t - hatPhi_{t-1}|, the supremum over W or the value at x_t; 0 at t = 1: (..., T)."""
        raise NotImplementedError

    def comparators(self, delta_prime: ArrayLike | None, w_star: ArrayLike | None) -> Comparators:
        """The points w*_t of Theorems 1 and 2."""
        raise ColdError("Theorems 1 and 2 need comparators w*_t, which these trajectories do not provide")

    def inside(self, points: Array) -> np.ndarray:
        """Whether points (..., n, d) are in W, (..., n)."""
        raise NotImplementedError

    def before_sampling(self) -> Facts:
        """The same facts with a W that was chosen before the memory was drawn."""
        return self

    # -----------------------------------------------------------------------------------------------
    # What follows from the above

    @cached_property
    def V_t(self) -> Array:
        """The weight of each task's loss, (..., T): V, unless it moves."""
        return np.broadcast_to(np.asarray(self.V)[..., None], (*self.lead, self.T))

    @cached_property
    def weight(self) -> Array:
        """What beta_k is made of: Q_k[t-1], or what another controller puts in its place, (..., T, T)."""
        return self.Q[..., :-1, :]

    @cached_property
    def forgetting(self) -> Array:
        """F_k[t] = hatPhi_k(x_t) - hatPhi_k(x_k) for k < t, else 0: (..., T, T)."""
        after = self.hat[..., 1:, :]
        own = np.diagonal(after, axis1=-2, axis2=-1)[..., None, :]
        return np.where(np.tri(self.T, k=-1, dtype=bool), after - own, 0.0)

    @cached_property
    def avg_forgetting(self) -> Array:
        """The mean of F_k[t] over all pairs k < t, (...); 0 if there is only one task."""
        return np.asarray(self.forgetting.sum(axis=(-2, -1)) / max(self.T * (self.T - 1) / 2, 1.0))

    @cached_property
    def past(self) -> Array:
        """t - 1 for t = 1..T, and 1 at t = 1, where every sum over past tasks is empty anyway."""
        return np.maximum(np.arange(self.T, dtype=np.float64), 1.0)

    @cached_property
    def gain(self) -> Array:
        """f_t = (sum of beta_k) / Qbar[t-1]: 1 for mean weights, t - 1 for sum weights, 0 for none."""
        return {"mean": np.ones(self.T), "sum": np.arange(self.T, dtype=np.float64), "none": np.zeros(self.T)}[
            self.weights
        ]

    @cached_property
    def step(self) -> Array:
        """The smallest step size over the tasks, (...): a drop of DPP_t bounds (eta_t/2)|grad DPP_t|^2 from above,
        hence also with a smaller eta."""
        return np.asarray(self.eta.min(axis=-1))

    @cached_property
    def avg_Qbar(self) -> Array:
        """(1/T) sum_t Qbar[t-1], (...)."""
        return np.asarray(self.Qbar.mean(axis=-1))

    @cached_property
    def lyapunov_end(self) -> Array:
        """Lyap[T] for mean weights, (T-1) Lyap[T] for sum weights: what telescoping the drift leaves, (...)."""
        return np.asarray(self.lyapunov[..., -1] * (max(self.T - 1, 1) if self.weights == "sum" else 1))

    @cached_property
    def potential(self) -> Array:
        """Lyap[t] for mean weights, (t-1) Lyap[t] for sum weights, t = 0..T: the potential whose drift DPP_t bounds,
        (..., T+1)."""
        count = np.maximum(np.arange(self.T + 1) - 1.0, 0.0)
        return np.asarray(self.lyapunov * (count if self.weights == "sum" else 1.0))

    @cached_property
    def excess(self) -> Array:
        """sum_{k<t} beta_k [hatPhi_k(x_{t-1}) - hatPhi_k(ref_{t,k})], what the constraints weigh before the step; 0 in
        Case 1, where the reference is x_{t-1}: (..., T)."""
        if self.reference == "previous":
            return np.zeros((*self.lead, self.T))
        above = np.where(np.tri(self.T, k=-1, dtype=bool), self.hat[..., :-1, :] - self.hat_ref, 0.0)
        return np.asarray(np.vecdot(self.beta, above))

    @cached_property
    def excess_rounding(self) -> Array:
        """How far the mean of `excess` over t is off by the rounding of memory losses, (...); 0 in Case 1."""
        if self.reference == "previous":
            return np.zeros(self.lead)
        return np.asarray(2.0 * self.hat_rounding * (self.gain * self.Qbar).mean(axis=-1))

    @cached_property
    def ageing(self) -> Array:
        """Lyap[t-1]/(t-1): what the Lyapunov function loses as it averages over one task more, (..., T)."""
        return np.asarray(self.lyapunov[..., :-1] / self.past)

    @cached_property
    def increments(self) -> Array:
        """hatPhi_k(x_t) - hatPhi_k(ref_{t,k}) for k < t, else 0: (..., T, T)."""
        return np.where(np.tri(self.T, k=-1, dtype=bool), self.hat[..., 1:, :] - self.hat_ref, 0.0)

    @cached_property
    def beta(self) -> Array:
        """The weights of DPP_t, beta[..., t-1, k-1], (..., T, T)."""
        return np.asarray(self.weight * (self.gain / self.past)[:, None])

    @cached_property
    def largest_loss(self) -> Array:
        """max hatPhi_k(x_t) over t >= 1 and k < T, the size of numbers whose differences enter the queues, (...)."""
        return np.asarray(np.abs(self.hat[..., 1:, :-1]).max(axis=(-2, -1), initial=0.0))

    @cached_property
    def hat_rounding(self) -> Array:
        """How far a memory loss is off by rounding, (...): see `coldtheory.tolerance.loss_rounding`."""
        return loss_rounding(self.largest_loss)

    @cached_property
    def phi_rounding(self) -> Array:
        """The same of a loss Phi_t at x_{t-1} or x_t, (...)."""
        return loss_rounding(np.maximum(self.phi_before, self.phi_after).max(axis=-1))

    @cached_property
    def hat_scale(self) -> Array:
        """The scale of a number that is a difference of memory losses, their own rounding included, (...)."""
        return np.asarray(self.largest_loss + self.hat_rounding / RTOL)

    @cached_property
    def curvature_kept(self) -> np.ndarray:
        """Whether the minimiser of DPP_t was found with all its curvature, (...)."""
        return np.ones(self.lead, bool)

    @cached_property
    def loss_floor(self) -> Array:
        """The loss that the rounding of models can make out of nothing, (...): see `coldtheory.tolerance`."""
        return np.zeros(self.lead)

    @cached_property
    def gradient_floor(self) -> Array:
        """The squared gradient of such a loss: |grad Phi|^2 <= 2 L Phi, (...)."""
        return np.asarray(2.0 * self.L * self.loss_floor)

    @cached_property
    def eta_alpha_max(self) -> Array:
        """max_t eta_t alpha_t, (...)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray((self.eta * self.alpha).max(axis=-1))

    @cached_property
    def eta_alpha_printed(self) -> Array:
        """The same with the paper's alpha_t = V L + l Qbar[t-1], whatever the weights, (...)."""
        alpha = self.V_t * self.L[..., None] + self.l[..., None] * self.Qbar
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray((self.eta * alpha).max(axis=-1))

    @cached_property
    def _reference_no_worse(self) -> np.ndarray:
        """hatPhi_k(ref_{t,k}) <= hatPhi_k(x_k) for all k < t: always so in Case 3 (equal), and in Case 2, where x_k is
        a candidate, unless its window is too short. Case 1 meets it only by chance, (...)."""
        if self.reference == "stored":
            return np.ones(self.lead, bool)
        own = np.diagonal(self.hat[..., 1:, :], axis1=-2, axis2=-1)[..., None, :]
        worse = np.where(np.tri(self.T, k=-1, dtype=bool), self.hat_ref - own, -np.inf).max(axis=(-2, -1))
        return np.asarray(worse <= 2.0 * self.hat_rounding)

    @cached_property
    def _reference_possible(self) -> np.ndarray:
        """hatPhi_k(ref_{t,k}) >= inf hatPhi_k for all k < t. No model is below the infimum; a number that a rule of the
        user's returns may be, (...)."""
        if self.reference != OWN:
            return np.ones(self.lead, bool)
        above = self.hat_ref - (self.hat - self.hat_above)[..., 1:, :]
        least = np.where(np.tri(self.T, k=-1, dtype=bool), above, np.inf).min(axis=(-2, -1))
        return np.asarray(least >= -2.0 * self.hat_rounding)

    def premise(self, name: str) -> np.ndarray:
        """Whether each run meets the premise, (...)."""
        checks: dict[str, Callable[[], Any]] = {
            "gradient descent": lambda: self.solver == "gd",
            "exact minimiser": lambda: (self.solver == "exact") & self.curvature_kept,
            "the method's own models": lambda: self.solver in ("gd", "exact"),
            "no projection": lambda: not self.projected,
            "exact gradients": lambda: not self.noisy,
            "convex losses": lambda: self.convex,
            "Case 1": lambda: self.reference == "previous",
            "Case 2": lambda: self.reference == "best",
            "Case 3": lambda: self.reference == "stored",
            "no reference is worse than x_k": lambda: self._reference_no_worse,
            POSSIBLE: lambda: self._reference_possible,
            "plain queue": lambda: self.controller == "queue",
            "leaky queue": lambda: self.controller in ("leaky", "queue"),  # with a = 0 it is the plain one
            "Yu-Neely controller": lambda: self.controller == "yu-neely",
            "sampled memory": lambda: self.samples is not None,
            "V is constant": lambda: (self.V_t == self.V_t[..., :1]).all(axis=-1),
            "V never falls": lambda: (np.diff(self.V_t, axis=-1) >= 0).all(axis=-1),
            "V never rises": lambda: (np.diff(self.V_t, axis=-1) <= 0).all(axis=-1),
            "queues drive the model": lambda: self.weights != "none",
            "mean weights": lambda: self.weights == "mean",
            "sum weights": lambda: self.weights == "sum",
            "eta <= 1/alpha_t": lambda: self.eta_alpha_max <= 1.0 + _ROUNDING,
            "eta < 2/alpha_t": lambda: self.eta_alpha_max < 2.0,
            "eta <= 2/alpha_t, or the minimiser": (
                lambda: (self.eta_alpha_max <= 2.0 + _ROUNDING) | (self.solver == "exact")
            ),
            "eta <= 1/(2 alpha_t) as printed": lambda: self.eta_alpha_printed <= 0.5 * (1.0 + _ROUNDING),
            "models in W": lambda: self.models_inside,
            "inner iterates in W": lambda: self.inner_inside,
            "delta > 0": lambda: self.delta > 0,
            "one step per task": lambda: self.steps == 1,
            "eta is constant": lambda: (self.eta == self.eta[..., :1]).all(axis=-1),
        }
        if name not in checks:
            raise unknown_name("premise", name, checks)
        return np.broadcast_to(np.asarray(checks[name]()), self.lead)


#: What every comparison of an increment with an infimum takes for granted; models meet it, numbers need not.
POSSIBLE = "no reference is below the infimum"
#: What every statement about V and the queues takes for granted, unless it is proved for more.
PLAIN = ("plain queue", "V is constant")
#: What the gradient theorems take for granted of the algorithm.
DESCENT = ("gradient descent", "no projection", "exact gradients", "queues drive the model", *PLAIN)
#: The same where V may move.
MOVING = tuple(name for name in DESCENT if name != "V is constant")
