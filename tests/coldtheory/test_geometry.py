"""Extreme values on balls against brute force, the ideal problem against its optimality conditions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

from coldtheory import ColdError, Quadratics, from_optima, from_regression, make_tasks
from coldtheory.geometry import (
    Ball,
    ideal_point,
    ideal_points,
    inf_inner_gradients,
    minimise_on_ball,
    project_on_ball,
    smallest_enclosing_ball,
    smallest_enclosing_balls,
    smallest_feasible_delta,
    sup_abs_difference,
)

pytestmark = pytest.mark.kernels

seeds = st.integers(0, 2**32 - 1)


def random_psd(rng, n, d, rank=None):
    root = rng.standard_normal((n, rank or d, d))
    return root.swapaxes(-1, -2) @ root / d


def points_in(ball, rng, n):
    """Points of one ball, half of them on the sphere."""
    way = rng.standard_normal((n, ball.center.size))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    way[: n // 2] *= rng.random((n // 2, 1)) ** (1 / ball.center.size)
    return ball.center + ball.radius * way


def objective(A, b, w):
    return 0.5 * np.vecdot(w, np.matvec(A, w)) - np.vecdot(b, w)


# Balls


def test_contains_takes_one_point_or_many_per_ball():
    ball = Ball.unchecked(np.zeros((3, 2)), np.array([1.0, 2.0, np.nan]))  # the last one of a diverged run
    assert ball.contains(np.ones((3, 2))).tolist() == [False, True, False]
    assert ball.contains(np.ones((3, 4, 2))).shape == (3, 4)
    assert Ball([0.0, 0.0], 1.0).contains([1.0, 0.0])


@pytest.mark.parametrize(
    ("center", "radius"),
    [
        ([0.0], -1.0),
        (0.0, 1.0),
        ([[0.0]], [1.0, 2.0]),
        ("a", 1.0),
        ([0.0], np.nan),
        ([np.inf], 1.0),
        ([1j], 1.0),
        (["1"], 1.0),
        ([[]], 1.0),
    ],
)
def test_bad_balls_are_refused(center, radius):
    with pytest.raises(ColdError):
        Ball(center, radius)


def test_projection_leaves_inner_points_alone_and_puts_others_on_the_sphere():
    rng = np.random.default_rng(0)
    w, c = rng.standard_normal((4, 100, 3)), rng.standard_normal((4, 1, 3))
    r = np.array([0.5, 1.0, 2.0, 9.0])[:, None]
    p = project_on_ball(w, c, r)
    far = np.linalg.norm(w - c, axis=-1) > r
    assert np.array_equal(p[~far], w[~far])
    assert np.allclose(np.linalg.norm(p - c, axis=-1)[far], np.broadcast_to(r, far.shape)[far], rtol=1e-14)
    assert np.array_equal(p[1], project_on_ball(w[1], c[1], 1.0))


# The trust-region problem


@settings(max_examples=150)
@given(seeds, st.integers(1, 6), st.sampled_from(["psd", "indefinite", "singular", "zero"]))
def test_trust_region_meets_its_optimality_conditions(seed, d, kind):
    """p minimises if and only if (A + mu I) p = -g, A + mu I >= 0, mu >= 0 and mu (|p| - R) = 0 for some mu."""
    rng = np.random.default_rng(seed)
    A = {
        "psd": random_psd(rng, 1, d)[0],
        "indefinite": random_psd(rng, 1, d)[0] - random_psd(rng, 1, d)[0],
        "singular": random_psd(rng, 1, d, rank=max(1, d // 2))[0],
        "zero": np.zeros((d, d)),
    }[kind]
    b, c, R = rng.standard_normal(d), rng.standard_normal(d), float(rng.uniform(0.01, 5))
    p = minimise_on_ball(A, b, c, R) - c
    slope = A @ (p + c) - b
    assert np.linalg.norm(p) <= R * (1 + 1e-12)
    mu = max(0.0, -(slope @ p) / (p @ p))
    size = np.abs(A).max() * (R + np.linalg.norm(c)) + np.linalg.norm(b)
    assert np.linalg.norm(slope + mu * p) <= 1e-10 * size
    assert np.linalg.eigvalsh(A)[0] + mu >= -1e-10 * size / R
    assert mu * (R - np.linalg.norm(p)) <= 1e-9 * size


def test_trust_region_hard_case_against_dense_search():
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    A = basis @ np.diag([-2.0, 1.0]) @ basis.T
    angle = np.linspace(0, 2 * np.pi, 200_001)
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    for weight in (0.0, 1e-18, 1e-9, 0.5, 2.9, 3.1):
        b = basis @ np.array([0.0, weight]) + 1e-14 * basis[:, 0]
        w = minimise_on_ball(A, b, np.zeros(2), 1.0)
        assert np.linalg.norm(w) == pytest.approx(1.0, abs=1e-12)
        assert objective(A, b, w) <= objective(A, b, rim).min() + 1e-12
        assert objective(A, b, w) >= objective(A, b, rim).min() - 1e-8


def test_trust_region_exact_hard_case_with_double_lowest_eigenvalue():
    A, b = np.diag([-1.0, -1.0, 2.0]), np.array([0.0, 0.0, 1.0])
    w = minimise_on_ball(A, b, np.zeros(3), 2.0)
    assert w[2] == pytest.approx(1 / 3)
    assert np.linalg.norm(w) == pytest.approx(2.0)


def test_trust_region_ignores_rounding_along_flat_directions():
    rng = np.random.default_rng(2)
    H, a = random_psd(rng, 1, 5, rank=2)[0], rng.standard_normal(5)
    w = minimise_on_ball(H, H @ a, np.zeros(5), 1e6)
    assert np.linalg.norm(w) <= 2 * np.linalg.norm(a)
    assert objective(H, H @ a, w) == pytest.approx(-0.5 * a @ H @ a, rel=1e-12)


def test_trust_region_batch_equals_loop_and_keeps_nan_to_itself():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((3, 4, 5, 5))
    A, b, c = A + A.swapaxes(-1, -2), rng.standard_normal((3, 4, 5)), rng.standard_normal((3, 1, 5))
    R = rng.random((3, 4)) + 0.1
    A[0, 0, 1, 1], b[1, 2, 0], R[2, 3] = np.nan, np.inf, np.nan
    batch = minimise_on_ball(A, b, c, R)
    bad = np.zeros((3, 4), bool)
    bad[0, 0] = bad[1, 2] = bad[2, 3] = True
    assert np.array_equal(np.isnan(batch).all(axis=-1), bad)
    assert not np.isnan(batch[~bad]).any()
    for i, j in np.argwhere(~bad):
        assert np.allclose(batch[i, j], minimise_on_ball(A[i, j], b[i, j], c[i, 0], R[i, j]), rtol=0, atol=1e-12)


def test_radius_zero_is_the_centre():
    assert np.array_equal(minimise_on_ball(np.eye(2), np.ones(2), np.array([3.0, 4.0]), 0.0), [3.0, 4.0])


# Suprema and infima


def losses(rng, n, d, kind):
    a, offsets = rng.standard_normal((n, d)), rng.random(n)
    if kind == "identity":
        return Quadratics.of(a, None, offsets)
    if kind == "scalar":
        return Quadratics.of(a, rng.random(n) * 3 * (rng.random(n) > 0.2), offsets)
    return Quadratics.of(a, random_psd(rng, n, d, rank=max(1, d - 1)), offsets)


@settings(max_examples=60)
@given(seeds, st.integers(1, 4), st.sampled_from(["identity", "scalar", "matrix"]))
def test_sup_is_never_exceeded_and_is_reached(seed, d, kind):
    rng = np.random.default_rng(seed)
    one, two = losses(rng, 3, d, kind), losses(rng, 3, d, kind)
    ball = Ball(rng.standard_normal(d), rng.uniform(0.1, 3))
    sup = sup_abs_difference(one, two, ball)

    def gap(w):
        return np.abs(one.values(w) - two.values(w))

    values = gap(points_in(ball, rng, 4000))
    assert (values <= sup * (1 + 1e-12) + 1e-12).all()
    reached = np.zeros(3)
    for sign in (1.0, -1.0):  # projected gradient ascent on either sign, from several starts, all pairs at once
        w = np.repeat(points_in(ball, rng, 20)[:, None, :], 3, axis=1)
        steep = np.linalg.norm(one.gradients_at(w) - two.gradients_at(w), axis=-1).max()
        step = 1.0 / (np.abs(one.matrices() - two.matrices()).sum(axis=(-1, -2)).max() + 0.02 * steep / ball.radius)
        for _ in range(600):
            uphill = sign * (one.gradients_at(w) - two.gradients_at(w))
            w = project_on_ball(w + step * uphill, ball.center, ball.radius)
        reached = np.maximum(reached, (sign * (one.at(w) - two.at(w))).max(axis=0))
    assert (reached <= sup * (1 + 1e-12) + 1e-12).all()
    assert (reached >= sup * (1 - 1e-3) - 1e-9).all()


@settings(max_examples=60)
@given(seeds, st.integers(1, 4), st.sampled_from(["identity", "scalar", "matrix"]))
def test_rho_is_a_lower_bound_and_is_reached(seed, d, kind):
    rng = np.random.default_rng(seed)
    one, two = losses(rng, 2, d, kind), losses(rng, 3, d, kind)
    ball = Ball(rng.standard_normal(d), rng.uniform(0.1, 2))
    rho = inf_inner_gradients(one, two, ball)
    w = points_in(ball, rng, 3000)
    inner = np.einsum("std,skd->stk", one.gradients(w), two.gradients(w))
    assert (inner >= rho - 1e-10 * (1 + np.abs(rho))).all()
    t, k = np.unravel_index(rng.integers(rho.size), rho.shape)

    def at(v):
        v = project_on_ball(v, ball.center, ball.radius)[None]
        return float(one.gradients(v)[0, t] @ two.gradients(v)[0, k])

    found = min(minimize(at, w[i], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).fun
                for i in np.argsort(inner[:, t, k])[:2])  # fmt: skip
    assert found <= rho[t, k] + 2e-3 * (1 + abs(rho[t, k]))


def test_scalar_and_matrix_storage_agree():
    rng = np.random.default_rng(4)
    one, two = losses(rng, 6, 5, "scalar"), losses(rng, 6, 5, "scalar")
    as_matrix = [Quadratics(q.optima, q.matrices(), q.offsets) for q in (one, two)]
    for R in (0.0, 0.3, 4.0):
        ball = Ball(rng.standard_normal(5), R)
        assert np.allclose(sup_abs_difference(one, two, ball), sup_abs_difference(*as_matrix, ball), rtol=1e-11)
        assert np.allclose(
            inf_inner_gradients(one, two, ball), inf_inner_gradients(*as_matrix, ball), rtol=1e-10, atol=1e-10
        )
    with pytest.raises(ColdError, match="alike"):
        sup_abs_difference(one, as_matrix[1], ball)


def test_identity_closed_forms():
    rng = np.random.default_rng(5)
    a, c, R = rng.standard_normal((2, 4)), rng.standard_normal(4), 0.7
    one, two = Quadratics.of(a[:1]), Quadratics.of(a[1:])
    m, gap = a.mean(axis=0), a[1] - a[0]
    assert sup_abs_difference(one, two, Ball(c, R))[0] == pytest.approx(
        abs((c - m) @ gap) + R * np.linalg.norm(gap), rel=1e-14
    )
    rho = max(np.linalg.norm(m - c) - R, 0) ** 2 - gap @ gap / 4
    assert inf_inner_gradients(one, two, Ball(c, R))[0, 0] == pytest.approx(rho, rel=1e-13)


def test_batched_balls_equal_a_loop():
    rng = np.random.default_rng(6)
    for kind in ("scalar", "matrix"):
        one, two = losses(rng, 4, 3, kind), losses(rng, 4, 3, kind)
        balls = Ball(rng.standard_normal((5, 3)), rng.random(5))
        for function in (sup_abs_difference, inf_inner_gradients):
            batch = function(one, two, balls)
            loop = np.stack([function(one, two, Ball(c, r)) for c, r in zip(balls.center, balls.radius, strict=True)])
            assert np.allclose(batch, loop, rtol=1e-12, atol=1e-12)


# The smallest enclosing ball


def assert_smallest(points, ball, rtol=1e-10):
    """Inside, and the centre a convex combination of points on the sphere: no ball can be smaller.

    With weights lambda, any centre c has max |c - p|^2 >= sum lambda |c - p|^2, least at c = sum lambda p.
    """
    assert ball.contains(points, rtol=0.0).all()
    R = float(ball.radius)
    if len(np.unique(points, axis=0)) == 1:
        assert 1e-15 * np.abs(points).max() >= R
        return
    distance = np.linalg.norm(points - ball.center, axis=1)
    rim = points[distance >= R * (1 - 1e-7)]
    offset = (rim - ball.center) / (R or 1.0)
    weights = nnls(np.vstack([offset.T, np.ones(len(rim))]), np.r_[np.zeros(points.shape[1]), 1.0])[0]
    weights /= weights.sum()
    mean = weights @ offset
    lower = weights @ np.square(offset - mean).sum(axis=1)  # a lower bound of the squared radius, in units of R^2
    assert lower >= 1 - 2 * rtol


@settings(max_examples=120)
@given(seeds, st.integers(1, 40), st.integers(1, 12), st.sampled_from(["normal", "twins", "line", "sphere", "grid"]))
def test_smallest_enclosing_ball_is_optimal(seed, n, d, kind):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, d))
    if kind == "twins":
        points = np.repeat(points, 3, axis=0)
    elif kind == "line":
        points = points[:, :1] * rng.standard_normal(d) + rng.standard_normal(d)
    elif kind == "sphere":
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    elif kind == "grid":
        points = rng.integers(0, 2, (n, d)).astype(float)
    assert_smallest(points, smallest_enclosing_ball(points))


def test_enclosing_ball_of_one_point_and_of_equal_points():
    one = smallest_enclosing_ball([[1.0, 2.0]])
    assert np.array_equal(one.center, [1.0, 2.0])
    assert one.radius == 0.0
    many = smallest_enclosing_ball(np.full((7, 3), 0.1))
    assert many.radius <= 1e-16
    assert many.contains(np.full((7, 3), 0.1)).all()


def test_enclosing_ball_far_from_the_origin():
    points = np.random.default_rng(7).standard_normal((60, 10))
    near, far = smallest_enclosing_ball(points), smallest_enclosing_ball(points + 1e6)
    assert far.radius == pytest.approx(near.radius, rel=2e-10)
    assert far.contains(points + 1e6, rtol=0.0).all()


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e120])
def test_enclosing_ball_scales(scale):
    points = np.random.default_rng(8).standard_normal((30, 4))
    near, scaled = smallest_enclosing_ball(points), smallest_enclosing_ball(points * scale)
    assert scaled.radius == pytest.approx(near.radius * scale, rel=1e-10)


def test_enclosing_balls_in_a_batch_equal_a_loop():
    points = np.random.default_rng(9).standard_normal((6, 25, 5))
    points[0] = 1.0
    batch = smallest_enclosing_balls(points)
    for i, p in enumerate(points):
        assert batch.radius[i] == pytest.approx(float(smallest_enclosing_ball(p).radius), rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("points", [np.zeros((0, 2)), np.zeros(3), [[np.nan]], "x", [[1.0], [1.0, 2.0]]])
def test_bad_points_are_refused(points):
    with pytest.raises(ColdError):
        smallest_enclosing_ball(points)


# The ideal problem


def test_smallest_feasible_delta_is_half_the_squared_radius():
    tasks = make_tasks("high", 0, T=40)
    ball = smallest_enclosing_ball(tasks.phi.optima[:-1])
    assert smallest_feasible_delta(tasks.phi_hat) == pytest.approx(0.5 * float(ball.radius) ** 2, rel=1e-10)
    assert smallest_feasible_delta(tasks.phi_hat, upto=1) == 0.0
    assert smallest_feasible_delta(tasks.phi_hat, upto=0) == 0.0


def highest_dual(lagrangian, n):
    """The largest value of a dual function over multipliers >= 0; any value that it takes is a lower bound.

    `lagrangian` takes multipliers to the Lagrangian's least value over the primal variables, and to the constraints'
    values at the point where it is taken, which are the dual's gradient. That the maximiser is found is no premise:
    from one that is not, the bound is too low and the test that uses it fails.
    """

    def negative(multipliers):
        value, gradient = lagrangian(multipliers)
        return -value, -gradient

    options = {"ftol": 1e-16, "gtol": 1e-13, "maxiter": 5000, "maxfun": 10_000, "maxcor": 20}
    found = minimize(negative, np.ones(n), jac=True, method="L-BFGS-B", bounds=[(0, None)] * n, options=options)
    return -found.fun


def least_point(H, a, weights):
    """argmin_w sum_k weights_k 1/2 (w - a_k)' H_k (w - a_k)."""
    return np.linalg.solve(np.einsum("k,kij->ij", weights, H), np.einsum("k,kij,kj->i", weights, H, a))


@pytest.mark.parametrize("seed", range(8))
def test_smallest_feasible_delta_of_matrices_against_a_dual_bound(seed):
    """min tau^2/2 subject to q_k(w) <= tau has the Lagrangian tau^2/2 + sum_k theta_k (q_k(w) - tau), which is least
    at tau = sum theta: every theta >= 0 bounds the smallest tau from below."""
    rng = np.random.default_rng(seed)
    n, d = 8, 3
    q = Quadratics.of(rng.standard_normal((n, d)), random_psd(rng, n, d, rank=d if seed % 2 else 2))
    smallest = smallest_feasible_delta(q, upto=n)

    def lagrangian(theta):
        some = theta + 1e-300  # a point is needed even where all multipliers are 0
        heights = q.values(least_point(q.hessians, q.optima, some)[None])[0]
        return theta @ heights - 0.5 * theta.sum() ** 2, heights - theta.sum()

    bound = np.sqrt(2.0 * highest_dual(lagrangian, n))
    assert bound * (1 - 1e-12) <= smallest <= bound * (1 + 1e-7)


def rounding(hessian, gap):
    """How far two ways to compute 1/2 gap' H gap may differ: see `Losses.ceiling`."""
    size = np.abs(gap)
    return 0.5 * np.finfo(float).eps * (len(gap) + 3) * float(size @ np.abs(hessian) @ size)


def exactly(hessian, optimum, w):
    """1/2 (w - a)' H (w - a) without any rounding."""
    g = [Fraction(x) - Fraction(y) for x, y in zip(w.tolist(), optimum.tolist(), strict=True)]
    rows = [sum(Fraction(h) * y for h, y in zip(row, g, strict=True)) for row in hessian.tolist()]
    return sum(x * y for x, y in zip(g, rows, strict=True)) / 2


def assert_kkt(phi, hat, t, delta, solution, rtol=1e-8):
    """Feasible, non-negative multipliers, stationary, and no duality gap: a proof of optimality."""
    w, lam = solution.w_star, solution.multipliers
    past = Quadratics(hat.optima, hat.hessians, np.zeros(hat.T))
    q = past.values(w[None])[0, : t - 1]
    size = max(float(solution.value - phi.offsets[t - 1]), 1e-3 * delta)
    assert (q <= delta).all()
    assert solution.violation <= 0
    turned = Quadratics(past.optima[:, ::-1], past.matrices()[:, ::-1, ::-1], past.offsets)  # sums from the other end
    assert (turned.values(w[None, ::-1])[0, : t - 1] <= delta).all()
    assert all(exactly(past.matrices()[k], past.optima[k], w) <= Fraction(delta) for k in np.argsort(-q)[: 2 * len(w)])
    assert (lam >= 0).all()
    slope = phi.gradients(w[None])[0, t - 1] + lam @ hat.gradients(w[None])[0, : t - 1]
    pull = np.linalg.norm(phi.gradients(w[None])[0, t - 1])
    assert np.linalg.norm(slope) <= 1e-6 * (pull + 1e-3)
    assert lam @ (delta - q) <= rtol * size
    assert -1e-15 * size <= solution.gap <= rtol * size
    again = phi.values(w[None])[0, t - 1]
    off = rounding(phi.matrices()[t - 1], w - phi.optima[t - 1]) + np.finfo(float).eps * again  # the offset's sum
    assert abs(solution.value - again) <= off


@pytest.mark.parametrize("kind", ["identity", "scalar", "matrix", "low rank"])
@pytest.mark.parametrize("seed", range(55))
def test_ideal_point_meets_the_kkt_conditions(seed, kind):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 30)), int(rng.integers(1, 9))
    a, b = rng.standard_normal((n, d)), rng.standard_normal((n, d))
    if kind == "identity":
        h = k = None
    elif kind == "scalar":
        h, k = rng.random(n) + 0.01, rng.random(n) + 0.01
    else:
        rank = d if kind == "matrix" else max(1, d // 2)
        h, k = random_psd(rng, n, d, rank) + 1e-3 * np.eye(d), random_psd(rng, n, d, rank)
    a[0] *= 10.0 ** rng.uniform(-2, 3)  # the current task may be far away
    phi, hat = Quadratics.of(a[::-1], None if h is None else h[::-1], rng.random(n)), Quadratics.of(b, k, rng.random(n))
    smallest = smallest_feasible_delta(hat)
    delta = max(smallest, 1e-3) * (1 + 10.0 ** rng.uniform(-4, 1))
    assert_kkt(phi, hat, n, delta, ideal_point(phi, hat, n, delta))


@pytest.mark.parametrize("seed", range(10))
def test_ideal_point_against_a_dual_bound(seed):
    """The solution is feasible, and a dual function written down afresh reaches its value from below."""
    rng = np.random.default_rng(seed)
    n, d = 7, 3
    phi = Quadratics.of(2 * rng.standard_normal((n, d)), random_psd(rng, n, d) if seed % 2 else None)
    delta = smallest_feasible_delta(phi) * 1.3
    solution = ideal_point(phi, phi, n, delta)

    def lagrangian(multipliers):
        weights = np.append(multipliers, 1.0)
        values = phi.values(least_point(phi.matrices(), phi.optima, weights)[None])[0]
        return values @ weights - delta * multipliers.sum(), values[:-1] - delta

    bound = highest_dual(lagrangian, n - 1)
    assert (phi.values(solution.w_star[None])[0, :-1] <= delta).all()
    assert bound * (1 - 1e-12) <= solution.value <= bound * (1 + 1e-7)


@pytest.mark.parametrize("regime", ["low", "high", "conflict"])
@pytest.mark.parametrize("above", [1e-4, 0.05, 10.0])
def test_ideal_points_of_the_papers_toy(regime, above):
    tasks = make_tasks(regime, 1)
    delta = smallest_feasible_delta(tasks.phi_hat) * (1 + above)
    every = ideal_points(tasks, delta)
    assert np.array_equal(every.w_star[0], tasks.phi.optima[0])
    assert (every.violation <= 0).all()
    assert (every.multipliers >= 0).all()
    assert (every.gap <= 1e-8 * np.maximum(every.value, 1e-3 * delta)).all()
    for t in (2, 30, 150):
        one = ideal_point(tasks.phi, tasks.phi_hat, t, delta)
        assert one.value == pytest.approx(every.value[t - 1], rel=1e-8, abs=1e-11 * delta)
        assert_kkt(tasks.phi, tasks.phi_hat, t, delta, one)


def test_ideal_points_of_overparametrised_regression():
    """Fewer samples than weights: every Hessian is singular, and all tasks together have a common solution."""
    rng = np.random.default_rng(10)
    truth = rng.standard_normal(12)
    X = rng.standard_normal((4, 2, 12))
    tasks = from_regression(X, X @ truth)
    assert smallest_feasible_delta(tasks.phi_hat) <= 1e-10
    every = ideal_points(tasks, 1e-3)
    assert (every.value <= 1e-9).all()
    assert (every.violation <= 0).all()


def test_an_infeasible_tolerance_names_the_smallest_one():
    tasks = from_optima([[0.0], [2.0], [9.0]])
    with pytest.raises(ColdError, match=r"infeasible for delta' = 0\.4: .* 0\.5"):
        ideal_points(tasks, 0.4)
    with pytest.raises(ColdError, match="infeasible"):
        ideal_point(tasks.phi, tasks.phi_hat, 3, 0.5)
    assert ideal_point(tasks.phi, tasks.phi_hat, 1, 0.0).w_star == 0.0


@pytest.mark.parametrize("delta", [-1.0, np.nan, np.inf])
def test_bad_tolerances_are_refused(delta):
    phi = Quadratics.of([[0.0], [1.0]])
    with pytest.raises(ColdError, match="delta_prime"):
        ideal_point(phi, phi, 2, delta)


def test_ideal_problem_wants_one_stream_and_a_task_of_it():
    tasks = make_tasks("low", range(2), T=5, d=2)
    with pytest.raises(ColdError, match="one stream"):
        ideal_points(tasks, 1.0)
    with pytest.raises(ColdError, match="one stream"):
        smallest_feasible_delta(tasks.phi)
    with pytest.raises(ColdError, match="between 1 and 5"):
        ideal_point(tasks[0].phi, tasks[0].phi_hat, 6, 1.0)
    with pytest.raises(ColdError, match="past tasks"):
        smallest_feasible_delta(tasks[0].phi, upto=6)


def test_ideal_problem_of_a_single_task():
    tasks = from_optima([[3.0, 4.0]])
    assert smallest_feasible_delta(tasks.phi_hat) == 0.0
    assert np.array_equal(ideal_points(tasks, 1.0).w_star, [[3.0, 4.0]])
