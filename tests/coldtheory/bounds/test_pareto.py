"""What no method can do, and what is not forced: `pareto` and `no_tradeoff` against plain Python, and their mutants."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldtheory import Run, from_optima, simulate
from coldtheory.bounds import Bound, evaluate, facts_of, follow
from coldtheory.ideal import ideal_points, smallest_feasible_delta
from tests.coldtheory.bounds.plain import Plain

pytestmark = pytest.mark.kernels

SEEDS = range(600)
REFERENCES = ("previous", "best", "stored")


def draw(seed: int, *, offset: float = 0.0, scalar: bool = True) -> Run:
    """Models of any kind on quadratics, with curvatures that are numbers or matrices."""
    rng = np.random.default_rng([11, seed])
    T, dim = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    a = rng.normal(size=(T, dim)) * 10.0 ** rng.uniform(-1, 1) + offset
    h: np.ndarray = 10.0 ** rng.uniform(-1, 1, T)
    if not scalar and rng.random() < 0.5:
        roots = rng.normal(size=(T, dim, dim))
        h = roots @ roots.swapaxes(-1, -2) + 0.1 * np.eye(dim)
    memory = {"memory_optima": a + 0.3 * rng.normal(size=a.shape), "memory_hessians": 2.0 * h}
    tasks = from_optima(a, h, **(memory if rng.random() < 0.5 else {}))
    chosen = {"V": 10.0 ** rng.uniform(-6, 8), "delta": 10.0 ** rng.uniform(-4, 1), "reference": REFERENCES[seed % 3]}
    if rng.random() < 0.5:
        return follow(tasks, offset + rng.normal(size=(T + 1, dim)), **chosen)
    return simulate(tasks, solver=str(rng.choice(["exact", "gd"])), eta="auto", w0=np.full(dim, offset), **chosen)


def distance(p, q) -> float:
    return math.sqrt(math.fsum((float(x) - float(y)) ** 2 for x, y in zip(p, q, strict=True)))


def plain_pareto(form: str, plain: Plain, k: int, t: int) -> tuple[float, float]:
    """Both sides, from losses above their infima."""
    tasks = plain.run.tasks
    h_k, h_t = float(tasks.phi_hat.hessians[k - 1]), float(tasks.phi.hessians[t - 1])
    apart = distance(tasks.phi_hat.optima[k - 1], tasks.phi.optima[t - 1])
    past, present = math.sqrt(2 * plain.hat(k, plain.x(t)) / h_k), math.sqrt(2 * plain.phi(t, plain.x(t)) / h_t)
    if form == "proved":
        return apart, past + present
    return 0.5 * h_t * max(apart - past, 0.0) ** 2, plain.phi(t, plain.x(t))


def plain_queue_limit(plain: Plain, k: int, t: int) -> float:
    return math.fsum(max(plain.hat(k, plain.x(s)) - plain.delta, 0.0) for s in range(k + 1, t + 1))


def disagreement(bound: Bound, plain: Plain, sides: Callable[[int, int], tuple[float, float]]) -> float:
    """The largest difference of the two sides from plain Python's, as a share of the scale."""
    off = 0.0
    for k, t in plain.pairs:
        at = (t - 1, k - 1)
        lhs, rhs = sides(k, t)
        off = max(off, abs(float(bound.lhs[at]) - lhs) / float(bound.scale[at]))
        off = max(off, abs(float(bound.rhs[at]) - rhs) / float(bound.scale[at]))
    return off


@pytest.mark.parametrize("form", ["proved", "frontier"])
def test_pareto_in_plain_python(form: str) -> None:
    for seed in SEEDS:
        run = draw(seed)
        bound, plain = evaluate("pareto", form, run), Plain(run)
        assert bound.outcome == "holds", seed
        assert disagreement(bound, plain, lambda k, t, p=plain: plain_pareto(form, p, k, t)) < 1e-9


def test_no_tradeoff_in_plain_python() -> None:
    for seed in SEEDS:
        run = draw(seed, scalar=False)
        bound, plain = evaluate("no_tradeoff", "proved", run), Plain(run)
        assert bound.outcome == "holds", seed
        assert disagreement(bound, plain, lambda k, t, p=plain: (p.Q[k, t], plain_queue_limit(p, k, t))) < 1e-9


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_far_from_the_origin_nothing_breaks(offset: float) -> None:
    for seed in range(300):
        run = draw(seed, offset=offset)
        for id_, form in (("pareto", "proved"), ("pareto", "frontier"), ("no_tradeoff", "proved")):
            assert not evaluate(id_, form, run).violated, (id_, form, seed)


@given(seed=st.integers(0, 10**6), offset=st.sampled_from([0.0, 1.0, 1e8]))
@settings(max_examples=200)
def test_no_run_does_better(seed: int, offset: float) -> None:
    run = draw(seed, offset=offset)
    for id_, form in (("pareto", "proved"), ("pareto", "frontier"), ("no_tradeoff", "proved")):
        assert not evaluate(id_, form, run).violated


def two_kinds(V: float, reference: str, solver: str = "exact") -> Run:
    """Tasks that want one of two models in the plane, with two curvatures."""
    kind = np.array([0, 0, 1, 0, 1, 1, 0, 1])
    optima, h = np.array([[1.0, 2.0], [-2.0, 6.0]])[kind], np.array([0.5, 2.0])[kind]
    return simulate(
        from_optima(optima, h), V=V, delta=0.3, reference=reference, solver=solver, eta="auto", w0=[1.0, 2.0]
    )


@pytest.mark.parametrize("solver", ["exact", "gd"])
@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("V", [1e-6, 0.01, 1.0, 100.0, 1e8])
def test_cold_attains_the_bound_for_every_V(V: float, reference: str, solver: str) -> None:
    """The minimiser of DPP_t, and every gradient step with eta <= 1/alpha_t, stays between the two optima."""
    run = two_kinds(V, reference, solver)
    bound = evaluate("pareto", "proved", run)
    different = bound.lhs > 0
    assert different.sum() >= 12
    assert bound.lhs[different] == pytest.approx(bound.rhs[different], rel=1e-9)
    front = evaluate("pareto", "frontier", run)
    assert front.lhs[different] == pytest.approx(front.rhs[different], rel=1e-6, abs=1e-9)


def test_a_model_beside_the_segment_is_not_optimal() -> None:
    run = follow([[0.0, 0.0], [2.0, 0.0]], [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]], V=1.0, delta=0.1)
    bound = evaluate("pareto", "proved", run)
    assert bound.rhs[1, 0] == pytest.approx(2 * math.sqrt(2.0))
    assert bound.lhs[1, 0] == pytest.approx(2.0)


def test_other_curvatures_are_left_out() -> None:
    """For matrices the loss is no distance; without curvature there is no optimum."""
    matrix = simulate(from_optima(np.eye(2), np.array([np.diag([1.0, 2.0])] * 2)), V=1.0)
    flat = simulate(from_optima([[0.0], [1.0]], [0.0, 1.0]), V=1.0)
    for run in (matrix, flat):
        bound = evaluate("pareto", "proved", run)
        assert bound.outcome == "not applicable"
        assert [name for name, met in bound.assumptions.items() if not met] == [
            "curvatures are positive multiples of the identity"
        ]


def test_mutants_of_pareto_are_refuted() -> None:
    """A term dropped or halved, the curvatures exchanged, sqrt(Phi) without its 2: COLD's own models break each."""
    run = two_kinds(1.0, "stored")
    bound, plain = evaluate("pareto", "proved", run), Plain(run)
    past, present = bound.terms["past"], bound.terms["present"]
    swapped = np.zeros_like(bound.lhs)
    h = run.tasks.phi.hessians
    for k, t in plain.pairs:
        swapped[t - 1, k - 1] = math.sqrt(2 * plain.hat(k, plain.x(t)) / h[t - 1]) + math.sqrt(
            2 * plain.phi(t, plain.x(t)) / h[k - 1]
        )
    for mutant in (past, present, 0.5 * past + present, past + 0.5 * present, bound.rhs / math.sqrt(2.0), swapped):
        assert (bound.lhs > mutant + 1e-6).any()


@pytest.mark.parametrize("reference", REFERENCES)
def test_the_ideal_models_have_no_gap_and_no_queue(reference: str) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        roots = rng.normal(size=(6, 2, 2))
        tasks = from_optima(rng.normal(size=(6, 2)), roots @ roots.swapaxes(-1, -2) + 0.1 * np.eye(2))
        delta_prime = 1.01 * smallest_feasible_delta(tasks.phi_hat)
        star = ideal_points(tasks, delta_prime).w_star
        run = follow(tasks, np.vstack([star[:1], star]), V=[1e-6, 1.0, 1e8], delta=delta_prime, reference=reference)
        bound = evaluate("no_tradeoff", "proved", run)
        assert run.Q.max() == 0.0
        assert bound.rhs.max() == 0.0
        assert (facts_of(run).phi_after == tasks.phi.at(star)).all()
        assert (bound.outcome == "holds").all()


def test_mutants_of_no_tradeoff_are_refuted() -> None:
    """A reference at the infimum: the queue is the whole sum; without its last or first summand it is broken, as it is
    with twice the tolerance or with the loss of the last model alone."""
    run = follow(np.zeros((4, 1)), [[0.0], [0.0], [1.0], [2.0], [3.0]], V=1.0, delta=0.25, reference="stored")
    bound = evaluate("no_tradeoff", "proved", run)
    pairs = np.tri(4, k=-1, dtype=bool)
    assert bound.lhs[:, 0] == pytest.approx(bound.rhs[:, 0])
    above = facts_of(run).hat_above[1:]
    mutants = (
        np.roll(bound.rhs, 1, axis=0),  # an index too early
        np.where(pairs, np.maximum(above - 0.25, 0.0), 0.0),  # no sum
        np.cumsum(np.where(pairs, np.maximum(above - 0.5, 0.0), 0.0), axis=0),  # twice delta
    )
    for mutant in mutants:
        assert (bound.lhs > mutant + 1e-6)[pairs].any()
