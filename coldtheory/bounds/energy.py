"""What bounds the Lyapunov function after every task s, for theorems that hold for all s at once.

The step from task t-1 to task t is always the same: a Lyapunov function of the queues obeys L[t] <= keep_t L[t-1] +
b_t, where b_t holds what Lemma 1 (or its like for another controller) leaves, how far x_t is from minimising DPP_t, and
V_t [Phi_t(w*_t) - Phi_t(x_t)] for a comparator w*_t. The energy B_s that solves this recursion with equality is at
least L[s], and the mean queue is at most sqrt(2 L[s]).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..quadratics import Array
from ..tolerance import RTOL, loss_rounding
from .base import Bound, Kind, make
from .comparators import Comparators
from .facts import Facts

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Energy:
    """B_s for s = 1..T, and how far it may be off by rounding; both (..., T)."""

    B: Array
    off: Array

    @property
    def root(self) -> Array:
        """sqrt(2 B_s). The Lyapunov function below it is not negative: nor is B_s, but for rounding."""
        return np.asarray(np.sqrt(2.0 * np.maximum(self.B, 0.0)))

    @property
    def root_scale(self) -> Array:
        """The scale, for `Bound.magnitude`, of a number that contains the root once."""
        return np.asarray(np.sqrt(2.0 * (np.maximum(self.B, 0.0) + self.off)) - self.root) / RTOL

    def plus(self, more: Array) -> Energy:
        """The energy with a further part added, its rounding included."""
        return Energy(self.B + more, self.off + 4.0 * _EPS * np.abs(more))


def comparison(facts: Facts, star: Comparators, pull: Array) -> dict[str, Array]:
    """The parts of b_t that come from DPP_t(x_t) <= DPP_t(w*_t) + eps_t, each (..., T); `pull` is the sum of beta_k."""
    margin = np.asarray(facts.delta - star.delta_prime)[..., None]
    return {
        "optimisation error": facts.eps,
        "loss gap": facts.V_t * (star.loss - facts.phi_after),
        "relief": -margin * pull,
    }


def energy(facts: Facts, star: Comparators, parts: Mapping[str, Array], pull: Array, keep: Array) -> Energy:
    """B_t = keep_t B_{t-1} + sum of the parts at t, from B_0 = 0; `keep` is (T,)."""
    size = np.sqrt(np.square(star.w).sum(axis=-1).max(axis=-1))
    losses = facts.phi_rounding + loss_rounding(star.loss.max(axis=-1), facts.L, size, star.w.shape[-1])
    moved = np.sqrt(2.0 * np.maximum(facts.Delta, 0.0)) * np.sqrt(facts.past)  # at least any one |d_k[t]|
    fresh = facts.V_t * losses[..., None] + 2.0 * (pull + moved) * facts.hat_rounding[..., None]
    sums = sum((np.abs(part) for part in parts.values()), np.zeros((*facts.lead, facts.T)))
    total = sum(parts.values(), np.zeros((*facts.lead, facts.T)))
    return Energy(accumulated(total, keep), accumulated(fresh + 8 * facts.T * _EPS * sums, keep))


def accumulated(b: Array, keep: Array) -> Array:
    """B_t = keep_t B_{t-1} + b_t, (..., T)."""
    B, now = np.empty_like(b), np.zeros(b.shape[:-1])
    for t in range(b.shape[-1]):
        now = keep[t] * now + b[..., t]
        B[..., t] = now
    return B


def pairs(T: int) -> Array:
    """s (s-1)/2 for s = 1..T, and 1 at s = 1, where every sum over pairs k < t <= s is empty."""
    s = np.arange(1.0, T + 1.0)
    return np.maximum(0.5 * s * (s - 1.0), 1.0)


def forgotten(facts: Facts) -> Array:
    """The mean of F_k[t] over the pairs k < t <= s, for s = 1..T: (..., T)."""
    return np.asarray(np.cumsum(facts.forgetting.sum(axis=-1), axis=-1) / pairs(facts.T))


def totals(facts: Facts) -> Array:
    """sum_{t=k+1}^s (F_k[t] - delta): by how much task k was forgotten too much, in all; (..., T, T) over s and k."""
    past = np.tri(facts.T, k=-1, dtype=bool)
    return np.cumsum(np.where(past, facts.forgetting - np.asarray(facts.delta)[..., None, None], 0.0), axis=-2)


def told(facts: Facts, value: Array | float) -> Array:
    """A number per run as one per run and s, 0 at s = 1, where nothing is said: (..., T)."""
    whole = np.broadcast_to(np.asarray(value)[..., None], (*facts.lead, facts.T))
    return np.where(np.arange(facts.T) > 0, whole, 0.0)


def bound_of(
    statement: tuple[str, str],
    form: str,
    facts: Facts,
    lhs: Array,
    terms: dict[str, Array],
    premises: tuple[str, ...],
    star: Comparators | None = None,
    *,
    size: Array,
    kind: Kind = "valid",
    more: Mapping[str, np.ndarray] | None = None,
    **rest: Any,
) -> Bound:
    """`make`, with the premise that the comparators are feasible where there are some, and `size` as magnitude."""
    feasible = {} if star is None else {"w* is feasible": star.feasible}
    return make(statement, form, facts, lhs, terms=terms, premises=premises, more={**feasible, **(more or {})},
                kind=kind, magnitude=np.nan_to_num(size), **rest)  # fmt: skip
