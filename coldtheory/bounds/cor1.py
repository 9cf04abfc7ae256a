"""Corollary 1: Theorem 4's queue bound put into Theorem 3.  Paper label: thm:GDCOLD.

Problem: a bound on the average squared gradient in which no queue appears.

Statement (Case 1, eta <= 1/alpha_t, delta > 0), what the substitution gives:

    avg |grad Phi_t(x_{t-1})|^2 <= 2 Phi_1(x_0)/(T V eta) + (D/(eta V)) (2 + r^2 l/delta)
        + r^2 l Phi_1(x_1)/(eta T V delta)
        + (l r^2/(T V)) sum_t c_t rho_{t,-} + (r^2 l/(delta eta T V^2)) sum_t f_t Delta_t

Conventions: c_t, f_t as in Theorem 3. The printed corollary has r^2 l/(V delta) and no Phi_1(x_1): its derivation is
wrong, its inequality is true for mean weights all the same (`mean`), even without the r^2 l part of the variation
(`sharp`). For the printed update, with sum weights and alpha_t from the mean of the queues, it is false.
"""

from __future__ import annotations

import numpy as np

from ..quadratics import Array
from .base import Bound, Explanation, Kind, Statement, average, make
from .facts import DESCENT, Facts
from .thm3_gradient import queue_cap

_NAME = ("cor1", "thm:GDCOLD")


def printed(facts: Facts) -> Bound:
    """As printed: alpha_t of the step condition with the mean of the queues, whatever the weights of the update."""
    return _printed("printed", facts, ("eta <= 1/(2 alpha_t) as printed",), "false as printed")


def mean(facts: Facts) -> Bound:
    """The printed inequality for mean weights, where it is true, and eta <= 1/alpha_t is enough."""
    return _printed("mean", facts, ("eta <= 1/alpha_t", "mean weights"), "valid")


def corrected(facts: Facts) -> Bound:
    """What the substitution really gives."""
    ratio = facts.r**2 * facts.l / _delta(facts)
    first = {"first loss again": ratio * facts.phi_after[..., 0] / (facts.step * facts.T * facts.V)}
    return _make("corrected", facts, ratio, queue_cap(facts), facts.gain, first)


def sharp(facts: Facts) -> Bound:
    """The printed inequality without the r^2 l part of the variation, for mean and sum weights."""
    return _make("sharp", facts, None, queue_cap(facts), facts.gain, {})


def _printed(form: str, facts: Facts, premises: tuple[str, ...], kind: Kind) -> Bound:
    extra = facts.r**2 * facts.l / (facts.V * _delta(facts))
    return _make(form, facts, extra, np.ones(facts.T), np.ones(facts.T), {}, premises, kind)


def _delta(facts: Facts) -> Array:
    return np.where(facts.delta > 0, facts.delta, np.nan)


def _make(
    form: str,
    facts: Facts,
    extra: Array | None,
    cap: Array,
    gain: Array,
    terms: dict[str, Array],
    premises: tuple[str, ...] = ("eta <= 1/alpha_t",),
    kind: Kind = "valid",
) -> Bound:
    V, over = facts.V, 1.0 / facts.step
    square = facts.r**2 * facts.l
    variation = facts.variation("ball")
    series = {
        "variation": average(facts, 2.0 * over / V, variation),
        "conflict": average(facts, square / V, cap * facts.rho("ball")),
        "residual": average(facts, square * over / (_delta(facts) * V**2), gain * facts.Delta),
    }
    if extra is not None:
        series["variation through the queues"] = average(facts, over / V * extra, variation)
    terms = {"first loss": np.asarray(2.0 * over / V * facts.phi_before[..., 0] / facts.T)} | terms
    premises = (*DESCENT, "Case 1", "delta > 0", "models in W", *premises)
    lhs = np.asarray(facts.grad_sq_before.mean(axis=-1))
    return make(_NAME, form, facts, lhs, series=series, terms=terms, premises=premises, kind=kind,
                magnitude=facts.gradient_floor)  # fmt: skip


STATEMENT = Statement(
    id="cor1",
    title="Corollary 1: average squared gradient without queues",
    label=_NAME[1],
    forms={"printed": printed, "mean": mean, "corrected": corrected, "sharp": sharp},
    latex=r"\frac1T\sum_t\lVert\nabla\Phi_t(x_{t-1})\rVert^2\le\frac{2\Phi_1(x_0)}{TV\eta}+\frac{2D}{\eta V}"
    r"+\frac{lr^2}{TV}\sum_tc_t\rho_{t,-}+\frac{r^2l}{\delta\eta TV^2}\sum_tf_t\Delta_t",
    explain=Explanation(
        printed="2 Phi_1/(T V eta) + (D/(eta V)) (2 + r^2 l/(V delta)) + conflict "
        "+ (r^2 l/(delta eta T V^2)) sum Delta_t.",
        wrong="The substitution of Theorem 4 gives r^2 l/delta, not r^2 l/(V delta), and a term with Phi_1(x_1). The "
        "printed inequality is nevertheless true for mean weights. For the printed update with its plain sum of queues "
        "the printed alpha_t is too small, and the inequality is false.",
        correct="Form mean is the printed inequality for mean weights. Form corrected is the substitution done right; "
        "form sharp is stronger than the printed inequality.",
        conventions="As Theorem 3, Case 1, delta > 0.",
        proof="corrected: insert Theorem 4. sharp: if r^2 l >= 2 delta it follows from Theorem 3', as 2 Delta_t <= "
        "(r^2 l/delta) Delta_t; otherwise no memory loss can rise by delta in one task, every queue stays 0, and "
        "Theorem 3 does it.",
        terms={
            "first loss": "start of the telescoping sum, Phi_1(x_0)",
            "first loss again": "Theorem 4's first term, Phi_1(x_1)",
            "variation": "the loss changes between tasks",
            "variation through the queues": "the same change, through Theorem 4's bound on the queues",
            "conflict": "negative inner products of gradients",
            "residual": "Delta_t, through Theorem 4's bound on the queues",
        },
    ),
)
