"""Theorem 2: the average queue, when DPP_t is minimised exactly.  Paper label: thm:queue_stability.

Problem: how long do the queues get?

Statement (delta' < delta, w*_t as in Theorem 1, eps = delta - delta'):

    mean weights   (1/T) sum_t Qbar[t-1] <= [V delta' + (1/T) sum_t Delta_t + 2 V D_{Phi,hatPhi}[T]] / eps
    sum weights    the same with V/(t-1) in place of V under the sum over t >= 2

Conventions: D_{Phi,hatPhi}[T] has no term at t = 1; W contains the x_t and w*_t for its supremum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..quadratics import Array
from .base import Bound, Explanation, Kind, Statement, average, make
from .comparators import Comparators, comparators
from .facts import PLAIN, POSSIBLE, Facts

_NAME = ("thm2", "thm:queue_stability")
_PREMISES = ("exact minimiser", "no projection", "queues drive the model", POSSIBLE, *PLAIN)


def printed(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """V at every task, whatever the weights: true for both."""
    star = comparators(facts, delta_prime, w_star)
    return _bound("printed", facts, star, np.ones(facts.T), 2.0 * facts.memory_variation("ball"), in_ball=True)


def corrected(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """V/(t-1) for sum weights, and no term at t = 1, where there is no queue."""
    star = comparators(facts, delta_prime, w_star)
    return _bound("corrected", facts, star, _share(facts), 2.0 * facts.memory_variation("ball"), in_ball=True)


def trajectory(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """The memory error at x_t and at w*_t in place of twice its supremum."""
    star = comparators(facts, delta_prime, w_star)
    return _bound("trajectory", facts, star, _share(facts), facts.memory_variation("trajectory") + star.memory_gap)


def sharp(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """The losses of w*_t and x_t themselves, and the negative terms that the proof throws away."""
    star = comparators(facts, delta_prime, w_star)
    over = _over(facts, star)
    series = {
        "loss gap": average(facts, over * facts.V, _share(facts) * (star.loss - facts.phi_after)),
        "residual": average(facts, over, facts.Delta),
        "ageing": average(facts, -over, facts.ageing),
    }
    terms = {"last Lyapunov": -over * facts.lyapunov[..., -1] / facts.T}
    return _make("sharp", facts, star, series, terms)


def _share(facts: Facts) -> Array:
    """0 at t = 1, then 1 (mean weights) or 1/(t-1) (sum weights)."""
    share = np.ones(facts.T) if facts.weights == "mean" else 1.0 / facts.past
    return np.where(np.arange(facts.T) > 0, share, 0.0)


def _over(facts: Facts, star: Comparators) -> Array:
    margin = facts.delta - star.delta_prime
    return np.asarray(1.0 / np.where(margin > 0, margin, np.nan))


def _bound(form: str, facts: Facts, star: Comparators, share: Array, error: Array, *, in_ball: bool = False) -> Bound:
    over = _over(facts, star)
    series = {
        "tolerance": average(facts, over * facts.V * star.delta_prime, share * np.ones(facts.T)),
        "residual": average(facts, over, facts.Delta),
        "memory error": average(facts, over * facts.V, share * error),
    }
    return _make(form, facts, star, series, {}, in_ball=in_ball)


def _make(
    form: str,
    facts: Facts,
    star: Comparators,
    series: dict[str, Array],
    terms: dict[str, Array],
    kind: Kind = "valid",
    in_ball: bool = False,
) -> Bound:
    more = {"w* is feasible": star.feasible, "delta' < delta": np.asarray(star.delta_prime < facts.delta)}
    if in_ball:
        more |= {"models in W": facts.models_inside, "w* in W": np.asarray(facts.inside(star.w).all(axis=-1))}
    size = np.nan_to_num(_over(facts, star) * facts.V * (facts.phi_after.max(axis=-1) + facts.loss_floor))
    return make(_NAME, form, facts, facts.avg_Qbar, series=series, terms=terms, kind=kind, premises=_PREMISES,
                more=more, magnitude=size)  # fmt: skip


STATEMENT = Statement(
    id="thm2",
    title="Theorem 2: average queue, exact minimiser",
    label=_NAME[1],
    forms={"printed": printed, "corrected": corrected, "trajectory": trajectory, "sharp": sharp},
    latex=r"\frac1T\sum_t\bar Q[t-1]\le\frac{1}{\delta-\delta'}\Bigl[V\delta'+\frac1T\sum_t\Delta_t"
    r"+2V D_{\Phi,\hat\Phi}[T]\Bigr]",
    explain=Explanation(
        printed="Average queue <= [V delta' + (1/T) sum Delta_t + 2 V D_{Phi,hatPhi}[T]] / (delta - delta').",
        wrong="Nothing: true for mean and for sum weights. Its proof has the same mixture of the two as Theorem 1, "
        "which here costs nothing; for sum weights V/(t-1) is enough.",
        correct="As printed, or sharper: V/(t-1) for sum weights, the memory error at x_t and w*_t only.",
        conventions="delta' < delta, and the ideal problem is feasible with delta'.",
        proof="DPP_t(x_t) <= DPP_t(w*_t), divided by t-1 for sum weights, with Lemma 1; Phi_t(w*_t) - Phi_t(x_t) is "
        "at most delta' plus the memory error at both points.",
        terms={
            "tolerance": "hatPhi_{t-1}(w*_t) is within delta' of its infimum",
            "residual": "Delta_t of Lemma 1",
            "memory error": "Phi_t replaced by hatPhi_{t-1} at x_t and at w*_t",
            "loss gap": "Phi_t(w*_t) - Phi_t(x_t), not bounded further",
            "ageing": "Lemma 1's Lyap[t-1]/(t-1)",
            "last Lyapunov": "the end of the telescoping sum",
        },
    ),
)
