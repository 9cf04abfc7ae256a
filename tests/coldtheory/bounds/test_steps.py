"""Adaptive steps, moving V and noisy gradients: against plain loops, against extremes, against their mutants."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldtheory import from_optima, simulate
from coldtheory.bounds import STATEMENTS, Bound, evaluate, facts_of
from coldtheory.bounds.base import STANDARD_ERRORS
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


@pytest.mark.parametrize(("id_", "form"), FORMS, ids=["-".join(pair) for pair in FORMS])
def test_both_sides_are_those_of_plain_loops(id_: str, form: str) -> None:
    """500 instances per statement at least; forms with a supremum over W are compared with the form without one."""
    count = -(-520 // len([1 for other, _ in FORMS if other == id_]))
    applied = 0
    for seed in range(count):
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
    assert applied == count


@pytest.mark.parametrize("weights", ["mean", "sum"])
@pytest.mark.parametrize("id_", NOISE)
def test_the_means_are_those_of_plain_loops(id_: str, weights: str) -> None:
    """Two streams, of which each has 30 noise seeds; the noise of the simulator, drawn a second time."""
    rng = np.random.default_rng(3)
    for case in range(10):
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
# Mutants. What holds of a sum over t without its last or first summand is said below.


@cache
def pool(id_: str, form: str) -> list[Bound]:
    """The form on random worlds, and on worst cases that searches found."""
    found = []
    for seed in range(300):
        given = world(seed, id_, form)
        found.append(evaluate(id_, form, facts_of(simulated(given)), **given["options"]))
    return found


TIGHT_ENOUGH = [
    ("adaptive_step", "sharp"), ("adaptive_step", "any_case"), ("moving_gap", "sharp"), ("moving_queue", "exact"),
    ("moving_gradient", "sharp"), ("adaptive_step", "total_step"), ("moving_gradient", "any_case"),
]  # fmt: skip
