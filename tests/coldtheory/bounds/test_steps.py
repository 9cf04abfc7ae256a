"""Adaptive steps, moving V and noisy gradients: against plain loops, against extremes, against their mutants."""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldtheory import from_optima, simulate
from coldtheory.bounds import STATEMENTS, Bound, evaluate, facts_of
from coldtheory.bounds.base import STANDARD_ERRORS
from coldtheory.search import search
from tests.coldtheory.bounds.mutants import Mutation, mutations
from tests.coldtheory.bounds.plain_steps import Plain

pytestmark = [pytest.mark.kernels, pytest.mark.filterwarnings("ignore::coldtheory.ground.errors.DivergenceWarning")]

STEPS = ("adaptive_step", "moving_gap", "moving_queue", "moving_gradient")
NOISE = ("noise_gradient", "noise_queue")
FORMS = [(id_, form) for id_ in STEPS for form in STATEMENTS[id_].forms]
NEEDS_STAR = {"moving_gap": STATEMENTS["moving_gap"].forms, "moving_queue": ("exact",)}
MOVES = ("up", "down", "any")


def world(seed: int, id_: str, form: str) -> dict:
    """Tasks, settings and options of one random instance to which the form applies, as plain lists and numbers."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(FORMS.index((id_, form)),)))
    T, d = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    a = rng.choice([0.0, 1.0, 3.0], size=(T, 1)) * rng.normal(size=(T, d)) + 0.1 * rng.normal(size=(T, d))
    own = bool(rng.integers(2))
    h = 10.0 ** rng.uniform(-1, 1, T)
    tasks = {"a": a, "h": h, "b": a + 0.5 * rng.normal(size=(T, d)) if own else a,
             "g": 10.0 ** rng.uniform(-1, 1, T) if own else h}  # fmt: skip
    moves = {"rising": "up", "falling": "down"}.get(form, rng.choice(MOVES))
    steps = 10.0 ** rng.normal(size=T - 1)
    steps = steps if moves == "any" else np.maximum(steps, 1 / steps) if moves == "up" else np.minimum(steps, 1 / steps)
    V = 10.0 ** rng.uniform(-2, 2) * np.cumprod([1.0, *steps])
    exact = form in NEEDS_STAR.get(id_, ())
    case_one = not exact and form not in ("any_case", "total_step")
    run = {
        "V": V if id_ != "adaptive_step" else np.full(T, V[0]),
        "delta": 10.0 ** rng.uniform(-3, 0),
        "start": rng.normal(size=d),
        "c": rng.uniform(0.05, 1.0) if form != "sharp" or id_ != "adaptive_step" else rng.uniform(0.05, 1.9),
        "steps": int(rng.integers(1, 4)),
        "reference": "previous" if case_one else str(rng.choice(["previous", "best", "stored"])),
        "weights": str(rng.choice(["mean", "sum"])),
        "exact": exact,
    }
    options = {}
    if exact:
        star = np.array([tasks["b"][: max(t, 1)].mean(axis=0) for t in range(T)])
        above = [0.5 * tasks["g"][k] * ((star[t] - tasks["b"][k]) ** 2).sum() for t in range(T) for k in range(t)]
        options = {"w_star": star, "delta_prime": max([1e-6, *above]) * 1.0001}
        run["delta"] = options["delta_prime"] * (1.0 + 10.0 ** rng.uniform(-2, 1))
    return {"tasks": tasks, "run": run, "options": options}


def plain(given: dict, **more: object) -> Plain:
    lists = {name: np.asarray(values).tolist() for name, values in given["tasks"].items()}
    run = {name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in given["run"].items()}
    return Plain(**lists, **(run | more))


def simulated(given: dict, **more: object):
    tasks, run = given["tasks"], dict(given["run"])
    V, c = run.pop("V"), run.pop("c")
    how = {"solver": "exact"} if run.pop("exact") else {"eta": "auto", "eta_factor": c}
    made = from_optima(tasks["a"], tasks["h"], memory_optima=tasks["b"], memory_hessians=tasks["g"])
    return simulate(made, V=V[0], V_schedule=V / V[0], w0=run.pop("start"), **(how | run | more))


@pytest.mark.once
@pytest.mark.parametrize(("id_", "form"), FORMS, ids=["-".join(pair) for pair in FORMS])
def test_both_sides_are_those_of_plain_loops(id_: str, form: str) -> None:
    """Forms with a supremum over W are compared with the form without one."""
    applied = 0
    for seed in range(500):
        given = world(seed, id_, form)
        bound = evaluate(id_, form, facts_of(simulated(given)), **given["options"])
        if form == "ball":
            at_models = evaluate(id_, "proved", facts_of(simulated(given)))
            assert bound.lhs == at_models.lhs
            assert bound.rhs >= at_models.rhs * (1 - 1e-9)
            assert str(bound.outcome) == "holds"
            applied += 1
            continue
        star = () if not given["options"] else (given["options"]["w_star"].tolist(), given["options"]["delta_prime"])
        lhs, rhs = getattr(plain(given), id_)(form, *star)
        size = float(bound.scale)
        assert float(bound.lhs) == pytest.approx(lhs, rel=1e-8, abs=1e-10 * size), (seed, given)
        assert float(bound.rhs) == pytest.approx(rhs, rel=1e-8, abs=1e-10 * size), (seed, given)
        assert str(bound.outcome) == "holds", (seed, given)
        applied += 1
    assert applied == 500


@pytest.mark.once
@pytest.mark.parametrize("weights", ["mean", "sum"])
@pytest.mark.parametrize("id_", NOISE)
def test_the_means_are_those_of_plain_loops(id_: str, weights: str) -> None:
    """Each stream has 30 noise seeds; the noise is that of the simulator, drawn a second time."""
    rng = np.random.default_rng(3)
    for case in range(250):
        T, d, R = int(rng.integers(1, 5)), int(rng.integers(1, 3)), 30
        a = rng.normal(size=(T, d))
        V, eta, noise = 10.0 ** rng.uniform(-1, 1), 0.0, 10.0 ** rng.uniform(-2, 0)
        eta = 0.3 / V
        tasks = from_optima(np.repeat(a[None], R, axis=0))
        run = simulate(tasks, V=V, eta=eta, delta=0.01, steps=1, noise=noise, noise_seed=case, weights=weights)
        bound = evaluate(id_, "proved", run)
        sides = []
        for r in range(R):
            draws = np.random.default_rng(np.random.SeedSequence((case, r), spawn_key=(0,))).standard_normal((T, d))
            one = Plain(a.tolist(), [1.0] * T, a.tolist(), [1.0] * T, [V] * T, 0.01, [0.0] * d, eta=eta,
                        weights=weights, noise=(noise * draws).tolist())  # fmt: skip
            sides.append(getattr(one, id_)(d * noise**2))
        lhs, rhs = np.array(sides).T
        assert bound.lhs == pytest.approx(np.full(R, lhs.mean()), rel=1e-9, abs=1e-12)
        assert bound.rhs == pytest.approx(np.full(R, rhs.mean()), rel=1e-9)
        assert bound.error == pytest.approx(np.full(R, (lhs - rhs).std(ddof=1) / np.sqrt(R)), rel=1e-6, abs=1e-12)


# ---------------------------------------------------------------------------------------------------
# No violation: random worlds, and extremes of offset, V and delta


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("weights", ["mean", "sum"])
@pytest.mark.parametrize("solver", ["gd", "exact"])
def test_nothing_is_violated_from_V_of_1e_6_to_1e8_and_far_from_the_origin(
    solver: str, weights: str, offset: float
) -> None:
    rng = np.random.default_rng(7)
    optima = rng.normal(size=(6, 9, 2)) * rng.choice([1e-3, 1.0, 10.0], size=(6, 1, 1)) + offset
    V, factor = np.geomspace(1e-6, 1e8, 15), 10.0 ** np.cumsum(rng.normal(size=9))
    moving = (None, np.sort(factor), np.sort(factor)[::-1], factor)
    applied = dict.fromkeys([pair for pair in FORMS if pair[1] not in NEEDS_STAR.get(pair[0], ())], 0)
    for schedule in moving:
        for reference in ("previous", "stored"):
            for delta in (1e-8, 1e-2, 10.0):
                how = {"eta": "auto", "eta_factor": 1.0} if solver == "gd" else {"solver": "exact"}
                run = simulate(optima, V=V, delta=delta, steps=2, weights=weights, reference=reference,
                               V_schedule=schedule, w0=np.full(2, offset), **how)  # fmt: skip
                facts = facts_of(run)
                for id_, form in applied:
                    bound = evaluate(id_, form, facts)
                    assert not bound.violated.any(), (id_, form, reference, delta)
                    applied[id_, form] += int(bound.applicable.sum())
    if solver == "gd":
        assert min(applied.values()) > 0


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_gaps_are_not_violated_at_extremes_of_V(offset: float) -> None:
    rng = np.random.default_rng(8)
    optima = rng.normal(size=(3, 6, 2)) + offset
    star = np.stack([optima[:, : max(t, 1)].mean(axis=1) for t in range(6)], axis=1)[:, None]
    V, factor = np.geomspace(1e-6, 1e8, 15), 10.0 ** np.cumsum(rng.normal(size=6))
    for schedule in (None, np.sort(factor), np.sort(factor)[::-1], factor):
        for reference in ("previous", "best", "stored"):
            run = simulate(optima, V=V, delta=8.0, solver="exact", reference=reference, V_schedule=schedule,
                           w0=np.full(2, offset))  # fmt: skip
            facts = facts_of(run)
            for id_, forms in NEEDS_STAR.items():
                for form in forms:
                    bound = evaluate(id_, form, facts, w_star=star, delta_prime=7.9)
                    monotone = form != "rising" or schedule is None or schedule[0] <= schedule[-1] == schedule.max()
                    assert bound.applicable.all() or not monotone or schedule is factor
                    assert not bound.violated.any(), (id_, form, reference)


@given(
    st.integers(0, 10**6),
    st.sampled_from(FORMS),
    st.floats(-6.0, 8.0),
    st.floats(-8.0, 1.0),
    st.sampled_from([0.0, 1e4, 1e8]),
)
def test_every_form_holds(seed: int, pair: tuple[str, str], log_V: float, log_delta: float, offset: float) -> None:
    id_, form = pair
    given = world(seed, id_, form)
    run = given["run"]
    run["V"] = run["V"] * 10.0**log_V
    for name in ("a", "b"):
        given["tasks"][name] = given["tasks"][name] + offset
    run["start"] = run["start"] + offset
    if given["options"]:
        given["options"]["w_star"] = given["options"]["w_star"] + offset
        given["options"]["delta_prime"] *= 1.001  # far from the origin the points are rounded
    else:
        run["delta"] = 10.0**log_delta
    if given["options"] and run["delta"] <= given["options"]["delta_prime"]:
        run["delta"] = 1.1 * given["options"]["delta_prime"]
    bound = evaluate(id_, form, facts_of(simulated(given)), **given["options"])
    assert not bound.violated.any()


# ---------------------------------------------------------------------------------------------------
# Mutants: each differs from the plain loops, and a search of a few thousand runs breaks those that are false


@cache
def records(id_: str, form: str) -> list[Bound]:
    """The form on the first of the worlds on which it is compared with plain loops."""
    given = [world(seed, id_, form) for seed in range(40)]
    return [evaluate(id_, form, facts_of(simulated(one)), **one["options"]) for one in given]


@pytest.mark.parametrize(("id_", "form"), FORMS, ids=["-".join(pair) for pair in FORMS])
def test_every_mutant_differs_from_the_plain_loops(id_: str, form: str) -> None:
    """Dropped, negated, doubled, halved, or one index off: some right side changes by far more than is allowed."""
    bounds = records(id_, form)
    for mutation in {one: None for bound in bounds for one in mutations(bound)}:
        if mutation.kind == "later":
            continue  # a sum over past tasks, or a change since a task that does not exist, has no term at t = 1
        changed = [mutation.apply(bound).rhs - bound.rhs for bound in bounds if _applies(mutation, bound)]
        scales = [bound.scale for bound in bounds if _applies(mutation, bound)]
        if (id_, mutation.kind, mutation.term) in LAST_IS_EMPTY:
            assert not np.any(changed)
            continue
        assert (np.abs(changed) > 1e-6 * np.array(scales)).any(), mutation


#: Sums over t < T that are written with a last term of 0: to lose it changes nothing.
LAST_IS_EMPTY = {
    (id_, "earlier", term)
    for id_ in ("moving_gap", "moving_queue", "moving_gradient")
    for term in ("falls of V", "changes of V", "rises of V")
}


def _applies(mutation: Mutation, bound: Bound) -> bool:
    return mutation.term in (bound.series if mutation.kind == "earlier" else bound.terms)


# What a search found broken at once. The rest is not refuted: the conflict and the relief are generous, and a few terms
# are needed only where others are slack.
BROKEN = [
    *(("adaptive_step", "proved", kind, term) for kind, term in [
        ("drop", "variation"), ("negate", "variation"), ("earlier", "variation"), ("drop", "residual"),
        ("earlier", "residual"), ("drop", "first loss"), ("double", "last loss"), ("double", "last Lyapunov"),
    ]),
    *(("adaptive_step", "any_case", kind, "excess") for kind in ("drop", "negate", "earlier")),
    ("adaptive_step", "ball", "drop", "conflict"),
    ("adaptive_step", "sharp", "double", "ageing"),
    *(("adaptive_step", "total_step", kind, "queues") for kind in ("drop", "earlier")),
    ("adaptive_step", "total_step", "drop", "present loss"),
    *(("moving_gap", "proved", kind, "residual") for kind in ("drop", "negate", "earlier")),
    *(("moving_gap", "proved", kind, "falls of V") for kind in ("drop", "negate")),
    ("moving_gap", "rising", "drop", "residual"),
    *(("moving_gap", "sharp", kind, term) for kind, term in [
        ("drop", "changes of V"), ("negate", "changes of V"), ("double", "relief"), ("double", "last Lyapunov"),
    ]),
    ("moving_gap", "weighted", "earlier", "residual"),
    *(("moving_queue", "proved", kind, term) for kind, term in [
        ("drop", "variation"), ("drop", "residual"), ("earlier", "residual"), ("negate", "rises of V"),
        ("negate", "first loss"),
    ]),
    ("moving_queue", "falling", "drop", "first loss"),
    *(("moving_queue", "exact", kind, term) for kind, term in [
        ("drop", "loss gap"), ("earlier", "loss gap"), ("drop", "residual"), ("double", "last Lyapunov"),
    ]),
    *(("moving_gradient", "proved", kind, term) for kind, term in [
        ("drop", "variation"), ("earlier", "variation"), ("negate", "residual"), ("drop", "first loss"),
    ]),
    *(("moving_gradient", "sharp", kind, term) for kind, term in [
        ("drop", "residual"), ("double", "last loss"), ("double", "last Lyapunov"),
    ]),
]  # fmt: skip


def searched(id_: str, form: str, mutation: Mutation, candidates: int, monkeypatch: pytest.MonkeyPatch):
    original = STATEMENTS[id_].forms[form]

    def mutated(facts, **options):
        return mutation.apply(original(facts, **options))

    mutated.__signature__ = inspect.signature(original)
    monkeypatch.setitem(STATEMENTS[id_].forms, form, mutated)
    return search(id_, form, candidates=candidates, until_broken=True).best


@pytest.mark.once
@pytest.mark.parametrize("mutant", BROKEN, ids=["-".join(one).replace(" ", "_") for one in BROKEN])
def test_a_search_breaks_the_mutant(mutant: tuple[str, str, str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    id_, form, kind, term = mutant
    found = searched(id_, form, Mutation(term, kind), 20_000, monkeypatch)
    assert found.broken
    assert found.score > 1.001


# ---------------------------------------------------------------------------------------------------
# Noise


def noisy(**changes: object):
    """A stream that starts and stays at its optimum, 400 times: all of the gradient comes from the noise."""
    settings = {"V": 1.0, "eta": 0.3, "delta": 1e-3, "steps": 1, "noise": 0.3, "w0": [0.0, 0.0]} | changes
    return simulate(np.zeros((400, 30, 2)), **settings)


@pytest.mark.parametrize("id_", NOISE)
def test_the_noisy_bound_holds_with_room_for_the_stated_error(id_: str) -> None:
    bound = evaluate(id_, "proved", noisy())
    assert set(bound.outcome.tolist()) == {"holds"}
    assert (bound.lhs + STANDARD_ERRORS * bound.error < bound.rhs).all(), "not by the grace of the error"
    assert (bound.error > 0).all()
    assert len(set(bound.lhs.tolist())) == 1, "every entry along the streams holds their mean"


def test_without_its_variance_term_the_gradient_bound_fails() -> None:
    bound = evaluate("noise_gradient", "proved", noisy())
    mutant = Mutation("noise", "drop").apply(bound)
    assert mutant.violated.all()
    assert (mutant.lhs - mutant.rhs > 2 * STANDARD_ERRORS * mutant.error).all(), "beyond any doubt"


@pytest.mark.parametrize("kind", ["drop", "negate"])
def test_a_search_breaks_the_gradient_bound_without_its_variance_term(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = searched("noise_gradient", "proved", Mutation("noise", kind), 4000, monkeypatch)
    assert found.broken


def test_49_random_instances_of_noise_hold_and_some_fail_without_the_variance_term() -> None:
    rng = np.random.default_rng(11)
    failed = 0
    for case in range(49):
        T, d = int(rng.integers(2, 8)), int(rng.integers(1, 4))
        V, size = 10.0 ** rng.uniform(-1, 2), 10.0 ** rng.uniform(-2, 1)
        optima = np.repeat(rng.normal(size=(1, T, d)) * rng.choice([0.0, 0.1, 1.0]), 400, axis=0)
        weights = str(rng.choice(["mean", "sum"]))
        run = simulate(optima, V=V, eta=rng.uniform(0.1, 0.5) / V, delta=10.0 ** rng.uniform(-2, 0), steps=1,
                       noise=size, noise_seed=case, weights=weights)  # fmt: skip
        facts = facts_of(run)
        for id_ in NOISE:
            assert not evaluate(id_, "proved", facts).violated.any(), (case, id_)
        bound = evaluate("noise_gradient", "proved", facts)
        failed += int(Mutation("noise", "drop").apply(bound).violated.any())
    assert failed > 0


def test_the_error_decides_beyond_five_of_it() -> None:
    bound = replace(evaluate("noise_gradient", "proved", noisy()), magnitude=0.0)
    rhs = float(bound.rhs[0])
    for errors, outcome in ((4.9, "holds"), (5.1, "violated")):
        broken = replace(bound, lhs=np.full(400, rhs) + errors * bound.error)
        assert set(broken.outcome.tolist()) == {outcome}


def test_means_need_enough_runs_and_premises_in_all_of_them() -> None:
    few = simulate(np.zeros((29, 5, 1)), V=1.0, eta=0.5, delta=0.1, steps=1, noise=1.0)
    assert set(evaluate("noise_gradient", "proved", few).outcome.tolist()) == {"not applicable"}
    alone = simulate(np.zeros((5, 1)), V=1.0, eta=0.5, delta=0.1, steps=1, noise=1.0)
    assert str(evaluate("noise_gradient", "proved", alone).outcome) == "not applicable"
    optima = np.zeros((40, 6, 1))
    optima[0, 2] = 30.0  # one stream fills its queues beyond 1/eta
    wide = simulate(optima, V=1.0, eta=0.3, delta=1e-3, steps=1, noise=0.3)
    bound = evaluate("noise_gradient", "proved", wide)
    assert (facts_of(wide).eta_alpha_max > 1).sum() == 1
    assert not bound.assumptions["eta <= 1/alpha_t"].any()


@pytest.mark.parametrize("id_", NOISE)
def test_without_noise_each_run_is_on_its_own(id_: str) -> None:
    """And the two statements are Theorem 3' and Theorem 4."""
    run = simulate(np.random.default_rng(5).normal(size=(4, 6, 2)), V=2.0, eta=0.2, delta=0.1, steps=1)
    other = {"noise_gradient": ("thm3_sharp", "corrected"), "noise_queue": ("thm4", "trajectory")}[id_]
    ours, theirs = evaluate(id_, "proved", run), evaluate(*other, run)
    np.testing.assert_allclose(ours.rhs, theirs.rhs, rtol=1e-12)
    assert ours.error == 0.0
