"""Theorem 1: the loss gap to the ideal problem, DPP_t minimised exactly.  Paper label: thm:avg_loss_boundedcase.

Problem: how much worse than the ideal w*_t, which may not forget more than delta', are the models x_t?

Statement (W = R^d; any w*_t with hatPhi_k(w*_t) - inf hatPhi_k <= delta' <= delta for all k < t):

    (1/T) sum_t [Phi_t(x_t) - Phi_t(w*_t)] <= (1/(V T)) sum_t f_t Delta_t

Conventions: f_t = 1 for mean weights, t-1 for sum weights. The set over which DPP_t is minimised must be the one of
the ideal problem and of the infima; for quadratics without projection all are R^d.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..quadratics import Array
from .base import Bound, Explanation, Kind, Statement, average, make
from .comparators import Comparators, comparators
from .facts import PLAIN, POSSIBLE, Facts

_NAME = ("thm1", "thm:avg_loss_boundedcase")
_PREMISES = ("exact minimiser", "no projection", "queues drive the model", POSSIBLE, *PLAIN)


def printed(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """Delta_t without a factor, whatever the weights."""
    star = comparators(facts, delta_prime, w_star)
    series = {"residual": average(facts, 1.0 / facts.V, facts.Delta)}
    return _make("printed", facts, star, series, {}, "false as printed")


def corrected(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """(t-1) Delta_t for sum weights."""
    star = comparators(facts, delta_prime, w_star)
    series = {"residual": average(facts, 1.0 / facts.V, facts.gain * facts.Delta)}
    return _make("corrected", facts, star, series, {}, "valid")


def sharp(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """With the negative terms that the proof throws away."""
    star = comparators(facts, delta_prime, w_star)
    margin = facts.delta - star.delta_prime
    series = {
        "residual": average(facts, 1.0 / facts.V, facts.gain * facts.Delta),
        "relief": average(facts, -margin / facts.V, facts.gain * facts.Qbar),
    }
    if facts.weights == "mean":
        series["ageing"] = average(facts, -1.0 / facts.V, facts.ageing)
    terms = {"last Lyapunov": -facts.lyapunov_end / (facts.V * facts.T)}
    return _make("sharp", facts, star, series, terms, "valid")


def weighted(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """Sum weights with the printed right side: then the gap of task t counts 1/(t-1) only."""
    star = comparators(facts, delta_prime, w_star)
    series = {"residual": average(facts, 1.0 / facts.V, facts.Delta)}
    return _make("weighted", facts, star, series, {}, "valid", 1.0 / facts.past, ("sum weights",))


def _make(
    form: str,
    facts: Facts,
    star: Comparators,
    series: dict[str, Array],
    terms: dict[str, Array],
    kind: Kind,
    weight: Array | float = 1.0,
    extra: tuple[str, ...] = (),
) -> Bound:
    gap = weight * (facts.phi_after - star.loss)
    more = {"w* is feasible": star.feasible, "delta' <= delta": np.asarray(star.delta_prime <= facts.delta)}
    size = np.maximum(facts.phi_after.max(axis=-1), np.nan_to_num(star.loss).max(axis=-1)) + facts.loss_floor
    lhs = np.asarray(gap.mean(axis=-1))
    return make(_NAME, form, facts, lhs, series=series, terms=terms, kind=kind, premises=_PREMISES + extra,
                more=more, magnitude=size)  # fmt: skip


STATEMENT = Statement(
    id="thm1",
    title="Theorem 1: average loss gap, exact minimiser",
    label=_NAME[1],
    forms={"printed": printed, "corrected": corrected, "sharp": sharp, "weighted": weighted},
    latex=r"\frac1T\sum_t[\Phi_t(x_t)-\Phi_t(w_t^*)]\le\frac1{VT}\Bigl[\sum_t f_t\Delta_t-f_T\mathcal L[T]"
    r"-(\delta-\delta')\sum_t f_t\bar Q[t-1]\Bigr]",
    explain=Explanation(
        printed="Average gap <= (1/(V T)) sum_t Delta_t, for the minimiser of DPP_t with the plain sum of queues.",
        wrong="The proof uses the mean of queue times increment, the algorithm minimises the sum: two different "
        "minimisers. True for mean weights. Also false if DPP_t is minimised over a larger set than the ideal problem.",
        correct="Sum weights: (t-1) Delta_t in place of Delta_t, or the gap of task t weighted by 1/(t-1).",
        conventions="w*_t need not be optimal, only feasible. delta' <= delta. The term t = 1 is 0 on the right.",
        proof="DPP_t(x_t) <= DPP_t(w*_t), Lemma 1 (times t-1 for sum weights), and d_k(w*_t) <= delta' - delta because "
        "no reference is below the infimum; telescope the Lyapunov function.",
        terms={
            "residual": "Delta_t of Lemma 1",
            "relief": "each queue is served by at least delta - delta' at w*_t",
            "ageing": "Lemma 1's Lyap[t-1]/(t-1), mean weights only",
            "last Lyapunov": "the end of the telescoping sum",
        },
    ),
)
