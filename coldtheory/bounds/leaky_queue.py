"""The leaky queue, without Slater's condition and for every T at once.  A theorem that the paper lacks.

Problem: a queue that forgets a share a of its length at every update, Q <- max((1-a) Q + g, 0), cannot grow for ever.
What does it promise of forgetting?

Statement (Case 3, mean weights, 0 <= a <= 1, any V_t > 0, x_t minimises DPP_t up to eps_t; hatPhi_k(w*_t) - inf
hatPhi_k <= delta' for all k < t, where delta' may be delta or more). For all s = 2..T:

    mean over k < t <= s of F_k[t] <= delta + (2/s) sqrt(2 B_s) + (2a/(s(s-1))) sum_{t<=s} (t-2) sqrt(2 B_{t-1})
    B_t = (1-a)^2 B_{t-1} + Delta_t + (1-a) {eps_t + V_t [Phi_t(w*_t) - Phi_t(x_t)] - (delta - delta') Qbar[t-1]}

With |b_t| <= b, B_t <= b/(a (2-a)) for every t: the excess over delta is O(sqrt(a b)) + O(sqrt(b/a)/s). So a = 1/T
gives the plain queue's rate sqrt(V/T), and a fixed a a bias of order sqrt(a V) that no length of the stream removes.

    form gap    (1/T) sum_t [Phi_t(x_t) - Phi_t(w*_t)] <= (1/((1-a) V T)) sum_t Delta_t + ...: Theorem 1, 1/(1-a) larger
    form queue  the mean queue is at most sqrt(2 B_s) after every task s; Slater's condition is not needed
    form cap    Q_k[t] <= [(1 - (1-a)^(t-k))/a] max(0, sup_W hatPhi_k - inf_W hatPhi_k - delta), any models
    form violation  the mean of hatPhi_k(x_t) - hatPhi_k(ref) over k < t <= s is at most delta plus the queues that are
                left and a times all queues before, per pair; any models, references and weights

Conventions: with a = 0 this is the plain queue, `forgetting_uniform`.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ..quadratics import Array
from .base import Bound, Explanation, Statement, average
from .comparators import Comparators, comparators
from .energy import Energy, bound_of, comparison, energy, forgotten, pairs, told
from .facts import POSSIBLE, Facts

_NAME = ("leaky_queue", "new:leaky_queue")
_METHOD = ("leaky queue", "mean weights", POSSIBLE)
_make = partial(bound_of, _NAME)


def proved(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """Real forgetting, the mean over all pairs up to s, for every s."""
    star = comparators(facts, delta_prime, w_star)
    known = _energy(facts, star)
    over = told(facts, 1.0) * 2.0 / np.arange(1.0, facts.T + 1.0)
    terms = {
        "delta": told(facts, facts.delta),
        "excess": over * known.root,
        "leak": facts.leak * _before(known.root) / pairs(facts.T),
    }
    size = over * known.root_scale + facts.leak * _before(known.root_scale) / pairs(facts.T)
    return _make("proved", facts, forgotten(facts), terms, (*_METHOD, "Case 3"), star, trailing=1,
                 size=size + facts.hat_scale[..., None])  # fmt: skip


def queue(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """The mean of the queues after task s, for every s."""
    star = comparators(facts, delta_prime, w_star)
    known = _energy(facts, star)
    lhs = facts.Q[..., 1:, :].sum(axis=-1) / facts.past
    return _make("queue", facts, lhs, {"energy": known.root}, _METHOD, star, trailing=1,
                 size=known.root_scale + facts.hat_scale[..., None])  # fmt: skip


def gap(facts: Facts, delta_prime: ArrayLike | None = None, w_star: ArrayLike | None = None) -> Bound:
    """Theorem 1 for the leaky queue: the loss above that of the comparators."""
    star = comparators(facts, delta_prime, w_star)
    kept = 1.0 - facts.leak
    over = 1.0 / (np.asarray(facts.V) * (kept if kept > 0 else np.nan))
    margin = np.asarray(facts.delta - star.delta_prime)
    series = {
        "residual": average(facts, over, facts.Delta),
        "optimisation error": average(facts, 1.0 / facts.V, facts.eps),
        "relief": average(facts, -margin / facts.V, facts.Qbar),
        "leak": average(facts, -over * (1.0 - kept**2), facts.lyapunov[..., :-1]),
    }
    terms = {"last Lyapunov": -over * facts.lyapunov[..., -1] / facts.T}
    lhs = (facts.phi_after - star.loss).mean(axis=-1)
    more = {"a < 1": np.asarray(facts.leak < 1.0)}
    size = facts.phi_after.max(axis=-1) + np.nan_to_num(star.loss.max(axis=-1)) + facts.loss_floor
    return _make("gap", facts, lhs, terms, (*_METHOD, "V is constant"), star, series=series, size=size, more=more)


def cap(facts: Facts) -> Bound:
    """A queue that leaks is bounded, whatever the models do."""
    t = np.arange(1.0, facts.T + 1.0)
    age = np.maximum(t[:, None] - t, 0.0)
    count = age  # the sum of (1-a)^j over j < t-k
    if facts.leak == 1:
        count = np.minimum(age, 1.0)
    elif facts.leak > 0:
        count = -np.expm1(age * np.log1p(-facts.leak)) / facts.leak
    most = np.maximum(facts.gaps - np.asarray(facts.delta)[..., None], 0.0)
    terms = {"largest increment": most[..., None, :] * count}
    where = "every model at the point of W where a task is worst, after one at its best"
    return _make("cap", facts, facts.Q[..., 1:, :], terms, ("leaky queue", "models in W", POSSIBLE), trailing=2,
                 kind="tight", attained=where, size=facts.hat_scale[..., None, None])  # fmt: skip


def violation(facts: Facts) -> Bound:
    """What the queues say of the constraint themselves: pure algebra."""
    lhs = np.cumsum(facts.increments.sum(axis=-1), axis=-1) / pairs(facts.T)
    waiting = np.cumsum(facts.Q[..., :-1, :].sum(axis=-1), axis=-1)
    terms = {
        "delta": told(facts, facts.delta),
        "last queues": facts.Q[..., 1:, :].sum(axis=-1) / pairs(facts.T),
        "leak": facts.leak * waiting / pairs(facts.T),
    }
    where = "wherever no queue is clipped at 0, such as at s = 2 if the second task forgets more than delta"
    return _make("violation", facts, lhs, terms, ("leaky queue",), trailing=1, kind="tight", attained=where,
                 size=facts.hat_scale[..., None])  # fmt: skip


def _energy(facts: Facts, star: Comparators) -> Energy:
    kept = 1.0 - facts.leak
    parts = {name: kept * part for name, part in comparison(facts, star, facts.Qbar).items()}
    return energy(facts, star, {"residual": facts.Delta, **parts}, facts.Qbar, np.full(facts.T, kept**2))


def _before(values: Array) -> Array:
    """sum_{t=3}^s (t-2) values_{t-1}, for s = 1..T."""
    s = np.arange(1.0, values.shape[-1] + 1.0)
    summed = np.cumsum((s - 1.0) * values, axis=-1)
    return np.concatenate([np.zeros_like(summed[..., :1]), summed[..., :-1]], axis=-1)


STATEMENT = Statement(
    id="leaky_queue",
    title="The leaky queue: forgetting without Slater's condition",
    label=_NAME[1],
    forms={"proved": proved, "queue": queue, "gap": gap, "cap": cap, "violation": violation},
    latex=r"\forall s:\ \frac{2}{s(s-1)}\sum_{k<t\le s}F_k[t]\le\delta+\frac2s\sqrt{2B_s}"
    r"+\frac{2a}{s(s-1)}\sum_{t\le s}(t-2)\sqrt{2B_{t-1}},\quad B_t=(1-a)^2B_{t-1}+b_t",
    explain=Explanation(
        printed="",
        wrong="",
        correct="A leaky queue needs no strictly feasible point: its energy is bounded for every length of the "
        "stream, and forgetting exceeds delta by O(sqrt(a V)) + O(sqrt(V/a)/s).",
        conventions="The plain queue is the leaky one with a = 0. Mean weights; Case 3 for real forgetting.",
        proof="Squaring the update gives Lyap[t] <= (1-a)^2 Lyap[t-1] + Delta_t + (1-a) S_t/(t-1), and the comparator "
        "bounds S_t/(t-1) as in Theorem 1: a recursion that contracts. Summing Q_k[t] >= (1-a) Q_k[t-1] + g_k[t] over "
        "t bounds the sum of g_k by the last queue plus a times all queues before.",
        terms={
            "delta": "the tolerance, once per pair",
            "excess": "the queues after task s, bounded by the energy",
            "leak": "what leaked out of the queues and enforced nothing; in `gap` it is a gain",
            "energy": "the root of twice the energy B_s",
            "residual": "Delta_t of Lemma 1",
            "optimisation error": "how far x_t is from minimising DPP_t",
            "relief": "the comparators' distance from the constraint times the queues",
            "last Lyapunov": "the end of the telescoping sum",
            "largest increment": "the most by which a memory loss can exceed its tolerance, added up with the leak",
            "last queues": "the queues after task s",
        },
    ),
    family={
        "T": (2, 5),
        "reference": "stored",
        "solver": "exact",
        "hessians": "scalar",
        "ideal": True,
        "controller": "leaky:a=0.1",
    },
    family_of_form={"cap": {"ideal": False}, "violation": {"ideal": False}},
)
