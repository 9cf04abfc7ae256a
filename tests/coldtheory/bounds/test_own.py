"""A statement in a file of one's own: what it may hold, what it gives, and how its mistakes are told."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from coldtheory import make_tasks, simulate
from coldtheory.bounds import (
    STATEMENTS,
    bound,
    evaluate,
    facts_of,
    find_statement,
    form,
    load_statement,
    named_statement,
    own,
)
from coldtheory.controllers import CONTROLLERS
from coldtheory.ground.errors import ColdError
from coldtheory.search import plan_for
from coldtheory.search.plans import plans_for

pytestmark = pytest.mark.kernels

HEAD = '"""A claim."""\nimport numpy as np\nfrom coldtheory.bounds import bound, form\n\n'  # the form begins in line 5


@pytest.fixture
def write(tmp_path):
    def written(body, head=HEAD):
        path = tmp_path / "mine.py"
        path.write_text(head + body)
        return path

    return written


@pytest.fixture(scope="module")
def run():
    return simulate(make_tasks("conflict", seeds=[0, 1], T=12), V=[1.0, 50.0, 200.0])


# --- what a file gives ----------------------------------------------------------------------------------------------


def test_a_file_is_a_statement_with_its_forms(write, run):
    told = load_statement(
        write(
            "@form\ndef printed(facts):\n    return bound(facts, facts.avg_Qbar, facts.l * facts.r**2 / 2)\n\n"
            "@form\ndef half(facts):\n"
            "    terms = {'cap': facts.l * facts.r**2 / 4, 'more': 0}\n"
            "    return bound(facts, facts.avg_Qbar, terms, premises='Case 1')\n\n"
            "def helper(facts):\n    return 3\n"
        )
    )
    assert (told.id, told.title, told.label) == ("mine.py", "A claim.", "own:mine.py")
    assert list(told.forms) == ["printed", "half"]
    found = evaluate(told, "half", run)
    assert (found.id, found.form, found.kind) == ("mine.py", "half", "conjectured")
    assert set(found.assumptions) == {"did not diverge", "Case 1"}
    facts = facts_of(run)
    np.testing.assert_array_equal(found.rhs, facts.l * facts.r**2 / 4)
    np.testing.assert_array_equal(found.lhs, facts.avg_Qbar)
    assert evaluate(told, "printed", run).terms.keys() == {"right side"}


def test_sides_may_have_axes_of_tasks_and_of_pairs(run):
    facts = facts_of(run)
    assert bound(facts, facts.avg_Qbar, 1.0).trailing == 0
    assert bound(facts, facts.Qbar, facts.delta[..., None]).trailing == 1
    pairs = bound(facts, facts.forgetting, {"queue": facts.Q[..., 1:, :], "one": np.ones(facts.T)})
    assert pairs.trailing == 2
    assert pairs.outcome.shape == facts.lead


def test_premises_of_ones_own_and_those_that_are_known(run):
    facts = facts_of(run)
    found = bound(facts, facts.avg_Qbar, -1.0, premises=["Case 1"], where={"V > 10": facts.V > 10})
    assert found.outcome.tolist() == [["not applicable", "violated", "violated"]] * 2


def test_the_largest_loss_counts_unless_a_magnitude_is_given(run):
    facts = facts_of(run)
    hair = 1e-12 * facts.largest_loss
    assert bound(facts, hair, 0.0).holds.all()
    assert not bound(facts, hair, 0.0, magnitude=0.0).holds.any()


def test_what_is_not_finite_does_not_apply(write, run):
    rhs = "1 / (0 * facts.V) + np.mean(facts.Q[..., :0], axis=(-2, -1))"  # numpy warns of both
    told = load_statement(write(f"@form\ndef printed(facts):\n    return bound(facts, facts.avg_Qbar, {rhs})\n"))
    assert (evaluate(told, "printed", run).outcome == "not applicable").all()


def test_a_form_may_take_options_under_any_name_of_its_facts(write, run):
    told = load_statement(
        write("@form\ndef any_name(f, share=1.0):\n    return bound(f, f.avg_Qbar, share * f.l * f.r**2)\n")
    )
    small, large = (evaluate(told, "any_name", run, share=share).rhs for share in (0.5, 1.0))
    np.testing.assert_array_equal(2 * small, large)
    with pytest.raises(ColdError, match="share"):
        evaluate(told, "any_name", run, chare=1)


# --- where a search looks -------------------------------------------------------------------------------------------


def test_premises_say_where_to_look_and_the_rest_stays_open(write):
    body = "@form\ndef printed(facts):\n    return bound(facts, facts.avg_Qbar, 1.0, premises={})\n"
    told = load_statement(write(body.format("['Case 3', 'exact minimiser']")))
    plans = plans_for(told, "printed")
    assert {(plan.reference, plan.solver) for plan in plans} == {("stored", "exact")}
    assert all(plan.checked() == plan for plan in plans)
    assert {(plan.weights, plan.d) for plan in plans} == {("mean", 1), ("mean", 2), ("sum", 1), ("sum", 2)}
    every = plans_for(load_statement(write(body.format("()"))), "printed")
    assert len([plan for plan in every if (plan.controller, plan.V_moves) == ("queue", "no")]) == 24
    assert {plan.controller for plan in every} == set(CONTROLLERS)
    assert {plan.V_moves for plan in every} == {"no", "any"}
    fixed = load_statement(write(body.format("['plain queue', 'V is constant']")))
    assert len(plans_for(fixed, "printed")) == 24
    assert len(plans_for("thm3", "corrected")) == 1


def test_the_author_says_where_to_look(write):
    body = "FAMILY = {'d': 3}\n@form(T=7, memory=True)\ndef printed(facts):\n    return bound(facts, facts.V, 1.0)\n"
    plan = plan_for(load_statement(write(body)), "printed")
    assert (plan.T, plan.memory, plan.d, plan.hessians) == ((7, 7), True, 3, "scalar")


# --- mistakes -------------------------------------------------------------------------------------------------------

RETURN = "@form\ndef printed(facts):\n    return {}\n"
MISTAKES = {
    "syntax": ("@form\ndef printed(facts)\n    return 1\n", ":6: SyntaxError"),
    "null byte": ("x = 1\0\n", "null bytes"),
    "missing module": (
        "import nowhere_to_be_found\n",
        ":5: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
    ),
    "at the top": ("x = 1\ny = x / 0\n", ":6: ZeroDivisionError"),
    "the end": ("raise SystemExit(0)\n", ":5: SystemExit"),
    "no form": ("def printed(facts):\n    return 1\n", "has no form of a statement; write @form"),
    "form of nothing": ("@form('Case 1')\ndef printed(facts):\n    return 1\n", ":5: @form stands above a function"),
    "an exception": (RETURN.format("facts.avg_Qbar[99]"), ":7 (printed): IndexError"),
    "an exception in a helper": (
        "def helper(x):\n    return x.nothing\n\n" + RETURN.format("helper(facts)"),
        ":6 (printed): AttributeError: 'RunFacts' object has no attribute 'nothing'",
    ),
    "no arguments": ("@form\ndef printed():\n    return 1\n", ":5 (printed): TypeError"),
    "nothing returned": (RETURN.format("None"), ":5 (printed): it must return a bound(...), got None"),
    "two sides, no bound": (RETURN.format("(1.0, 2.0)"), ":5 (printed): it must return a bound(...), got (1.0, 2.0)"),
    "no axis": (RETURN.format("bound(facts, facts.Qbar.mean(), 1)"), ":7 (printed): the left side has the shape ()"),
    "four axes": (RETURN.format("bound(facts, facts.Q[..., None], 1)"), ":7 (printed): the left side has the shape"),
    "a term that does not fit": (
        RETURN.format("bound(facts, facts.Qbar, {'weight': facts.V})"),
        ":7 (printed): the term 'weight' has the shape (2,), which does not fit the left side's (3, 2, 4)",
    ),
    "a term over all runs": (
        RETURN.format("bound(facts, facts.avg_Qbar, facts.grad_sq_before.max())"),
        ":5 (printed): the right side of a run alone is not what it is among other runs",
    ),
    "no numbers": (
        RETURN.format("bound(facts, facts.avg_Qbar, 'large')"),
        ":7 (printed): the term 'right side' must be",
    ),
    "no terms": (RETURN.format("bound(facts, facts.avg_Qbar, {})"), ":7 (printed): the right side has no terms"),
    "unknown premise": (
        RETURN.format("bound(facts, facts.avg_Qbar, 1, premises=['Case 4'])"),
        ":7 (printed): unknown premise 'Case 4'; did you mean Case 3",
    ),
    "premise that is no truth": (
        RETURN.format("bound(facts, facts.avg_Qbar, 1, where={'V': facts.V})"),
        ":7 (printed): the premise 'V' must be true or false per run",
    ),
    "unknown kind": (
        RETURN.format("bound(facts, facts.avg_Qbar, 1, kind='true')"),
        ":7 (printed): unknown kind 'true'",
    ),
    "other facts": (RETURN.format("bound(3, facts.avg_Qbar, 1)"), ":7 (printed): facts must be a Facts, got 3"),
    "family": ("FAMILY = 3\n" + RETURN.format("bound(facts, facts.avg_Qbar, 1)"), "FAMILY must be a dict"),
}


@pytest.mark.parametrize(("body", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_line_with_file_and_line(write, body, words):
    path = write(body)
    with pytest.raises(ColdError) as told:
        load_statement(path)
    message = str(told.value)
    assert message.startswith(str(path))
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (
            "references='stored'",
            "mine.py:5 (printed), where to look: unknown field of a plan 'references'; did you mean",
        ),
        ("reference='sotred'", "mine.py:5 (printed), where to look: unknown reference 'sotred'; did you mean stored"),
        ("T='many'", "mine.py:5 (printed), where to look: T is a number of tasks or a pair"),
        ("T=(1, 2, 3)", "where to look: T is a number of tasks or a pair"),
        ("d='two'", "where to look: d must be a whole number"),
    ],
)
def test_a_wrong_place_to_look_is_one_line_too(write, family, words):
    body = f"@form({family})\ndef printed(facts):\n    return bound(facts, facts.avg_Qbar, 1.0)\n"
    with pytest.raises(ColdError) as told:
        plan_for(load_statement(write(body)), "printed")
    assert words in str(told.value)


def test_a_file_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "absent.py", tmp_path):
        with pytest.raises(ColdError):
            load_statement(path)
    (tmp_path / "latin.py").write_bytes('"""na\xefve"""'.encode("latin-1"))
    with pytest.raises(ColdError, match=r"latin\.py"):
        load_statement(tmp_path / "latin.py")


def test_a_mistake_that_only_some_runs_show_is_told_when_they_come(write, run):
    late = "    if facts.T > 4:\n        raise KeyError('late')\n"
    body = f"@form\ndef printed(facts):\n{late}    return bound(facts, facts.V, 1)\n"
    told = load_statement(write(body))
    with pytest.raises(ColdError, match=r"mine.py:8 \(printed\): KeyError"):
        evaluate(told, "printed", run)


# --- names and files ------------------------------------------------------------------------------------------------


def test_a_file_runs_only_when_the_user_names_it(write):
    path = write(RETURN.format("bound(facts, facts.avg_Qbar, 1.0)"))
    with pytest.raises(ColdError, match="is run only if you name it"):
        find_statement(str(path))
    assert named_statement(str(path)).id == "mine.py"
    assert named_statement("thm3") is find_statement("thm3")


def test_form_and_bound_work_without_a_file(run):
    @form(T=3)
    def printed(facts):
        return bound(facts, facts.avg_Qbar, facts.l * facts.r**2 / 2)

    assert printed(facts_of(run)).outcome.tolist() == [["holds"] * 3] * 2


def test_every_premise_of_the_map_is_one(run):
    facts = facts_of(run)
    for name in own._BY_PREMISE:
        assert facts.premise(name).shape == facts.lead


# --- packages -------------------------------------------------------------------------------------------------------


@pytest.fixture
def installed(write, monkeypatch):
    """A package whose entry points are these."""
    monkeypatch.syspath_prepend(write(RETURN.format("bound(facts, facts.avg_Qbar, 1.0)")).parent)

    def plugged(*entries):
        points = [EntryPoint(name, value, own.GROUP) for name, value in entries]
        monkeypatch.setattr(own, "entry_points", lambda group: points)

    yield plugged
    sys.modules.pop("mine", None)


def test_a_package_brings_a_statement_by_its_module(installed, run):
    installed(("small_queues", "mine"))
    assert find_statement("small_queues").id == "small_queues"
    assert evaluate("small_queues", "printed", run).label == "own:small_queues"
    with pytest.raises(ColdError, match="did you mean small_queues"):
        find_statement("small_queue")


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([("thm3", "mine")], "two statements are called thm3"),
        ([("one", "mine"), ("one", "mine")], "two statements are called one"),
        ([("one", "mine:printed")], "must name a module"),
        ([("one", "nowhere_to_be_found")], "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_a_package_that_brings_something_else(installed, entries, words):
    installed(*entries)
    with pytest.raises(ColdError, match=words):
        find_statement("one_more")
    assert find_statement("thm3") is STATEMENTS["thm3"]  # ours need no package
