"""Real forgetting where the reference is stored (Case 3) or the best model (Case 2).  Label: new:forgetting.

Problem: how much worse than at the end of its own task is a past task? F_k[t] = hatPhi_k(x_t) - hatPhi_k(x_k).

Statement (mean weights; x_t minimises DPP_t up to eps_t; hatPhi_k(w*_t) - inf hatPhi_k <= delta' for all k < t):

    mean of F_k[t] over the T(T-1)/2 pairs k < t  <=  delta + (2/T) sqrt(2 B)
    B   = sum_t b_t                                         (proved)
    B   = sum_t (t-1)/(T-1) b_t                             (sharp, never the larger one)
    b_t = Delta_t + eps_t + V [Phi_t(w*_t) - Phi_t(x_t)] - (delta - delta') Qbar[t-1]

and, whatever the models and weights (steps 6 and 7 of the proof alone),

    mean of F_k[t] over all pairs  <=  delta + 2/(T(T-1)) sum_k Q_k[T]                     (queues)

Conventions: eps_t is measured, so the exact minimiser, gradient descent, noise, projection and prescribed models are
all covered. All that is asked of the reference is that it is no worse on task k than x_k. B = O(V T), so the excess
over delta falls as sqrt(V/T); for V = T^(1/3) it and Theorem 1's gap are both O(T^(-1/3)) (form rate).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..quadratics import Array
from ..tolerance import RTOL, loss_rounding
from .base import Bound, Explanation, Statement, make
from .comparators import Comparators, comparators
from .facts import PLAIN, POSSIBLE, Facts

_NAME = ("forgetting", "new:forgetting")
_PREMISES = ("mean weights", "no reference is worse than x_k", POSSIBLE, *PLAIN)
_EPS = float(np.finfo(np.float64).eps)


def proved(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """Every task counts fully."""
    star = comparators(facts, delta_prime, w_star)
    return _bound("proved", facts, star, np.ones(facts.T))


def sharp(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """Task t counts (t-1)/(T-1): what the Lyapunov function loses as it averages over more tasks is kept."""
    star = comparators(facts, delta_prime, w_star)
    return _bound("sharp", facts, star, np.arange(facts.T) / max(facts.T - 1, 1))


def rate(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """Before the run: delta + sqrt(2 [(G + delta)^2 + 2 V P + 2 eps] / T), where G = max_k (sup_W - inf_W) hatPhi_k,
    P = max_t Phi_t(w*_t) and eps = max_t eps_t."""
    star = comparators(facts, delta_prime, w_star)
    span, loss, eps = facts.gaps.max(axis=-1), star.loss.max(axis=-1), facts.eps.max(axis=-1)
    inside = (span + facts.delta) ** 2 + 2.0 * facts.V * loss + 2.0 * eps
    more = {"delta' <= delta": np.asarray(star.delta_prime <= facts.delta), "models in W": facts.models_inside}
    return _make("rate", facts, star, np.sqrt(2.0 * inside / facts.T), more=more)


def queues(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """After the run, from the queues that it ended with: delta + 2/(T(T-1)) sum_k Q_k[T]. Nothing is asked of the
    models, so it can be evaluated on a network, too; comparators may be given but are not used."""
    pairs = max(facts.T * (facts.T - 1) / 2, 1.0)
    terms = {
        "delta": facts.delta * (1.0 if facts.T > 1 else 0.0),
        "last queues": facts.Q[..., -1, :].sum(axis=-1) / pairs,
    }
    return make(_NAME, "queues", facts, facts.avg_forgetting, terms=terms, kind="tight",
                attained="two tasks, the first of which is forgotten by more than delta",
                premises=("no reference is worse than x_k", "plain queue"), magnitude=facts.hat_scale)  # fmt: skip


def budget(facts: Facts, star: Comparators) -> dict[str, Array]:
    """The parts of b_t by name, (..., T)."""
    margin = np.asarray(facts.delta - star.delta_prime)[..., None]
    return {
        "residual": facts.Delta,
        "optimisation error": facts.eps,
        "loss gap": np.asarray(facts.V)[..., None] * (star.loss - facts.phi_after),
        "relief": -margin * facts.Qbar,
    }


def _bound(form: str, facts: Facts, star: Comparators, share: Array) -> Bound:
    parts = budget(facts, star)
    B = np.maximum(sum((share * part).sum(axis=-1) for part in parts.values()), 0.0)  # B >= Lyap[T] >= 0
    off = _rounding(facts, star, parts)
    excess = (2.0 / facts.T) * np.sqrt(2.0 * B)
    return _make(form, facts, star, excess, off=(2.0 / facts.T) * np.sqrt(2.0 * (B + off)) - excess)


def _rounding(facts: Facts, star: Comparators, parts: dict[str, Array]) -> Array:
    """How far B is off: losses at x_t and w*_t times V, increments times the queues, and the sums themselves."""
    size = np.sqrt(np.square(star.w).sum(axis=-1).max(axis=-1))
    losses = facts.phi_rounding + loss_rounding(star.loss.max(axis=-1), facts.L, size, star.w.shape[-1])
    sums = sum(np.abs(part).sum(axis=-1) for part in parts.values())
    queued = facts.Qbar.sum(axis=-1) + np.sqrt(2.0 * facts.Delta).sum(axis=-1)
    return np.asarray(facts.T * facts.V * losses + 2.0 * queued * facts.hat_rounding + 8 * facts.T * _EPS * sums)


def _make(
    form: str,
    facts: Facts,
    star: Comparators,
    excess: Array,
    *,
    more: dict[str, np.ndarray] | None = None,
    off: Array | float = 0.0,
) -> Bound:
    terms = {"delta": facts.delta * (1.0 if facts.T > 1 else 0.0), "excess": excess}
    size = facts.hat_scale + np.nan_to_num(off) / RTOL
    return make(_NAME, form, facts, facts.avg_forgetting, terms=terms, kind="valid" if form == "rate" else "tight",
                attained="" if form == "rate" else "two tasks, the second model at w*_2", premises=_PREMISES,
                more={"w* is feasible": star.feasible, **(more or {})}, magnitude=size)  # fmt: skip


STATEMENT = Statement(
    id="forgetting",
    title="Real forgetting: the mean over all pairs of tasks, Cases 2 and 3",
    label=_NAME[1],
    forms={"proved": proved, "sharp": sharp, "rate": rate, "queues": queues},
    latex=r"\frac{2}{T(T-1)}\sum_{t=2}^T\sum_{k<t}[\hat\Phi_k(x_t)-\hat\Phi_k(x_k)]\le\delta+\frac2T\sqrt{2B},\quad "
    r"B=\sum_t\bigl(\Delta_t+\varepsilon_t+V[\Phi_t(w_t^*)-\Phi_t(x_t)]-(\delta-\delta')\bar Q[t-1]\bigr)",
    explain=Explanation(
        printed="",
        wrong="",
        correct="Mean forgetting over all pairs k < t is at most delta + (2/T) sqrt(2 B); B = O(V T), so the "
        "excess over delta falls as sqrt(V/T) while Theorem 1's gap falls as 1/V.",
        conventions="Case 3, or Case 2 whose candidates include x_k. Mean weights. delta' may exceed delta: the last "
        "part of b_t is then positive. In Case 3 it would be enough that hatPhi_k(w*_t) - hatPhi_k(x_k) <= delta'.",
        proof="Lemma 1 and DPP_t(x_t) <= DPP_t(w*_t) + eps_t with d_k(w*_t) <= delta' - delta telescope to Lyap[T] <= "
        "B. A queue is at least the sum of its increments, Q_k[T] >= sum_{t>k} (F_k[t] - delta); sum over k, and the "
        "mean of the T-1 queues is at most sqrt(2 Lyap[T]). Complete, with the constants: docs/theorems/forgetting.md.",
        terms={
            "delta": "the tolerance, once per pair",
            "excess": "(2/T) times the root mean square of the last queues, bounded by the parts of B",
            "last queues": "the queues at the end of the run, per pair of tasks: what the queues say of themselves",
        },
    ),
    family={"T": (2, 5), "reference": "stored", "solver": "exact", "hessians": "scalar", "ideal": True},
)
