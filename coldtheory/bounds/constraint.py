"""'Bounded average queue implies the constraint'.  Paper: that paragraph, after cor:case1_final_result.

Problem: what do small queues say about forgetting? The paper argues that at (infinitely many) tasks t

    (1/(t-1)) sum_{k<t} [hatPhi_k(x_t) - hatPhi_k(x_{t-1}) - delta] <= Q_k[t-1]/(t-1),

mixing a sum over past tasks k with the sum over time that a queue is.

Statement, for any models and either case:

    double average   (2/(T(T-1))) sum_{t=2}^T sum_{k<t} inc_k[t] <= delta + (2/T) (1/(T-1)) sum_{k<T} Q_k[T]
    per task         (1/(t-k)) sum_{s=k+1}^t inc_k[s] <= delta + Q_k[t]/(t-k),   every k < t

Conventions: inc_k[t] = hatPhi_k(x_t) - hatPhi_k(ref_{t,k}). For T = 1 there is no constraint and both sides are 0.
"""

from __future__ import annotations

import numpy as np

from .base import Bound, Explanation, Statement, make
from .facts import Facts

_NAME = ("constraint", "par:bounded-average-queue")


def printed(facts: Facts) -> Bound:
    """The printed step, read in its favour: the newest value of the largest queue."""
    return _step("printed", facts, facts.Q[..., 1:, :])


def printed_index(facts: Facts) -> Bound:
    """The printed step with the printed index, Q_k[t-1]."""
    return _step("printed_index", facts, facts.Q[..., :-1, :])


def corrected(facts: Facts) -> Bound:
    """The double average over tasks and time."""
    T = facts.T
    pairs = max(T * (T - 1) / 2.0, 1.0)
    exists = 1.0 if T > 1 else 0.0
    terms = {"delta": facts.delta * exists, "last queues": facts.Q[..., -1, :].sum(axis=-1) / pairs}
    lhs = facts.increments.sum(axis=(-2, -1)) / pairs
    return make(_NAME, "corrected", facts, lhs, terms=terms, kind="tight", attained="no queue is ever cut at 0",
                premises=("plain queue",), magnitude=facts.hat_scale)  # fmt: skip


def per_task(facts: Facts) -> Bound:
    """One past task, averaged over time: trailing axes t and k."""
    t = np.arange(1, facts.T + 1)
    age = t[:, None] - t
    over = np.where(age > 0, 1.0 / np.where(age > 0, age, 1), 0.0)
    lhs = np.cumsum(facts.increments, axis=-2) * over
    terms = {"delta": facts.delta[..., None, None] * (over > 0), "queue": facts.Q[..., 1:, :] * over}
    return make(_NAME, "per_task", facts, lhs, terms=terms, kind="tight", attained="queues never cut at 0", trailing=2,
                premises=("plain queue",), magnitude=facts.hat_scale[..., None, None])  # fmt: skip


def _step(form: str, facts: Facts, queues: np.ndarray) -> Bound:
    lhs = facts.increments.sum(axis=-1) / facts.past - np.where(np.arange(facts.T) > 0, facts.delta[..., None], 0.0)
    terms = {"queue": queues.max(axis=-1) / facts.past}
    return make(_NAME, form, facts, lhs, terms=terms, kind="false as printed", trailing=1,
                premises=("plain queue", "Case 1"), magnitude=facts.hat_scale[..., None])  # fmt: skip


STATEMENT = Statement(
    id="constraint",
    title="Bounded average queue implies the constraint",
    label=_NAME[1],
    forms={"printed": printed, "printed_index": printed_index, "corrected": corrected, "per_task": per_task},
    latex=r"\frac{2}{T(T-1)}\sum_{t=2}^T\sum_{k<t}[\hat\Phi_k(x_t)-\hat\Phi_k(\tilde w_{t,k})]\le\delta"
    r"+\frac2T\,\frac1{T-1}\sum_{k<T}Q_k[T]",
    explain=Explanation(
        printed="The mean over k of hatPhi_k(x_t) - hatPhi_k(x_{t-1}) - delta is at most Q_k[t-1]/(t-1).",
        wrong="A queue adds up increments over time, not over past tasks; its index is one too early; a bounded "
        "average of queues does not bound each of them.",
        correct="Average over time as well: the excess over delta is then the mean final queue times 2/T. For a single "
        "past task the excess is Q_k[t]/(t-k).",
        conventions="inc_k[t] compares with the method's own reference, so this does not concern the best model.",
        proof="Q_k[t] >= Q_k[t-1] + inc_k[t] - delta and Q_k[k] = 0; sum over time, then over k.",
        terms={
            "delta": "the tolerance, once for every pair (k, t)",
            "last queues": "what the queues have piled up at the end",
            "queue": "what this queue has piled up",
        },
    ),
)
