"""Adaptive step sizes, eta_t = c/alpha_t: the mean queue in place of the longest.  Label: new:adaptive_step.

Problem: a constant eta must stay below 1/alpha_t for the longest queues that ever occur, and Theorem 3 divides by this
eta. What is gained by a step size that follows the queues?

Statement (Case 1, J >= 1 steps of any sizes with eta_t alpha_t <= c <= 1; equality is the rule eta_t = c/alpha_t):

    sum_t eta_t |grad Phi_t(x_{t-1})|^2 / sum_t eta_t
        <= { K / ((1 - c/2) V^2) + (2/V) sum_t eta_t conflict_t } / sum_t eta_t
    K = V [Phi_1(x_0) - Phi_T(x_T)] + V T D + sum_t f_t Delta_t - f_T Lyap[T] - delta sum_t f_t Qbar[t-1]

and, for eta_t >= c'/alpha_t,    1 / sum_t eta_t <= (V L + l (1/T) sum_t f_t Qbar[t-1]) / (c' T).

Conventions: f_t = 1 for mean weights, t-1 for sum weights; conflict_t as in Theorem 3'; D at the models, without a term
at t = 1. c is the largest eta_t alpha_t of the run, c' the smallest. Any other reference adds sum_t excess_t to K;
excess_t = sum_{k<t} beta_k [hatPhi_k(x_{t-1}) - hatPhi_k(ref_{t,k})] is known before the step.
"""

from __future__ import annotations

import numpy as np

from ..quadratics import Array
from ..tolerance import RTOL
from .base import Bound, Explanation, Kind, Statement, make
from .facts import DESCENT, Facts, Reading

_NAME = ("adaptive_step", "new:adaptive_step")


def proved(facts: Facts) -> Bound:
    """The mean with weights eta_t, in Case 1."""
    where = "T = 1, one gradient step along a direction of curvature L"
    return _make("proved", facts, "trajectory", ("eta <= 1/alpha_t", "Case 1"), kind="tight", attained=where)


def ball(facts: Facts) -> Bound:
    """The variation as a supremum over W, as the paper defines it."""
    return _make("ball", facts, "ball", ("eta <= 1/alpha_t", "Case 1", "models in W"))


def any_case(facts: Facts) -> Bound:
    """Any reference: what the constraints weigh before the step is added."""
    where = "T = 1, one gradient step along a direction of curvature L"
    return _make("any_case", facts, "trajectory", ("eta <= 1/alpha_t",), kind="tight", attained=where)


def mean_queue(facts: Facts) -> Bound:
    """1/sum_t eta_t replaced by its bound: only the mean of the queues is left."""
    c = _smallest(facts)
    over = facts.alpha.mean(axis=-1) / (c * facts.T)
    where = "T = 1, one gradient step along a direction of curvature L"
    return _make("mean_queue", facts, "trajectory", ("eta <= 1/alpha_t", "Case 1"), over, kind="tight", attained=where)


def sharp(facts: Facts) -> Bound:
    """The exact constant of each task, weights eta_t (1 - eta_t alpha_t/2), any eta_t < 2/alpha_t, and the ageing."""
    weight = facts.eta * (1.0 - 0.5 * facts.eta * facts.alpha)
    over = 1.0 / weight.sum(axis=-1)
    where = "T = 1, one gradient step along a direction of curvature L"
    return _bound("sharp", facts, "trajectory", weight, over, np.ones(facts.lead), ("eta < 2/alpha_t", "Case 1"),
                  "tight", where, ageing=True)  # fmt: skip


def total_step(facts: Facts) -> Bound:
    """The consequence for the sum of the step sizes."""
    share = 1.0 / (_smallest(facts) * facts.T)
    series = {"queues": share[..., None] * facts.l[..., None] * facts.gain * facts.Qbar / facts.T}
    terms = {"present loss": share * facts.V * facts.L}
    premises = ("gradient descent", "plain queue", "V is constant", "queues drive the model")
    return make(_NAME, "total_step", facts, 1.0 / facts.eta.sum(axis=-1), series=series, terms=terms, kind="tight",
                attained="all alpha_t equal", premises=premises)  # fmt: skip


def _smallest(facts: Facts) -> Array:
    """c', the smallest eta_t alpha_t, (...)."""
    return np.asarray((facts.eta * facts.alpha).min(axis=-1))


def _make(
    form: str,
    facts: Facts,
    reading: Reading,
    premises: tuple[str, ...],
    over: Array | None = None,
    kind: Kind = "valid",
    attained: str = "",
) -> Bound:
    factor = 1.0 / (1.0 - 0.5 * np.minimum(facts.eta_alpha_max, 1.0))
    inverse = 1.0 / facts.eta.sum(axis=-1)
    whole = np.asarray(inverse if over is None else over)
    return _bound(form, facts, reading, facts.eta, whole, factor, premises, kind, attained)


def _bound(
    form: str,
    facts: Facts,
    reading: Reading,
    weight: Array,
    over: Array,
    factor: Array,
    premises: tuple[str, ...],
    kind: Kind,
    attained: str,
    *,
    ageing: bool = False,
) -> Bound:
    """`over` multiplies K; the left side and the conflict are means with the weights themselves."""
    V, share = facts.V, over * factor / facts.V**2
    weights = weight / weight.sum(axis=-1, keepdims=True)
    series = {
        "variation": (share * V)[..., None] * facts.variation(reading),
        "residual": share[..., None] * facts.gain * facts.Delta,
        "relief": -(share * facts.delta)[..., None] * facts.gain * facts.Qbar,
        "conflict": (2.0 / V)[..., None] * weights * facts.conflict,
    }
    if form == "any_case":
        series["excess"] = share[..., None] * facts.excess
    if ageing and facts.weights == "mean":
        series["ageing"] = -share[..., None] * facts.ageing
    terms = {
        "first loss": share * V * facts.phi_before[..., 0],
        "last loss": -share * V * facts.phi_after[..., -1],
        "last Lyapunov": -share * facts.lyapunov_end,
    }
    lhs = np.asarray((weights * facts.grad_sq_before).sum(axis=-1))
    size = facts.gradient_floor + share * (V * facts.loss_floor + facts.T * facts.excess_rounding / RTOL)
    return make(_NAME, form, facts, lhs, series=series, terms=terms, kind=kind, attained=attained,
                premises=(*DESCENT, *premises), magnitude=np.nan_to_num(size))  # fmt: skip


STATEMENT = Statement(
    id=_NAME[0],
    title="Adaptive steps: average squared gradient with eta_t = c/alpha_t",
    label=_NAME[1],
    forms={
        "proved": proved,
        "ball": ball,
        "any_case": any_case,
        "mean_queue": mean_queue,
        "sharp": sharp,
        "total_step": total_step,
    },
    latex=r"\frac{\sum_t\eta_t\lVert\nabla\Phi_t(x_{t-1})\rVert^2}{\sum_t\eta_t}\le\frac{1}{\sum_t\eta_t}\Bigl[\frac{K}"
    r"{(1-c/2)V^2}+\frac2V\sum_t\eta_t\kappa_t\Bigr],\qquad\frac1{\sum_t\eta_t}\le\frac{1}{c'T}\Bigl[VL+\frac lT"
    r"\sum_tf_t\bar Q[t-1]\Bigr]",
    explain=Explanation(
        printed="",
        wrong="",
        correct="The statement of this file.",
        conventions="The mean of the gradients has weights eta_t: tasks with long queues, where steps are short, count "
        "less. For a constant eta it is the plain mean and this is Theorem 3'.",
        proof="The descent lemma gives eta_t (1 - c/2) |grad DPP_t(x_{t-1})|^2 <= DPP_t(x_{t-1}) - DPP_t(x_t), "
        "summed without dividing by eta_t, so Lemma 1 telescopes as for Theorem 3'; |grad DPP_t|^2 >= V^2 |grad "
        "Phi_t|^2 - 2 V conflict_t. The second part is the inequality of the harmonic and the arithmetic mean.",
        terms={
            "first loss": "start of the telescoping sum, Phi_1(x_0)",
            "last loss": "its end, Phi_T(x_T)",
            "variation": "the loss changes between tasks",
            "residual": "Delta_t of Lemma 1",
            "relief": "each queue is served by delta per task",
            "excess": "how far memory losses are above their references before the step; 0 in Case 1",
            "ageing": "Lemma 1's Lyap[t-1]/(t-1), mean weights only",
            "last Lyapunov": "the end of the telescoped drift",
            "conflict": "negative inner products of gradients, weighted by the queues and by eta_t",
            "present loss": "V L, the curvature of the present task's part of DPP_t",
            "queues": "l f_t Qbar[t-1], the curvature of its queue part",
        },
    ),
    family={"T": (2, 4), "hessians": "scalar", "eta_rule": "auto"},
    family_of_form={"sharp": {"step_limit": 1.999}, "any_case": {"reference": "stored"}},
)
