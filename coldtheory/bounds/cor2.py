"""Corollary 2: the trade-off with eta = c/V.  Paper label: cor:case1_final_result.

Problem: with steps of order 1/V, how do average squared gradient and average queue depend on V?

Statements (Case 1, c = eta V, eta <= 1/alpha_t for the gradient and <= 2/alpha_t for the queue):

    gradient   avg |grad Phi_t(x_{t-1})|^2 <= (2/c) [Phi_1(x_0)/T + D + (1/(T V)) sum_t f_t Delta_t]
                                              + (l r^2/(V T)) sum_t c_t rho_{t,-}
    queue      avg Qbar <= V D/delta + V Phi_1(x_1)/(T delta) + (1/(T delta)) sum_t Delta_t

Conventions: f_t, c_t as in Theorem 3. The printed O(.) of the gradient part has 1/delta before Delta, which is not
needed; the printed queue part, O(V D/delta), lacks the other two terms and is false for any constant.
"""

from __future__ import annotations

import numpy as np

from .base import Bound, Explanation, Statement, average, make
from .facts import DESCENT, Facts
from .thm3_gradient import queue_cap
from .thm4_queue import corrected as thm4_corrected
from .thm4_queue import printed as thm4_printed

_GRADIENT = ("cor2_gradient", "cor:case1_final_result")
_QUEUE = ("cor2_queue", "cor:case1_final_result")


def gradient_corrected(facts: Facts) -> Bound:
    """Explicit constants, and no delta."""
    over = 2.0 / (facts.step * facts.V)
    series = {
        "variation": average(facts, over, facts.variation("ball")),
        "residual": average(facts, over / facts.V, facts.gain * facts.Delta),
        "conflict": average(facts, facts.l * facts.r**2 / facts.V, queue_cap(facts) * facts.rho("ball")),
    }
    terms = {"first loss": over * facts.phi_before[..., 0] / facts.T}
    lhs = np.asarray(facts.grad_sq_before.mean(axis=-1))
    return make(_GRADIENT, "corrected", facts, lhs, series=series, terms=terms, kind="valid",
                premises=(*DESCENT, "Case 1", "eta <= 1/alpha_t", "models in W"),
                magnitude=facts.gradient_floor)  # fmt: skip


def queue_printed(facts: Facts, constant: float = 1.0) -> Bound:
    """constant * V D/delta; no constant works, since D may be 0 while queues fill."""
    whole = thm4_printed(facts)
    series = {"variation": constant * whole.series["variation"]}
    return make(_QUEUE, "printed", facts, facts.avg_Qbar, series=series, kind="false as printed",
                more=dict(whole.assumptions))  # fmt: skip


def queue_corrected(facts: Facts) -> Bound:
    """All three terms."""
    whole = thm4_corrected(facts)
    first = {"first loss": whole.terms["first loss"]}
    return make(_QUEUE, "corrected", facts, facts.avg_Qbar, series=whole.series, terms=first, kind="valid",
                more=dict(whole.assumptions))  # fmt: skip


GRADIENT = Statement(
    id="cor2_gradient",
    title="Corollary 2: average squared gradient with eta = c/V",
    label=_GRADIENT[1],
    forms={"corrected": gradient_corrected},
    latex=r"\frac1T\sum_t\lVert\nabla\Phi_t(x_{t-1})\rVert^2\le\frac2c\Bigl[\frac{\Phi_1(x_0)}T+D+\frac{\bar\Delta}V\Bigr]"
    r"+\frac{lr^2}{V}\bar\rho",
    explain=Explanation(
        printed="O(1/T + D + rho/V + Delta/(delta V)), with delta > delta'.",
        wrong="True in a stronger form: neither 1/delta nor delta > delta' is needed. Its derivation hides a factor "
        "r^2 l/(V delta), which is 10^4 at the paper's toy settings, in the O of D.",
        correct="The explicit bound of this file.",
        conventions="c = eta V; D without a term at t = 1; the mean of rho_{t,-} carries the factors c_t of Theorem 3.",
        proof="Theorem 3' with its negative terms dropped and beta_k <= c_t l r^2/2 in the conflict.",
        terms={
            "first loss": "start of the telescoping sum, Phi_1(x_0)",
            "variation": "the loss changes between tasks; does not vanish with V",
            "residual": "Delta_t of Lemma 1",
            "conflict": "negative inner products of gradients, with the largest possible queues",
        },
    ),
)

QUEUE = Statement(
    id="cor2_queue",
    title="Corollary 2: average queue with eta = c/V",
    label=_QUEUE[1],
    forms={"printed": queue_printed, "corrected": queue_corrected},
    latex=r"\frac1T\sum_t\bar Q[t-1]\le\frac{VD}\delta+\frac{V\Phi_1(x_1)}{T\delta}+\frac{\bar\Delta}\delta",
    explain=Explanation(
        printed="O(V D/delta).",
        wrong="With constant tasks D = 0, and yet queues fill when the memory losses differ from the task losses.",
        correct="Add V Phi_1(x_1)/(T delta) and the mean of Delta_t over delta.",
        conventions="As Theorem 4.",
        proof="This is Theorem 4.",
        terms={
            "variation": "the loss changes between tasks",
            "residual": "Delta_t of Lemma 1",
            "first loss": "start of the telescoping sum, Phi_1(x_1)",
        },
    ),
)
