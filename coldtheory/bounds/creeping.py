"""What a queue says about the real forgetting of one past task.  Label: new:creeping.

Problem: F_k[t] = hatPhi_k(x_t) - hatPhi_k(x_k) is how much worse task k is than at its end. Does an empty queue say
that it is small?

Statement, for any models and every k < t:

    Case 1         F_k[t] <= Q_k[t] + (t-k) delta      (proved)
    Cases 2 and 3  F_k[t] <= Q_k[t] + delta            (one_delta)

Conventions: Q_k[k] = 0. In Case 1 a model may creep: it loses delta per task, no queue ever fills, and equality holds
for every pair. The form `average` is the mean over all pairs; the mean of t-k is (T+1)/3. Sides of the other two have
trailing axes t and k; entries with k >= t are 0.
"""

from __future__ import annotations

import numpy as np

from ..quadratics import Array
from .base import Bound, Explanation, Statement, make
from .facts import Facts

_NAME = ("creeping", "new:creeping")
_CREEP = "optima at (0,0,..), (1,0,..), (1,1,..), ..., one coordinate more per task, delta = 1/2: every pair"


def proved(facts: Facts) -> Bound:
    """Case 1: one delta for each task since."""
    allowance = facts.delta[..., None, None] * _ages(facts)
    return _per_pair("proved", facts, allowance, ("plain queue", "Case 1"))


def average(facts: Facts) -> Bound:
    """Case 1, the mean over all pairs: queues and delta (T+1)/3."""
    T = facts.T
    pairs = max(T * (T - 1) / 2.0, 1.0)
    terms = {
        "queue": facts.Q.sum(axis=(-2, -1)) / pairs,
        "delta": facts.delta * ((T + 1) / 3.0 if T > 1 else 0.0),
    }
    return make(_NAME, "average", facts, facts.avg_forgetting, terms=terms, kind="tight", attained=_CREEP,
                premises=("plain queue", "Case 1"), magnitude=facts.hat_scale + T * facts.delta)  # fmt: skip


def one_delta(facts: Facts) -> Bound:
    """Cases 2 and 3: one delta, however long ago the task was."""
    allowance = facts.delta[..., None, None] * np.minimum(_ages(facts), 1.0)
    return _per_pair("one_delta", facts, allowance, ("plain queue", "no reference is worse than x_k"))


def _ages(facts: Facts) -> Array:
    """t - k for k < t, else 0: (T, T)."""
    t = np.arange(1.0, facts.T + 1)
    return np.maximum(t[:, None] - t, 0.0)


def _per_pair(form: str, facts: Facts, allowance: Array, premises: tuple[str, ...]) -> Bound:
    terms = {"queue": facts.Q[..., 1:, :], "delta": allowance}
    size = (facts.hat_scale + facts.T * facts.delta)[..., None, None]
    where = _CREEP if form == "proved" else "the first task after k, where its queue is not cut at 0"
    return make(_NAME, form, facts, facts.forgetting, terms=terms, kind="tight", attained=where, premises=premises,
                trailing=2, magnitude=size)  # fmt: skip


STATEMENT = Statement(
    id="creeping",
    title="The creeping model: empty queues and forgetting without end, Case 1",
    label=_NAME[1],
    forms={"proved": proved, "average": average, "one_delta": one_delta},
    latex=r"\hat\Phi_k(x_t)-\hat\Phi_k(x_k)\le Q_k[t]+(t-k)\,\delta\ \text{(Case 1)},\qquad "
    r"\hat\Phi_k(x_t)-\hat\Phi_k(x_k)\le Q_k[t]+\delta\ \text{(Cases 2 and 3)}",
    explain=Explanation(
        printed="",
        wrong="",
        correct="In Case 1 a task may get worse by delta per task, for ever, with all queues empty; nothing better "
        "than Q_k[t] + (t-k) delta is true. With a reference that is no worse than x_k one delta is enough.",
        conventions="Any models, whatever the algorithm, V, eta and the weights.",
        proof="A queue is at least the sum of its increments. In Case 1 these telescope: Q_k[t] >= sum_{s=k+1}^t "
        "[hatPhi_k(x_s) - hatPhi_k(x_{s-1}) - delta] = F_k[t] - (t-k) delta. Otherwise its last increment is enough: "
        "Q_k[t] >= hatPhi_k(x_t) - hatPhi_k(ref) - delta >= F_k[t] - delta.",
        terms={
            "queue": "what the queue has piled up (its mean over all pairs in `average`)",
            "delta": "what it lets pass: delta per task in Case 1, once in Cases 2 and 3",
        },
    ),
    family={"T": (2, 5), "solver": "exact"},
    family_of_form={"one_delta": {"reference": "stored"}},
)
