"""Real forgetting for every T at once, with V that may move, and for single tasks.  A theorem that the paper lacks.

Problem: `forgetting` is about one T and the mean over all pairs. May one look after every task? May V grow along the
way, so that T need not be known? And what does it say about one given task?

Statement (Case 3, plain queue, any V_t > 0, x_t minimises DPP_t up to eps_t, w*_t as in Theorem 1). For all s = 2..T:

    mean weights   mean over k < t <= s of F_k[t] <= delta + (2/s) sqrt(2 B_s),   B_s = sum_{t<=s} b_t
                   b_t = Delta_t + eps_t + V_t [Phi_t(w*_t) - Phi_t(x_t)] - (delta - delta') Qbar[t-1]
    form sharp     the same with (t-1)/(s-1) before b_t, and with what clipping at 0 takes off Delta_t
    form most      fewer than theta (s-1) of the tasks k < s have a total sum_{t=k+1}^s (F_k[t] - delta) above
                   sqrt(2 B_s/theta)
    form each_task every task: its total is at most sqrt(2 (s-1) B_s); for sum weights at most sqrt(2 C_s), where C_s
                   has (t-1) times the residual and the sum of the queues in place of their mean

With V_t = V t^(1/3) the excess over delta is O(s^(-1/3)) for every s. A single task has no such promise under mean
weights: form `hoped`, a total of at most sqrt(2 B_s) per task, is false (counterexample forgetting_one_task).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..ground.checks import number
from ..quadratics import Array
from .base import Bound, Explanation, Kind, Statement, make
from .comparators import Comparators, comparators
from .energy import Energy, comparison, energy, forgotten, told, totals
from .facts import Facts

_NAME = ("forgetting_uniform", "new:forgetting_uniform")
_PREMISES = ("Case 3", "plain queue")
THETA = 0.1  #: the share of tasks about which `most` says nothing, unless told


def proved(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """The mean over all pairs up to s, for every s."""
    star = comparators(facts, delta_prime, w_star)
    return _mean_form("proved", facts, star, _energy(facts, star, facts.Delta, np.ones(facts.T)))


def sharp(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """With what Lemma 1 throws away: the ageing of the Lyapunov function, and what clipping a queue at 0 takes off."""
    star = comparators(facts, delta_prime, w_star)
    return _mean_form("sharp", facts, star, _energy(facts, star, _unclipped(facts), _ageing(facts)))


def most(
    facts: Facts,
    delta_prime: ArrayLike | None = None,
    w_star: ArrayLike | None = None,
    theta: float = THETA,
) -> Bound:
    """All but a share theta of the tasks: their totals, for every s."""
    theta = number("theta", theta, above=0, most=1)
    star = comparators(facts, delta_prime, w_star)
    known = _energy(facts, star, _unclipped(facts), _ageing(facts))
    over = 1.0 / np.sqrt(theta)
    lhs = np.zeros((*facts.lead, facts.T))
    total = totals(facts)
    for s in range(2, facts.T + 1):
        rank = int(np.ceil(theta * (s - 1) - 1e-9))  # this many tasks at most are left out, this one no more
        lhs[..., s - 1] = np.sort(total[..., s - 1, : s - 1], axis=-1)[..., -max(rank, 1)]
    return _make("most", facts, star, lhs, {"root": over * known.root}, ("mean weights",),
                 size=over * known.root_scale + facts.T * facts.hat_scale[..., None])  # fmt: skip


def each_task(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """Every single task: its total, for every s."""
    star = comparators(facts, delta_prime, w_star)
    mean = facts.weights == "mean"
    known = _energy(facts, star, _unclipped(facts), _ageing(facts) if mean else np.ones(facts.T))
    return _per_task("each_task", facts, star, known, np.sqrt(facts.past) if mean else np.ones(facts.T))


def hoped(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """As if what holds for the mean held for every task: false."""
    star = comparators(facts, delta_prime, w_star)
    known = _energy(facts, star, facts.Delta, np.ones(facts.T))
    return _per_task("hoped", facts, star, known, np.ones(facts.T), ("mean weights",), "false as printed")


def _energy(facts: Facts, star: Comparators, residual: Array, keep: Array) -> Energy:
    pull = facts.gain * facts.Qbar
    return energy(facts, star, {"residual": residual * facts.gain, **comparison(facts, star, pull)}, pull, keep)


def _ageing(facts: Facts) -> Array:
    """(t-2)/(t-1): the Lyapunov function averages over one task more, whose queue is 0."""
    return np.asarray(np.maximum(np.arange(facts.T) - 1.0, 0.0) / facts.past)


def _unclipped(facts: Facts) -> Array:
    """Delta_t without what clipping takes off: the mean of [d^2 - min(Q + d, 0)^2]/2, (..., T)."""
    past = np.tri(facts.T, k=-1, dtype=bool)
    d = np.where(past, facts.increments - np.asarray(facts.delta)[..., None, None], 0.0)
    below = np.where(past, np.minimum(facts.Q[..., :-1, :] + d, 0.0), 0.0)
    return np.asarray((np.square(d) - np.square(below)).sum(axis=-1) / (2.0 * facts.past))


def _mean_form(form: str, facts: Facts, star: Comparators, known: Energy) -> Bound:
    over = 2.0 / np.arange(1.0, facts.T + 1.0)
    terms = {"delta": told(facts, facts.delta), "excess": told(facts, 1.0) * over * known.root}
    return _make(form, facts, star, forgotten(facts), terms, ("mean weights",),
                 size=over * known.root_scale + facts.hat_scale[..., None])  # fmt: skip


def _per_task(
    form: str,
    facts: Facts,
    star: Comparators,
    known: Energy,
    factor: Array,
    premises: tuple[str, ...] = ("queues drive the model",),
    kind: Kind = "valid",
) -> Bound:
    past = np.tri(facts.T, k=-1)
    terms = {"root": (factor * known.root)[..., None] * past}
    size = (factor * known.root_scale)[..., None] + (facts.T * facts.hat_scale)[..., None, None]
    return _make(form, facts, star, totals(facts) * past, terms, premises, kind=kind, trailing=2, size=size)


def _make(
    form: str,
    facts: Facts,
    star: Comparators,
    lhs: Array,
    terms: dict[str, Array],
    premises: tuple[str, ...],
    *,
    size: Array,
    kind: Kind = "valid",
    trailing: int = 1,
) -> Bound:
    return make(_NAME, form, facts, lhs, terms=terms, kind=kind, premises=(*premises, *_PREMISES),
                more={"w* is feasible": star.feasible}, trailing=trailing, magnitude=np.nan_to_num(size))  # fmt: skip


STATEMENT = Statement(
    id="forgetting_uniform",
    title="Real forgetting for every T at once",
    label=_NAME[1],
    forms={"proved": proved, "sharp": sharp, "most": most, "each_task": each_task, "hoped": hoped},
    latex=r"\forall s:\ \frac{2}{s(s-1)}\sum_{k<t\le s}[\hat\Phi_k(x_t)-\hat\Phi_k(x_k)]\le\delta"
    r"+\frac2s\sqrt{2B_s},\quad "
    r"B_s=\sum_{t\le s}\bigl(\Delta_t+\varepsilon_t+V_t[\Phi_t(w_t^*)-\Phi_t(x_t)]-(\delta-\delta')\bar Q[t-1]\bigr)",
    explain=Explanation(
        printed="",
        wrong="",
        correct="The bound on forgetting holds after every task, and for any V_t: with V_t = V t^(1/3) no T need be "
        "known. All but a share theta of the tasks have a total excess of at most sqrt(2 B_s/theta). One given task "
        "may be forgotten for ever under mean weights, where its queue counts 1/(t-1).",
        conventions="Case 3; delta' may exceed delta. Mean weights but for each_task, which has both.",
        proof="Nothing in the proof of `forgetting` looks ahead: Lyap[s] <= B_s for every s, V_t inside the sum. A "
        "queue is at least the total of its task; the mean of the s-1 queues is at most sqrt(2 Lyap[s]), fewer than "
        "theta (s-1) of them exceed sqrt(2 Lyap[s]/theta), and none exceeds sqrt(2 (s-1) Lyap[s]).",
        terms={
            "delta": "the tolerance, once per pair",
            "excess": "(2/s) times the root mean square of the queues after task s, bounded by the energy B_s",
            "root": "the root of the energy, for the number of tasks that it is shared among",
        },
    ),
    family={"T": (2, 5), "reference": "stored", "solver": "exact", "hessians": "scalar", "ideal": True},
)
