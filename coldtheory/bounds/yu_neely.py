"""Yu and Neely's controller: the residual is how far the model moves, not how far it is from the tolerance.

A theorem that the paper lacks.

Problem: with the plain queue the residual Delta_t is at least delta^2/2 per idle task, even when nothing moves any
more.

Statement (Case 3; weight Q_k[t-1] + g_k[t-1], update Q_k[t] = max(Q_k[t-1] + g_k[t], -g_k[t]), Q_k[k] = delta, where
g_k[t] = F_k[t] - delta; mean weights, any V_t > 0, x_t minimises DPP_t up to eps_t, w*_t as in Theorem 1). For all s:

    mean over k < t <= s of F_k[t] <= delta - 2 delta/s + (2/s) sqrt(2 E_s)
    E_s = D_s + (1/(2(s-1))) sum_{k<s} g_k[s]^2,   Wbar_t the mean weight
    D_s = sum_{t<=s} {R_t + eps_t + V_t [Phi_t(w*_t) - Phi_t(x_t)] - (delta - delta') Wbar_t}
    R_t = (1/(2(t-1))) sum_{k<t} (hatPhi_k(x_t) - hatPhi_k(x_{t-1}))^2

    form drift      Psi[t] <= ((t-2)/(t-1)) Psi[t-1] + R_t + mean over k of weight times g_k[t], where
                    Psi[t] = (1/(2(t-1))) sum_{k<t} (Q_k[t]^2 - g_k[t]^2) >= 0: any models
    form gap        (1/T) sum_t [Phi_t(x_t) - Phi_t(w*_t)] <= (1/(V T)) sum_t R_t + ...: Theorem 1 with R_t for Delta_t
    form each_task  every task's total sum_{t=k+1}^s (F_k[t] - delta) is at most sqrt(2 (s-1) D_s + g_k[s]^2) - delta;
                    for sum weights s-1 goes, and D_s has sums over k for means

Yu and Neely's total violation of O(1) per constraint does not carry over to mean weights: form `hoped`, a total of at
most sqrt(2 E_s) - delta per task, is false (counterexample yu_neely_one_task), and that task's total grows linearly in
T.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..quadratics import Array
from .base import Bound, Explanation, Kind, Statement, average
from .comparators import Comparators, comparators
from .energy import Energy, bound_of, comparison, energy, forgotten, told, totals
from .facts import Facts

_NAME = ("yu_neely", "new:yu_neely")
_CONTROLLER = ("Yu-Neely controller", "Case 3")


def proved(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """Real forgetting, the mean over all pairs up to s, for every s."""
    star = comparators(facts, delta_prime, w_star)
    known = _whole(facts, star)
    over = told(facts, 1.0) * 2.0 / np.arange(1.0, facts.T + 1.0)
    terms = {
        "delta": told(facts, facts.delta),
        "head start": -over * facts.delta[..., None],
        "excess": over * known.root,
    }
    return _make("proved", facts, forgotten(facts), terms, ("mean weights",), star, trailing=1,
                 size=over * known.root_scale + facts.hat_scale[..., None])  # fmt: skip


def drift(facts: Facts) -> Bound:
    """The controller's own Lemma 1, task by task."""
    lasting = np.maximum(np.arange(facts.T) - 1.0, 0.0) / facts.past
    before = np.concatenate([np.zeros((*facts.lead, 1)), _potential(facts)[..., :-1]], axis=-1)
    terms = {
        "potential before": lasting * before,
        "movement": _movement(facts) / facts.past,
        "weight times constraint": (facts.weight * _constraint(facts)).sum(axis=-1) / facts.past,
    }
    size = np.square(facts.Q).max(axis=(-2, -1)) + facts.hat_scale**2
    where = "every past task is forgotten by exactly delta"
    return _make("drift", facts, _potential(facts), terms, (), trailing=1, kind="tight", attained=where,
                 size=size[..., None])  # fmt: skip


def gap(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """Theorem 1 for this controller: the loss above that of the comparators."""
    star = comparators(facts, delta_prime, w_star)
    over, margin = 1.0 / np.asarray(facts.V), np.asarray(facts.delta - star.delta_prime)
    series = {
        "movement": average(facts, over, _movement(facts) / facts.past),
        "optimisation error": average(facts, over, facts.eps),
        "relief": average(facts, -margin * over, facts.Qbar),
    }
    terms = {"last potential": -over * _potential(facts)[..., -1] / facts.T}
    size = facts.phi_after.max(axis=-1) + np.nan_to_num(star.loss.max(axis=-1)) + facts.loss_floor
    size = size + over * (np.square(facts.Q[..., -1, :]).max(axis=-1) + facts.hat_scale**2)
    lhs = (facts.phi_after - star.loss).mean(axis=-1)
    return _make("gap", facts, lhs, terms, ("mean weights", "V is constant"), star, series=series, size=size)


def each_task(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """Every single task: its total, for every s."""
    star = comparators(facts, delta_prime, w_star)
    mean = facts.weights == "mean"
    shared = _energy(facts, star, 1.0 / facts.past if mean else np.ones(facts.T))
    factor = (facts.past if mean else np.ones(facts.T))[:, None]
    known = Energy(factor * shared.B[..., None], factor * shared.off[..., None])
    return _per_task("each_task", facts, star, known.plus(0.5 * np.square(_constraint(facts))))


def hoped(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """As if what holds for the mean held for every task: false."""
    star = comparators(facts, delta_prime, w_star)
    known = _whole(facts, star)
    each = Energy(known.B[..., None], known.off[..., None])
    return _per_task("hoped", facts, star, each, ("mean weights",), "false as printed")


def _constraint(facts: Facts) -> Array:
    """g_k[t] = F_k[t] - delta for k < t, else 0: (..., T, T)."""
    inside = facts.increments - np.asarray(facts.delta)[..., None, None]
    return np.where(np.tri(facts.T, k=-1, dtype=bool), inside, 0.0)


def _movement(facts: Facts) -> Array:
    """Half the sum over k < t of (hatPhi_k(x_t) - hatPhi_k(x_{t-1}))^2, (..., T)."""
    moved = np.where(np.tri(facts.T, k=-1, dtype=bool), np.diff(facts.hat, axis=-2), 0.0)
    return np.asarray(0.5 * np.square(moved).sum(axis=-1))


def _potential(facts: Facts) -> Array:
    """Psi[t], (..., T), by factors: both squares may be large, and their difference small."""
    Q, g = facts.Q[..., 1:, :], _constraint(facts)
    return np.asarray(((Q - g) * (Q + g)).sum(axis=-1) / (2.0 * facts.past))


def _energy(facts: Facts, star: Comparators, share: Array) -> Energy:
    """D_s; `share` is 1/(t-1) for means over k, and 1 for sums."""
    pull = facts.gain * facts.Qbar  # Qbar is the mean of the weights here
    parts = {"movement": share * _movement(facts), **comparison(facts, star, pull)}
    known = energy(facts, star, parts, pull, np.ones(facts.T))
    rounding = (np.sqrt(2.0 * share * _movement(facts)) * facts.hat_rounding[..., None]).cumsum(axis=-1)
    return Energy(known.B, known.off + 2.0 * rounding)


def _whole(facts: Facts, star: Comparators) -> Energy:
    """E_s: with the squares of the last constraints, which the potential leaves out."""
    last = 0.5 * np.square(_constraint(facts)).sum(axis=-1) / facts.past
    return _energy(facts, star, 1.0 / facts.past).plus(last)


def _per_task(
    form: str,
    facts: Facts,
    star: Comparators,
    known: Energy,
    premises: tuple[str, ...] = ("queues drive the model",),
    kind: Kind = "valid",
) -> Bound:
    past = np.tri(facts.T, k=-1)
    terms = {
        "root": known.root * past,
        "head start": -np.asarray(facts.delta)[..., None, None] * past,
    }
    size = known.root_scale + (facts.T * facts.hat_scale)[..., None, None]
    return _make(form, facts, totals(facts) * past, terms, premises, star, trailing=2, kind=kind, size=size)


def _make(
    form: str,
    facts: Facts,
    lhs: Array,
    terms: dict[str, Array],
    premises: tuple[str, ...],
    star: Comparators | None = None,
    **rest: Any,
) -> Bound:
    return bound_of(_NAME, form, facts, lhs, terms, (*_CONTROLLER, *premises), star, **rest)


STATEMENT = Statement(
    id="yu_neely",
    title="Yu and Neely's controller: forgetting with the movement as residual",
    label=_NAME[1],
    forms={"proved": proved, "drift": drift, "gap": gap, "each_task": each_task, "hoped": hoped},
    latex=r"\forall s:\ \frac{2}{s(s-1)}\sum_{k<t\le s}F_k[t]\le\delta-\frac{2\delta}s+\frac2s\sqrt{2E_s},\quad "
    r"R_t=\frac{1}{2(t-1)}\sum_{k<t}\bigl(\hat\Phi_k(x_t)-\hat\Phi_k(x_{t-1})\bigr)^2",
    explain=Explanation(
        printed="",
        wrong="",
        correct="As for the plain queue, with R_t, the squared movement of the past losses, in place of Delta_t: "
        "nothing is lost at tasks where the model rests.",
        conventions="Case 3: with a reference that moves the weight Q + g would be negative. Mean weights but for "
        "each_task, which has both.",
        proof="max(Q + g, -g)^2 <= Q^2 + 2 Q g + 2 g^2, and with g' the constraint before the step 2 g^2 - 2 g' g = "
        "g^2 - g'^2 + (g - g')^2: the squares of g telescope with those of Q. A task joins with Q^2 = g^2 = delta^2.",
        terms={
            "delta": "the tolerance, once per pair",
            "head start": "every queue starts at delta",
            "excess": "(2/s) times the root mean square of the queues after task s, bounded by the energy E_s",
            "root": "the root of the energy, for the number of tasks that it is shared among, and of g_k[s]^2",
            "potential before": "Psi[t-1], which averages over one task less",
            "movement": "R_t, how far the past losses moved during task t",
            "weight times constraint": "what the comparator bounds",
            "optimisation error": "how far x_t is from minimising DPP_t",
            "relief": "the comparators' distance from the constraint times the weights",
            "last potential": "the end of the telescoping sum",
        },
    ),
    family={
        "T": (2, 5),
        "reference": "stored",
        "solver": "exact",
        "hessians": "scalar",
        "ideal": True,
        "controller": "yu-neely",
    },
    family_of_form={"drift": {"ideal": False}},
)
