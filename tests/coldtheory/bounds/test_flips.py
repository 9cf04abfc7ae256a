"""The swing that refutes sum weights in Case 1: exact in fractions, and the simulator follows it in floats."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from coldtheory import simulate
from coldtheory.bounds import evaluate, facts_of
from coldtheory.counterexamples import load_counterexample
from coldtheory.counterexamples.flips import exact_flips, flips
from coldtheory.ground.errors import ColdError
from tests.coldtheory.bounds.rationals import Exact, printed_sides

pytestmark = pytest.mark.kernels

SMALL = {"delta": Fraction(1, 10**9), "height": Fraction(1)}
# The shortest ones known. For Theorem 3, T = 151 breaks nothing on a fine grid of the parameters; for Corollary 1 only
# a coarse grid was searched, and a shorter one may exist.
SHORTEST = {
    "thm3": {"resting": 54, "swings": 97, "u": Fraction(472, 1000), **SMALL},
    "cor1": {"resting": 60, "swings": 117, "u": Fraction(475, 1000), "height": Fraction(1000),
             "delta": Fraction(4000), "climb": Fraction(999, 1000)},
}  # fmt: skip


def _printed_steps(it: Exact) -> Fraction:
    """max_t eta alpha_t with the paper's alpha_t = V L + l Qbar[t-1]."""
    return max(it.eta * (it.V * it.L + it.l * it.Qbar(t)) for t in it.tasks)


@pytest.mark.once
@pytest.mark.parametrize("statement", SHORTEST)
def test_shortest_swing_breaks_the_statement_in_fractions(statement: str) -> None:
    it = Exact(exact_flips(**SHORTEST[statement]))
    assert abs(it.x[-1][0]) >= SHORTEST[statement]["height"] - Fraction(1, 10**6), "it swings to the end"
    assert _printed_steps(it) <= Fraction(1, 2), "the printed step condition"
    ((lhs, rhs),) = printed_sides(statement, "printed", it)
    assert lhs > rhs


@pytest.mark.once
@pytest.mark.slow
def test_ratio_of_the_longer_swing_in_fractions() -> None:
    it = Exact(exact_flips(resting=40, swings=400, u=Fraction(45, 100), **SMALL))
    ((lhs, rhs),) = printed_sides("thm3", "printed", it)
    assert float(lhs / rhs) == pytest.approx(2.33, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["thm3_sum_case1", "cor1_sum"])
def test_floats_follow_the_fractions(name: str) -> None:
    instance = load_counterexample(name)
    given = {
        "thm3_sum_case1": {"resting": 40, "swings": 200, "u": Fraction(45, 100), **SMALL},
        "cor1_sum": {"resting": 60, "swings": 160, "u": Fraction(475, 1000), "height": Fraction(100),
                     "delta": Fraction(40), "climb": Fraction(999, 1000)},
    }[name]  # fmt: skip
    it = Exact(exact_flips(**given))
    ((lhs, rhs),) = printed_sides(instance.statement, "printed", it)
    assert [float(x) for (x,) in it.x] == pytest.approx(instance.run().w[:, 0].tolist(), rel=1e-5)
    assert float(lhs) == pytest.approx(instance.expected["lhs"], rel=1e-6)
    assert float(rhs) == pytest.approx(instance.expected["rhs"], rel=1e-6)


def test_only_the_sum_of_the_queues_swings() -> None:
    """With mean weights the same tasks obey the statement, and the step condition of sum weights is missed."""
    tasks, settings = flips(resting=40, swings=200, u=0.45, height=1.0, delta=1e-9)
    facts = facts_of(simulate(tasks, **settings))
    assert float(facts.eta_alpha_max) == pytest.approx(2.0, abs=1e-6)
    mean = simulate(tasks, **(settings | {"weights": "mean"}))
    assert evaluate("thm3", "printed", mean).outcome == "holds"
    assert np.abs(mean.w[-50:]).max() < 0.5


def test_bad_parameters_are_one_line() -> None:
    with pytest.raises(ColdError, match="flips needs"):
        flips(resting=0, swings=1, u=0.4, height=1.0, delta=1e-9)
