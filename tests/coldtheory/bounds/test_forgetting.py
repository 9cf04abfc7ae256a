"""Real forgetting: `forgetting` and `creeping` against plain Python, on random and extreme runs, and their mutants."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coldtheory import DivergenceWarning, Run, from_optima, simulate
from coldtheory.bounds import Bound, creeping, evaluate, facts_of, follow, forgetting
from coldtheory.geometry import Ball
from coldtheory.nonconvex import Cosines, minimise_on_grid
from coldtheory.tolerance import RTOL
from tests.coldtheory.bounds.plain import Plain

pytestmark = pytest.mark.kernels

KINDS = ("exact", "gd", "noisy", "projected", "prescribed")


def draw(seed: int, *, offset: float = 0.0, V: float | None = None) -> tuple[Run, dict[str, object]]:
    """A run of any kind in Case 2 or 3, comparators between the optima, and the delta' that they need."""
    rng = np.random.default_rng([7, seed])
    T, dim = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    a = rng.normal(size=(T, dim)) * 10.0 ** rng.uniform(-1, 1)
    if rng.random() < 0.5:
        a = np.where(np.arange(T)[:, None] % 2, a[:1], -a[:1])
    h: np.ndarray = 10.0 ** rng.uniform(-1, 1, T)
    if rng.random() < 0.4:
        roots = rng.normal(size=(T, dim, dim))
        h = roots @ roots.swapaxes(-1, -2) + 0.1 * np.eye(dim)
    tasks = from_optima(a + offset, h)
    if rng.random() < 0.5:
        seen = {"memory_optima": a + offset + 0.3 * rng.normal(size=a.shape), "memory_hessians": 0.5 * h}
        tasks = from_optima(a + offset, h, **seen)
    star = tasks.phi.optima * rng.uniform(0, 1, (T, 1)) + tasks.phi_hat.optima.mean(axis=0) * rng.uniform(0, 1, (T, 1))
    star = np.where(rng.random((T, 1)) < 0.5, star, tasks.phi_hat.optima.mean(axis=0))
    reference = str(rng.choice(["stored", "best"]))
    chosen = {"V": 10.0 ** rng.uniform(-2, 3) if V is None else V, "reference": reference}
    scale = float(np.square(a).sum(axis=-1).max()) + 1e-3
    chosen["delta"] = scale * 10.0 ** rng.uniform(-4, 0.5)
    kind = KINDS[seed % len(KINDS)]
    w0 = np.full(dim, offset)
    if kind == "prescribed":
        run: Run = follow(tasks, w0 + rng.normal(size=(T + 1, dim)), **chosen)
    else:
        more = {"noisy": {"noise": 0.1}, "projected": {"ball": Ball(w0, 2.0)}}.get(kind, {})
        solver = "exact" if kind == "exact" else "gd"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)
            run = simulate(tasks, solver=solver, eta="auto", steps=int(rng.integers(1, 4)), w0=w0, **chosen, **more)
    return run, {"w_star": star, "delta_prime": Plain(run).tolerance_of(star) * (1 + 1e-12)}


SEEDS = range(600)


def differences(form: str) -> Iterator[tuple[float, float]]:
    """How far the two sides are from those of plain Python, as shares of the scale. That holds the rounding of a budget
    in which large losses cancel, for its root is compared."""
    for seed in SEEDS:
        run, options = draw(seed)
        bound, plain = evaluate("forgetting", form, run, **options), Plain(run)
        assert bound.outcome == "holds", (seed, [n for n, met in bound.assumptions.items() if not met])
        rhs = plain.forgetting_bound(form, options["w_star"], options["delta_prime"])
        scale = float(bound.scale)
        yield abs(float(bound.lhs) - plain.mean_forgetting) / scale, abs(float(bound.rhs) - rhs) / scale


@pytest.mark.parametrize("form", ["proved", "sharp"])
def test_both_sides_are_those_of_plain_python(form: str) -> None:
    assert max(max(pair) for pair in differences(form)) < RTOL


def test_the_sharp_form_is_never_the_larger_one() -> None:
    for seed in SEEDS:
        run, options = draw(seed)
        one, two = (evaluate("forgetting", form, run, **options) for form in ("proved", "sharp"))
        assert float(two.rhs) <= float(one.rhs) * (1 + 1e-7)


def _dropped(name: str) -> Callable[..., dict[str, np.ndarray]]:
    return lambda facts, star: {k: v for k, v in budget(facts, star).items() if k != name}


def _changed(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[..., dict[str, np.ndarray]]:
    return lambda facts, star: {k: change(v) if k == name else v for k, v in budget(facts, star).items()}


budget = forgetting.budget
PARTS = ("residual", "optimisation error", "loss gap", "relief")
MUTANTS: dict[str, Callable[..., dict[str, np.ndarray]]] = {
    **{f"drop {name}": _dropped(name) for name in PARTS},
    **{f"flip {name}": _changed(name, np.negative) for name in PARTS},
    **{f"later {name}": _changed(name, lambda part: np.roll(part, 1, axis=-1)) for name in PARTS},
    **{f"halve {name}": _changed(name, lambda part: 0.5 * part) for name in PARTS},
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_changed_budget_is_noticed(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`later` changes nothing in `proved`, a plain sum; `sharp` sees it."""
    monkeypatch.setattr(forgetting, "budget", MUTANTS[mutant])
    off = 0.0
    for seed in range(60):
        run, options = draw(seed)
        rhs = float(evaluate("forgetting", "sharp", run, **options).rhs)
        off = max(off, abs(rhs - Plain(run).forgetting_bound("sharp", options["w_star"], options["delta_prime"])))
    assert off > 1e-3


# What a slip in the constant would give: the right side as a function of delta, the excess, T.
SLIPS: dict[str, Callable[[float, float, int], float]] = {
    "1/T in place of 2/T": lambda delta, excess, T: delta + 0.5 * excess,
    "2/(T+1)": lambda delta, excess, T: delta + excess * T / (T + 1),
    "sqrt(B)": lambda delta, excess, T: delta + excess / math.sqrt(2.0),
    "no delta": lambda delta, excess, T: excess,
    "no excess": lambda delta, excess, T: delta,
    "half delta": lambda delta, excess, T: 0.5 * delta + excess,
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_smaller_constant_is_refuted(slip: str) -> None:
    """Two tasks attain the bound, hence every smaller one is broken there."""
    run = simulate([[0.0], [1.0]], V=1.0, delta=0.25, solver="exact", reference="stored")
    bound = evaluate("forgetting", "proved", run, delta_prime=0.5, w_star=[[0.0], [1.0]])
    assert float(bound.lhs) == pytest.approx(float(bound.rhs), rel=1e-12)
    delta, excess = float(bound.terms["delta"]), float(bound.terms["excess"])
    assert SLIPS[slip](delta, excess, 2) < float(bound.lhs) - 1e-3


def test_every_part_of_the_budget_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the residual two tasks break the bound; without the loss gap or the error, runs that ignore the past do;
    without a positive relief (delta' > delta) tasks at points that are allowed do."""
    swing = [[0.0], [10.0]] * 8
    cases = {
        "residual": (simulate([[0.0], [1.0]], V=1.0, delta=0.25, solver="exact", reference="stored"),
                     {"delta_prime": 0.5, "w_star": [[0.0], [1.0]]}),
        "loss gap": (simulate(swing, V=1e6, delta=13.0, solver="exact", reference="stored"),
                     {"delta_prime": 12.6, "w_star": [[5.0]] * 16}),
        "optimisation error": (follow(swing, [[0.0], *swing], V=1e-6, delta=13.0, reference="stored"),
                               {"delta_prime": 12.6, "w_star": [[5.0]] * 16}),
        "relief": (simulate(swing, V=1e6, delta=1.0, solver="exact", reference="stored"),
                   {"delta_prime": 50.0, "w_star": swing}),
    }  # fmt: skip
    for name, (run, options) in cases.items():
        whole = evaluate("forgetting", "sharp", run, **options)
        assert whole.outcome == "holds", name
        with monkeypatch.context() as patch:
            patch.setattr(forgetting, "budget", _dropped(name))
            assert evaluate("forgetting", "sharp", run, **options).outcome == "violated", name


def test_case_1_is_left_out_and_would_break_it() -> None:
    """The premise on the reference is needed: Case 1 forgets twice what Case 3 is allowed."""
    a = np.where(np.arange(400) % 2, 1.0, -1.0)[:, None]
    run = simulate(a, V=1.0, delta=0.5, solver="exact")
    bound = evaluate("forgetting", "proved", run, delta_prime=0.5, w_star=np.zeros_like(a))
    assert bound.outcome == "not applicable"
    assert not bound.holds


def test_a_window_without_x_k_is_left_out() -> None:
    a = np.linspace(0.0, 3.0, 8)[:, None]
    runs = [simulate(a, V=1.0, delta=2.0, reference="best", solver="exact", window=n) for n in (1, 8)]
    bounds = [evaluate("forgetting", "proved", run, delta_prime=4.5, w_star=a) for run in runs]
    assert [str(bound.outcome) for bound in bounds] == ["not applicable", "holds"]


@pytest.mark.parametrize("V", [1e-6, 1e-3, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_extreme_runs_break_nothing(V: float, offset: float) -> None:
    for seed in range(50):
        run, options = draw(seed, offset=offset, V=V)
        for form in ("proved", "sharp", "rate"):
            assert not evaluate("forgetting", form, run, **options).violated, (form, seed)
        for form in creeping.STATEMENT.forms:
            assert not evaluate("creeping", form, run).violated, (form, seed)
            case_1 = follow(run.tasks, run.w, V=V, delta=float(run.delta))
            assert not evaluate("creeping", form, case_1).violated, (form, seed)


def test_the_tolerance_can_be_broken() -> None:
    """The rounding that is allowed stays far below the forgetting, also at V = 1e8."""
    for V in (1e-6, 1.0, 1e8):
        for seed in range(40):
            run, options = draw(seed, V=V)
            bound = evaluate("forgetting", "proved", run, **options)
            if run.tasks.T > 1:
                assert RTOL * float(bound.scale) < 1e-3 * max(float(facts_of(run).largest_loss), float(bound.rhs))


@given(seed=st.integers(0, 10**6), log_V=st.floats(-6, 8), offset=st.sampled_from([0.0, 1.0, 1e8]))
@settings(max_examples=200)
def test_no_run_forgets_more(seed: int, log_V: float, offset: float) -> None:
    run, options = draw(seed, V=10.0**log_V, offset=offset)
    assume(not run.diverged)
    for form in ("proved", "sharp"):
        assert not evaluate("forgetting", form, run, **options).violated
    assert not evaluate("creeping", "one_delta", run).violated


@pytest.mark.parametrize("reference", ["stored", "best"])
def test_losses_that_are_not_convex(reference: str) -> None:
    """Exact minimisation over a grid, comparators looked up."""
    applied = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        phi = Cosines.of(np.ones((2, 6, 1)), rng.normal(size=(2, 6, 1)), rng.uniform(0.5, 2.0, (2, 1)))
        facts = minimise_on_grid(phi, low=-3.0, high=3.0, count=41, V=[0.1, 10.0], delta=1.5, reference=reference)
        for form in ("proved", "sharp", "rate"):
            bound = evaluate("forgetting", form, facts)
            assert not bound.violated.any()
            applied += int(bound.applicable.sum())
    assert applied > 100


def test_rate_in_plain_numbers() -> None:
    """delta + sqrt(2 [(G + delta)^2 + 2 V P + 2 eps] / T) on W = [-1, 1], where G = 2."""
    a = np.where(np.arange(50) % 2, 1.0, -1.0)[:, None]
    run = simulate(a, V=3.0, delta=0.6, solver="exact", reference="stored", w0=[0.0])
    bound = evaluate("forgetting", "rate", run, Ball([0.0], 1.0), delta_prime=0.5, w_star=np.zeros_like(a))
    assert bound.outcome == "holds"
    assert float(bound.rhs) == pytest.approx(0.6 + math.sqrt(2 * (2.6**2 + 2 * 3.0 * 0.5) / 50))


# --- the creeping model --------------------------------------------------------------------------------------------


def staircase(T: int) -> np.ndarray:
    """One coordinate more per task: all models are 1/2 per task away from all earlier ones, in exact numbers."""
    return np.tri(T, k=-1)[:, : max(T - 1, 1)]


@pytest.mark.parametrize("V", [1e-6, 1.0, 1e8])
def test_the_creeping_model_attains_it_with_empty_queues(V: float) -> None:
    run = simulate(staircase(12), V=V, delta=0.5, solver="exact")
    assert run.Q.max() <= 1e-12
    bound = evaluate("creeping", "proved", run)
    pairs = np.tri(12, k=-1, dtype=bool)
    assert bound.lhs[pairs] == pytest.approx(bound.rhs[pairs], rel=1e-9)
    assert float(run.max_forgetting) == pytest.approx(11 * 0.5)
    mean = evaluate("creeping", "average", run)
    assert float(mean.lhs) == pytest.approx(float(mean.rhs), rel=1e-9)


def plain_creeping(form: str, plain: Plain) -> Iterator[tuple[int, int, float, float]]:
    for k, t in plain.pairs:
        allowance = plain.delta * (t - k) if form == "proved" else plain.delta
        yield k, t, plain.forgotten(k, t), plain.Q[k, t] + allowance


def in_case_1(run: Run) -> Run:
    """The same models, seen with the previous one as reference."""
    return follow(run.tasks, run.w, V=float(run.V), delta=float(run.delta))


def _sides(form: str, seed: int) -> tuple[Bound, Plain]:
    run, _ = draw(seed)
    run = in_case_1(run) if form != "one_delta" else run
    return evaluate("creeping", form, run), Plain(run)


@pytest.mark.parametrize("form", ["proved", "one_delta"])
def test_creeping_in_plain_python(form: str) -> None:
    seen = 0
    for seed in SEEDS:
        bound, plain = _sides(form, seed)
        assert bound.outcome == "holds", seed
        for k, t, lhs, rhs in plain_creeping(form, plain):
            scale = float(bound.scale[t - 1, k - 1])
            assert abs(float(bound.lhs[t - 1, k - 1]) - lhs) < 1e-9 * scale
            assert abs(float(bound.rhs[t - 1, k - 1]) - rhs) < 1e-9 * scale
            assert lhs <= rhs + 1e-9 * scale
            seen += 1
    assert seen > 3000


def test_the_average_in_plain_python() -> None:
    for seed in SEEDS:
        bound, plain = _sides("average", seed)
        pairs = [rhs for *_, rhs in plain_creeping("proved", plain)]
        rhs = math.fsum(pairs) / max(len(pairs), 1)
        assert abs(float(bound.rhs) - rhs) < 1e-9 * float(bound.scale)
        assert bound.outcome == "holds"


def test_smaller_allowances_are_refuted() -> None:
    """Without the queue, with t-k-1 deltas or half of them, or with one delta in Case 1, some run breaks the bound."""
    creep = evaluate("creeping", "proved", simulate(staircase(6), V=1.0, delta=0.5, solver="exact"))
    pairs = np.tri(6, k=-1, dtype=bool)
    for mutant in (creep.terms["queue"] + np.maximum(creep.terms["delta"] - 0.5, 0.0), 0.5 * creep.rhs,
                   creep.terms["queue"] + 0.5 * pairs):  # fmt: skip
        assert (creep.lhs > mutant + 1e-6)[pairs].any()
    jump = evaluate("creeping", "proved", simulate([[0.0], [3.0]], V=1.0, delta=0.5, solver="exact"))
    assert jump.lhs[1, 0] > jump.terms["delta"][1, 0] + 1.0
    for form, at in (("one_delta", "stored"), ("one_delta", "best")):
        run = simulate([[0.0], [3.0]], V=1.0, delta=0.5, solver="exact", reference=at)
        bound = evaluate("creeping", form, run)
        assert bound.lhs[1, 0] == pytest.approx(bound.rhs[1, 0])
        assert bound.lhs[1, 0] > max(bound.terms["queue"][1, 0], bound.terms["delta"][1, 0]) + 0.1


def test_every_form_names_what_it_needs() -> None:
    for module in (forgetting, creeping):
        for form in module.STATEMENT.forms.values():
            assert inspect.getdoc(form)


@pytest.mark.parametrize("reference", ["stored", "best"])
def test_the_queues_say_it_themselves(reference):
    """Form `queues` against a loop over pairs, on 500 runs of any weights and solver; without the queues it fails."""
    off, broken = 0.0, 0
    for seed in range(250):
        rng = np.random.default_rng(seed)
        tasks = from_optima(rng.normal(size=(int(rng.integers(2, 7)), 2)))
        run = simulate(tasks, V=float(10 ** rng.uniform(-1, 2)), delta=float(rng.choice([0.0, 0.05, 0.5])), eta="auto",
                       reference=reference, weights=str(rng.choice(["mean", "sum"])))  # fmt: skip
        bound, plain = evaluate("forgetting", "queues", run), Plain(run)
        T, Q = tasks.T, np.asarray(run.Q).reshape(-1, tasks.T)[-1]
        rhs = plain.delta + sum(float(q) for q in Q) / (T * (T - 1) / 2)
        off = max(off, abs(float(bound.lhs) - plain.mean_forgetting), abs(float(bound.rhs) - rhs))
        assert not bound.violated
        broken += float(bound.lhs) > float(bound.terms["delta"]) + 1e-9
    assert off < 1e-9
    assert broken > 0


def test_case_one_gives_no_such_guarantee():
    run = simulate(from_optima(np.array([[0.0], [1.0], [2.0]])), V=1.0, delta=0.1, eta="auto", reference="previous")
    assert evaluate("forgetting", "queues", run).outcome == "not applicable"
