"""From a cold start, within a few rounds each, the search finds what is wrong with the printed statements."""

from __future__ import annotations

import numpy as np
import pytest

from coldtheory.bounds import evaluate
from coldtheory.search import plan_for, search
from coldtheory.simulation import simulate
from coldtheory.tasks import from_optima

pytestmark = pytest.mark.kernels

ROUNDS = 20  # a search stops at the first clear violation; so many rounds without one is a failure


def check(found, form_that_holds="corrected"):
    """Broken by far more than rounding, all premises met, when simulated alone; and the corrected form holds."""
    assert found.best.broken
    assert found.best.score > 1.001
    plain = found.best.plain
    run = simulate(from_optima(**plain["tasks"]), **plain["settings"])
    bound = evaluate(found.statement, found.form, run, **plain["options"])
    assert all(bound.assumptions.values())
    assert bool(bound.violated)
    assert str(evaluate(found.statement, form_that_holds, run, **plain["options"]).outcome) == "holds"
    return run, bound.worst()


def test_lemma_1_of_the_main_text():
    run, _ = check(search("lemma1", "printed", rounds=ROUNDS))
    assert run.tasks.T == 3


def test_theorem_4_lacks_the_first_loss():
    run, bound = check(search("thm4", "printed", rounds=ROUNDS))
    assert (run.eta * run.alpha <= 1.0).all()  # not the other flaw, a step that is too large
    lacking = evaluate("thm4", "corrected", run).terms["first loss"]
    assert bound.lhs <= bound.rhs + lacking


def test_theorem_1_with_sum_weights_and_three_tasks():
    run, _ = check(search("thm1", "printed", rounds=ROUNDS))
    assert run.tasks.T == 3
    assert run.tasks.phi.isotropic
    assert np.ptp(run.tasks.phi.hessians) > 0
    assert run.settings.weights == "sum"


def test_theorem_1_with_sum_weights_and_identity_hessians_in_the_plane():
    plan = plan_for("thm1", "printed", T=(3, 3), d=2, hessians="identity")
    run, _ = check(search("thm1", "printed", plan, rounds=ROUNDS))
    assert (run.tasks.phi.hessians == 1.0).all()
    assert run.tasks.phi_hat is run.tasks.phi


@pytest.mark.parametrize(
    ("statement", "form", "reached"),
    [("lemma1", "corrected", 0.999999), ("lemma_gap", "corrected", 0.999999), ("lindley", "a_priori", 0.99)],
)
def test_a_true_form_is_not_broken_and_a_tight_one_is_reached(statement, form, reached):
    found = search(statement, form, rounds=1)
    assert not found.best.broken
    # Sides are sums of a few terms in one dimension, off by at most some 40 eps of the largest number that entered; the
    # search takes no sides below 1e-4 of that number, so a quotient of 1 comes out within 40 eps * 1e4 = 1e-10.
    assert reached <= found.best.constant <= 1.0 + 1e-9
    assert found.best.tightness == pytest.approx(found.best.constant, rel=1e-9)


def test_the_mean_weights_that_the_proof_uses_save_theorem_1():
    found = search("thm1", "printed", plan_for("thm1", "printed", weights="mean"), rounds=1)
    assert not found.best.broken
    assert found.best.constant < 1.0
