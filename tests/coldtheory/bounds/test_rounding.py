"""What rounding and divergence may and may not do to a verdict."""

from __future__ import annotations

import numpy as np
import pytest

from coldtheory import from_optima, make_tasks, simulate
from coldtheory.bounds import evaluate, facts_of
from coldtheory.tolerance import RTOL

pytestmark = [pytest.mark.kernels, pytest.mark.filterwarnings("ignore::coldtheory.ground.errors.DivergenceWarning")]

BY_LOSSES = [
    ("constraint", "corrected"), ("constraint", "per_task"), ("lindley", "identity"), ("lindley", "reverse"),
    ("lindley", "corrected"), ("lemma1", "identity"), ("thm4", "by_lindley"),
]  # fmt: skip


@pytest.mark.parametrize(("id_", "form"), BY_LOSSES)
@pytest.mark.parametrize("offset", [1e8, 1e10])
def test_far_from_the_origin_nothing_is_violated(id_: str, form: str, offset: float) -> None:
    optima = np.random.default_rng(1).normal(size=(8, 12, 3)) + offset
    run = simulate(optima, V=[1e-2, 1.0, 100.0], eta="auto", delta=1e-6, w0=np.full(3, offset))
    bound = evaluate(id_, form, run)
    assert bound.applicable.all()
    assert not bound.violated.any()


@pytest.mark.parametrize(("id_", "form"), BY_LOSSES)
@pytest.mark.parametrize("size", [1.0, 1e-10, 1e-26])
def test_losses_that_are_rounding_violate_nothing(id_: str, form: str, size: float) -> None:
    """All optima are equal: after one exact step each loss is the square of a rounding error, 1e-52 for size 1e-10."""
    rng = np.random.default_rng(2)
    factors = rng.normal(size=(6, 8, 3, 3))
    optima = np.repeat(size * rng.normal(size=(6, 1, 3)), 8, axis=1)
    tasks = from_optima(optima, factors @ factors.swapaxes(-1, -2) + 0.1 * np.eye(3))
    bound = evaluate(id_, form, simulate(tasks, V=[0.1, 1.0, 10.0], delta=0.0, solver="exact"))
    assert bound.applicable.all()
    assert not bound.violated.any()


@pytest.mark.parametrize(("id_", "form"), BY_LOSSES)
def test_the_allowance_is_small_where_numbers_are_ordinary(id_: str, form: str) -> None:
    run = simulate(make_tasks("high", range(2), T=40), V=[50.0, 200.0])
    bound = evaluate(id_, form, run)
    largest = max(float(facts_of(run).largest_loss.max()), float(np.abs(bound.rhs).max()))
    assert float((RTOL * bound.scale).max()) < 1e-8 * max(largest, largest**2)


def test_the_progress_form_of_theorem_4_can_fail() -> None:
    facts = facts_of(simulate(make_tasks("high", range(2)), V=1000.0))
    bound, trivial = evaluate("thm4", "progress", facts), evaluate("thm4", "a_priori", facts)
    assert bound.outcome.tolist() == ["holds", "holds"]
    assert (RTOL * bound.scale < 0.5 * trivial.rhs).all(), "an average queue as large as it can be would be seen"


def _expanding(optima: np.ndarray):
    """A run whose steps expand: eta alpha = 2.2 sends it some data radii away within its few tasks."""
    return simulate(optima, V=1.0, eta=2.2, delta=1e3, steps=1, w0=[1.0, 0.0])


def test_a_run_diverges_or_not_whatever_else_is_in_the_batch() -> None:
    alone = 0.1 * np.random.default_rng(3).normal(size=(15, 2))
    wide = 1e6 * np.random.default_rng(4).normal(size=(15, 2))
    one, both = _expanding(alone[None]), _expanding(np.stack([alone, wide]))
    assert one.diverged[0]
    assert one.diverged[0] == both.diverged[0]
    assert np.array_equal(one.w[0], both.w[0], equal_nan=True)
    for id_, form in (("thm3", "corrected"), ("lemma1", "corrected"), ("thm4", "printed")):
        assert evaluate(id_, form, one).outcome[0] == evaluate(id_, form, both).outcome[0] == "not applicable"


@pytest.mark.parametrize("form", ["printed", "corrected"])
def test_lemma_2_is_not_applicable_to_a_diverged_run_with_matrices(form: str) -> None:
    rng = np.random.default_rng(5)
    factors = rng.normal(size=(40, 4, 4))
    hessians, optima = factors @ factors.swapaxes(-1, -2), rng.normal(size=(40, 4))
    run = simulate(from_optima(optima, hessians), V=1e3, eta=1.0, steps=50)
    assert run.diverged
    assert evaluate("lemma2", form, run).outcome == "not applicable"


def test_a_minimiser_without_all_curvature_is_not_called_exact() -> None:
    optima = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 2.0]])

    def met(curvature: float) -> bool:
        hessians = np.broadcast_to(np.diag([1.0, curvature]), (3, 2, 2))
        facts = facts_of(simulate(from_optima(optima, hessians), V=1.0, delta=0.1, solver="exact"))
        return bool(facts.premise("exact minimiser"))

    assert met(1e-3)
    assert met(0.0), "a flat direction has nothing to minimise"
    assert not met(1e-16), "the solver takes this direction as flat, which it is not"
