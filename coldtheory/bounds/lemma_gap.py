"""Appendix lemma on the optimality gap, r^2 l / 2.  Paper label: lemm:losses_boundedby_const.

Problem: how much worse than its optimum can a memory loss be on the set W? Every constant r^2 l in the paper
comes from here, so the meaning of r matters.

Statement, for every k:  sup_W hatPhi_k - inf_W hatPhi_k <= l r^2 / 2,   r = sup_{w in W} max_k |w - v_k*|

Conventions: v_k* is a point with zero gradient, in W or not. For a ball of centre c and radius R, r = R +
max_k |v_k* - c|: between R and 2 R when all v_k* are in the ball. The paper calls r the radius of W.
"""

from __future__ import annotations

import numpy as np

from ..quadratics import Array
from .base import Bound, Explanation, Kind, Statement, make
from .facts import Facts

_NAME = ("lemma_gap", "lemm:losses_boundedby_const")


def printed(facts: Facts) -> Bound:
    """r the radius of W."""
    return _make("printed", facts, facts.radius, kind="false as printed")


def diameter(facts: Facts) -> Bound:
    """r the diameter of W, the other reading; false when a minimiser lies outside W."""
    return _make("diameter", facts, 2.0 * facts.radius, kind="false as printed")


def corrected(facts: Facts) -> Bound:
    """r the largest distance of a point of W from a stationary point of a memory loss."""
    where = "identity Hessians, the loss farthest from the centre"
    return _make("corrected", facts, facts.r, kind="tight", attained=where)


def _make(form: str, facts: Facts, r: Array, *, kind: Kind, attained: str = "") -> Bound:
    terms = {"l r^2 / 2": np.asarray(0.5 * facts.l * r**2)[..., None]}
    return make(_NAME, form, facts, facts.gaps, terms=terms, trailing=1, kind=kind, attained=attained)


STATEMENT = Statement(
    id="lemma_gap",
    title="Appendix lemma: optimality gap of a memory loss on W",
    label=_NAME[1],
    forms={"printed": printed, "diameter": diameter, "corrected": corrected},
    latex=r"\sup_{\mathcal W}\hat\Phi_k-\inf_{\mathcal W}\hat\Phi_k\le\tfrac12 l r^2,\quad "
    r"r=\sup_{w\in\mathcal W}\max_k\lVert w-v_k^*\rVert",
    explain=Explanation(
        printed="W compact with radius r; hatPhi_k(w) - hatPhi_k(v_k*) <= r^2 l / 2 for all w in W.",
        wrong="A point of W can be two radii away from the minimiser. Even the diameter fails when the minimiser over "
        "W is on its rim with a gradient that is not zero, for then the loss grows linearly from there.",
        correct="r is the largest distance from W to a point with zero gradient.",
        conventions="The minimiser is unconstrained; for quadratics it is the optimum, in W or not.",
        proof="Smoothness at v_k*, where the gradient vanishes: hatPhi_k(w) - hatPhi_k(v_k*) <= l/2 |w - v_k*|^2, and "
        "the infimum over W is not below the value at v_k*.",
        terms={"l r^2 / 2": "the quadratic upper bound of a smooth function at the farthest point of W"},
    ),
)
