"""Theorem 4: the average queue in Case 1 under gradient descent.  Paper label: thm:avg_queue_bound_case2.

Problem: how long do the queues get when DPP_t is only decreased, not minimised?

Statement (Case 1, any update with DPP_t(x_t) <= DPP_t(x_{t-1}), such as eta <= 2/alpha_t; delta > 0):

    (1/T) sum_t Qbar[t-1] <= V D/delta + V Phi_1(x_1)/(T delta) + (1/(T delta)) sum_t Delta_t

Conventions: mean and sum weights; D has no term at t = 1. The paper drops the term with Phi_1, and states no
condition on eta. With Phi_0 := 0, D would contain sup_W Phi_1/T, which covers it.
"""

from __future__ import annotations

import numpy as np

from ..quadratics import Array
from ..tolerance import RTOL
from .base import Bound, Explanation, Kind, Statement, average, make
from .facts import PLAIN, Facts, Reading
from .lindley import rises

_NAME = ("thm4", "thm:avg_queue_bound_case2")
_MODELS = ("the method's own models", "no projection", "exact gradients", "queues drive the model", *PLAIN)
_METHOD = (*_MODELS, "Case 1", "delta > 0")
_LINDLEY = ("plain queue", "Case 1")
_STEP = "eta <= 2/alpha_t, or the minimiser"


def printed(facts: Facts) -> Bound:
    """Without the term of the first task, and without a condition on eta."""
    return _make("printed", facts, _base(facts, "ball"), {}, (*_METHOD, "models in W"), "false as printed")


def zero_start(facts: Facts) -> Bound:
    """As printed with Phi_0 := 0, which puts sup_W Phi_1/T into D."""
    terms = {"first loss": _over(facts) * facts.V * facts.sup_first / facts.T}
    return _make("zero_start", facts, _base(facts, "ball"), terms, (*_METHOD, _STEP, "models in W"))


def corrected(facts: Facts) -> Bound:
    """With the term of the first task."""
    return _make("corrected", facts, _base(facts, "ball"), _first(facts), (*_METHOD, _STEP, "models in W"))


def trajectory(facts: Facts) -> Bound:
    """The variation at the models only."""
    return _make("trajectory", facts, _base(facts, "trajectory"), _first(facts), (*_METHOD, _STEP))


def sharp(facts: Facts) -> Bound:
    """With the end of the telescoping sums; for sum weights the variation at t counts 1/(t-1)."""
    over, V, T = _over(facts), facts.V, facts.T
    share = np.ones(T) if facts.weights == "mean" else 1.0 / facts.past
    last = facts.phi_after[..., -1] * (share[-1] if T > 1 else 1.0)
    series = {
        "variation": average(facts, over * V, share * facts.variation("trajectory")),
        "residual": average(facts, over, facts.Delta),
        "ageing": average(facts, -over, facts.ageing),
    }
    terms = _first(facts) | {
        "last loss": -over * V * last / T,
        "last Lyapunov": -over * facts.lyapunov[..., -1] / T,
    }
    return _make("sharp", facts, series, terms, (*_METHOD, _STEP))


def progress(facts: Facts) -> Bound:
    """The sharpest of this kind: the decrease of each loss itself, without telescoping."""
    over = _over(facts)
    share = np.where(np.arange(facts.T) > 0, 1.0 if facts.weights == "mean" else 1.0 / facts.past, 0.0)
    series = {
        "progress": average(facts, over * facts.V, share * (facts.phi_before - facts.phi_after)),
        "residual": average(facts, over, facts.Delta),
        "ageing": average(facts, -over, facts.ageing),
    }
    terms = {"last Lyapunov": -over * facts.lyapunov[..., -1] / facts.T}
    return _make("progress", facts, series, terms, (*_METHOD, _STEP))


def by_lindley(facts: Facts) -> Bound:
    """Lindley's identity averaged: no step size, no delta, no V, any models."""
    rise = np.zeros((*facts.lead, facts.T))
    rise[..., 1:] = rises(facts)[..., :-1, :].sum(axis=-1) / facts.past[1:]
    where = "delta = 0, or queues filled in one task as delta -> 0"
    return _make("by_lindley", facts, {"rise": average(facts, 1.0, rise)}, {}, _LINDLEY, "tight", where)


def a_priori(facts: Facts) -> Bound:
    """(l r^2/2) (t-2)/(t-1) averaged over t: known before the run."""
    count = np.maximum(np.arange(facts.T) - 1.0, 0.0) / facts.past
    series = {"l r^2 / 2": average(facts, 0.5 * facts.l * facts.r**2, count)}
    return _make("a_priori", facts, series, {}, (*_LINDLEY, "models in W"))


def best(facts: Facts) -> Bound:
    """The smaller of the telescoped bound and Lindley's, wherever the former applies."""
    one, two = progress(facts), by_lindley(facts)
    first = one.applicable & (one.rhs < two.rhs)
    terms = {"progress bound": np.where(first, one.rhs, 0.0), "Lindley bound": np.where(first, 0.0, two.rhs)}
    return _make("best", facts, {}, terms, _LINDLEY, "tight", "where Lindley's bound is")


def _over(facts: Facts) -> Array:
    return np.asarray(1.0 / np.where(facts.delta > 0, facts.delta, np.nan))


def _first(facts: Facts) -> dict[str, Array]:
    return {"first loss": np.asarray(_over(facts) * facts.V * facts.phi_after[..., 0] / facts.T)}


def _base(facts: Facts, reading: Reading) -> dict[str, Array]:
    return {
        "variation": average(facts, _over(facts) * facts.V, facts.variation(reading)),
        "residual": average(facts, _over(facts), facts.Delta),
    }


def _make(
    form: str,
    facts: Facts,
    series: dict[str, Array],
    terms: dict[str, Array],
    premises: tuple[str, ...],
    kind: Kind = "valid",
    attained: str = "",
) -> Bound:
    # Each progress is a difference of two losses: what enters by it is their rounding, not their size.
    size = np.nan_to_num(_over(facts)) * facts.V * facts.phi_rounding / RTOL if "progress" in series else 0.0
    if "delta > 0" not in premises:
        size = facts.hat_scale
    return make(_NAME, form, facts, facts.avg_Qbar, series=series, terms=terms, premises=premises, kind=kind,
                attained=attained, magnitude=size)  # fmt: skip


STATEMENT = Statement(
    id="thm4",
    title="Theorem 4: average queue in Case 1, gradient descent",
    label=_NAME[1],
    forms={
        "printed": printed,
        "corrected": corrected,
        "zero_start": zero_start,
        "trajectory": trajectory,
        "sharp": sharp,
        "progress": progress,
        "by_lindley": by_lindley,
        "a_priori": a_priori,
        "best": best,
    },
    latex=r"\frac1T\sum_t\bar Q[t-1]\le\frac{VD}{\delta}+\frac{V\Phi_1(x_1)}{T\delta}+\frac1{T\delta}\sum_t\Delta_t",
    explain=Explanation(
        printed="Average queue <= V D/delta + (1/(T delta)) sum_t Delta_t, and Qbar[t-1] = O(V).",
        wrong="The telescoping sum starts at Phi_1(x_1), not at 0: with constant tasks D = 0 and queues still fill. No "
        "condition on eta is stated, but the proof needs that a step does not increase DPP_t. O(V) is misleading: "
        "Case 1 queues are bounded for every V (see lindley).",
        correct="Add V Phi_1(x_1)/(T delta) and ask for eta <= 2/alpha_t; or Lindley's bound, which needs neither.",
        conventions="D without a term at t = 1, or Phi_0 := 0 (form zero_start).",
        proof="DPP_t(x_t) <= DPP_t(x_{t-1}), where every increment at x_{t-1} is -delta, and Lemma 1: delta Qbar[t-1] "
        "<= V [Phi_t(x_{t-1}) - Phi_t(x_t)] + Delta_t - drift. Telescope; for sum weights divide by t-1 first and sum "
        "by parts with decreasing weights.",
        terms={
            "variation": "the loss changes between tasks",
            "residual": "Delta_t of Lemma 1",
            "first loss": "start of the telescoping sum, Phi_1(x_1), or its supremum",
            "last loss": "its end, Phi_T(x_T)",
            "last Lyapunov": "the end of the telescoped drift",
            "ageing": "Lemma 1's Lyap[t-1]/(t-1)",
            "progress": "decrease of each current loss over its own task",
            "rise": "each memory loss above its best value since its task",
            "l r^2 / 2": "the largest such rise on W",
            "progress bound": "the telescoped bound, where it is the smaller",
            "Lindley bound": "Lindley's bound, where it is the smaller",
        },
    ),
)
