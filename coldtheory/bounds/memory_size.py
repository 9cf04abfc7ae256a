"""How far the memory's losses are from the tasks' own, against the memory size M.  A theorem that the paper lacks.

Problem: Theorem 2 has the term 2 V D_{Phi,hatPhi}[T]. How large is it for a memory of M samples per task?

Statement (Phi_k is the mean of (w - z_i)' A (w - z_i)/2 over n samples, hatPhi_k that over M of them, drawn uniformly
without replacement; W is a ball that was chosen before the draw, r_k the largest distance from the mean of task k's
samples to a point of W). With probability at least 1 - p, for all T - 1 past tasks at once:

    sup_W |Phi_k - hatPhi_k| <= kappa (r_k scatter_k + unevenness_k) + tau sqrt(log((T-1)/p)/2) (r_k width_k + span_k)
    kappa^2 = (n - M)/(M (n - 1)),   tau^2 = min{(n - M + 1)/(M n), (n - M)(M + 1)/(M^2 n)}, both 0 for M = n

Form `average`, where the memories are drawn independently of each other: D_{Phi,hatPhi}[T] is at most D_Phi[T], plus
the mean of the first terms, plus tau sqrt(log(1/p)/2) sqrt(sum_k (r_k width_k + span_k)^2)/T, which falls like
1/sqrt(T).

Conventions: scatter, unevenness, width and span are those of `coldtheory.memory`. A run is one draw, so these forms may
fail on it with probability p (0.05 unless given); only `always` holds for every draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..memory import a_priori_terms, deviation, probability, standard_error
from ..quadratics import Array
from ..tolerance import RTOL
from .base import Bound, Explanation, Kind, Statement, make
from .facts import Facts

_NAME = ("memory_size", "new:memory_size")
P = 0.05  #: the default probability with which a draw may break the bound


def proved(facts: Facts, p: float = P) -> Bound:
    """The error of every memory at once: a union over the tasks, whatever the draws have to do with each other."""
    p, draw = probability(p), _draw(facts)
    terms = {
        "expected error": draw.kappa * draw.typical,
        "chance": draw.tau * math.sqrt(0.5 * math.log(max(facts.T - 1, 1) / p)) * draw.apart,
    }
    return _make("proved", facts, draw, draw.error, terms, trailing=1)


def average(facts: Facts, p: float = P) -> Bound:
    """D_{Phi,hatPhi}[T] itself: independent memories err independently, so chance averages out."""
    p, draw = probability(p), _draw(facts)
    together = np.sqrt(np.square(draw.apart).sum(axis=-1)) / facts.T
    terms = {
        "task variation": draw.variation,
        "expected error": draw.kappa * draw.typical.mean(axis=-1),
        "chance": draw.tau * math.sqrt(0.5 * math.log(1.0 / p)) * together,
    }
    return _make("average", facts, draw, draw.memory_variation, terms)


def a_priori(facts: Facts, p: float = P) -> Bound:
    """The mean error of the memories from two radii alone: what `coldtheory.memory_error` says before any draw."""
    p, draw, K = probability(p), _draw(facts), max(facts.T - 1, 1)
    s, r = draw.reach.max(axis=-1), draw.distance.max(axis=-1)
    expected, chance = a_priori_terms(draw.m, draw.n, s, r, facts.L, math.log(1.0 / p) / K)
    return _make("a_priori", facts, draw, draw.error.sum(axis=-1) / K, {"expected error": expected, "chance": chance})


def always(facts: Facts) -> Bound:
    """What no draw can exceed: the samples kept and the samples left out are as far apart as any two samples."""
    draw = _draw(facts)
    where = "n/2 samples at each of two points around the centre of W, the memory all at one of them"
    terms = {"samples left out": (1.0 - draw.m / draw.n) * draw.apart}
    return _make("always", facts, draw, draw.error, terms, trailing=1, kind="tight", attained=where)


@dataclass(frozen=True)
class _Draw:
    """What the forms are made of; arrays (..., T) are 0 at k = T, whose memory no one has used yet."""

    n: int
    m: int
    error: Array  #: sup_W |Phi_k - hatPhi_k|, (..., T)
    distance: Array  #: r_k, (..., T)
    reach: Array  #: (..., T)
    typical: Array  #: r_k scatter_k + unevenness_k, (..., T)
    apart: Array  #: r_k width_k + span_k: the losses of no two samples are farther apart on W, (..., T)
    variation: Array  #: D_Phi[T], (...)
    memory_variation: Array  #: D_{Phi,hatPhi}[T], (...)
    rounding: Array  #: of the losses on W, (...)

    @property
    def kappa(self) -> float:
        return standard_error(self.m, self.n)

    @property
    def tau(self) -> float:
        return deviation(self.m, self.n)


def _draw(given: Facts) -> _Draw:
    """Everything over a W that is older than the memory; 0, and no premise met, where there are no samples."""
    samples, shape = given.samples, (*given.lead, given.T)
    if samples is None:
        nothing = np.zeros(shape)
        return _Draw(1, 1, *[nothing] * 5, *[nothing[..., 0]] * 3)
    facts = given.before_sampling()
    past = np.where(np.arange(1, given.T + 1) < given.T, 1.0, 0.0)

    def spread(values: Array) -> Array:
        """From one number per stream and task to one per run and task."""
        streams = values.shape[:-1]
        wide = values.reshape(*streams, *(1,) * (len(given.lead) - len(streams)), given.T)
        return np.asarray(np.broadcast_to(wide, shape) * past)

    r = facts.mean_distance
    return _Draw(
        samples.n,
        samples.m,
        error=facts.memory_error * past,
        distance=r * past,
        reach=spread(samples.reach),
        typical=r * spread(samples.scatter) + spread(samples.unevenness),
        apart=r * spread(samples.width) + spread(samples.span),
        variation=np.asarray(facts.variation("ball").mean(axis=-1)),
        memory_variation=np.asarray(facts.memory_variation("ball").mean(axis=-1)),
        rounding=facts.memory_rounding,
    )


def _make(
    form: str,
    facts: Facts,
    draw: _Draw,
    lhs: Array,
    terms: dict[str, Array],
    *,
    trailing: int = 0,
    kind: Kind = "valid",
    attained: str = "",
) -> Bound:
    size = draw.rounding / RTOL
    return make(_NAME, form, facts, lhs, terms=terms, kind=kind, premises=("sampled memory",), attained=attained,
                trailing=trailing, magnitude=size[..., None] if trailing else size)  # fmt: skip


STATEMENT = Statement(
    id="memory_size",
    title="The memory's error against its size",
    label=_NAME[1],
    forms={"proved": proved, "average": average, "a_priori": a_priori, "always": always},
    latex=r"\sup_W|\Phi_k-\hat\Phi_k|\le\kappa\,(r_k\sigma_k+\nu_k)"
    r"+\tau\sqrt{\tfrac12\log\tfrac{T-1}p}\;(r_k\omega_k+\varsigma_k),\quad"
    r"\kappa^2=\tfrac{n-M}{M(n-1)},\;\tau^2=\min\bigl\{\tfrac{n-M+1}{Mn},\tfrac{(n-M)(M+1)}{M^2n}\bigr\}",
    explain=Explanation(
        printed="",
        wrong="",
        correct="With probability 1 - p all memories are that close to their tasks, uniformly over W; the error falls "
        "like 1/sqrt(M) and is 0 for M = n.",
        conventions="The memory is drawn uniformly without replacement; W is a ball that was chosen before the draw: "
        "the given one, or one around all samples and x_0. A run is one draw: with probability p a form may fail on "
        "it.",
        proof="On a ball the supremum is a function of which samples are kept. Swapping one of them changes it by at "
        "most (r width + span)/M; exposing the memory, or what is left out, one sample after the other gives a "
        "martingale whose differences have ranges that sum up to tau^2 (Hoeffding, Serfling). Its mean is bounded by "
        "the variance of a mean of M out of n.",
        terms={
            "expected error": "the standard deviation of a mean of M out of n samples",
            "chance": "how far the supremum may exceed its mean, with probability p",
            "task variation": "D_Phi[T], what the tasks themselves change",
            "samples left out": "the share of the samples that the memory lacks, times the largest difference of two",
        },
    ),
)
