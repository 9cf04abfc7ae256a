"""The solver notices where the algebra of a moving V loses a term."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coldtheory.certify import moving
from coldtheory.certify.algebra import Problem, prove
from coldtheory.certify.terms import Goal


def _without(problem: Problem, lost) -> Problem:
    """The claim less what `lost` makes of the values: a bound that lacks a term."""

    def goal(v, maximum) -> Goal:
        whole = problem.goal(v, maximum)
        return replace(whole, claim=[whole.claim[0] - lost(v, maximum)])

    return Problem(problem.names, goal)


@pytest.mark.parametrize(
    ("problem", "lost"),
    [
        (moving.moving_drift(3), lambda v, maximum: maximum(v["r2"] - v["r1"], 0) * v["P1"]),
        (moving.moving_losses(3), lambda v, maximum: v["u2"] * v["p1"]),
        (moving.moving_losses(4), lambda v, maximum: maximum(v["u4"] - v["u3"], 0) * v["p3"]),
        (moving.adaptive_total(2), lambda v, maximum: v["a1"] * v["a2"]),
    ],
)
def test_a_lost_term_is_refuted(problem, lost):
    pytest.importorskip("z3")
    assert prove(problem).status == "proved"
    assert prove(_without(problem, lost)).status == "refuted"
