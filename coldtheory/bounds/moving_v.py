"""V that moves: V_t in place of V in DPP_t, whatever it depends on.  Labels: new:moving_gap, _queue, _gradient.

Problem: the best V depends on T, which nobody knows in advance, and on how fast tasks change. May V be moved while
tasks arrive? Dividing by V_t leaves the Lyapunov function with changing factors, dividing by nothing the losses.

Statements (any V_t > 0; f_t = 1 for mean weights, t-1 for sum weights; Pot[t] = Lyap[t] or (t-1) Lyap[t]; (.)_+ is the
positive part):

    gap       (1/T) sum_t [Phi_t(x_t) - Phi_t(w*_t)]
                  <= (1/T) sum_t f_t Delta_t/V_t + (1/T) sum_{t<T} (1/V_{t+1} - 1/V_t)_+ Pot[t]
              for minimisers x_t of DPP_t, any reference, w*_t as in Theorem 1; V that never falls needs no second sum
    queue     (1/T) sum_t Qbar[t-1] <= (1/(T delta)) { sum_{t>=2} u_t var_t + u_2 Phi_1(x_1)
                  + sum_{1<t<T} (u_{t+1} - u_t)_+ Phi_t(x_t) + sum_t Delta_t },     u_t = V_t (mean), V_t/(t-1) (sum)
              in Case 1 for every update that does not increase DPP_t; V that never rises needs no third part
    gradient  (1/T) sum_t |grad Phi_t(x_{t-1})|^2 <= (2/c) { Phi_1(x_0)/T + D + (1/T) sum_t f_t Delta_t/V_t
                  + (1/T) sum_{t<T} (1/V_{t+1} - 1/V_t)_+ Pot[t] } + (2/T) sum_t conflict_t/V_t
              in Case 1 for steps c/V_t <= eta_t <= 1/alpha_t, such as eta_t = c/V_t

Conventions: var_t = |Phi_t - Phi_{t-1}|(x_{t-1}), and D their average; c is the smallest eta_t V_t of the run. V_t may
depend on anything that is known before the step, as the proofs hold for each trajectory alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..quadratics import Array
from ..tolerance import RTOL
from .base import Bound, Explanation, Kind, Statement, make
from .comparators import Comparators, comparators
from .facts import MOVING, POSSIBLE, Facts, Reading

_GAP = ("moving_gap", "new:moving_gap")
_QUEUE = ("moving_queue", "new:moving_queue")
_GRADIENT = ("moving_gradient", "new:moving_gradient")
_MINIMISER = ("exact minimiser", "no projection", "queues drive the model", "plain queue", POSSIBLE)
_METHOD = ("the method's own models", "no projection", "exact gradients", "queues drive the model", "plain queue")
_STEP = "eta <= 2/alpha_t, or the minimiser"


# ---------------------------------------------------------------------------------------------------
# The gap of exact minimisers


def gap(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """V_t may move in any way."""
    star = comparators(facts, delta_prime, w_star)
    return _gap("proved", facts, star, {"residual": _residual(facts), "falls of V": np.maximum(_changes(facts), 0.0)})


def gap_rising(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """V_t never falls: nothing but Delta_t/V_t is left."""
    star = comparators(facts, delta_prime, w_star)
    return _gap("rising", facts, star, {"residual": _residual(facts)}, ("V never falls",))


def gap_sharp(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """With all that the proof throws away."""
    star = comparators(facts, delta_prime, w_star)
    series = {
        "residual": _residual(facts),
        "changes of V": _changes(facts),
        "relief": -(facts.delta - star.delta_prime)[..., None] * facts.gain * facts.Qbar / facts.V_t,
    }
    if facts.weights == "mean":
        series["ageing"] = -facts.ageing / facts.V_t
    return _gap("sharp", facts, star, series, terms={"last Lyapunov": -_last(facts)})


def gap_weighted(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """The mean of the gaps with weights V_t: the same for every way in which V_t moves."""
    star = comparators(facts, delta_prime, w_star)
    mean = facts.V_t.mean(axis=-1, keepdims=True)
    return _gap("weighted", facts, star, {"residual": facts.gain * facts.Delta / mean}, weight=facts.V_t / mean)


def _gap(
    form: str,
    facts: Facts,
    star: Comparators,
    summands: dict[str, Array],
    premises: tuple[str, ...] = (),
    terms: dict[str, Array] | None = None,
    weight: Array | float = 1.0,
) -> Bound:
    lhs = np.asarray((weight * (facts.phi_after - star.loss)).mean(axis=-1))
    more = {"w* is feasible": star.feasible, "delta' <= delta": np.asarray(star.delta_prime <= facts.delta)}
    size = np.maximum(facts.phi_after.max(axis=-1), np.nan_to_num(star.loss).max(axis=-1)) + facts.loss_floor
    series = {name: np.asarray(values / facts.T) for name, values in summands.items()}
    return make(_GAP, form, facts, lhs, series=series, terms=terms, kind="valid", premises=(*_MINIMISER, *premises),
                more=more, magnitude=size)  # fmt: skip


# ---------------------------------------------------------------------------------------------------
# The queue


def queue(facts: Facts) -> Bound:
    """V_t may move in any way; the variation at the models."""
    return _queue("proved", facts, "trajectory", ("Case 1", _STEP))


def queue_ball(facts: Facts) -> Bound:
    """The variation as a supremum over W, as the paper defines it."""
    return _queue("ball", facts, "ball", ("Case 1", _STEP, "models in W"))


def queue_falling(facts: Facts) -> Bound:
    """V_t never rises: the losses after each task are not needed."""
    return _queue("falling", facts, "trajectory", ("Case 1", _STEP, "V never rises"), rises=False)


def queue_exact(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """Theorem 2 for exact minimisers and any reference, Case 3 included: the losses of w*_t and x_t themselves."""
    star = comparators(facts, delta_prime, w_star)
    margin = facts.delta - star.delta_prime
    over = 1.0 / np.where(margin > 0, margin, np.nan) / facts.T
    u = _weight_of_loss(facts)
    series = {
        "loss gap": over[..., None] * u * (star.loss - facts.phi_after),
        "residual": over[..., None] * facts.Delta,
        "ageing": -over[..., None] * facts.ageing,
    }
    terms = {"last Lyapunov": -over * facts.lyapunov[..., -1]}
    more = {"w* is feasible": star.feasible, "delta' < delta": np.asarray(margin > 0)}
    losses = np.maximum(facts.phi_after, np.nan_to_num(star.loss)).max(axis=-1) + facts.loss_floor
    size = np.nan_to_num(over * facts.T * u.max(axis=-1) * losses)
    return make(_QUEUE, "exact", facts, facts.avg_Qbar, series=series, terms=terms, kind="valid", premises=_MINIMISER,
                more=more, magnitude=size)  # fmt: skip


def _weight_of_loss(facts: Facts) -> Array:
    """u_t: V_t, or V_t/(t-1) for sum weights; 0 at t = 1, where there is no queue, (..., T)."""
    u = facts.V_t / (facts.past if facts.weights == "sum" else 1.0)
    return np.asarray(np.where(np.arange(facts.T) > 0, u, 0.0))


def _queue(form: str, facts: Facts, reading: Reading, premises: tuple[str, ...], *, rises: bool = True) -> Bound:
    over = 1.0 / np.where(facts.delta > 0, facts.delta, np.nan) / facts.T
    u = _weight_of_loss(facts)
    series = {
        "variation": over[..., None] * u * facts.variation(reading),
        "residual": over[..., None] * facts.Delta,
    }
    if rises:
        change = np.zeros_like(u)
        change[..., 1:-1] = np.maximum(np.diff(u[..., 1:], axis=-1), 0.0)
        series["rises of V"] = over[..., None] * change * facts.phi_after
    second = u[..., 1] if facts.T > 1 else np.zeros(facts.lead)
    terms = {"first loss": over * second * facts.phi_after[..., 0]}
    size = np.nan_to_num(over) * u.max(axis=-1) * facts.phi_rounding / RTOL
    return make(_QUEUE, form, facts, facts.avg_Qbar, series=series, terms=terms, kind="valid",
                premises=(*_METHOD, "delta > 0", *premises), magnitude=size)  # fmt: skip


# ---------------------------------------------------------------------------------------------------
# The gradient


def gradient(facts: Facts) -> Bound:
    """V_t may move in any way."""
    series = {"residual": _residual(facts), "falls of V": np.maximum(_changes(facts), 0.0)}
    return _gradient("proved", facts, "trajectory", series, ("Case 1",))


def gradient_ball(facts: Facts) -> Bound:
    """The variation as a supremum over W, as the paper defines it."""
    series = {"residual": _residual(facts), "falls of V": np.maximum(_changes(facts), 0.0)}
    return _gradient("ball", facts, "ball", series, ("Case 1", "models in W"))


def gradient_rising(facts: Facts) -> Bound:
    """V_t never falls."""
    return _gradient("rising", facts, "trajectory", {"residual": _residual(facts)}, ("Case 1", "V never falls"))


def gradient_any_case(facts: Facts) -> Bound:
    """Any reference: what the constraints weigh before the step is added."""
    series = {
        "residual": _residual(facts),
        "falls of V": np.maximum(_changes(facts), 0.0),
        "excess": facts.excess / facts.V_t,
    }
    return _gradient("any_case", facts, "trajectory", series)


def gradient_sharp(facts: Facts) -> Bound:
    """With all that the proof throws away but the constants of the single steps."""
    series = {
        "residual": _residual(facts),
        "changes of V": _changes(facts),
        "relief": -facts.delta[..., None] * facts.gain * facts.Qbar / facts.V_t,
    }
    if facts.weights == "mean":
        series["ageing"] = -facts.ageing / facts.V_t
    where = "T = 1 and eta alpha = 1 with the curvature L"
    return _gradient("sharp", facts, "trajectory", series, ("Case 1",), kept=True, kind="tight", attained=where)


def _gradient(
    form: str,
    facts: Facts,
    reading: Reading,
    summands: dict[str, Array],
    premises: tuple[str, ...] = (),
    *,
    kept: bool = False,
    kind: Kind = "valid",
    attained: str = "",
) -> Bound:
    c = (facts.eta * facts.V_t).min(axis=-1)
    over = 2.0 / (c * facts.T)
    inner = {"variation": facts.variation(reading), **summands}
    series = {name: np.asarray(over[..., None] * values) for name, values in inner.items()}
    series["conflict"] = 2.0 / facts.T * facts.conflict / facts.V_t
    terms = {"first loss": over * facts.phi_before[..., 0]}
    if kept:
        terms |= {"last loss": -over * facts.phi_after[..., -1], "last Lyapunov": -over * facts.T * _last(facts)}
    lowest = facts.V_t.min(axis=-1)
    rounding = facts.T * facts.excess_rounding / lowest / RTOL if "excess" in summands else 0.0
    size = facts.gradient_floor + over * (facts.loss_floor + rounding)
    lhs = np.asarray(facts.grad_sq_before.mean(axis=-1))
    return make(_GRADIENT, form, facts, lhs, series=series, terms=terms, kind=kind, attained=attained,
                premises=(*MOVING, "eta <= 1/alpha_t", *premises), magnitude=np.nan_to_num(size))  # fmt: skip


# ---------------------------------------------------------------------------------------------------
# What the gap and the gradient share


def _residual(facts: Facts) -> Array:
    """f_t Delta_t / V_t, (..., T)."""
    return np.asarray(facts.gain * facts.Delta / facts.V_t)


def _changes(facts: Facts) -> Array:
    """(1/V_{t+1} - 1/V_t) Pot[t] for t < T, and 0 at T: what Abel's summation leaves of the drift, (..., T)."""
    change = np.zeros((*facts.lead, facts.T))
    change[..., :-1] = np.diff(1.0 / facts.V_t, axis=-1) * facts.potential[..., 1:-1]
    return change


def _last(facts: Facts) -> Array:
    """Pot[T] / (V_T T), (...)."""
    return np.asarray(facts.lyapunov_end / (facts.V_t[..., -1] * facts.T))


_COMMON_TERMS = {
    "residual": "Delta_t of Lemma 1, divided by V_t",
    "falls of V": "where V falls, the Lyapunov function counts more than before",
    "changes of V": "the same with both signs: where V rises it counts less",
    "relief": "each queue is served by at least delta (or delta - delta' at w*_t) per task",
    "ageing": "Lemma 1's Lyap[t-1]/(t-1), mean weights only",
    "last Lyapunov": "the end of the telescoped drift",
}

_EXACT = {"T": (3, 4), "solver": "exact", "hessians": "scalar", "ideal": True, "V_moves": "any"}

GAP = Statement(
    id=_GAP[0],
    title="Moving V: average loss gap, exact minimiser",
    label=_GAP[1],
    forms={"proved": gap, "rising": gap_rising, "weighted": gap_weighted, "sharp": gap_sharp},
    latex=r"\frac1T\sum_t[\Phi_t(x_t)-\Phi_t(w_t^*)]\le\frac1T\sum_t\frac{f_t\Delta_t}{V_t}"
    r"+\frac1T\sum_{t<T}\Bigl(\frac1{V_{t+1}}-\frac1{V_t}\Bigr)_+\mathcal P[t]",
    explain=Explanation(
        printed="",
        wrong="",
        correct="The first statement of this file. With weights V_t in the mean (form weighted) no way of moving V "
        "costs anything.",
        conventions="Any reference; w*_t and delta' as in Theorem 1.",
        proof="DPP_t(x_t) <= DPP_t(w*_t) and Lemma 1 give V_t gap_t <= f_t Delta_t - (Pot[t] - Pot[t-1]) - (delta - "
        "delta') f_t Qbar[t-1]. Divide by V_t and sum by parts: Pot[t] keeps the factor 1/V_{t+1} - 1/V_t.",
        terms=_COMMON_TERMS,
    ),
    family=_EXACT | {"reference": "best"},
    family_of_form={"rising": {"V_moves": "up"}},
)
QUEUE = Statement(
    id=_QUEUE[0],
    title="Moving V: average queue",
    label=_QUEUE[1],
    forms={"proved": queue, "ball": queue_ball, "falling": queue_falling, "exact": queue_exact},
    latex=r"\frac1T\sum_t\bar Q[t-1]\le\frac1{T\delta}\Bigl\{\sum_{t\ge2}u_tv_t+u_2\Phi_1(x_1)"
    r"+\sum_{1<t<T}(u_{t+1}-u_t)_+\Phi_t(x_t)+\sum_t\Delta_t\Bigr\}",
    explain=Explanation(
        printed="",
        wrong="",
        correct="The second statement of this file. For exact minimisers and any reference Theorem 2 holds with V_t "
        "under the sum (form exact).",
        conventions="Case 1, apart from the form exact.",
        proof="DPP_t(x_t) <= DPP_t(x_{t-1}) and Lemma 1: delta Qbar[t-1] <= u_t [Phi_t(x_{t-1}) - Phi_t(x_t)] + "
        "Delta_t - (Lyap[t] - Lyap[t-1]) for t >= 2. Replace Phi_t(x_{t-1}) by Phi_{t-1}(x_{t-1}) + var_t and sum by "
        "parts: Phi_t(x_t) >= 0 keeps the factor u_{t+1} - u_t.",
        terms={
            "variation": "the loss changes between tasks, times the V_t of the later one",
            "residual": "Delta_t of Lemma 1",
            "rises of V": "where V rises, the loss after the task counts more than before",
            "first loss": "start of the telescoping sum: V_2 Phi_1(x_1)",
            "loss gap": "Phi_t(w*_t) - Phi_t(x_t), not bounded further",
            "ageing": "Lemma 1's Lyap[t-1]/(t-1)",
            "last Lyapunov": "the end of the telescoped drift",
        },
    ),
    family={"T": (3, 6), "memory": True, "V_moves": "any"},
    family_of_form={
        "falling": {"V_moves": "down"},
        "exact": _EXACT | {"reference": "stored", "memory": False},
    },
)
GRADIENT = Statement(
    id=_GRADIENT[0],
    title="Moving V: average squared gradient with eta_t = c/V_t",
    label=_GRADIENT[1],
    forms={
        "proved": gradient,
        "ball": gradient_ball,
        "rising": gradient_rising,
        "any_case": gradient_any_case,
        "sharp": gradient_sharp,
    },
    latex=r"\frac1T\sum_t\lVert\nabla\Phi_t(x_{t-1})\rVert^2\le\frac2c\Bigl\{\frac{\Phi_1(x_0)}T+D+\frac1T\sum_t"
    r"\frac{f_t\Delta_t}{V_t}+\frac1T\sum_{t<T}\Bigl(\frac1{V_{t+1}}-\frac1{V_t}\Bigr)_+\mathcal P[t]\Bigr\}"
    r"+\frac2T\sum_t\frac{\kappa_t}{V_t}",
    explain=Explanation(
        printed="",
        wrong="",
        correct="The third statement of this file.",
        conventions="c is the smallest eta_t V_t of the run: eta_t = c/V_t exactly, or any step sizes between it and "
        "1/alpha_t.",
        proof="The descent lemma and |grad DPP_t|^2 >= V_t^2 |grad Phi_t|^2 - 2 V_t conflict_t give |grad Phi_t|^2 <= "
        "(2/(eta_t V_t)) drop_t/V_t + 2 conflict_t/V_t with a drop_t >= 0, so c may take the place of eta_t V_t. "
        "drop_t/V_t has the losses without a factor, which telescope, and the drift divided by V_t, summed by parts.",
        terms={
            **_COMMON_TERMS,
            "first loss": "start of the telescoping sum, Phi_1(x_0)",
            "last loss": "its end, Phi_T(x_T)",
            "variation": "the loss changes between tasks",
            "excess": "how far memory losses are above their references before the step; 0 in Case 1",
            "conflict": "negative inner products of gradients, weighted by the queues and divided by V_t",
        },
    ),
    family={"T": (2, 4), "hessians": "scalar", "V_moves": "any", "eta_rule": "auto"},
    family_of_form={"rising": {"V_moves": "up"}, "any_case": {"reference": "stored"}},
)
