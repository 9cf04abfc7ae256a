"""The queue of one past task in closed form (Lindley's recursion).  Paper label: eq:queue_update.

Problem: the paper bounds the Case 1 queues by O(V). They are bounded for every V.

Statement (Case 1, any models), for k < t:

    Q_k[t] = max_{k<=s<=t} [hatPhi_k(x_t) - hatPhi_k(x_s) - (t-s) delta]
          <= hatPhi_k(x_t) - min_{k<=s<=t} hatPhi_k(x_s) <= l r^2 / 2

Case 2, and any other reference:  Q_k[t] <= (t-k) l r^2 / 2.
Conventions: Q_k[k] = 0; r as in `lemma_gap`. Sides have trailing axes t = 1..T and k = 1..T; entries with k >= t are 0.
"""

from __future__ import annotations

import numpy as np

from ..quadratics import Array
from .base import Bound, Explanation, Statement, make
from .facts import POSSIBLE, Facts

_NAME = ("lindley", "eq:queue_update")


def identity(facts: Facts) -> Bound:
    """The closed form itself; equality everywhere."""
    tilt = facts.delta[..., None, None] * np.arange(facts.T + 1.0)[:, None]
    return _make(
        "identity",
        facts,
        {"largest rise": _rise(facts.hat - tilt)},
        attained="everywhere",
        premises=("plain queue", "Case 1"),
    )


def reverse(facts: Facts) -> Bound:
    """The identity read from right to left: closed form <= queue."""
    whole = identity(facts)
    terms = {"queue": whole.lhs}
    return make(_NAME, "reverse", facts, whole.terms["largest rise"], terms=terms, kind="tight", attained="everywhere",
                premises=("plain queue", "Case 1"), trailing=2, magnitude=whole.magnitude)  # fmt: skip


def corrected(facts: Facts) -> Bound:
    """The queue is at most the rise of its loss above the best model since task k."""
    where = "delta = 0, and any queue filled in one task as delta -> 0"
    return _make(
        "corrected",
        facts,
        {"rise above the best": _rise(facts.hat)},
        attained=where,
        premises=("plain queue", "Case 1"),
    )


def a_priori(facts: Facts) -> Bound:
    """l r^2/2 in Case 1 and (t-k) l r^2/2 in Case 2, before any model is known."""
    t = np.arange(1, facts.T + 1.0)
    age = np.maximum(t[:, None] - t, 0.0)
    count = np.minimum(age, 1.0) if facts.reference == "previous" else age
    terms = {"l r^2 / 2": np.asarray(0.5 * facts.l * facts.r**2)[..., None, None] * count}
    return _make(
        "a_priori",
        facts,
        terms,
        premises=("plain queue", "models in W", POSSIBLE),
        attained="delta = 0, from the optimum to the rim",
    )


def rises(facts: Facts) -> Array:
    """hatPhi_k(x_t) - min_{k<=s<=t} hatPhi_k(x_s), (..., T, T)."""
    return _rise(facts.hat)


def _rise(values: Array) -> Array:
    """values[t, k] - min_{k<=s<=t} values[s, k] for k < t: (..., T+1, T) -> (..., T, T)."""
    T = values.shape[-1]
    since = np.arange(T + 1)[:, None] >= np.arange(1, T + 1)
    lowest = np.minimum.accumulate(np.where(since, values, np.inf), axis=-2)
    past = np.tri(T, k=-1, dtype=bool)
    return np.where(past, values[..., 1:, :] - np.where(past, lowest[..., 1:, :], 0.0), 0.0)


def _make(form: str, facts: Facts, terms: dict[str, Array], **more) -> Bound:  # type: ignore[no-untyped-def]
    size = (facts.hat_scale + facts.T * facts.delta)[..., None, None]
    lhs = facts.Q[..., 1:, :]
    return make(_NAME, form, facts, lhs, terms=terms, kind="tight", trailing=2, magnitude=size, **more)


STATEMENT = Statement(
    id="lindley",
    title="Lindley's identity: the Case 1 queue in closed form",
    label=_NAME[1],
    forms={"identity": identity, "reverse": reverse, "corrected": corrected, "a_priori": a_priori},
    latex=r"Q_k[t]=\max_{k\le s\le t}\bigl[\hat\Phi_k(x_t)-\hat\Phi_k(x_s)-(t-s)\delta\bigr]\le\tfrac12 l r^2",
    explain=Explanation(
        printed="Qbar[t-1] = O(V) (Theorem 4).",
        wrong="Misleading: in Case 1 the queues do not grow with V beyond l r^2/2, and do not vanish like V either.",
        correct="Q_k[t] <= hatPhi_k(x_t) - min_{k<=s<=t} hatPhi_k(x_s), independent of V, eta, weights and algorithm.",
        conventions="Case 1 for the identity; the a-priori form also covers Case 2, with the factor t-k.",
        proof="Unroll Q = max(Q + d, 0): a queue is the largest sum of increments that ends now. In Case 1 the "
        "increments telescope. In Case 2 each increment is at most l r^2/2.",
        terms={
            "largest rise": "the best starting task s of the telescoping sum",
            "queue": "the simulated queue",
            "rise above the best": "the same without the discount (t-s) delta",
            "l r^2 / 2": "the optimality gap of a memory loss on W, once (Case 1) or for each task (Case 2)",
        },
    ),
)
