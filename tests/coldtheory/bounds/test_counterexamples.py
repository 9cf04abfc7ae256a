"""Every statement that is false as printed has a stored instance that breaks it: rerun in floats and in rationals."""

from __future__ import annotations

from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

from coldtheory import counterexamples, simulate
from coldtheory.bounds import STATEMENTS, evaluate
from coldtheory.counterexamples import all_counterexamples, load_counterexample, replay
from coldtheory.ground.errors import ColdError
from tests.calls import calls_of
from tests.coldtheory.bounds.rationals import Exact, load, printed_sides

pytestmark = pytest.mark.kernels

FOLDER = Path(counterexamples.__file__).parent
INSTANCES = {instance.name: instance for instance in all_counterexamples()}
# Queues square the models, so that digits double with every task: rationals are for small T.
# Theorems that the paper lacks are checked in fractions in files of their own, as some of their sides are roots.
SMALL = [name for name, one in INSTANCES.items() if one.T <= 4 and not STATEMENTS[one.statement].beyond]
# With at most this many tasks the printed statement is true, so a stored instance with one task more is the smallest.
# In DPP_t only queues Q_k[t-1] with k < t-1 can be positive (t >= 3), and with one past task sum and mean agree.
TRUE_UP_TO = {
    ("lemma1", "printed"): 2,
    ("lemma2", "printed"): 2,
    ("lemma_gap", "printed"): 0,
    ("lemma_gap", "diameter"): 0,
    ("lemma_dpp", "printed"): 2,
    ("thm1", "printed"): 2,
    ("thm4", "printed"): 2,
    ("cor2_queue", "printed"): 2,
    ("constraint", "printed"): 2,
    ("constraint", "printed_index"): 1,
    ("forgetting_uniform", "hoped"): 2,  # with one past task the mean over the tasks is that task
    ("yu_neely", "hoped"): 2,
}
# With sum weights; no proof that fewer are impossible. The shortest swing that breaks Corollary 1 has 178 tasks, see
# test_flips.py; the stored one is clearer.
SMALLEST_KNOWN = {("thm3", "printed"): 33, ("cor1", "printed"): 221}


@pytest.mark.parametrize("name", INSTANCES)
def test_instance_breaks_the_printed_form_and_no_other(name: str) -> None:
    instance = INSTANCES[name]
    assert calls_of(lambda: replay(instance)) < 100_000  # a tenth of a second
    bound = replay(instance)
    worst = bound.worst()
    # A closed loop of the swing lets a rounding grow fourfold per task, eight tasks long, and T tasks add up.
    rel = 4**8 * np.finfo(np.float64).eps * instance.T if name in ("thm3_sum_case1", "cor1_sum") else 1e-9
    assert float(worst.lhs) == pytest.approx(instance.expected["lhs"], rel=rel, abs=1e-12)
    assert float(worst.rhs) == pytest.approx(instance.expected["rhs"], rel=rel, abs=1e-12)
    assert bound.kind == "false as printed" or instance.waives  # a theorem without one of its premises
    assert bound.violated.all()
    assert instance.tasks.d <= 2
    if instance.holds is not None:
        assert replay(instance, instance.holds).outcome.tolist() == "holds"


@pytest.mark.parametrize("name", SMALL)
def test_instance_in_exact_rationals(name: str) -> None:
    instance = INSTANCES[name]
    entries = printed_sides(instance.statement, instance.form, Exact(load(FOLDER / f"{name}.toml")))
    lhs, rhs = max(entries, key=lambda sides: sides[0] - sides[1])
    assert lhs > rhs
    assert float(lhs) == pytest.approx(instance.expected["lhs"], rel=1e-9, abs=1e-12)
    assert float(rhs) == pytest.approx(instance.expected["rhs"], rel=1e-9, abs=1e-12)


def test_every_false_form_has_a_smallest_instance() -> None:
    run = simulate([[0.0], [1.0], [0.0]], V=1.0)
    false = {
        (id_, form)
        for id_, statement in STATEMENTS.items()
        for form in statement.forms
        if evaluate(id_, form, run).kind == "false as printed"
    }
    sizes: dict[tuple[str, str], int] = {}
    for instance in INSTANCES.values():
        key = (instance.statement, instance.form)
        if not instance.waives:
            sizes[key] = min(instance.T, sizes.get(key, instance.T))
    assert sizes == {key: T + 1 for key, T in TRUE_UP_TO.items()} | SMALLEST_KNOWN
    assert set(sizes) == false


@pytest.mark.parametrize("name", [name for name, instance in INSTANCES.items() if instance.waives])
def test_a_waived_premise_is_the_only_one_missing(name: str) -> None:
    instance = INSTANCES[name]
    whole = evaluate(instance.statement, instance.form, instance.run(), instance.ball, **instance.options)
    assert [premise for premise, met in whole.assumptions.items() if not met.all()] == list(instance.waives)
    assert whole.outcome.tolist() == "not applicable"


@pytest.mark.parametrize("name", ["thm3_sum", "thm3_sum_shortest"])
def test_theorem_3_with_sum_weights_to_sixty_digits(name: str) -> None:
    """Rationals would need 2^34 digits; sixty decimal ones bound the error of the float run far below the margin."""
    data = load(FOLDER / f"{name}.toml")
    with localcontext() as context:
        context.prec = 60
        decimal = lambda value: Decimal(value.numerator) / Decimal(value.denominator)  # noqa: E731
        T = len(data["tasks"]["optima"])
        h = [decimal(x) for x in data["tasks"]["hessians"]]
        g = [decimal(x) for x in data["tasks"]["memory_hessians"]]
        V, delta, eta = (decimal(data["settings"][key]) for key in ("V", "delta", "eta"))
        x, Q, best = Decimal(0), [Decimal(0)] * T, [Decimal(0)] * T
        gradients, Qbars = Decimal(0), Decimal(0)
        for t in range(T):  # a_t = 1, b_k = 0
            past = max(t, 1)
            Qbars += sum(Q) / past
            assert eta * (V + max(g) * sum(Q) / past) <= Decimal("0.5")
            gradients += (h[t] * (x - 1)) ** 2
            x -= eta * (V * h[t] * (x - 1) + sum(Q[k] * g[k] * x for k in range(t)))
            for k in range(t):
                now = g[k] * x * x / 2
                Q[k] = max(Q[k] + now - best[k] - delta, Decimal(0))
            best = [min(best[k], g[k] * x * x / 2) if t else g[k] * x * x / 2 for k in range(T)]
        # W = [0, 1] holds all models; r = 1. Phi changes once, by sup 1/2; rho_{t,k} = -h_t g_k / 4.
        rho = sum(h[t] * sum(g[:t]) / 4 for t in range(T))
        rhs = 2 * h[0] / 2 / (T * V * eta) + 2 * Decimal("0.5") / (T * eta * V)
        rhs += max(g) / (T * V) * rho + max(g) / (eta * T * V**2) * Qbars
        lhs = gradients / T
    assert lhs > rhs
    assert float(lhs) == pytest.approx(INSTANCES[name].expected["lhs"], rel=1e-12)
    assert float(rhs) == pytest.approx(INSTANCES[name].expected["rhs"], rel=1e-9)


@pytest.mark.filterwarnings("ignore::coldtheory.ground.errors.DivergenceWarning")  # the grid also holds steps too large
def test_case_1_queue_is_not_of_order_V() -> None:
    """Theorem 4's "Qbar[t-1] = O(V)": with the largest step that it allows, Qbar[2]/V grows without bound as V -> 0."""
    V = np.array([1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4])[:, None]
    share = np.geomspace(1e-3, 1.0, 1000)
    run = simulate([[0.0], [1.0], [2.0]], V=V * np.ones_like(share), delta=1e-12, eta=0.5 * share / V, steps=1)
    allowed = (run.eta * run.alpha).max(axis=-1) <= 0.5 * (1 + 1e-12)
    largest = allowed.shape[1] - 1 - allowed[:, ::-1].argmax(axis=1)
    growth = run.Qbar[np.arange(len(V)), largest, 2] / V[:, 0]
    assert growth == pytest.approx([39, 7.9, 1.24, 0.056, 6.2e-4, 6.25e-6], rel=0.02)


def test_unknown_and_damaged_files(tmp_path: Path) -> None:
    with pytest.raises(ColdError, match="lemma1_main_text"):
        load_counterexample("lemma1_main_texd")
    broken = tmp_path / "broken.toml"
    broken.write_text("statement = ")
    with pytest.raises(ColdError, match="not valid TOML"):
        load_counterexample(broken)
