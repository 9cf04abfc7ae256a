"""Every form that is called tight has an instance here on which its two sides are equal, and not both 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from coldtheory import Run, from_optima, from_points, simulate
from coldtheory.bounds import STATEMENTS, evaluate, follow

pytestmark = pytest.mark.kernels


def _one_task() -> Run:
    """T = 1, eta alpha = 1: straight to loss 0."""
    return simulate([[1.0]], V=2.0, eta=0.5, delta=0.1, steps=1)


def _one_step(eta: float) -> Run:
    return simulate([[1.0]], V=2.0, eta=eta, delta=0.1, steps=1)


def _rising() -> Run:
    """Models that leave all optima: every memory loss rises at every task, and no queue is cut at 0."""
    return follow(np.zeros((4, 1)), [[0.0], [0.0], [1.0], [2.0], [3.0]], V=1.0, delta=0.25)


def _rising_freely() -> Run:
    return follow(np.zeros((4, 1)), [[0.0], [0.0], [1.0], [2.0], [3.0]], V=1.0, delta=0.0)


def _to_the_rim() -> Run:
    """W = [-1, 1] around models and optima; memory 1 wants -1, where the model was, and the model goes to 1."""
    tasks = from_optima([[-1.0], [1.0]], memory_optima=[[-1.0], [-1.0]])
    return follow(tasks, [[-1.0], [-1.0], [1.0]], V=1.0, delta=0.0)


def _pulled() -> Run:
    """Identity Hessians, and queues that fill."""
    return simulate([[0.0], [2.0], [0.0], [2.0]], V=1.0, eta=0.2, delta=1e-3)


def _forgotten() -> Run:
    """The second task wants the model where it may go, and the first forgets 1/2 by it, 1/4 more than delta."""
    return simulate([[0.0], [1.0]], V=1.0, delta=0.25, solver="exact", reference="stored")


def _two_clusters() -> Run:
    """Four points at 1 and four at -1, and a memory that holds those at 1 only; W is centred between them."""
    points = [[[1.0]] * 4 + [[-1.0]] * 4] * 2
    draws = (from_points(points, m=4, seed=seed) for seed in range(100))
    tasks = next(one for one in draws if one.phi_hat.optima[0, 0] == 1.0)
    return simulate(tasks, V=1.0)


def _at_the_tolerance() -> Run:
    """The second task forgets the first by exactly delta."""
    return simulate([[0.0], [1.0]], V=1.0, delta=0.5, solver="exact", reference="stored", controller="yu-neely")


def _creeping() -> Run:
    """One coordinate more per task: every task forgets delta = 1/2 per task, and no queue fills."""
    return simulate(np.tri(5, k=-1)[:, :4], V=1.0, delta=0.5, solver="exact")


def _rising_stored() -> Run:
    return follow(np.zeros((4, 1)), [[0.0], [0.0], [1.0], [2.0], [3.0]], V=1.0, delta=0.25, reference="stored")


ATTAINED: dict[tuple[str, str], list[Callable[[], Run]]] = {
    ("lemma1", "appendix"): [lambda: follow([[0.0], [0.0]], [[0.0], [0.0], [1.0]], V=1.0, delta=0.25)],
    ("lemma1", "corrected"): [_rising],
    ("lemma1", "identity"): [_rising, _pulled],
    ("lemma2", "corrected"): [_pulled],
    ("lemma_gap", "corrected"): [_pulled],
    ("lemma_dpp", "trajectory"): [_one_task],
    ("thm3", "trajectory"): [_one_task],
    ("thm3", "sharp"): [_one_task],
    ("thm3_sharp", "corrected"): [_one_task],
    ("thm3_sharp", "sharp"): [_one_task, lambda: _one_step(0.3), lambda: _one_step(0.8)],
    ("thm4", "by_lindley"): [_rising_freely],
    ("thm4", "best"): [_rising_freely],
    ("constraint", "corrected"): [_rising],
    ("constraint", "per_task"): [_rising],
    ("lindley", "identity"): [_rising, _pulled],
    ("lindley", "reverse"): [_rising, _pulled],
    ("lindley", "corrected"): [_rising_freely],
    ("lindley", "a_priori"): [_to_the_rim],
    ("forgetting", "proved"): [_forgotten],
    ("forgetting", "sharp"): [_forgotten],
    ("forgetting", "queues"): [_forgotten],
    ("adaptive_step", "proved"): [_one_task, lambda: _one_step(0.3)],
    ("adaptive_step", "any_case"): [_one_task, lambda: _one_step(0.3)],
    ("adaptive_step", "mean_queue"): [_one_task, lambda: _one_step(0.3)],
    ("adaptive_step", "sharp"): [_one_task, lambda: _one_step(0.3), lambda: _one_step(0.8)],
    ("adaptive_step", "total_step"): [lambda: simulate(np.zeros((4, 1)), V=2.0, eta="auto", delta=0.1)],
    ("moving_gradient", "sharp"): [_one_task],
    ("memory_size", "always"): [_two_clusters],
    ("leaky_queue", "cap"): [_forgotten],
    ("leaky_queue", "violation"): [_forgotten],
    ("yu_neely", "drift"): [_at_the_tolerance],
    ("creeping", "proved"): [_creeping],
    ("creeping", "average"): [_creeping],
    ("creeping", "one_delta"): [_forgotten],
    ("pareto", "proved"): [_pulled],
    ("pareto", "frontier"): [_pulled],
    ("no_tradeoff", "proved"): [_rising_stored],
}
_STARS = {"delta_prime": 0.5, "w_star": [[0.0], [1.0]]}
OPTIONS: dict[tuple[str, str], dict[str, object]] = {("forgetting", form): _STARS for form in ("proved", "sharp")}


def test_every_tight_form_is_listed() -> None:
    run = _pulled()
    tight = {(i, f) for i, s in STATEMENTS.items() for f in s.forms if evaluate(i, f, run).kind == "tight"}
    assert tight == set(ATTAINED)


@pytest.mark.parametrize(("id_", "form"), ATTAINED, ids=map("-".join, ATTAINED))
def test_the_two_sides_are_equal(id_: str, form: str) -> None:
    for make in ATTAINED[id_, form]:
        bound = evaluate(id_, form, make(), **OPTIONS.get((id_, form), {}))
        assert bound.outcome == "holds", [name for name, met in bound.assumptions.items() if not met]
        filled = bound.lhs != 0.0
        assert filled.any()
        equal = np.isclose(bound.lhs, bound.rhs, rtol=1e-9)[filled]
        assert equal.any()
        if bound.attained == "everywhere":
            assert equal.all()


def test_theorem_3_sharp_is_not_attained_by_several_tasks() -> None:
    """Equal tasks fill no queue, but what is cut at 0 leaves Delta_t > 0: T = 1 in the label is no carelessness."""
    run = simulate(np.ones((4, 1)), V=2.0, eta=0.3, delta=0.1, steps=1)
    assert float(evaluate("thm3_sharp", "sharp", run).ratio) < 0.995
