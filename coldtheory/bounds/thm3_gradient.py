"""Theorem 3: the average squared gradient under gradient descent.  Paper label: thm:gradient_norm_bound.

Problem: J gradient steps on DPP_t per task; how small do the gradients of the current losses get on average?

Statement (eta <= 1/alpha_t):

    (1/T) sum_t |grad Phi_t(x_{t-1})|^2 <= 2 Phi_1(x_0)/(T V eta) + 2 D/(eta V)
        + (l r^2/(T V)) sum_t c_t rho_{t,-} + (r^2 l/(eta T V^2)) sum_t f_t Qbar[t-1]

Conventions: the gradient is taken before the step (the paper's w_t of eq. batchCOLD). f_t = 1 (mean weights) or t-1
(sum weights). c_t = (t-2)/(t-1) (mean, Case 2), 1/(t-1) (mean, Case 1), t-2 (sum, Case 2), 1 (sum, Case 1).
D has no term at t = 1. r as in `lemma_gap`. If eta differs between tasks, eta is the smallest.
"""

from __future__ import annotations

import numpy as np

from ..quadratics import Array
from .base import Bound, Explanation, Kind, Statement, average, make
from .facts import DESCENT, POSSIBLE, Facts, Reading

_NAME = ("thm3", "thm:gradient_norm_bound")
_METHOD = (*DESCENT, POSSIBLE)  # the cap on the queues counts increments, each at most l r^2/2


def printed(facts: Facts) -> Bound:
    """As printed: c_t = f_t = 1 and alpha_t with the mean of the queues, whatever the weights of the update."""
    series, first = _terms(facts, "ball", facts.r, np.ones(facts.T), np.ones(facts.T))
    premises = (*_METHOD, "eta <= 1/(2 alpha_t) as printed", "models in W")
    return _make("printed", facts, facts.grad_sq_before, series, first, premises, "false as printed")


def corrected(facts: Facts) -> Bound:
    """c_t and f_t that fit the weights and the case; eta <= 1/alpha_t is enough."""
    series, first = _terms(facts, "ball", facts.r, queue_cap(facts), facts.gain)
    return _make("corrected", facts, facts.grad_sq_before, series, first, (*_METHOD, "eta <= 1/alpha_t", "models in W"))


def trajectory(facts: Facts) -> Bound:
    """Variation, conflict and distances at the models only: no set W is needed."""
    series, first = _terms(facts, "trajectory", facts.r_models, queue_cap(facts), facts.gain)
    where = "T = 1, eta alpha = 1, down to loss 0"
    premises = (*_METHOD, "eta <= 1/alpha_t")
    return _make("trajectory", facts, facts.grad_sq_before, series, first, premises, "tight", where)


def sharp(facts: Facts) -> Bound:
    """As `trajectory`, with 1/(1 - eta alpha/2) for 2: half the bound for small steps, and any eta < 2/alpha."""
    series, first = _terms(facts, "trajectory", facts.r_models, queue_cap(facts), facts.gain, step_factor(facts))
    where = "T = 1, eta alpha = 1, down to loss 0"
    return _make("sharp", facts, facts.grad_sq_before, series, first, (*_METHOD, "eta < 2/alpha_t"), "tight", where)


def inner_average(facts: Facts) -> Bound:
    """The mean over all J inner gradients: every term but the conflict is divided by J."""
    series, first = _terms(facts, "ball", facts.r, queue_cap(facts), facts.gain)
    J = np.broadcast_to(facts.steps, facts.lead)
    series = {name: values if name == "conflict" else values / J[..., None] for name, values in series.items()}
    first = {name: values / J for name, values in first.items()}
    premises = (*_METHOD, "eta <= 1/alpha_t", "models in W", "inner iterates in W")
    return _make("inner_average", facts, facts.grad_inner, series, first, premises)


def after_update(facts: Facts) -> Bound:
    """Convex losses: the gradient after the step obeys the same bound."""
    series, first = _terms(facts, "ball", facts.r, queue_cap(facts), facts.gain)
    premises = (*_METHOD, "eta <= 1/alpha_t", "models in W", "convex losses")
    return _make("after_update", facts, facts.grad_sq_after, series, first, premises)


def queue_cap(facts: Facts) -> Array:
    """c_t with beta_k <= c_t l r^2/2 for all k < t-1 (Q_{t-1}[t-1] is 0): (T,)."""
    oldest = np.maximum(np.arange(facts.T) - 1.0, 0.0)  # t-2, the age at t-1 of the first task
    cap = np.minimum(oldest, 1.0) if facts.reference == "previous" else oldest
    return np.asarray(cap / facts.past * facts.gain)


def step_factor(facts: Facts) -> Array:
    """1/(1 - eta alpha/2), the exact constant of the descent lemma in place of 2, (...)."""
    room = 1.0 - 0.5 * facts.eta_alpha_max
    return np.asarray(1.0 / np.where(room > 0, room, np.nan))


def _terms(
    facts: Facts, reading: Reading, r: Array, cap: Array, gain: Array, factor: Array | float = 2.0
) -> tuple[dict[str, Array], dict[str, Array]]:
    V, over = facts.V, factor / facts.step
    series = {
        "variation": average(facts, over / V, facts.variation(reading)),
        "conflict": average(facts, facts.l * r**2 / V, cap * facts.rho(reading)),
        "queues": average(facts, 0.5 * over * r**2 * facts.l / V**2, gain * facts.Qbar),
    }
    return series, {"first loss": np.asarray(over / V * facts.phi_before[..., 0] / facts.T)}


def _make(
    form: str,
    facts: Facts,
    gradients: Array,
    series: dict[str, Array],
    first: dict[str, Array],
    premises: tuple[str, ...],
    kind: Kind = "valid",
    attained: str = "",
) -> Bound:
    lhs = np.asarray(gradients.mean(axis=-1))
    return make(_NAME, form, facts, lhs, series=series, terms=first, premises=premises, kind=kind, attained=attained,
                magnitude=facts.gradient_floor)  # fmt: skip


STATEMENT = Statement(
    id="thm3",
    title="Theorem 3: average squared gradient, gradient descent",
    label=_NAME[1],
    forms={
        "printed": printed,
        "corrected": corrected,
        "trajectory": trajectory,
        "sharp": sharp,
        "inner_average": inner_average,
        "after_update": after_update,
    },
    latex=r"\frac1T\sum_t\lVert\nabla\Phi_t(x_{t-1})\rVert^2\le\frac{2\Phi_1(x_0)}{TV\eta}+\frac{2D}{\eta V}"
    r"+\frac{lr^2}{TV}\sum_t c_t\rho_{t,-}+\frac{r^2l}{\eta TV^2}\sum_t f_t\bar Q[t-1]",
    explain=Explanation(
        printed="The bound with c_t = f_t = 1, eta <= 1/(2 alpha_t), alpha_t = V L + l Qbar[t-1], for the update with "
        "the plain sum of queues.",
        wrong="True for the mean of queues. With the printed sum the step can exceed the true smoothness constant by a "
        "factor t-1 in the queue part, and queue and conflict terms are too small. With projection it is false too.",
        correct="c_t and f_t as in the conventions; eta <= 1/alpha_t with alpha_t of the update itself.",
        conventions="x_{t-1} is the model before the step on task t. D and rho may be taken at the models only. The "
        "inner_average form averages over the J steps; after_update needs convex losses.",
        proof="Descent lemma: (eta/2)|grad DPP_t|^2 <= decrease of DPP_t; sum by lemma_dpp. Expand |grad DPP_t|^2 and "
        "drop the square of the queue part; beta_k <= c_t l r^2/2 by Lindley's identity (Case 1) or by counting "
        "(Case 2).",
        terms={
            "first loss": "start of the telescoping sum, Phi_1(x_0)",
            "variation": "the loss changes between tasks",
            "conflict": "negative inner products of gradients, weighted by the largest possible queue",
            "queues": "the memory losses may fall by l r^2/2 each",
        },
    ),
)
