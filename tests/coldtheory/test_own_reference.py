"""A reference rule of one's own: what it sees, that the three named rules are special cases, and what still holds."""

from __future__ import annotations

import numpy as np
import pytest

from coldtheory import ColdError, from_optima, largest_stable_eta, make_tasks, per_run, simulate
from coldtheory.bounds import STATEMENTS, evaluate, facts_of

RULES = {
    "previous": lambda past: past.losses[..., -1, :],
    "best": lambda past: past.losses[..., 1:, :].min(axis=-2),  # x_0 is no candidate
    "stored": lambda past: np.diagonal(past.losses[..., 1:, :], axis1=-2, axis2=-1),
}
ONE_RUN = {
    "previous": lambda past: past.loss(past.models[-1]),
    "best": lambda past: past.losses[1:].min(axis=0),
    "stored": lambda past: past.loss(past.models[1:]),  # x_k for task k
}
MEASURED = ("w", "Q", "Qbar", "Delta", "alpha", "lyapunov", "grad_sq_before")


def _tasks(hessians: bool):
    rng = np.random.default_rng(3)
    A = rng.standard_normal((3, 9, 4, 4))
    own = A @ A.swapaxes(-1, -2) if hessians else None
    return from_optima(50.0 + rng.standard_normal((3, 9, 4)), own, memory_optima=50.0 + rng.standard_normal((3, 9, 4)))


@pytest.mark.parametrize("hessians", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_the_named_references_are_rules(name, hessians):
    settings = {"V": [0.1, 1.0, 20.0], "eta": "auto", "delta": 1e-3, "steps": 2, "w0": np.full(4, 50.0)}
    named = simulate(_tasks(hessians), reference=name, **settings)
    assert named.reference_loss is None
    for rule in (RULES[name], per_run(ONE_RUN[name])):
        ours = simulate(_tasks(hessians), reference=rule, **settings)
        assert ours.settings.case == "own"
        for one in MEASURED:
            theirs = getattr(named, one)
            assert np.abs(getattr(ours, one) - theirs).max() <= 1e-11 * np.abs(theirs).max(), one
        expected = facts_of(named).hat_ref
        past = np.tri(9, k=-1, dtype=bool)
        assert np.abs(ours.reference_loss - expected)[..., past].max() <= 1e-11 * expected.max()
        assert (ours.reference_loss[..., ~past] == 0).all()


def test_what_a_rule_sees():
    tasks = _tasks(hessians=True)
    seen = []

    def rule(past):
        seen.append(past)
        return past.losses[..., -1, :]

    run = simulate(tasks, V=[1.0, 2.0], eta="auto", reference=rule)
    assert [past.t for past in seen] == list(range(2, 10))
    last = seen[-1]
    assert np.allclose(last.models, run.w[..., :-1, :], rtol=0, atol=1e-12)
    assert np.allclose(last.losses, facts_of(run).hat[..., :-1, :-1], rtol=1e-9)
    count = len(seen)
    assert run.Q.shape == (3, 2, 10, 9)
    assert len(seen) == count, "the answers are kept: a rule is asked once"


def test_chunks_do_not_matter(monkeypatch):
    tasks = make_tasks("high", seeds=range(5), T=12)
    whole = simulate(tasks, V=[10.0, 100.0], reference=RULES["best"])
    monkeypatch.setattr("coldtheory._batch._CHUNK", 1)
    parts = simulate(tasks, V=[10.0, 100.0], reference=RULES["best"])
    assert (whole.w == parts.w).all()
    assert (whole.Q == parts.Q).all()


def test_other_controllers_and_the_stable_step_follow_a_rule():
    for controller in ("leaky:a=0.1", "nupi", "augmented"):
        settings = {"V": 5.0, "eta": 0.01, "delta": 0.01, "controller": controller}
        tasks = make_tasks("conflict", seeds=0, T=12, separation=4.0, block=3)
        named = simulate(tasks, reference="stored", **settings)
        ours = simulate(tasks, reference=RULES["stored"], **settings)
        assert np.allclose(named.w, ours.w, rtol=0, atol=1e-10)
    named, ours = (simulate(tasks, V=5.0, reference=reference) for reference in ("best", RULES["best"]))
    assert largest_stable_eta(named) == pytest.approx(largest_stable_eta(ours))


def _some_rules():
    """Rules that no theorem names, none of them below the infimum, which is 0 here."""
    return {
        "mean": lambda past: past.losses[..., 1:, :].mean(axis=-2),
        "average model": lambda past: past.loss(past.models.mean(axis=-2)),
        "a constant": lambda past: 0.3,
        "worst": lambda past: past.losses.max(axis=-2),
        "half of the best": lambda past: 0.5 * past.losses.min(axis=-2),
    }


CASES = {"Case 1", "Case 2", "Case 3"}


@pytest.mark.parametrize("solver", ["gd", "exact"])
@pytest.mark.parametrize("name", _some_rules())
def test_only_what_is_proved_for_any_reference_applies(name, solver):
    """Whatever names a case is "not applicable"; what applies is not broken by rules that it does not know."""
    rng = np.random.default_rng(5)
    optima = np.cumsum(rng.standard_normal((6, 6, 2)), axis=1)
    run = simulate(
        optima, V=[0.05, 1.0, 30.0], eta="auto", delta=40.0 if solver == "exact" else 0.01, solver=solver,
        reference=_some_rules()[name],
    )  # fmt: skip
    facts, applied = facts_of(run), set()
    for id_, statement in STATEMENTS.items():
        for form in statement.forms:
            bound = evaluate(id_, form, facts)
            if CASES & set(bound.assumptions):
                assert not bound.applicable.any(), (id_, form)
            if bound.kind != "false as printed":
                assert not bound.violated.any(), (id_, form)
            if bound.applicable.any():
                applied.add(id_)
    assert {"lemma1", "constraint", "no_tradeoff", "pareto"} <= applied
    assert ("thm1" if solver == "exact" else "thm3") in applied


def test_a_reference_that_no_model_reaches_rules_out_what_compares_with_the_infimum():
    """With references below the infimum the queues grow for ever: Theorem 1 and Lindley's bound would be false."""
    run = simulate(np.zeros((30, 1)), V=1.0, delta=0.1, solver="exact", reference=lambda past: -10.0)
    facts = facts_of(run)
    for id_, form in (("thm1", "corrected"), ("thm2", "corrected"), ("lindley", "a_priori"), ("no_tradeoff", "proved")):
        bound = evaluate(id_, form, facts)
        assert not bound.assumptions["no reference is below the infimum"]
        assert bound.outcome == "not applicable"
    assert not evaluate("lindley", "a_priori", facts).holds.all(), "the premise is needed"
    assert evaluate("lemma1", "corrected", facts).outcome == "holds"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda past: np.zeros(7), "one loss per past task"),
        (lambda past: np.nan, "finite losses; for task 2"),
        (lambda past: "best", "must be numbers"),
        (lambda past: past.loss(np.zeros(5)), "a reference model must have 2 numbers"),
        (per_run(lambda past: past.loss(np.zeros((3, 2)))), "a reference model must have 2 numbers, or (1, 2)"),
        ("worst", "unknown reference"),
    ],
)
def test_wrong_rules_are_told_in_one_line(rule, words):
    with pytest.raises(ColdError, match=words.replace("(", r"\(").replace(")", r"\)")):
        simulate([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]], V=1.0, reference=rule)


def test_window_needs_the_named_reference():
    with pytest.raises(ColdError, match="reference='best'"):
        simulate([[0.0], [1.0]], V=1.0, reference=RULES["best"], window=2)
