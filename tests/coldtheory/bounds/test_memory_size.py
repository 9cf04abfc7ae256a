"""The memory's error against its size: plain Python, coverage over many draws, adversarial samples, and the inverse."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from coldtheory import Ball, ColdError, from_points, make_tasks, memory_error, memory_needed, simulate
from coldtheory.bounds import evaluate
from coldtheory.cli.app import app
from coldtheory.memory import deviation, standard_error

pytestmark = pytest.mark.kernels

FORMS = ("proved", "average", "a_priori", "always")


# ---------------------------------------------------------------------------------------------------
# In plain Python, from the statement


def dist(x, y) -> float:
    return math.sqrt(sum((p - q) ** 2 for p, q in zip(x, y, strict=True)))


def mean(points):
    return [sum(p[i] for p in points) / len(points) for i in range(len(points[0]))]


def sup_difference(kept, points, h: float, center, R: float) -> float:
    """sup over the ball of the difference of two means of h/2 |w - z|^2, which is affine: value and slope at c."""
    value = 0.5 * h * (sum(dist(p, center) ** 2 for p in points) / len(points))
    value -= 0.5 * h * (sum(dist(p, center) ** 2 for p in kept) / len(kept))
    return abs(value) + R * h * dist(mean(points), mean(kept))


def parts_of(points, h: float, center, R: float, m: int):
    """scatter, unevenness, width, span and r of one task."""
    n, middle = len(points), mean(points)
    q = [0.5 * h * dist(p, middle) ** 2 for p in points]
    bar = sum(q) / n
    scatter = h * math.sqrt(sum(dist(p, middle) ** 2 for p in points) / n)
    unevenness = math.sqrt(sum((v - bar) ** 2 for v in q) / n)
    sides = [max(p[i] for p in points) - min(p[i] for p in points) for i in range(len(middle))]
    width = h * min(2 * max(dist(p, middle) for p in points), math.sqrt(sum(side**2 for side in sides)))
    return scatter, unevenness, width, max(q) - min(q), R + dist(middle, center)


def kappa(n: int, m: int) -> float:
    return math.sqrt((n - m) / (m * (n - 1))) if n > 1 else 0.0


def tau(n: int, m: int) -> float:
    return 0.0 if n == m else math.sqrt(min((n - m + 1) / (m * n), (n - m) * (m + 1) / (m * m * n)))


#: mutant -> what it changes in the plain formula
MUTANTS = ("no expectation", "no chance", "no r", "no span", "no unevenness", "log 1/p", "with replacement", "M for n")


def proved_by_hand(points, h, center, R, m: int, T: int, p: float, mutant: str = "") -> float:
    scatter, unevenness, width, span, r = parts_of(points, h, center, R, m)
    n = len(points)
    r = 1.0 if mutant == "no r" else r
    span = 0.0 if mutant == "no span" else span
    unevenness = 0.0 if mutant == "no unevenness" else unevenness
    k, t = kappa(n, m), tau(n, m)
    if mutant == "with replacement":
        k = t = 1 / math.sqrt(m)
    if mutant == "M for n":
        t = tau(n, n - m) if 0 < m < n else t
    log = math.log(1 / p) if mutant == "log 1/p" else math.log((T - 1) / p)
    first = 0.0 if mutant == "no expectation" else k * (r * scatter + unevenness)
    second = 0.0 if mutant == "no chance" else t * math.sqrt(0.5 * log) * (r * width + span)
    return first + second


def draws(count: int, seed: int = 0):
    """Sampled tasks of all kinds with a W, as arrays and as lists."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        T, n, d = int(rng.integers(2, 5)), int(rng.integers(1, 12)), int(rng.integers(1, 4))
        m = int(rng.integers(1, n + 1))
        points = rng.normal(size=(T, n, d)) * rng.choice([0.1, 1.0, 10.0]) + rng.choice([0.0, 5.0])
        if i % 3 == 0:  # two points only
            points = np.where(rng.random((T, n, 1)) < 0.3, 1.0, -1.0) * np.ones(d)
        if i % 7 == 0:  # one sample far in a corner
            points[:, 0] += 50.0
        h = 10.0 ** rng.uniform(-1, 1, T)
        center, R = rng.normal(size=d), float(10.0 ** rng.uniform(-1, 1))
        yield points, h, m, center, R, i


def picked(tasks, points, t: int, m: int):
    """The samples in the memory: those whose mean and offset the memory's loss has."""
    for pick in itertools.combinations(range(points.shape[1]), m):
        if np.allclose(points[t, list(pick)].mean(axis=0), tasks.phi_hat.optima[t], rtol=0, atol=1e-12):
            return points[t, list(pick)].tolist()
    raise AssertionError("no such subset")


def test_both_sides_on_five_hundred_instances() -> None:
    seen, noticed = 0, set()
    for points, h, m, center, R, i in draws(260):
        T, n, _ = points.shape
        tasks = from_points(points, h, m=m, seed=i)
        run = simulate(tasks, V=1.0, eta="auto", steps=1)
        bound = evaluate("memory_size", "proved", run, Ball(center, R), p=0.1)
        always = evaluate("memory_size", "always", run, Ball(center, R))
        for k in range(T - 1):
            told = (points[k].tolist(), float(h[k]), center.tolist(), R)
            rhs = proved_by_hand(*told, m, T, 0.1)
            assert bound.rhs[k] == pytest.approx(rhs, rel=1e-9, abs=1e-12)
            _, _, width, span, r = parts_of(*told, m)
            assert always.rhs[k] == pytest.approx((1 - m / n) * (r * width + span), rel=1e-9, abs=1e-12)
            if n <= 8:
                lhs = sup_difference(picked(tasks, points, k, m), *told)
                assert bound.lhs[k] == pytest.approx(lhs, rel=1e-9, abs=1e-9 * (1 + r) ** 2)
            noticed |= {x for x in MUTANTS if abs(proved_by_hand(*told, m, T, 0.1, x) - rhs) > 1e-3 * (1e-9 + rhs)}
            seen += 1
        assert bound.lhs[-1] == bound.rhs[-1] == 0.0, "nobody has used the memory of the last task yet"
        assert always.outcome == "holds"
    assert seen >= 500
    assert noticed == set(MUTANTS)


def test_matrix_hessians_in_the_eigenbasis() -> None:
    """A rotation and a stretch of the coordinates turns A into numbers: sides computed by hand there."""
    rng = np.random.default_rng(3)
    points, A = rng.normal(size=(2, 9, 2)), np.array([[2.0, 0.6], [0.6, 1.0]])
    tasks = from_points(points, [A, A], m=4)
    bound = evaluate("memory_size", "proved", simulate(tasks, V=1.0), Ball([0.5, 0.0], 2.0), p=0.2)
    away = points[0] - points[0].mean(axis=0)
    q = 0.5 * np.einsum("ni,ij,nj->n", away, A, away)
    bent = away @ A
    lengths = np.linalg.norm(bent, axis=1)
    width = min(2 * lengths.max(), np.linalg.norm(np.ptp(bent, axis=0)))
    r = 2.0 + np.linalg.norm(points[0].mean(axis=0) - [0.5, 0.0])
    rhs = kappa(9, 4) * (r * np.sqrt((lengths**2).mean()) + q.std())
    rhs += tau(9, 4) * math.sqrt(0.5 * math.log(1 / 0.2)) * (r * width + np.ptp(q))
    assert bound.rhs[0] == pytest.approx(rhs)
    # The supremum against many points of W.
    angle = np.linspace(0, 2 * np.pi, 2001)
    rim = [0.5, 0.0] + 2.0 * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    seen = np.abs(tasks.phi.values(rim)[:, 0] - tasks.phi_hat.values(rim)[:, 0]).max()
    assert bound.lhs[0] == pytest.approx(seen, rel=1e-5)


# ---------------------------------------------------------------------------------------------------
# Probability


def clouds(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Samples on which a bound may fail: two points, one far corner, heavy tails."""
    if kind == "two points":
        return np.where(np.arange(n) < n // 2, 1.0, -1.0)[:, None]
    if kind == "lopsided":
        return np.where(np.arange(n) < max(n // 10, 1), 1.0, 0.0)[:, None]
    if kind == "corner":
        points = np.zeros((n, 2))
        points[0] = [30.0, -40.0]
        return points
    return rng.standard_t(2.0, size=(n, 3))


@pytest.mark.parametrize("form", ["proved", "average", "a_priori"])
@pytest.mark.parametrize("kind", ["two points", "lopsided", "corner", "heavy"])
@pytest.mark.parametrize(("n", "m"), [(20, 3), (20, 10), (20, 17), (60, 8)])
def test_no_more_failures_than_promised(form: str, kind: str, n: int, m: int) -> None:
    """1000 draws at p = 0.3. As many failures as p allows would come with a margin of four standard deviations."""
    rng, p, count, T = np.random.default_rng(5), 0.3, 1000, 3
    points = np.stack([clouds(kind, n, rng) for _ in range(T)])
    d = points.shape[-1]
    pick = rng.permuted(np.tile(np.arange(n), (count, T, 1)), axis=-1)[..., :m]
    kept = np.take_along_axis(points[None], pick[..., None], axis=2)
    center = points.reshape(-1, d).mean(axis=0)
    R = float(np.linalg.norm(points - center, axis=-1).max())
    value = 0.5 * (((points - center) ** 2).sum(-1).mean(-1) - ((kept - center) ** 2).sum(-1).mean(-1))
    errors = np.abs(value) + R * np.linalg.norm(points.mean(axis=1) - kept.mean(axis=2), axis=-1)
    run = simulate(from_points(points, m=m), V=1.0)
    bound = evaluate("memory_size", form, run, Ball(center, R), p=p)
    if form == "proved":
        failed = (errors[:, :-1] > bound.rhs[:-1] * (1 + 1e-12)).any(axis=1)
    elif form == "a_priori":
        failed = errors[:, :-1].mean(axis=1) > bound.rhs * (1 + 1e-12)
    else:  # of D_{Phi,hatPhi} what exceeds D_Phi is at most the mean error
        failed = errors[:, :-1].sum(axis=1) / T > (bound.rhs - bound.terms["task variation"]) * (1 + 1e-12)
    assert failed.mean() <= p + 4 * math.sqrt(p * (1 - p) / count)


def test_the_chance_term_is_needed_and_not_far_too_large() -> None:
    """A bound of the expected error alone fails in about half of all draws of two points; a fifth of the chance term is
    not enough at p = 0.01 either."""
    n, m, count, p = 40, 10, 4000, 0.01
    rng = np.random.default_rng(1)
    points = clouds("two points", n, rng)[None]
    pick = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=-1)[:, :m]
    errors = 3.0 * np.abs(points[0, :, 0][pick].mean(axis=1))  # both points are at one distance: no second moment
    bound = evaluate("memory_size", "proved", simulate(from_points(np.repeat(points, 2, 0), m=m), V=1.0),
                     Ball([0.0], 3.0), p=p)  # fmt: skip
    expected, chance = (float(bound.terms[name][0]) for name in ("expected error", "chance"))
    assert errors.mean() <= expected <= 1.5 * errors.mean()
    assert (errors > expected).mean() > 0.2
    assert (errors > expected + 0.2 * chance).mean() > p
    assert (errors > expected + chance).mean() <= p
    assert errors.max() > 0.4 * (expected + chance)


@pytest.mark.parametrize("n", [2, 3, 6, 9])
def test_every_memory_by_counting(n: int) -> None:
    """All subsets of small samples: the exact mean, the exact tail, and the largest error."""
    rng = np.random.default_rng(n)
    for m in range(1, n + 1):
        z = rng.choice([0.0, 1.0, 7.0], size=n)
        sums = np.array([z[list(pick)].mean() for pick in itertools.combinations(range(n), m)])
        errors = np.abs(sums - z.mean())
        assert math.sqrt((errors**2).mean()) == pytest.approx(kappa(n, m) * z.std(), abs=1e-12)
        for p in (0.5, 0.1, 0.01):
            limit = errors.mean() + tau(n, m) * math.sqrt(0.5 * math.log(1 / p)) * np.ptp(z)
            assert (errors > limit + 1e-12).mean() <= p
        assert errors.max() <= (1 - m / n) * np.ptp(z) + 1e-12


def test_the_sums_behind_the_deviation() -> None:
    """(a+1)(n-a)/(a^2 n) is at least sum_{j=a}^{n-1} 1/j^2, with equality for n = a + 1: the lemma of the proof."""
    for n in range(2, 60):
        for M in range(1, n):
            kept = ((n - M) / M) ** 2 * sum(1 / j**2 for j in range(n - M, n))
            left = sum(1 / j**2 for j in range(M, n))
            assert min(kept, left) <= deviation(M, n) ** 2 * (1 + 1e-12)
        assert deviation(n - 1, n) ** 2 <= 2 / (n * (n - 1)) * (1 + 1e-12)


def test_a_memory_of_all_samples_makes_no_error() -> None:
    run = simulate(make_tasks("conflict", range(2), T=4, d=2, n=6, m=6), V=[1.0, 10.0])
    for form in FORMS:
        bound = evaluate("memory_size", form, run)
        assert bound.outcome.tolist() == [["holds"] * 2] * 2
        if form != "average":
            assert (bound.lhs == 0).all()
            assert (bound.rhs == 0).all()


def test_not_applicable_without_samples_and_W_is_older_than_the_memory() -> None:
    assert evaluate("memory_size", "proved", simulate([[0.0], [1.0]], V=1.0)).outcome == "not applicable"
    sides = []
    for seed in (0, 1):  # other memories of the same samples: the same W, hence the same right side
        points = np.random.default_rng(0).normal(size=(3, 9, 2))
        sides.append(evaluate("memory_size", "proved", simulate(from_points(points, m=3, seed=seed), V=1.0)).rhs)
    assert sides[0].tolist() == sides[1].tolist()


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    offset=st.sampled_from([0.0, 1e3, 1e8]),
    size=st.sampled_from([1e-6, 1.0, 1e3]),
    V=st.floats(-6, 8).map(lambda power: 10.0**power),
    n=st.integers(1, 12),
    data=st.data(),
)
def test_no_draw_breaks_what_holds_always(seed, offset, size, V, n, data) -> None:
    m = data.draw(st.integers(1, n))
    rng = np.random.default_rng(seed)
    points = offset + size * rng.choice([-1.0, 0.0, 1.0], size=(3, n, 2), p=[0.45, 0.1, 0.45])
    run = simulate(from_points(points, m=m, seed=seed), V=V, eta="auto", w0=[offset, offset])
    assert evaluate("memory_size", "always", run).outcome == "holds"
    for form in ("proved", "average", "a_priori"):
        assert evaluate("memory_size", form, run, p=1e-9).outcome == "holds"


# ---------------------------------------------------------------------------------------------------
# How many samples


@settings(max_examples=80)
@given(
    s=st.floats(0.01, 100), r=st.floats(0, 100), share=st.floats(1e-3, 1.5), n=st.integers(1, 400),
    K=st.integers(1, 50), p=st.floats(1e-6, 1), every=st.booleans(),
)  # fmt: skip
def test_the_smallest_memory_that_is_enough(s, r, share, n, K, p, every) -> None:
    known = {"sample_radius": s, "model_radius": r, "n": n, "tasks": K, "p": p, "every": every}
    errors = [memory_error(M, **known) for M in range(1, n + 1)]
    assert all(a >= b for a, b in itertools.pairwise(errors)), "a larger memory is never worse"
    assert errors[-1] == 0.0
    wanted = share * errors[0]
    M = memory_needed(wanted, **known)
    assert errors[M - 1] <= wanted
    assert M == 1 or errors[M - 2] > wanted


def test_an_endless_supply_is_the_limit_of_a_large_one() -> None:
    known = {"sample_radius": 1.0, "model_radius": 2.0, "tasks": 5}
    assert memory_needed(0.01, **known) == pytest.approx(memory_needed(0.01, n=10**9, **known), rel=1e-3)
    quarter = memory_needed(0.005, **known) / memory_needed(0.01, **known)
    assert quarter == pytest.approx(4.0, rel=1e-2)  # half the error, four times the samples
    assert standard_error(25, None) == 0.2


def test_the_answer_for_the_toy_is_right() -> None:
    """What `memory_needed` says for sampled HIGH is enough on every seed."""
    n, T, error = 60, 10, 1.5
    whole = make_tasks("high", range(20), T=T, d=3, n=n)
    s = float(whole.samples.reach.max())
    r = 2.0 * float(whole.samples.radius.max())  # W is the ball around all samples: no mean is farther from its rim
    M = memory_needed(error, sample_radius=s, model_radius=r, n=n, tasks=T - 1, p=0.05)
    assert 1 < M < n
    kept = simulate(make_tasks("high", range(20), T=T, d=3, n=n, m=M), V=1.0)
    bound = evaluate("memory_size", "a_priori", kept)
    assert (bound.lhs <= error).all()


def test_the_command() -> None:
    line = ["memory", "--sample-radius", "1", "--model-radius", "2", "--points", "1000", "--past-tasks", "10"]
    found = CliRunner().invoke(app, [*line, "--error", "0.1", "--json"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.output)
    assert told["memory"] == memory_needed(0.1, sample_radius=1.0, model_radius=2.0, n=1000, tasks=10)
    assert told["error"] <= 0.1
    other = CliRunner().invoke(app, [*line, "--memory-per-task", "100", "--json"])
    assert json.loads(other.output)["error"] == memory_error(100, sample_radius=1, model_radius=2, n=1000, tasks=10)
    words = CliRunner().invoke(app, [*line, "--error", "0.1"]).output
    assert "615 samples per task" in words


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: memory_error(0, sample_radius=1, model_radius=1), "M must"),
        (lambda: memory_error(5, sample_radius=1, model_radius=1, n=4), "between 1 and n=4"),
        (lambda: memory_needed(-1.0, sample_radius=1, model_radius=1), "error"),
        (lambda: memory_needed(0.0, sample_radius=1, model_radius=1), "endless"),
        (lambda: memory_needed(0.1, sample_radius=1, model_radius=1, p=1.5), "probability"),
        (lambda: evaluate("memory_size", "proved", simulate([[0.0]], V=1.0), p=0.0), "probability"),
        (lambda: from_points(np.zeros((2, 3, 1)), [1.0, 2.0, 3.0]), "Hessians"),
    ],
)
def test_bad_input_is_one_line(call, named: str) -> None:
    with pytest.raises(ColdError, match=named):
        call()
