"""The leaky queue, Yu and Neely's controller, and forgetting for every T at once: against plain Python, and
attacked."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldtheory import from_optima, simulate
from coldtheory.bounds import STATEMENTS, Bound, Facts, evaluate, facts_of
from coldtheory.counterexamples import load_counterexample, replay
from tests.coldtheory.bounds.plain_controllers import Plain

pytestmark = pytest.mark.kernels

STREAMS = 60
#: statement -> (controllers, forms that are true)
WHAT = {
    "forgetting_uniform": (("queue",), ("proved", "sharp", "most", "each_task")),
    "leaky_queue": (("queue", "leaky:a=0.3", "leaky:a=0.02"), ("proved", "queue", "gap", "violation")),
    "yu_neely": (("yu-neely",), ("proved", "drift", "gap", "each_task")),
}
FORMS = [(id_, form) for id_, (_, forms) in WHAT.items() for form in forms]
IDS = ["-".join(pair) for pair in FORMS]
# What each mutant leaves out or changes; every one must differ from the code on some run.
_COMPARED = ("eps", "gap", "relief", "gap earlier", "sign of relief")
MUTANTS = {
    ("forgetting_uniform", "proved"): ("delta", "residual", "half the excess", *_COMPARED),
    ("forgetting_uniform", "sharp"): ("delta", "half the excess", *_COMPARED),
    ("forgetting_uniform", "most"): _COMPARED,
    ("forgetting_uniform", "each_task"): _COMPARED,
    ("leaky_queue", "proved"): ("delta", "leak", "residual", "contraction", "one power", "factor 1-a", *_COMPARED),
    ("leaky_queue", "queue"): ("residual", "contraction", "one power", "factor 1-a", *_COMPARED),
    ("leaky_queue", "gap"): ("residual", "factor 1-a"),
    ("leaky_queue", "violation"): ("leak", "last queues"),
    ("yu_neely", "proved"): ("delta", "head start", "movement", "last constraint", *_COMPARED),
    ("yu_neely", "drift"): ("movement", "potential before"),
    ("yu_neely", "gap"): ("movement",),
    ("yu_neely", "each_task"): ("head start", "movement", "last constraint", *_COMPARED),
}
# Mutants that some run of these batches breaks, as a property test would see.
REFUTED = {
    ("forgetting_uniform", "proved"): ("delta", "residual", "half the excess", "eps", "gap", "sign of relief"),
    ("forgetting_uniform", "sharp"): ("delta", "half the excess", "eps", "gap", "relief", "sign of relief"),
    ("forgetting_uniform", "most"): ("eps", "gap", "relief", "sign of relief"),
    ("forgetting_uniform", "each_task"): _COMPARED,
    ("leaky_queue", "proved"): ("delta", "residual", "eps", "gap", "sign of relief"),
    ("leaky_queue", "queue"): ("residual", "eps", "gap", "relief", "sign of relief"),
    ("leaky_queue", "gap"): ("residual",),
    ("leaky_queue", "violation"): ("leak", "last queues"),
    ("yu_neely", "proved"): ("delta", "movement", "eps", "sign of relief"),
    ("yu_neely", "drift"): ("movement", "potential before"),
    ("yu_neely", "gap"): ("movement",),
    ("yu_neely", "each_task"): ("movement", *_COMPARED),
}


class Batch:
    """Streams of one length under one V (or moving V), delta and controller, and the same runs in plain Python."""

    def __init__(self, seed: int, controller: str, weights: str) -> None:
        rng = np.random.default_rng(seed)
        T, d = int(rng.integers(2, 7)), int(rng.integers(1, 3))
        shape = (STREAMS, T)
        optima = rng.normal(size=(*shape, d)) * rng.choice([0.2, 1.0, 3.0])
        tasks = {
            "optima": optima,
            "hessians": 10.0 ** rng.uniform(-2, 0, shape),
            "memory_optima": optima + rng.choice([0.0, 0.3]) * rng.normal(size=optima.shape),
            "memory_hessians": 10.0 ** rng.uniform(-2, 0, shape),
        }
        V, delta = 10.0 ** rng.uniform(-2, 2), 10.0 ** rng.uniform(-3, 0.5)
        moving = bool(rng.integers(2)) and (seed % 2 == 0)
        factors = 10.0 ** rng.uniform(-1, 1, T) if moving else np.ones(T)
        how = {} if seed % 3 else {"eta": 0.3 / (V * factors.max() + 5.0), "steps": 2}
        star = rng.normal(size=optima.shape) * rng.choice([0.1, 1.0]) + optima.mean(axis=1, keepdims=True)
        above = (
            0.5
            * tasks["memory_hessians"][:, None]
            * np.square(star[:, :, None] - tasks["memory_optima"][:, None]).sum(-1)
        )
        past = np.tri(T, k=-1)
        prime = (above * past).max(axis=(1, 2)) + 1e-9
        self.options = {"delta_prime": prime, "w_star": star}
        run = simulate(
            from_optima(**tasks), V=V, delta=delta, reference="stored", weights=weights, controller=controller,
            solver="gd" if how else "exact", V_schedule=factors if moving else None, **how,
        )  # fmt: skip
        self.facts = facts_of(run)
        kind, _, leak = controller.partition(":a=")
        told = {
            "V_t": (V * factors).tolist(), "delta": float(delta), "kind": kind, "leak": float(leak or 0.0),
            "weights": weights, "w0": [0.0] * d, **how,
        }  # fmt: skip
        self.plain = [
            Plain({name: values[i].tolist() for name, values in tasks.items()}, told, star[i].tolist(), float(prime[i]))
            for i in range(STREAMS)
        ]

    def bound(self, id_: str, form: str) -> Bound:
        takes = form not in ("violation", "drift", "cap")
        return evaluate(id_, form, self.facts, **(self.options if takes else {}))


@cache
def batches(id_: str, weights: str = "mean") -> list[Batch]:
    controllers = WHAT[id_][0]
    return [Batch(seed, controllers[seed % len(controllers)], weights) for seed in range(15)]


def of(id_: str, form: str) -> list[Batch]:
    """900 runs; those of statements about both weights with 900 more."""
    return batches(id_) + (batches(id_, "sum") if form == "each_task" else [])


def written(batch: Batch, id_: str, form: str, without: str = "") -> tuple[np.ndarray, np.ndarray]:
    sides = np.array([plain.sides(id_, form, without) for plain in batch.plain])
    return sides[..., 0], sides[..., 1]


@pytest.mark.parametrize(("id_", "form"), FORMS, ids=IDS)
def test_both_sides_are_those_of_the_statement(id_: str, form: str) -> None:
    applicable = 0
    for batch in of(id_, form):
        bound = batch.bound(id_, form)
        assert not bound.violated.any()
        applicable += int(bound.applicable.sum())
        if not bound.applicable.any():
            continue  # the gap forms ask for a constant V
        lhs, rhs = written(batch, id_, form)
        size = np.maximum(np.abs(rhs), np.abs(lhs)).max() + 1e-9
        assert np.abs(np.reshape(bound.lhs, lhs.shape) - lhs).max() <= 1e-9 * size
        assert np.abs(np.reshape(bound.rhs, rhs.shape) - rhs).max() <= 1e-7 * size
    assert applicable >= 500


@pytest.mark.once
@pytest.mark.parametrize(("id_", "form"), MUTANTS, ids=["-".join(pair) for pair in MUTANTS])
def test_a_changed_formula_is_noticed(id_: str, form: str) -> None:
    for mutant in MUTANTS[id_, form]:
        refuted = noticed = False
        for batch in of(id_, form):
            bound = batch.bound(id_, form)
            lhs, rhs = written(batch, id_, form, mutant)
            size = np.abs(rhs).max() + np.abs(lhs).max()
            noticed |= bool(np.abs(np.reshape(bound.rhs, rhs.shape) - rhs).max() > 1e-6 * size)
            here = (lhs > rhs + 1e-6 * size).any(axis=-1) & bound.applicable
            refuted |= bool(here.any())
        assert noticed, mutant
        if mutant in REFUTED.get((id_, form), ()):
            assert refuted, (mutant, "no run breaks it")


def _attack(seed: int, size: float, offset: float, V: float, share: float, controller: str, weights: str) -> Facts:
    rng = np.random.default_rng(seed)
    T, d = int(rng.integers(2, 8)), int(rng.integers(1, 3))
    kinds = rng.choice([-1.0, 0.0, 1.0], size=(T, d))
    optima = size * (kinds if seed % 2 else rng.normal(size=(T, d))) + offset
    curvature = 10.0 ** rng.uniform(-3, 0, T)
    tasks = from_optima(optima, curvature, memory_optima=optima + 0.1 * size * rng.normal(size=(T, d)),
                        memory_hessians=curvature[::-1])  # fmt: skip
    star = np.broadcast_to(optima.mean(axis=0), optima.shape)
    above = max(float(tasks.phi_hat.values(star[:1]).max()), 1e-300)
    run = simulate(tasks, V=V, delta=share * above, reference="stored", solver="exact", controller=controller,
                   weights=weights, w0=np.full(d, offset))  # fmt: skip
    return facts_of(run), {"delta_prime": above * (1 + 1e-9), "w_star": star}


@settings(max_examples=120)
@given(
    seed=st.integers(0, 10_000),
    size=st.sampled_from([1e-6, 1e-2, 1.0, 10.0]),
    offset=st.sampled_from([0.0, 0.0, 1e3, 1e8]),
    V=st.floats(-6, 8).map(lambda power: 10.0**power),
    share=st.sampled_from([0.0, 0.01, 0.5, 1.0, 2.0]),
    which=st.sampled_from(sorted(WHAT)),
    weights=st.sampled_from(["mean", "mean", "sum"]),
    leak=st.sampled_from(["0.001", "0.1", "0.9", "1"]),
)
def test_no_run_breaks_a_true_form(seed, size, offset, V, share, which, weights, leak) -> None:
    controller = {"forgetting_uniform": "queue", "leaky_queue": f"leaky:a={leak}", "yu_neely": "yu-neely"}[which]
    facts, options = _attack(seed, size, offset, V, share, controller, weights)
    for form in (name for name in STATEMENTS[which].forms if name != "hoped"):
        takes = form not in ("violation", "drift", "cap")
        bound = evaluate(which, form, facts, **(options if takes else {}))
        assert not bound.violated.any(), (form, bound.worst().lhs, bound.worst().rhs)


def test_without_a_leak_the_leaky_queue_is_the_plain_one() -> None:
    batch = batches("forgetting_uniform")[1]
    plain, leaky = batch.bound("forgetting_uniform", "proved"), batch.bound("leaky_queue", "proved")
    assert plain.rhs == pytest.approx(leaky.rhs)
    assert leaky.terms["leak"] == pytest.approx(0.0)


def test_the_rate_of_a_growing_V_needs_no_length() -> None:
    """V_t = t^(1/3): the excess over delta falls at least like s^(-1/3) for every s of one and the same run."""
    T = 400
    optima = np.where(np.arange(T) % 2, -1.0, 1.0)[:, None]
    run = simulate(optima, V=1.0, delta=0.5, reference="stored", solver="exact", V_schedule="power:0.3333333333")
    bound = evaluate("forgetting_uniform", "proved", run, delta_prime=0.5, w_star=np.zeros((T, 1)))
    assert bound.outcome == "holds"
    s = np.arange(20, T + 1)
    scaled = bound.terms["excess"][s - 1] * s ** (1 / 3)
    assert (np.diff(scaled) < 0).all()
    assert bound.terms["excess"][-1] < 0.22


def test_a_fixed_leak_keeps_a_bias() -> None:
    """The leak term tends to a positive number of order sqrt(a V), not to 0."""
    T, found = 600, []
    optima = np.where(np.arange(T) % 2, -1.0, 1.0)[:, None]
    for a in (0.1, 0.025):
        run = simulate(optima, V=1.0, delta=0.5, reference="stored", solver="exact", controller=f"leaky:a={a}")
        bound = evaluate("leaky_queue", "proved", run, delta_prime=0.5, w_star=np.zeros((T, 1)))
        assert bound.outcome == "holds"
        found.append(bound.terms["leak"][-1])
    assert found[0] / found[1] == pytest.approx(2.0, rel=0.2)  # a quarter of the leak, half the bias


@pytest.mark.parametrize("name", ["forgetting_one_task", "yu_neely_one_task"])
def test_one_task_in_fractions(name: str) -> None:
    """Both sides of the false form squared: no rounding and no root can be blamed."""
    a, h, V, delta, star = {
        "forgetting_one_task": ((0, 0, 2), (1, "1/16", 1), "1/64", "1/8", (0, 0, "1/2")),
        "yu_neely_one_task": ((0, "-3/8", "3/8"), (1, 1, 1), "1/1024", "1/4", (0, "-3/8", "1/4")),
    }[name]
    a, h, star = ([Fraction(v) for v in values] for values in (a, h, star))
    V, delta, x = Fraction(V), Fraction(delta), a  # no weight is positive before the third task: x_t = a_t
    loss = lambda k, w: h[k] * (w - a[k]) ** 2 / 2  # noqa: E731
    g = {(k, t): loss(k, x[t]) - loss(k, x[k]) - delta for t in range(3) for k in range(t)}
    assert all(loss(k, star[t]) <= delta for t in range(3) for k in range(t))  # delta' = delta
    gaps = sum(V * (loss(t, star[t]) - loss(t, x[t])) for t in range(3))
    if name == "forgetting_one_task":
        twice = 2 * (g[0, 1] ** 2 / 2 + (g[0, 2] ** 2 + g[1, 2] ** 2) / 4 + gaps)
        total = g[0, 1] + g[0, 2]
    else:
        moved = (loss(0, x[1]) - loss(0, x[0])) ** 2 / 2
        moved += sum((loss(k, x[2]) - loss(k, x[1])) ** 2 for k in (0, 1)) / 4
        twice = 2 * (moved + gaps) + (g[0, 2] ** 2 + g[1, 2] ** 2) / 2
        total = g[1, 2] + delta
    assert total > 0
    assert total**2 > twice
    stored = load_counterexample(name)
    assert stored.tasks.phi.optima[:, 0].tolist() == [float(v) for v in a]
    assert replay(stored).outcome == "violated"


@pytest.mark.parametrize(("controller", "limit"), [("queue", 0.2362), ("yu-neely", 0.2362)])
def test_one_task_is_forgotten_for_ever_under_mean_weights(controller: str, limit: float) -> None:
    """Its mean excess tends to q with q = (1.5/(1 + q))^2/2 - 1/2 > 0, the fixed point of q = Q_1/(t-1)."""
    assert limit == pytest.approx(0.5 * (1.5 / (1 + limit)) ** 2 - 0.5, abs=1e-3)
    means = []
    for T in (100, 400):
        optima = np.array([0.0] + [1.5] * (T - 1))[:, None]
        run = simulate(optima, V=1.0, delta=0.5, reference="stored", solver="exact", controller=controller)
        means.append(float((run.forgetting[1:, 0] - 0.5).mean()))
    assert abs(means[1] - limit) < 0.003
    assert means[0] > 0.2


@pytest.mark.parametrize("controller", ["queue", "yu-neely"])
def test_sum_weights_do_keep_every_task(controller: str) -> None:
    """On the same stream the total of the first task stays bounded; for the queue so does the bound of each_task."""
    T = 200
    optima = np.array([0.0] + [1.5] * (T - 1))[:, None]
    run = simulate(optima, V=1.0, delta=0.5, reference="stored", solver="exact", controller=controller, weights="sum")
    id_ = "forgetting_uniform" if controller == "queue" else "yu_neely"
    star = np.array([0.0] + [1.0] * (T - 1))[:, None]
    bound = evaluate(id_, "each_task", run, delta_prime=0.5, w_star=star)
    assert bound.outcome == "holds"
    assert bound.lhs[-1, 0] <= 0.5 + 1e-9
    assert bound.rhs[-1, 0] < {"queue": 0.75, "yu-neely": 4.5}[controller]
