"""Appendix lemma on the average decrease of DPP.  Paper label: lemm:drift.

Problem: Theorem 3 needs the total decrease of DPP_t over each task's own update, although the function changes
from task to task.

Statement, for any models (no step-size condition):

    (1/(T eta)) sum_t [DPP_t(x_{t-1}) - DPP_t(x_t)]
        <= V Phi_1(x_0)/(T eta) + V D/eta + (r^2 l/(2 eta T)) sum_t f_t Qbar[t-1]

Conventions: f_t = 1 for mean weights, t-1 for sum weights; r as in `lemma_gap`; D has no term at t = 1 and
Phi_{T+1} := Phi_T.
"""

from __future__ import annotations

import numpy as np

from ..quadratics import Array
from .base import Bound, Explanation, Statement, average, make
from .facts import PLAIN, Facts, Reading

_NAME = ("lemma_dpp", "lemm:drift")


def printed(facts: Facts) -> Bound:
    """r the radius of W, and the mean of the queues whatever the weights."""
    return _make("printed", facts, facts.radius, np.ones(facts.T), "ball", kind="false as printed")


def corrected(facts: Facts) -> Bound:
    """r the largest distance from a minimiser, and f_t that fits the weights."""
    return _make("corrected", facts, facts.r, facts.gain, "ball", kind="valid")


def trajectory(facts: Facts) -> Bound:
    """Variation and distances taken at the models instead of over W."""
    where = "one task that ends at loss 0"
    return _make("trajectory", facts, facts.r_models, facts.gain, "trajectory", kind="tight", attained=where)


def dpp_drops(facts: Facts) -> Array:
    """DPP_t(x_{t-1}) - DPP_t(x_t), (..., T)."""
    fall = facts.hat[..., :-1, :] - facts.hat[..., 1:, :]
    return np.asarray(facts.V_t * (facts.phi_before - facts.phi_after) + np.vecdot(facts.beta, fall))


def _make(form: str, facts: Facts, r: Array, gain: Array, reading: Reading, **more) -> Bound:  # type: ignore[no-untyped-def]
    over = 1.0 / facts.step
    series = {
        "variation": average(facts, over * facts.V, facts.variation(reading)),
        "queues": average(facts, 0.5 * over * r**2 * facts.l, gain * facts.Qbar),
    }
    terms = {"first loss": facts.V * over * facts.phi_before[..., 0] / facts.T}
    lhs = dpp_drops(facts).mean(axis=-1) * over
    premises = ("queues drive the model", *PLAIN, *(("models in W",) if reading == "ball" else ()))
    size = over * (facts.V * facts.phi_before.max(axis=-1) + facts.beta.sum(axis=-1).max(axis=-1) * facts.largest_loss)
    return make(_NAME, form, facts, lhs, terms=terms, series=series, premises=premises, magnitude=size, **more)


STATEMENT = Statement(
    id="lemma_dpp",
    title="Appendix lemma: average decrease of DPP",
    label=_NAME[1],
    forms={"printed": printed, "corrected": corrected, "trajectory": trajectory},
    latex=r"\frac1{T\eta}\sum_t[\mathrm{DPP}_t(x_{t-1})-\mathrm{DPP}_t(x_t)]\le\frac{V\Phi_1(x_0)}{T\eta}"
    r"+\frac{V D}{\eta}+\frac{r^2l}{2\eta T}\sum_t f_t\bar Q[t-1]",
    explain=Explanation(
        printed="The same with r the radius of W and f_t = 1.",
        wrong="The radius is too small a constant (see lemma_gap), and with the printed plain sum of queues the last "
        "term needs (t-1) Qbar[t-1].",
        correct="r the largest distance from a minimiser, f_t = t-1 for sum weights.",
        conventions="Holds for any models; eta only scales both sides.",
        proof="Telescope the V part with |Phi_{t+1} - Phi_t| at x_t and drop -V Phi_T(x_T) <= 0; each memory loss "
        "falls by at most l r^2/2.",
        terms={
            "first loss": "the start of the telescoping sum",
            "variation": "the change of the loss between two tasks",
            "queues": "the largest possible fall of the memory losses",
        },
    ),
)
