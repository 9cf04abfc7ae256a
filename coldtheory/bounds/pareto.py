"""What no algorithm can do with two tasks that differ, and that COLD reaches it.  Label: new:pareto.

Problem: could any method learn task t better and forget task k less?

Statement, for any model x_t of any algorithm and k < t, where hatPhi_k = (h_k/2)|w - v_k|^2 + c_k and
Phi_t = (h_t/2)|w - a_t|^2 + c_t:

    |v_k - a_t| <= sqrt(2 [hatPhi_k(x_t) - inf hatPhi_k]/h_k) + sqrt(2 [Phi_t(x_t) - inf Phi_t]/h_t)
    Phi_t(x_t) - inf Phi_t >= (h_t/2) max(0, |v_k - a_t| - sqrt(2 [hatPhi_k(x_t) - inf hatPhi_k]/h_k))^2     (frontier)

With h_k = h_t = L and infima 0 the first line is sqrt(Phi_k) + sqrt(Phi_t) >= sqrt(L/2) |v_k - a_t|. The minimiser of
DPP_t attains it for every V where all past tasks want the same model: COLD is Pareto-optimal there.

Conventions: curvatures are multiples of the identity, and positive. Trailing axes t and k; entries with k >= t are 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..quadratics import Array, Quadratics
from ..tolerance import MODEL_ROUNDING, RTOL
from .base import Bound, Explanation, Statement, make
from .facts import Facts
from .run_facts import RunFacts

_NAME = ("pareto", "new:pareto")
_BETWEEN = "x_t between the two optima, where the minimiser of DPP_t is if all past tasks want the same"


def proved(facts: Facts) -> Bound:
    """The losses as distances, and the triangle inequality."""
    apart, past, present, _ = _distances(facts)
    return _make("proved", facts, apart, {"past": past, "present": present}, _size(facts))


def frontier(facts: Facts) -> Bound:
    """The least loss of task t, given that of task k."""
    apart, past, present, curvature = _distances(facts)
    short = np.maximum(apart - past, 0.0)
    size = _size(facts)
    # (h/2) s^2 is off by h s e + h e^2/2 where s, a difference of distances, is off by e.
    off = np.maximum(short, present) * np.maximum(apart, size) + 2.0 * size**2
    return _make("frontier", facts, 0.5 * curvature * short**2, {"present": 0.5 * curvature * present**2},
                 curvature * off)  # fmt: skip


def _distances(facts: Facts) -> tuple[Array, Array, Array, Array]:
    """|v_k - a_t|, the two distances that the losses at x_t stand for, and h_t, each (..., T, T); 0 for k >= t."""
    shape = (*facts.lead, facts.T, facts.T)
    if not isinstance(facts, RunFacts) or not facts.phi.isotropic:
        nothing = np.full(shape, np.nan)
        return nothing, nothing, nothing, nothing
    pairs = np.tri(facts.T, k=-1, dtype=bool)
    phi, hat = (_from_zero(q) for q in (facts.phi, facts.phi_hat))
    between = hat.optima[..., None, :, :] - phi.optima[..., :, None, :]
    apart = np.sqrt(np.square(between).sum(axis=-1))
    past = np.sqrt(2.0 * _quotient(facts.hat_above[..., 1:, :], hat.hessians[..., None, :]))
    present = np.sqrt(2.0 * _quotient(phi.at(facts.run.w[..., 1:, :]), phi.hessians))[..., None]
    whole = (apart, past, present, phi.hessians[..., None])
    return tuple(np.where(pairs, np.broadcast_to(part, shape), 0.0) for part in whole)  # type: ignore[return-value]


def _from_zero(q: Quadratics) -> Quadratics:
    """The same losses with infimum 0."""
    return replace(q, offsets=np.zeros_like(q.offsets))


def _quotient(loss: Array, curvature: Array) -> Array:
    return np.asarray(loss / np.where(curvature > 0, curvature, np.nan))


def _size(facts: Facts) -> Array:
    """Points far from the origin are rounded, and distances with them: as a scale, that rounding over RTOL."""
    if not isinstance(facts, RunFacts):
        return np.zeros((*facts.lead, 1, 1))
    return np.asarray(np.sqrt(facts.size) * (MODEL_ROUNDING / RTOL))[..., None, None]


def _make(form: str, facts: Facts, lhs: Array, terms: dict[str, Array], size: Array) -> Bound:
    met = np.isfinite(lhs).all(axis=(-2, -1)) & np.all(
        [np.isfinite(t).all(axis=(-2, -1)) for t in terms.values()], axis=0
    )
    return make(_NAME, form, facts, lhs, terms=terms, kind="tight", attained=_BETWEEN, trailing=2, magnitude=size,
                more={"curvatures are positive multiples of the identity": met | ~facts.bounded})  # fmt: skip


STATEMENT = Statement(
    id="pareto",
    title="What no algorithm can do: two tasks that differ, and the models that are Pareto-optimal",
    label=_NAME[1],
    forms={"proved": proved, "frontier": frontier},
    latex=r"\sqrt{\frac{2}{h_k}[\hat\Phi_k(x)-\inf\hat\Phi_k]}+\sqrt{\frac{2}{h_t}[\Phi_t(x)-\inf\Phi_t]}\ge|v_k-a_t|",
    explain=Explanation(
        printed="",
        wrong="",
        correct="The two losses of any model bound each other from below; where all past tasks want the same model, "
        "COLD's minimisers are Pareto-optimal for every V.",
        conventions="Any algorithm, any reference and weights; curvatures h_k, h_t > 0 times the identity.",
        proof="For such losses sqrt(2 [Phi - inf Phi]/h) is the distance from the optimum: the triangle inequality. "
        "The minimiser of V Phi_t + sum_k beta_k hatPhi_k is a weighted mean of the optima; with one past optimum it "
        "lies between the two, where the triangle inequality is an equality.",
        terms={
            "past": "the distance of x_t from the past optimum, as the past loss tells it",
            "present": "the distance from the present optimum; in `frontier` the present loss itself",
        },
    ),
    family={"T": (2, 4), "solver": "exact", "hessians": "scalar"},
)
