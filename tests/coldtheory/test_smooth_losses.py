"""Losses of one's own: any smooth functions with their gradients and a constant."""

from __future__ import annotations

import numpy as np
import pytest

from coldtheory import ColdError, from_optima, simulate
from coldtheory.bounds import STATEMENTS, evaluate, facts_of
from coldtheory.nonconvex import Cosines, Smooth, descend

READ_AT_MODELS = (
    "Q", "Qbar", "Delta", "alpha", "lyapunov", "cross", "grad_sq_before", "grad_sq_after", "grad_inner", "phi_before",
    "phi_after", "hat", "conflict", "beta", "increments",
)  # fmt: skip


def as_functions(phi: Cosines) -> Smooth:
    """The losses of the first run, as a user would write them."""

    def value(k):
        return lambda w: phi.values(w[None, None])[0, 0, k]

    def slope(k):
        return lambda w: phi.gradients(w[None, None])[0, 0, k]

    count = range(phi.T)
    return Smooth.of([value(k) for k in count], [slope(k) for k in count], phi.smoothness[0], d=phi.d)


@pytest.mark.parametrize("reference", ["previous", "best", "stored"])
@pytest.mark.parametrize("weights", ["mean", "sum"])
def test_the_same_losses_give_the_same_run(reference, weights):
    rng = np.random.default_rng(1)
    phi, hat = (Cosines.of(rng.uniform(0.5, 2.0, (6, 2)), rng.uniform(-2, 2, (6, 2)), [1.0, 0.7]) for _ in range(2))
    settings = {
        "w0": [0.4, -0.3], "V": 1.5, "delta": 1e-3, "eta": 0.1, "steps": 2, "reference": reference, "weights": weights,
    }  # fmt: skip
    known, ours = descend(phi, hat, **settings), descend(as_functions(phi), as_functions(hat), **settings)
    for name in READ_AT_MODELS:
        assert np.allclose(getattr(known, name), getattr(ours, name), rtol=1e-9, atol=1e-12), name
    for reading in ("variation", "memory_variation", "rho"):
        assert np.allclose(getattr(known, reading)("trajectory"), getattr(ours, reading)("trajectory"), atol=1e-12)
        assert np.isnan(getattr(ours, reading)("ball")).all()


def test_quadratics_agree_with_the_simulator():
    a = np.random.default_rng(2).standard_normal((5, 3))
    bowls = Smooth.of(
        [lambda w, c=c: 0.5 * float((w - c) @ (w - c)) for c in a],
        [lambda w, c=c: w - c for c in a],
        1.0,
        d=3,
        convex=True,
    )
    V = np.array([1.0, 5.0, 30.0])
    ours = descend(bowls, w0=np.zeros(3), V=V, delta=0.01, eta=0.02, steps=3)
    theirs = simulate(from_optima(a), V=V, delta=0.01, eta=0.02, steps=3)
    assert np.allclose(ours.trace.w, theirs.w, atol=1e-12)
    for id_, form in (("thm3_sharp", "sharp"), ("thm4", "trajectory"), ("constraint", "corrected")):
        one, two = evaluate(id_, form, ours), evaluate(id_, form, facts_of(theirs))
        assert one.outcome.tolist() == two.outcome.tolist()
        assert np.allclose(one.lhs, two.lhs)
        assert np.allclose(one.rhs, two.rhs)


def logistic(T: int, d: int, seed: int) -> Smooth:
    """Logistic regression on random points; the Hessian is at most max |x|^2/4."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((T, 20, d)), rng.choice([-1.0, 1.0], (T, 20))

    def value(t):
        return lambda w: np.logaddexp(0.0, -y[t] * (X[t] @ w)).mean()

    def slope(t):
        return lambda w: -(y[t] / (1.0 + np.exp(y[t] * (X[t] @ w)))) @ X[t] / 20

    L = 0.25 * np.square(X).sum(axis=-1).max(axis=-1)
    return Smooth.of([value(t) for t in range(T)], [slope(t) for t in range(T)], L, d=d, convex=True)


@pytest.mark.parametrize("seed", range(3))
def test_every_statement_can_be_asked_and_none_is_broken(seed):
    phi = logistic(6, 3, seed)
    L = float(phi.constants.max())
    V = np.array([0.2, 1.0, 5.0])
    for reference in ("previous", "stored"):
        run = descend(phi, w0=np.ones(3), V=V, delta=1e-3, eta=0.3 / (V * L), steps=2, reference=reference)
        applied = set()
        for id_, statement in STATEMENTS.items():
            for form in statement.forms:
                bound = evaluate(id_, form, run)
                if bound.kind != "false as printed":
                    assert not bound.violated.any(), (id_, form)
                if "models in W" in bound.assumptions or "w* is feasible" in bound.assumptions:
                    assert not bound.applicable.any(), (id_, form)
                applied |= {(id_, form)} if bound.applicable.any() else set()
        assert {("thm3", "trajectory"), ("thm3", "sharp"), ("lemma1", "corrected")} <= applied
        assert (("thm4", "trajectory") in applied) == (reference == "previous")


def test_losses_may_differ_in_the_memory():
    phi, hat = logistic(4, 2, 0), logistic(4, 2, 7)
    one = descend(phi, hat, w0=[[0.0, 0.0], [1.0, 0.0]], V=1.0, delta=0.0, eta=0.1)
    assert one.lead == (2,)
    assert not np.allclose(one.hat[:, 1:], one._phi[:, 1:])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"functions": [lambda w: w[0] ** 2] * 2, "gradients": [lambda w: 2 * w]}, "2 functions and 1 gradients"),
        ({"functions": []}, "one function per task"),
        ({"functions": "loss"}, "one function per task"),
        ({"smoothness": [1.0, 2.0]}, "one number > 0, or 1 of them"),
        ({"smoothness": 0.0}, "one number > 0"),
        ({"d": 0}, "d must be a whole number of at least 1"),
        ({"smoothness": 0.5}, "faster than smoothness 0.5 allows"),
        ({"gradients": [lambda w: 3 * w]}, "check its gradient"),
        ({"gradients": [lambda w: np.ones(3)]}, r"must have shape \(1,\), got \(3,\)"),
        ({"functions": [lambda w: "low"]}, "must return a number"),
        ({"functions": [lambda w: float(w @ w) - 5.0]}, "losses must be >= 0; add a constant"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(change, words):
    given = {"functions": [lambda w: float(w @ w)], "gradients": [lambda w: 2 * w], "smoothness": 2.0, "d": 1} | change
    with pytest.raises(ColdError, match=words):
        descend(Smooth.of(**given), w0=[1.0], V=1.0, delta=0.0, eta=0.1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"V": -1.0}, "V must be > 0"),
        ({"V": [1.0, 2.0], "eta": [0.1, 0.1, 0.1]}, "V must have a shape that broadcasts"),
        ({"w0": [1.0, 2.0, 3.0]}, "w0 must have a shape"),
        ({"reference": "worst"}, "unknown reference"),
        ({"weights": "none"}, "unknown weights"),
        ({"steps": 0}, "steps must be a whole number of at least 1"),
        ({"hat": Cosines.of([[1.0]], [[0.0]], [1.0])}, "losses of one kind"),
    ],
)
def test_wrong_settings_are_told_in_one_line(change, words):
    phi = Smooth.of([lambda w: float(w @ w)], [lambda w: 2 * w], 2.0, d=1)
    with pytest.raises(ColdError, match=words):
        descend(phi, **{"w0": [1.0], "V": 1.0, "delta": 0.0, "eta": 0.1} | change)
