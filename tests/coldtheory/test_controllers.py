"""Controllers, Case 3, moving V and factors of the automatic step: what must hold for every run, and mutants of each
formula, which the comparison with plain Python must catch. The values themselves are compared in test_reference.py."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import coldtheory._batch as batch_module
import coldtheory.simulation as simulation_module
from coldtheory import ColdError, DivergenceWarning, from_optima, make_tasks, simulate
from coldtheory._dynamics import General, Isotropic
from coldtheory.bounds import STATEMENTS, evaluate, facts_of
from coldtheory.controllers import CONTROLLERS, Augmented, Leaky, NuPI, Queue, YuNeely, controller_of
from coldtheory.nonconvex import Cosines, descend
from coldtheory.settings import Known, schedule_factors
from coldtheory.simulation import Run
from tests.coldtheory.test_reference import compare, random_case

pytestmark = pytest.mark.kernels

ALTERNATING = np.where(np.arange(3200) % 2 == 0, 1.0, -1.0)[:, None]
RULES = [Queue(), Leaky(0.3), NuPI(0.5, 2.0, 0.4), YuNeely(), Augmented(0.7)]
REFERENCES = ["previous", "best", "stored"]


def tasks_of(seed: int, streams: int = 3, T: int = 9, d: int = 2):
    rng = np.random.default_rng(seed)
    optima = rng.normal(size=(streams, T, d)) * rng.choice([0.3, 3.0])
    return from_optima(optima, memory_optima=optima + 0.2 * rng.normal(size=optima.shape))


# ------------------------------------------------------------------------------------------------------ controllers


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("rule", [Leaky(0.0), NuPI(1.0, 0.0, 0.8)], ids=lambda rule: rule.text)
def test_with_trivial_parameters_a_controller_is_the_queue(rule, reference):
    """The queue has a faster path of its own: the general one must lead to the same place."""
    options = {"V": [0.5, 3.0, 20.0], "delta": 0.05, "eta": "auto", "reference": reference}
    plain, other = simulate(tasks_of(0), **options), simulate(tasks_of(0), **options, controller=rule)
    assert plain.Q.max() > 0.1
    for name in ("w", "Q", "weight", "Qbar", "Delta", "lyapunov", "cross", "alpha"):
        assert np.allclose(getattr(plain, name), getattr(other, name), rtol=1e-12, atol=1e-12), name


@given(seed=st.integers(0, 9999), V=st.floats(1e-2, 1e2), delta=st.sampled_from([0.0, 1e-3, 0.3]),
       rule=st.sampled_from(RULES), reference=st.sampled_from(REFERENCES))  # fmt: skip
@settings(max_examples=150)
@pytest.mark.filterwarnings("ignore::coldtheory.ground.errors.DivergenceWarning")
def test_what_controllers_promise(seed, V, delta, rule, reference):
    """Of runs that do not diverge, which the augmented weight may at a small V."""
    run = simulate(tasks_of(seed), V=V, delta=delta, eta="auto", eta_factor=0.05, reference=reference, controller=rule)
    facts = facts_of(run)
    assume(facts.bounded.all())
    assert (run.Q >= 0).all()
    assert (run.weight >= 0).all()
    past = np.tri(run.tasks.T, k=-1, dtype=bool)
    g = np.where(past, facts.increments - delta, 0.0)  # (S, T, T)
    small = 1e-9 * max(1.0, np.abs(facts.hat).max())
    if isinstance(rule, YuNeely):
        assert (run.Q[:, 1:] >= np.abs(g) - small).all()
        if reference == "stored":  # the maximum in the weight never acts: Q_k[t-1] + g_k(x_{t-1}) >= 0
            assert (run.Q[:, 2:-1] + g[:, 1:-1] >= -small).all()
            expected = (run.Q[:, 2:-1] + g[:, 1:-1])[..., past[1:-1]]
            assert np.allclose(run.weight[:, 2:][..., past[1:-1]], expected, atol=small)
            newest = np.diagonal(run.weight, offset=-1, axis1=-2, axis2=-1)
            assert np.abs(newest).max() <= small  # a task starts with weight 0
    if rule.name in ("queue", "yu-neely", "augmented"):  # sum of constraints <= what was piled up (c of it)
        unit = rule.c if isinstance(rule, Augmented) else 1.0
        assert (unit * np.cumsum(g, axis=1) <= run.Q[:, 1:] + small).all()
    if isinstance(rule, Leaky):  # a leaky queue is below the plain one that sees the same constraints, and forgets
        plain = np.zeros_like(run.Q)
        for t in range(run.tasks.T):
            plain[:, t + 1] = np.maximum(plain[:, t] + g[:, t], 0.0)
        assert (plain + small >= run.Q).all()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.text)
def test_no_bound_is_claimed_for_another_controller(rule):
    run = simulate(tasks_of(1), V=1.0, delta=9.0, eta="auto", eta_factor=0.05, controller=rule)
    about_queues = [(id_, form) for id_, statement in STATEMENTS.items() for form in statement.forms]
    outcomes = {}
    for id_, form in about_queues:
        bound = evaluate(id_, form, run)
        outcomes[id_] = bound.outcome
        if "plain queue" in bound.assumptions:
            assert (bound.assumptions["plain queue"] == isinstance(rule, Queue)).all()
    claimed = {id_ for id_, outcome in outcomes.items() if (outcome != "not applicable").any()}
    own = {"leaky_queue"} if isinstance(rule, Leaky) else set()  # Yu and Neely's statement is about Case 3
    assert claimed == {"lemma_gap", "pareto"} | own if not isinstance(rule, Queue) else "thm3" in claimed


def test_texts_and_parameters():
    for rule in RULES:
        assert controller_of(rule.text) == rule
    assert set(CONTROLLERS) == {rule.name for rule in RULES}
    assert controller_of(None) == Queue()
    for text, message in (("leeky", "did you mean leaky"), ("leaky:b=1", "known: a"), ("leaky:a=x", "key=number"),
                          ("leaky:a=2", "<= 1"),
                          ("queue:a=1", "known: none"), ("augmented:c=inf", "finite")):  # fmt: skip
        with pytest.raises(ColdError, match=message):
            controller_of(text)
    with pytest.raises(ColdError, match="must be a text"):
        controller_of(3)
    with pytest.raises(ColdError, match="goes with solver='gd'"):
        simulate([[0.0]], V=1.0, solver="exact", controller="augmented")


def test_an_augmented_run_whose_steps_expand_has_diverged():
    """alpha_t is only that of the first iterate, so that the models decide."""
    tasks = from_optima(10.0 * ALTERNATING[:20])
    with pytest.warns(DivergenceWarning, match="take a smaller eta"):
        run = simulate(tasks, V=1.0, delta=0.0, eta=0.9, steps=5, reference="stored", controller=Augmented(50.0))
    assert run.diverged
    assert not simulate(tasks, V=1.0, delta=0.0, eta=1e-5, steps=5, reference="stored", controller="augmented").diverged


# ------------------------------------------------------------------------------------------------- a run is its own


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.text)
def test_a_run_does_not_depend_on_what_else_is_in_the_batch(rule, reference, monkeypatch):
    def rising(known: Known):
        return np.maximum(known.factor, 1.0 + known.Qbar)

    tasks = tasks_of(2, streams=5)
    V = np.array([0.5, 3.0, 20.0])
    options = {"delta": 0.1, "eta": "auto", "eta_factor": 0.1, "reference": reference, "controller": rule}
    whole = simulate(tasks, V=V, V_schedule=rising, **options)
    monkeypatch.setattr(batch_module, "_CHUNK", 9 * 3 * 2)  # two streams at a time
    chunked = simulate(tasks, V=V, V_schedule=rising, **options)
    by_array = simulate(tasks, V=V, V_schedule=whole.V_t / V[:, None], **options)
    for s in range(5):
        for p in range(3):
            one = simulate(tasks[s], V=V[p], V_schedule=rising, **options)
            assert np.array_equal(one.w, whole.w[s, p])
            assert np.array_equal(one.Q, whole.Q[s, p])
    for name in ("w", "Q", "weight", "V_t", "forgetting", "eps"):
        assert np.array_equal(getattr(chunked, name), getattr(whole, name), equal_nan=True), name
        assert np.allclose(getattr(by_array, name), getattr(whole, name), rtol=1e-9, atol=1e-12, equal_nan=True), name


def test_divergence_is_a_matter_of_the_run_alone():
    optima = np.stack([ALTERNATING[:12], 1000.0 * ALTERNATING[:12]])
    with pytest.warns(DivergenceWarning):
        both = simulate(from_optima(optima), V=1.0, eta=2.5, steps=1, weights="none")
    with pytest.warns(DivergenceWarning):
        alone = simulate(from_optima(optima[0]), V=1.0, eta=2.5, steps=1, weights="none")
    assert both.diverged.tolist() == [bool(alone.diverged)] * 2


# ----------------------------------------------------------------------------------------------------------- Case 3


def test_forgetting_on_the_alternating_stream():
    """delta = 1/2: what Case 1 forgets on average is twice that, what Case 3 forgets is not."""
    runs = {r: simulate(ALTERNATING, V=1.0, delta=0.5, solver="exact", reference=r) for r in ("previous", "stored")}
    assert float(runs["previous"].avg_forgetting) == pytest.approx(1.0, abs=1e-3)
    assert float(runs["stored"].avg_forgetting) == pytest.approx(0.499, abs=1e-3)


def test_a_creeping_stream_fills_no_queue_of_case_1():
    """Each task moves the first loss up by delta, as Case 1 allows: all queues stay empty, and 0.02 T is forgotten."""
    T, delta = 200, 0.02
    a = np.sqrt(2 * delta * np.arange(T))[:, None]
    one, three = (simulate(a, V=1.0, delta=delta * (1 + 1e-12), solver="exact", reference=r)
                  for r in ("previous", "stored"))  # fmt: skip
    assert one.Q.max() < 1e-12
    assert float(one.max_forgetting) == pytest.approx(delta * (T - 1), rel=1e-9)
    assert float(three.max_forgetting) < 0.25 * float(one.max_forgetting)
    assert three.Q.max() > 0.1


@given(seed=st.integers(0, 9999), V=st.floats(1e-2, 1e2), reference=st.sampled_from(REFERENCES))
@settings(max_examples=60)
def test_forgetting_and_eps_are_differences_of_losses(seed, V, reference):
    run = simulate(tasks_of(seed), V=V, delta=0.1, eta="auto", reference=reference)
    facts = facts_of(run)
    T = run.tasks.T
    own = np.stack([facts.hat[:, k + 1, k] for k in range(T)], axis=-1)
    wanted = np.where(np.tri(T, k=-1, dtype=bool), facts.hat[:, 1:] - own[:, None, :], 0.0)
    size = np.abs(facts.hat).max()
    assert np.abs(run.forgetting - wanted).max() <= 1e-12 * size
    if reference == "stored":
        assert np.allclose(facts.increments, run.forgetting, atol=1e-12 * size)
    pairs = wanted[:, np.tri(T, k=-1, dtype=bool)]
    assert np.allclose(run.avg_forgetting, pairs.mean(axis=-1), atol=1e-12 * size)
    assert np.allclose(run.max_forgetting, pairs.max(axis=-1), atol=1e-12 * size)
    assert np.allclose(facts.avg_forgetting, run.avg_forgetting)
    better = simulate(tasks_of(seed), V=V, delta=0.1, eta="auto", eta_factor=1.0, reference=reference)
    assert (run.eps >= 0).all()
    assert (better.eps[:, 0] <= run.eps[:, 0] + 1e-12 * size * run.alpha[:, 0]).all()
    exact = simulate(tasks_of(seed), V=V, delta=0.1, solver="exact", reference=reference)
    assert exact.eps.max() <= 1e-12 * size * exact.alpha.max()


def test_case_3_on_losses_that_are_not_convex():
    phi = Cosines.of(np.ones((4, 1)), [[0.0], [1.0], [2.0], [0.5]], [1.0])
    facts = descend(phi, w0=[0.3], V=1.0, delta=1e-3, eta=0.2, steps=5, reference="stored")
    past = np.tri(4, k=-1, dtype=bool)
    assert np.allclose(facts.increments, facts.forgetting)
    Q = np.zeros(facts.Q.shape)
    for t in range(4):
        Q[..., t + 1, :] = np.where(past[t], np.maximum(Q[..., t, :] + facts.forgetting[..., t, :] - 1e-3, 0.0), 0.0)
    assert np.allclose(facts.Q, Q)
    assert Q.max() > 0.1


def test_one_task_forgets_nothing():
    run = simulate([[1.0, 2.0]], V=1.0, reference="stored", controller="yu-neely")
    assert (run.avg_forgetting, run.max_forgetting, run.forgetting.tolist()) == (0.0, 0.0, [[0.0]])


# ------------------------------------------------------------------------------------------------- moving V and steps


def test_a_constant_factor_is_another_V():
    tasks = tasks_of(3)
    moved = simulate(tasks, V=2.0, delta=0.1, eta=0.05, V_schedule=np.full(9, 2.5))
    plain = simulate(tasks, V=5.0, delta=0.1, eta=0.05)
    for name in ("w", "Q", "alpha", "V_t", "eps"):
        assert np.allclose(getattr(moved, name), getattr(plain, name), rtol=1e-12), name
    assert evaluate("thm3", "corrected", moved).applicable.all()  # V is constant, whatever it is called


def test_a_schedule_sees_the_past_and_nothing_else():
    seen: list[Known] = []

    def watching(known: Known):
        seen.append(known)
        return 1.0 + 0.1 * known.t

    run = simulate(tasks_of(4), V=[1.0, 2.0], delta=0.1, eta="auto", V_schedule=watching)
    assert [known.t for known in seen] == list(range(1, 10))
    for t, known in enumerate(seen):
        assert known.T == 9
        assert known.V.tolist() == [[1.0, 2.0]]
        assert np.allclose(known.x, run.w[:, :, t])
        assert np.allclose(known.Qbar, run.Qbar[..., t])
        assert np.allclose(known.lyapunov, run.lyapunov[..., t])
        assert np.allclose(known.factor, 1.0 if t == 0 else 1.0 + 0.1 * t)
        assert np.allclose(known.Q, run.Q[:, :, t, : known.Q.shape[-1]])
        assert known.Q.shape[-1] == max(t - 1, 0)
    assert np.allclose(run.V_t, np.array([1.0, 2.0])[:, None] * (1.0 + 0.1 * np.arange(1, 10)))
    premises = evaluate("thm4", "corrected", run).assumptions
    assert not premises["V is constant"].any()
    facts = facts_of(run)
    assert facts.premise("V never falls").all()
    assert not facts.premise("V never rises").any()


def test_alpha_and_curvature_follow_the_moving_V():
    factors = np.exp(np.random.default_rng(0).normal(size=9))
    run = simulate(tasks_of(5), V=3.0, delta=0.1, eta="auto", V_schedule=factors)
    facts = facts_of(run)
    assert np.allclose(run.alpha, 3.0 * factors + run.Qbar)
    assert np.allclose(facts.curvature, run.alpha)  # identity Hessians
    assert np.allclose(run.eta * run.alpha, 0.5)


@pytest.mark.parametrize(("schedule", "message"), [
    ([1.0, 2.0], "one factor per task"), ([1.0, -1.0, 1.0], "factors > 0"), (lambda known: -1.0, "factors > 0"),
    (lambda known: np.ones(7), "broadcast to"), ("power:x", "cannot read the schedule"), ("list:1,2", "2 factors"),
    ("geometric:-1", "cannot read the schedule"), ("power:1e9", "finite"), (["a"] * 3, "numbers"),
])  # fmt: skip
def test_bad_schedules(schedule, message):
    with pytest.raises(ColdError, match=message):
        simulate([[0.0], [1.0], [2.0]], V=1.0, V_schedule=schedule)


def test_named_schedules():
    run = simulate(np.zeros((4, 1)), V=2.0, V_schedule="power:0.5")
    assert np.allclose(run.V_t, 2.0 * np.sqrt([1, 2, 3, 4]))
    assert schedule_factors("list:1,3", 2).tolist() == [1.0, 3.0]
    assert schedule_factors("geometric:9", 3).tolist() == pytest.approx([1.0, 3.0, 9.0])


def test_the_factor_of_the_automatic_step():
    tasks = make_tasks("conflict", seeds=range(2), T=30, d=3)
    usual, spelt = simulate(tasks, V=2.0, eta="auto"), simulate(tasks, V=2.0, eta="auto", eta_factor=0.5)
    assert np.array_equal(usual.w, spelt.w)
    factors = np.array([0.25, 0.9, 1.0])
    run = simulate(tasks, V=2.0, eta="auto", eta_factor=factors)
    assert np.allclose(run.eta * run.alpha, factors[:, None])
    assert evaluate("thm3_sharp", "corrected", run).applicable.all()
    with pytest.warns(DivergenceWarning, match="eta_factor=3"):
        assert simulate(tasks, V=2.0, eta="auto", eta_factor=3.0).diverged.all()
    with pytest.raises(ColdError, match="goes with eta='auto'"):
        simulate(tasks, V=2.0, eta=0.1, eta_factor=0.5)
    with pytest.raises(ColdError, match="eta_factor must be finite and > 0"):
        simulate(tasks, V=2.0, eta="auto", eta_factor=0.0)


# ---------------------------------------------------------------------------------------------------------- mutants

# A formula with a term dropped, or a sign or an index changed. `m` is the maximum, `s` the state.
MUTANTS = {
    "leaky, no leak": (Leaky, "update", lambda self, s, g, m: (m(s[0] + g, 0.0),)),
    "leaky, leak of g": (Leaky, "update", lambda self, s, g, m: (m((1 - self.a) * (s[0] + g), 0.0),)),
    "leaky, not cut": (Leaky, "update", lambda self, s, g, m: ((1 - self.a) * s[0] + g,)),
    "nupi, no proportional term": (
        NuPI, "update",
        lambda self, s, g, m: (m(s[0] + self.kappa_i * g, 0.0), self.nu * s[1] + (1 - self.nu) * g),
    ),
    "nupi, sign of the proportional term": (
        NuPI, "update",
        lambda self, s, g, m: (
            m(s[0] + self.kappa_i * g + self.kappa_p * (1 - self.nu) * (s[1] - g), 0.0),
            self.nu * s[1] + (1 - self.nu) * g,
        ),
    ),
    "nupi, the mean is late": (
        NuPI, "update",
        lambda self, s, g, m: (m(s[0] + self.kappa_i * g + self.kappa_p * (g - s[1]), 0.0), g),
    ),
    "nupi, shares exchanged": (
        NuPI, "update",
        lambda self, s, g, m: (
            m(s[0] + self.kappa_i * g + self.kappa_p * self.nu * (g - s[1]), 0.0),
            (1 - self.nu) * s[1] + self.nu * g,
        ),
    ),
    "yu-neely, starts at 0": (YuNeely, "start", lambda self, g, m: (0.0 * g,)),
    "yu-neely, weight without g": (YuNeely, "weight", lambda self, s, g, m: s[0]),
    "yu-neely, weight less g": (YuNeely, "weight", lambda self, s, g, m: m(s[0] - g, 0.0)),
    "yu-neely, weight not cut": (YuNeely, "weight", lambda self, s, g, m: s[0] + g),
    "yu-neely, cut at 0": (YuNeely, "update", lambda self, s, g, m: (m(s[0] + g, 0.0),)),
    "yu-neely, cut at g": (YuNeely, "update", lambda self, s, g, m: (m(s[0] + g, g),)),
    "augmented, weight without penalty": (Augmented, "weight", lambda self, s, g, m: s[0]),
    "augmented, penalty 1": (Augmented, "weight", lambda self, s, g, m: m(s[0] + g, 0.0)),
    "augmented, weight not cut": (Augmented, "weight", lambda self, s, g, m: s[0] + self.c * g),
    "augmented, multiplier of step 1": (Augmented, "update", lambda self, s, g, m: (m(s[0] + g, 0.0),)),
    "augmented, weights of the first iterate": (Augmented, "looks", "before"),
    "eps without 1/2": (
        Isotropic, "shortfall", lambda self, *a, whole=Isotropic.shortfall: 2 * whole(self, *a),
    ),
    "eps of matrices without 1/2": (
        General, "shortfall", lambda self, *a, whole=General.shortfall: 2 * whole(self, *a),
    ),
    "slope without the past": (
        Isotropic, "slope", lambda self, t, x, V, past, whole=Isotropic.slope: whole(self, t, x, V, 0 * past),
    ),
    "slope of matrices without the past": (
        General, "slope", lambda self, t, x, V, past, whole=General.slope: whole(self, t, x, V, 0 * past),
    ),
    "V does not move": (batch_module, "_factor", lambda *a, whole=batch_module._factor: np.ones_like(whole(*a))),
    "V moves one task late": (
        batch_module, "_factor",
        lambda state, t, *a, whole=batch_module._factor: whole(state, max(t - 1, 0), *a),
    ),
    "step of the usual factor": (Run, "eta", property(lambda self: 0.5 / self.alpha)),
    "weights of the mean for the sum": (batch_module, "share_of", lambda weights, t: 1.0 / max(t, 1)),
}  # fmt: skip


def _without_the_newest(state, t, world, whole=batch_module._weights):
    kept, weight = whole(state, t, world)
    return kept, weight[..., : max(t - 1, 0)]


def _forgets_against_the_next_model(tasks, w, whole=batch_module.forgetting_after):
    return whole(tasks, np.concatenate([w[..., 1:, :], w[..., -1:, :]], axis=-2))


MUTANTS["the newest past task has no weight"] = (batch_module, "_weights", _without_the_newest)
MUTANTS["forgetting, one model late"] = (simulation_module, "forgetting_after", _forgets_against_the_next_model)
CASES = range(1000, 1080)


@pytest.mark.filterwarnings("ignore::coldtheory.DivergenceWarning")
@pytest.mark.parametrize("name", MUTANTS)
def test_a_changed_formula_is_noticed(name, monkeypatch):
    owner, attribute, mutant = MUTANTS[name]
    monkeypatch.setattr(owner, attribute, mutant)
    if name == "step of the usual factor":
        run = simulate(tasks_of(0), V=1.0, eta="auto", eta_factor=0.9)
        assert not np.allclose(run.eta * run.alpha, 0.9)
        return
    for seed in CASES:
        tasks, options, losses = random_case(seed, new=True)
        if isinstance(owner, type) and owner in CONTROLLERS.values() and not isinstance(options["controller"], owner):
            continue
        try:
            compare(tasks, options, losses)
        except (AssertionError, ColdError, ValueError, FloatingPointError):
            return
    raise AssertionError(f"no case noticed: {name}")


def test_the_cases_themselves_are_in_order():
    for seed in CASES:
        compare(*random_case(seed, new=True))


def test_a_stored_reference_that_is_renewed_is_noticed():
    """The reference of task k is x_k and no later model."""
    tasks, options, losses = next(
        case for case in (random_case(s, new=True) for s in CASES) if case[1]["reference"] == "stored"
    )
    compare(tasks, options, losses)
    run = simulate(tasks, **options)
    renewed = simulate(tasks, **{**options, "reference": "previous"})
    assert not np.allclose(run.Delta, renewed.Delta)


def test_every_parameter_of_a_controller_is_limited():
    for kind in CONTROLLERS.values():
        for field in dataclasses.fields(kind):
            with pytest.raises(ColdError, match=f"{field.name} of the controller {kind.name} must be"):
                kind(**{field.name: -1.0})
