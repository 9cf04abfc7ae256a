"""The parts of the search: its cube, its populations, its comparators, its numbers in few digits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from coldtheory.bounds import STATEMENTS, Bound, evaluate
from coldtheory.ground.errors import ColdError
from coldtheory.ideal import ideal_points, smallest_feasible_delta
from coldtheory.quadratics import Quadratics
from coldtheory.search import Limits, plan_for, save_instance, search
from coldtheory.search.comparators import comparators_of, lowest_tolerances
from coldtheory.search.driver import SearchProgress
from coldtheory.search.instance import Confirmed, confirm, in_few_digits, plain_of
from coldtheory.search.plans import Plan
from coldtheory.search.population import (
    assess,
    run_candidates,
    run_noisy,
    scores,
    settings_of,
    step_sizes,
    tasks_of,
    tightness,
)
from coldtheory.search.rerun import rerun
from coldtheory.search.space import Space
from coldtheory.simulation import simulate
from coldtheory.tasks import Tasks, from_optima

pytestmark = pytest.mark.kernels


def draw(plan, T=4, count=6, seed=0):
    space = Space(plan, T)
    return space.decode(np.random.default_rng(seed).random((count, space.size)))


FAMILIES = [
    Plan(T=(4, 4)),
    Plan(T=(4, 4), hessians="scalar", memory=True, reference="best", weights="sum", steps=3),
    Plan(T=(4, 4), d=2, hessians="psd", memory=True),
    Plan(T=(4, 4), d=2, solver="exact", reference="best"),
    Plan(T=(4, 4), V_moves="any", eta_rule="auto", hessians="scalar", memory=True),
    Plan(T=(4, 4), V_moves="down", solver="exact", reference="stored"),
    Plan(T=(4, 4), V_moves="up", weights="sum", steps=2),
    Plan(T=(4, 4), controller="leaky:a=0.3", eta_rule="auto"),
    Plan(T=(4, 4), controller="yu-neely", reference="stored", V_moves="any"),
    Plan(T=(4, 4), controller="augmented:c=0.5", steps=2),
]


@pytest.mark.parametrize("plan", FAMILIES)
def test_a_population_runs_as_each_candidate_alone(plan):
    candidates = draw(plan)
    tasks = tasks_of(candidates)
    eta = step_sizes(tasks, candidates, plan)
    together = run_candidates(tasks, candidates, eta, plan)
    for row in range(len(eta)):
        plain = plain_of(candidates, plan, row)
        assert plain["settings"]["eta_factor" if plan.eta_rule == "auto" else "eta"] == eta[row]
        alone = simulate(from_optima(**plain["tasks"]), **plain["settings"])
        assert bool(alone.diverged) == bool(together.diverged[row, 0])
        for name in ("w", "Q", "Qbar", "Delta", "alpha", "lyapunov", "cross", "grad_sq_before", "weight", "V_t", "eta"):
            ours, theirs = getattr(together, name)[row, 0], getattr(alone, name)
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11 * max(1e-3, np.abs(theirs).max()))


def test_a_noisy_population_runs_as_each_candidate_alone():
    plan = Plan(T=(3, 3), d=2, hessians="scalar", noise_seeds=30, V_moves="any")
    candidates = draw(plan, T=3, count=4)
    tasks = tasks_of(candidates)
    eta = step_sizes(tasks, candidates, plan)
    together = run_noisy(tasks, candidates, eta, plan)
    assert together.w.shape == (30, 4, 4, 2)
    for row in range(4):
        settings = settings_of(candidates, plan, row, eta[row])
        alone = simulate(tasks[np.full(30, row)], **settings)
        for name in ("w", "Qbar", "Delta", "alpha", "lyapunov", "grad_sq_before", "V_t", "eta", "diverged"):
            ours, theirs = getattr(together, name)[:, row], getattr(alone, name)
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11 * max(1e-3, np.abs(theirs).max()))


@pytest.mark.parametrize("form", ["proved", "ball"])
def test_noisy_scores_are_those_of_the_statement(form):
    plan = plan_for("noise_gradient", form)
    candidates = draw(plan, T=3, count=5)
    values = assess("noise_gradient", form, candidates, plan)
    tasks = tasks_of(candidates)
    eta = step_sizes(tasks, candidates, plan)
    for row, value in enumerate(values):
        run = simulate(tasks[np.full(plan.noise_seeds, row)], **settings_of(candidates, plan, row, eta[row]))
        bound = evaluate("noise_gradient", form, run)
        assert value == pytest.approx(float(scores(bound)[0]), rel=1e-6)


@pytest.mark.parametrize(("moves", "allowed"), [("up", {1.0, 0.0}), ("down", {-1.0, 0.0}), ("any", {-1.0, 0.0, 1.0})])
def test_V_moves_as_the_plan_says_and_may_rest(moves, allowed):
    candidates = draw(Plan(T=(6, 6), V_moves=moves), T=6, count=60)
    assert (candidates.factors[:, 0] == 1.0).all()
    assert set(np.sign(np.diff(candidates.factors, axis=1)).ravel().tolist()) == allowed


@pytest.mark.parametrize(
    ("statement", "form", "kind"),
    [
        ("moving_gap", "proved", "V_schedule"),
        ("adaptive_step", "any_case", "eta_factor"),
        ("noise_queue", "proved", "noise"),
    ],
)
def test_an_instance_that_moves_is_saved_read_and_run_again(statement, form, kind, tmp_path):
    found = search(statement, form, candidates=300)
    save_instance(found, tmp_path / "found.toml")
    again = rerun(tmp_path / "found.toml")
    assert kind in again.instance.settings
    assert again.comes_out
    assert again.run.w.ndim == 2
    assert (again.instance.seeds or 0) == (2000 if kind == "noise" else 0)


def test_another_controller_is_searched_where_its_premise_is_waived():
    plan = plan_for("lemma1", "printed", controller="leaky:a=0.2")
    found = search("lemma1", "printed", plan, candidates=500, waived=["plain queue"])
    assert found.best.plain["settings"]["controller"] == "leaky:a=0.2"
    assert found.best.instance.run().settings.controller.name == "leaky"


@pytest.mark.parametrize("limit", [1.0, 0.5])
def test_the_step_size_stays_at_or_below_its_limit(limit):
    plan = Plan(T=(4, 4), hessians="scalar", memory=True, weights="sum", step_limit=limit)
    candidates = draw(plan, count=50)
    tasks = tasks_of(candidates)
    eta = step_sizes(tasks, candidates, plan)
    run = run_candidates(tasks, candidates, eta, plan)
    largest = (eta[:, None] * run.alpha[:, 0]).max(axis=-1)
    assert (largest <= limit * (1 + 1e-9)).mean() > 0.8  # a few still miss the premise, and are refused
    assert (largest > 0).all()


def test_scores_are_those_of_the_statement():
    plan = plan_for("thm3", "corrected")
    candidates = draw(plan, T=3)
    values = assess("thm3", "corrected", candidates, plan)
    for row, value in enumerate(values):
        plain = plain_of(candidates, plan, row)
        bound = evaluate("thm3", "corrected", simulate(from_optima(**plain["tasks"]), **plain["settings"]))
        assert bool(bound.applicable)
        assert value == pytest.approx(float(bound.ratio), rel=1e-6)


def test_a_missed_premise_is_refused_unless_waived():
    run = simulate([[0.0], [1.0], [0.0]], V=1.0, eta=1.5, steps=1, delta=0.01)
    bound = evaluate("thm3", "corrected", run)
    assert scores(bound) == -11.0
    assert scores(bound, ["eta <= 1/alpha_t"]) > 0


def test_tightness_is_the_quotient_below_1_and_grows_past_it_for_any_signs():
    sides = [(1.0, 2.0), (2.0, 1.0), (-1.0, -2.0), (1.0, -1.0), (0.0, 0.0), (-2.0, -1.0)]
    lhs, rhs = np.array(sides).T
    assert tightness(lhs, rhs).tolist() == [0.5, 1.5, 1.5, 3.0, 1.0, 0.5]


def test_blocks_are_runs_of_equal_tasks():
    candidates = draw(Plan(T=(9, 9), blocks=3, hessians="scalar", memory=True), T=9, count=20)
    for values in (candidates.optima[..., 0], candidates.hessians, candidates.memory_optima[..., 0]):
        changes = (np.diff(values, axis=1) != 0).sum(axis=1)
        assert changes.max() <= 2
        assert changes.max() >= 1


@pytest.mark.parametrize(("d", "hessians"), [(1, "scalar"), (2, "identity")])
def test_comparators_in_closed_form_are_those_of_the_solver(d, hessians):
    plan = Plan(T=(5, 5), d=d, hessians=hessians, solver="exact", ideal=True)
    candidates = draw(plan, T=5, count=12)
    seen = Quadratics.of(candidates.optima, candidates.hessians)
    lowest = lowest_tolerances(seen)
    w = comparators_of(candidates.optima, seen, candidates.delta_prime)
    for row, prime in enumerate(candidates.delta_prime):
        assert lowest[row] == pytest.approx(smallest_feasible_delta(seen[row]), rel=1e-8, abs=1e-15)
        best = ideal_points(Tasks(seen[row], seen[row]), float(prime))
        ours = seen[row].at(w[row])
        np.testing.assert_allclose(ours, best.value, rtol=1e-6, atol=1e-9)
        excess = [seen[row].at(np.broadcast_to(w[row, t], (5, d)))[:t].max() for t in range(1, 5)]
        assert max(excess) <= prime * (1 + 1e-9)


def test_without_a_closed_form_the_programme_is_solved():
    plan = Plan(T=(3, 3), d=2, hessians="scalar", solver="exact", reference="best", weights="sum", ideal=True)
    candidates = draw(plan, T=3, count=4)
    assert candidates.w_star is None
    assert (assess("thm1", "corrected", candidates, plan) > -5.0).all()


def test_few_digits_keep_the_violation():
    plain = {
        "tasks": {"optima": [[0.0], [1.0123456789], [0.0234567891]]},
        "settings": {"V": 1234.56789123, "delta": 1.23456789e-3, "solver": "exact", "steps": 1},
        "options": {},
    }
    found = confirm(plain, "lemma1", "printed")
    short = in_few_digits(found)
    assert short.broken
    assert short.score >= 1.0 + 0.9 * (found.score - 1.0)
    assert len(repr(short.plain)) < len(repr(plain)) - 25
    assert short.plain["settings"]["solver"] == "exact"


def test_equal_seeds_find_equal_instances():
    one, two, other = (search("lemma1", rounds=1, seed=seed) for seed in (3, 3, 4))
    assert one.best.plain == two.best.plain
    assert one.evaluations == two.evaluations
    assert one.best.plain != other.best.plain


def test_the_time_limit_is_kept_and_told():
    """By a clock of our own, a second a look: the search looks before each population, and stops at the first look
    that is late."""
    told = []
    ticks = itertools.count()
    found = search("thm2", "corrected", seconds=9.0, watch=told.append, clock=lambda: float(next(ticks)))
    assert all(isinstance(now, SearchProgress) and now.limits == Limits(seconds=9.0) for now in told)
    looks = [now.elapsed for now in told]
    assert looks == sorted(looks)
    assert looks[0] <= 2.0
    assert looks[-1] <= 11.0  # a look is in time, the word to the watcher after it may not be
    assert 9.0 < found.seconds <= 13.0


def test_limits_by_rounds_and_candidates_do_without_a_clock():
    def clock():
        return next(moments)  # two moments, the beginning and the end, and those of the watcher: a day apart each

    moments = itertools.count(0.0, 86_400.0)
    told = []
    by_rounds = search("lemma1", "corrected", rounds=1, watch=told.append, clock=clock)
    assert by_rounds.rounds == 1
    whole = by_rounds.evaluations
    step = told[0].evaluations
    assert [now.evaluations for now in told] == list(range(step, whole + 1, step))
    moments = itertools.count(0.0, 86_400.0)
    part = search("lemma1", "corrected", candidates=2 * step + 1, clock=clock)
    assert part.evaluations == 3 * step
    assert part.rounds == 1
    assert part.config["seconds"] is None


def test_without_any_limit_there_is_one_of_time():
    assert Limits().checked() == Limits(seconds=60.0)
    assert Limits(rounds=3).checked() == Limits(rounds=3)


@pytest.mark.parametrize(("limits", "problem"), [
    ({"seconds": 0.0}, "seconds must be > 0"), ({"seconds": math.nan}, "seconds must be > 0"),
    ({"rounds": 0}, "rounds must be"), ({"candidates": 0}, "candidates must be"),
    ({"rounds": 1, "seed": -1}, "seed must be"),
])  # fmt: skip
def test_bad_limits_are_refused(limits, problem):
    with pytest.raises(ColdError, match=problem):
        search("lemma1", **limits)


def bound_with(lhs, rhs):
    return Bound("lemma1", "corrected", "", np.array(lhs), {"all": np.array(rhs)}, {}, "valid")


def test_a_run_without_a_quotient_wins_only_by_breaking_the_statement():
    """Otherwise rounding would choose between equality with a quotient and equality without one."""
    tight, none, wide = bound_with(1.0, 1.0), bound_with(-1.0, -1.0), bound_with(0.1, 1.0)
    assert scores(none) < scores(wide) < scores(tight) == 1.0
    assert scores(bound_with(-1.0 - 1e-12, -1.0)) < scores(wide)
    assert scores(bound_with(-1.0 + 1e-12, -1.0)) < scores(wide)  # over by rounding, which breaks nothing
    assert scores(bound_with(-0.5, -1.0)) == 1.5


@pytest.mark.parametrize(("lhs", "rhs", "constant", "tight"), [
    (0.5, 1.0, 0.5, 0.5), (-1.0, -1.0, None, 1.0), (-3.0, -2.0, None, 2 / 3), (1.0, 0.0, None, 2.0),
])  # fmt: skip
def test_what_is_confirmed_has_a_quotient_or_says_none_and_a_tightness_always(lhs, rhs, constant, tight):
    bound = bound_with(lhs, rhs)
    found = Confirmed({}, None, bound, float(scores(bound)))
    assert found.constant == constant
    assert found.tightness == pytest.approx(tight, rel=1e-15)
    assert found.broken == (lhs > rhs)


def test_a_left_side_that_is_always_0_is_an_answer():
    """With two tasks no queue counts yet: Theorem 4 holds, as far from tight as can be."""
    found = search("thm4", "trajectory", plan_for("thm4", "trajectory", T=(2, 2)), candidates=2000)
    assert found.best.constant == 0.0
    assert not found.best.broken


def test_a_premise_can_be_waived_by_name_only():
    with pytest.raises(ColdError, match="eta <= 2/alpha_t"):
        search("thm4", "corrected", rounds=1, waived=["eta <= 2/alpha"])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"T": (0, 3)}, "T must be"),
        ({"T": (4, 3)}, "T must be"),
        ({"d": 0}, "d must be"),
        ({"blocks": 9}, "blocks must be"),
        ({"steps": 0}, "steps must be"),
        ({"step_limit": 0.0}, "step_limit"),
        ({"weights": "median"}, "unknown weights"),
        ({"hessians": "round"}, "unknown kind of Hessians"),
        ({"V_moves": "sideways"}, "unknown way in which V moves"),
        ({"eta_rule": "none"}, "unknown rule of eta"),
        ({"controller": "leeky"}, "did you mean leaky"),
        ({"noise_seeds": -1}, "noise_seeds must be"),
        ({"noise_seeds": 40, "solver": "exact"}, "do not go together"),
        ({"controller": "augmented", "solver": "exact"}, "do not go together"),
    ],
)
def test_plans_are_checked(changes, problem):
    with pytest.raises(ColdError, match=problem):
        plan_for("thm3", "corrected", **changes)


NOT_SEARCHED = {"memory_size"}  # about the random draw of a memory, which the search does not make


def test_every_form_has_a_family_that_meets_its_premises():
    for statement in STATEMENTS.values():
        if statement.id in NOT_SEARCHED:
            continue
        for form in statement.forms:
            plan = plan_for(statement.id, form)
            values = assess(statement.id, form, draw(plan, T=plan.T[0], count=40), plan)
            assert (values > -5.0).any(), (statement.id, form)
