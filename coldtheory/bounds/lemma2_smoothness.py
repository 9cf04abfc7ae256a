"""Lemma 2: the smoothness constant of DPP_t.  Paper label: lemm:smooth_dpp.

Problem: the step size must be below the reciprocal of a constant alpha_t with which DPP_t is smooth.

Statement, for every t: the largest curvature of DPP_t is at most alpha_t = V L + l sum_{k<t} beta_k.

Conventions: beta_k = Q_k[t-1]/(t-1) for mean weights (then alpha_t = V L + l Qbar[t-1], as printed), and
beta_k = Q_k[t-1] for the printed update with its plain sum (then the printed alpha_t is too small).
"""

from __future__ import annotations

import numpy as np

from .base import Bound, Explanation, Statement, make
from .facts import PLAIN, Facts

_NAME = ("lemma2", "lemm:smooth_dpp")


def printed(facts: Facts) -> Bound:
    """alpha_t with the mean of the queues, whatever the weights of the update."""
    return _make("printed", facts, facts.Qbar, kind="false as printed")


def corrected(facts: Facts) -> Bound:
    """alpha_t with the weights that the update uses."""
    where = "identity Hessians, and any where one direction has the largest curvature of every loss"
    return _make("corrected", facts, facts.gain * facts.Qbar, kind="tight", attained=where)


def _make(form: str, facts: Facts, weight: np.ndarray, **more) -> Bound:  # type: ignore[no-untyped-def]
    lhs = facts.curvature
    terms = {
        "current task": np.broadcast_to((facts.V * facts.L)[..., None], lhs.shape),
        "past tasks": np.asarray(facts.l[..., None] * weight),
    }
    return make(_NAME, form, facts, lhs, terms=terms, trailing=1, premises=("queues drive the model", *PLAIN), **more)


STATEMENT = Statement(
    id="lemma2",
    title="Lemma 2: smoothness of DPP_t",
    label=_NAME[1],
    forms={"printed": printed, "corrected": corrected},
    latex=r"\lambda_{\max}(\nabla^2\mathrm{DPP}_t)\le\alpha_t=VL+l\sum_{k<t}\beta_k",
    explain=Explanation(
        printed="DPP_t is alpha_t-smooth with alpha_t = V L + l/(t-1) sum_k Q_k[t-1].",
        wrong="DPP_t is printed with the plain sum of Q_k[t-1] hatPhi_k; its constant is V L + l sum_k Q_k[t-1], "
        "up to t-1 times more in the queue part. True for the appendix's DPP_t, which has the mean.",
        correct="alpha_t = V L + l sum_k beta_k with the weights beta_k of the update itself.",
        conventions="L and l are the largest curvatures over all tasks; alpha_1 = V L.",
        proof="Smoothness constants add, and scale with non-negative weights.",
        terms={"current task": "V Phi_t", "past tasks": "the weighted memory losses"},
    ),
)
