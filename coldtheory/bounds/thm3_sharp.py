"""Theorem 3': the average squared gradient in Case 1, without r and l.  Sharpens thm:gradient_norm_bound.

Problem: Theorem 3 bounds the fall of each memory loss by l r^2/2. In Case 1 that fall is what the queues record, so
Lemma 1 replaces the crude bound.

Statement (Case 1, eta <= 1/alpha_t):

    (1/T) sum_t |grad Phi_t(x_{t-1})|^2 <= (2/(eta T V^2)) { V [Phi_1(x_0) - Phi_T(x_T)] + V T D + sum_t f_t Delta_t
        - f_T Lyap[T] - delta sum_t f_t Qbar[t-1] } + (2/(T V)) sum_t conflict_t

Conventions: conflict_t = sum_{k<t} beta_k max(0, -<grad Phi_t, grad hatPhi_k>(x_{t-1})); f_t as in Theorem 3.
"""

from __future__ import annotations

import numpy as np

from ..quadratics import Array
from .base import Bound, Explanation, Kind, Statement, average, make
from .facts import DESCENT, Facts, Reading
from .thm3_gradient import step_factor

_NAME = ("thm3_sharp", "thm:gradient_norm_bound")


def ball(facts: Facts) -> Bound:
    """The variation as a supremum over W, as the paper defines it."""
    premises = ("eta <= 1/alpha_t", "models in W")
    return _make("ball", facts, "ball", 2.0, premises, "valid")


def corrected(facts: Facts) -> Bound:
    """The variation at the models only."""
    where = "T = 1 and eta alpha = 1 with the curvature L"
    return _make("corrected", facts, "trajectory", 2.0, ("eta <= 1/alpha_t",), "tight", where)


def sharp(facts: Facts) -> Bound:
    """1/(1 - eta alpha/2) in place of 2, and Lemma 1's ageing term."""
    where = "T = 1, one gradient step along a direction of curvature L"  # later, queues cut at 0 leave a residual
    return _make("sharp", facts, "trajectory", step_factor(facts), ("eta < 2/alpha_t",), "tight", where, ageing=True)


def _make(
    form: str,
    facts: Facts,
    reading: Reading,
    factor: Array | float,
    premises: tuple[str, ...],
    kind: Kind,
    attained: str = "",
    ageing: bool = False,
) -> Bound:
    V, over = facts.V, factor / facts.step
    series = {
        "variation": average(facts, over / V, facts.variation(reading)),
        "residual": average(facts, over / V**2, facts.gain * facts.Delta),
        "relief": average(facts, -over * facts.delta / V**2, facts.gain * facts.Qbar),
        "conflict": average(facts, 2.0 / V, facts.conflict),
    }
    if ageing and facts.weights == "mean":
        series["ageing"] = average(facts, -over / V**2, facts.ageing)
    share = over / (V * facts.T)
    terms = {
        "first loss": np.asarray(share * facts.phi_before[..., 0]),
        "last loss": np.asarray(-share * facts.phi_after[..., -1]),
        "last Lyapunov": np.asarray(-share / V * facts.lyapunov_end),
    }
    lhs = np.asarray(facts.grad_sq_before.mean(axis=-1))
    return make(_NAME, form, facts, lhs, series=series, terms=terms, kind=kind, attained=attained,
                premises=(*DESCENT, "Case 1", *premises), magnitude=facts.gradient_floor)  # fmt: skip


STATEMENT = Statement(
    id="thm3_sharp",
    title="Theorem 3': average squared gradient in Case 1, without r and l",
    label=_NAME[1],
    forms={"corrected": corrected, "ball": ball, "sharp": sharp},
    latex=r"\frac1T\sum_t\lVert\nabla\Phi_t(x_{t-1})\rVert^2\le\frac{2}{\eta TV^2}\Bigl\{V[\Phi_1(x_0)-\Phi_T(x_T)]"
    r"+VTD+\sum_tf_t\Delta_t-f_T\mathcal L[T]-\delta\sum_tf_t\bar Q[t-1]\Bigr\}+\frac{2}{TV}\sum_t\kappa_t",
    explain=Explanation(
        printed="Not in the paper; its Theorem 3 has r^2 l Qbar in place of the queue terms here.",
        wrong="nothing",
        correct="The statement of this file.",
        conventions="Case 1 only. No set W, no r and no l appear, except in the form `ball`.",
        proof="In Case 1 sum_k beta_k [hatPhi_k(x_{t-1}) - hatPhi_k(x_t)] = -sum_k beta_k d_k[t] - delta sum_k beta_k; "
        "Lemma 1 bounds the first part by Delta_t minus the drift, which telescopes. The rest is as for Theorem 3. "
        "With the exact constant of the descent lemma the factor 2 becomes 1/(1 - eta alpha/2).",
        terms={
            "first loss": "start of the telescoping sum, Phi_1(x_0)",
            "last loss": "its end, Phi_T(x_T)",
            "variation": "the loss changes between tasks",
            "residual": "Delta_t of Lemma 1",
            "relief": "each queue is served by delta per task",
            "ageing": "Lemma 1's Lyap[t-1]/(t-1), mean weights only",
            "last Lyapunov": "the end of the telescoped drift",
            "conflict": "negative inner products of gradients, weighted by the queues themselves",
        },
    ),
)
