"""Lemma 1: how much the Lyapunov function can grow in one task.  Paper label: lem:upperBoundLem.

Problem: the method replaces the drift Lyap[t] - Lyap[t-1] by an upper bound, which DPP_t then contains. The paper
prints that bound twice, once with the plain sum of Q_k[t-1] d_k[t] (main text) and once with their mean (appendix).

Statement, for every t and any models at all:

    Lyap[t] - Lyap[t-1] <= Delta_t + S_t/(t-1) - Lyap[t-1]/(t-1),      S_t = sum_{k<t} Q_k[t-1] d_k[t]

Conventions: Lyap[t] = 1/(2(t-1)) sum_{k<t} Q_k[t]^2, Lyap[0] = Lyap[1] = 0. At t = 1 both sides are 0.
"""

from __future__ import annotations

import numpy as np

from ..tolerance import RTOL
from .base import Bound, Explanation, Statement, make
from .facts import Facts

_NAME = ("lemma1", "lem:upperBoundLem")


def printed(facts: Facts) -> Bound:
    """The main text: the plain sum of queue times increment."""
    terms = {"residual": facts.Delta, "queue times increment": facts.cross}
    return _make("printed", facts, terms, kind="false as printed")


def appendix(facts: Facts) -> Bound:
    """The appendix: the mean of queue times increment."""
    return _make("appendix", facts, _mean_terms(facts), kind="tight", attained="t = 2 with no queue cut at 0")


def corrected(facts: Facts) -> Bound:
    """The mean, and what the older queues lose when one more task shares the average."""
    terms = _mean_terms(facts) | {"ageing": -facts.ageing}
    return _make("corrected", facts, terms, kind="tight", attained="whenever no queue is cut at 0")


def identity(facts: Facts) -> Bound:
    """Equality always: the part that max(., 0) cuts off is kept."""
    d = facts.increments - np.where(np.tri(facts.T, k=-1, dtype=bool), facts.delta[..., None, None], 0.0)
    cut = np.minimum(facts.Q[..., :-1, :] + d, 0.0)
    clipped = np.vecdot(cut, cut) / (2.0 * facts.past)
    terms = _mean_terms(facts) | {"ageing": -facts.ageing, "clipped": -clipped}
    # Queues and increments come from the simulator, what is cut off from the losses themselves, with their rounding.
    queues, off = facts.Q.max(axis=(-2, -1)) + facts.largest_loss, facts.hat_rounding
    size = queues**2 + (2.0 * queues * off + off**2) / RTOL
    return _make("identity", facts, terms, kind="tight", attained="everywhere", magnitude=size[..., None])


def _mean_terms(facts: Facts) -> dict[str, np.ndarray]:
    return {"residual": facts.Delta, "queue times increment": facts.cross / facts.past}


def _make(form: str, facts: Facts, terms: dict[str, np.ndarray], **more) -> Bound:  # type: ignore[no-untyped-def]
    # The drift is a difference of two values of the Lyapunov function, which may be much larger than it.
    size = np.maximum(facts.lyapunov[..., 1:], facts.lyapunov[..., :-1])
    more = {"magnitude": size} | more
    return make(_NAME, form, facts, np.diff(facts.lyapunov, axis=-1), terms=terms, trailing=1,
                premises=("plain queue",), **more)  # fmt: skip


STATEMENT = Statement(
    id="lemma1",
    title="Lemma 1: one-task drift of the Lyapunov function",
    label=_NAME[1],
    forms={"printed": printed, "appendix": appendix, "corrected": corrected, "identity": identity},
    latex=r"\mathcal L[t]-\mathcal L[t-1]\le\Delta_t+\frac{1}{t-1}\sum_{k<t}Q_k[t-1]d_k[t]-\frac{\mathcal L[t-1]}{t-1}",
    explain=Explanation(
        printed="Main text: drift <= Delta_t + sum_k Q_k[t-1] d_k[t]. Appendix: the same with 1/(t-1) before the sum.",
        wrong="The Lyapunov function carries 1/(2(t-1)), so the cross term must carry 1/(t-1). Without it the right "
        "side is too small as soon as the queues shrink strongly (S_t very negative) and t >= 3.",
        correct="The appendix form is true, and Lyap[t-1]/(t-1) may be subtracted from its right side.",
        conventions="Q_{t-1}[t-1] = 0, so the average at t runs over one queue more than the one at t - 1.",
        proof="max(x, 0)^2 <= x^2 with x = Q_k[t-1] + d_k[t]; sum over k < t and divide by 2(t-1). The old squares add "
        "up to (t-2)/(t-1) Lyap[t-1]. What max cuts off is the only loss, hence the identity.",
        terms={
            "residual": "the squares d_k[t]^2",
            "queue times increment": "the mixed products of the expanded squares",
            "ageing": "the old queues are averaged over t-1 tasks now, over t-2 before",
            "clipped": "the squared negative part that max(., 0) removes",
        },
    ),
)
