"""COLD written down from its definition, in plain Python: loops over numbers, no arrays, no shortcuts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Reference:
    w: list[list[float]]
    Q: list[list[float]]
    grad_sq_before: list[float]
    grad_sq_after: list[float]
    Qbar: list[float]
    Delta: list[float]
    alpha: list[float]
    lyapunov: list[float]
    cross: list[float]


def dot(u, v):
    return sum(a * b for a, b in zip(u, v, strict=True))


def gradient(H, a, w):
    gap = [wi - ai for wi, ai in zip(w, a, strict=True)]
    return [dot(row, gap) for row in H]


def value(H, a, w):
    gap = [wi - ai for wi, ai in zip(w, a, strict=True)]
    return 0.5 * dot(gap, gradient(H, a, w))


def solve(M, b):
    """Gaussian elimination with pivoting."""
    n = len(b)
    rows = [[*row, rhs] for row, rhs in zip(M, b, strict=True)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i], strict=True)]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))) / rows[i][i]
    return x


def cold(H, a, H_hat, a_hat, *, V, eta, delta, steps, reference, weights, w0, solver, L, l, window=None):  # noqa: E741
    """Every quantity of `coldtheory.simulation`, for one run."""
    T, d = len(a), len(w0)
    x = list(w0)
    models = []  # x_1 .. x_{t-1}
    Q = [0.0] * T
    out = Reference([x], [list(Q)], [], [], [], [], [], [0.0], [])
    for t in range(1, T + 1):
        n = t - 1
        share = {"mean": 1.0 / n if n else 0.0, "sum": 1.0, "none": 0.0}[weights]
        beta = [share * Q[k] for k in range(n)]
        alpha = V * L + l * sum(beta)
        eta_t = 1.0 / (2.0 * alpha) if eta == "auto" else eta
        g = gradient(H[t - 1], a[t - 1], x)
        out.grad_sq_before.append(dot(g, g))
        if solver == "exact":
            M = [
                [V * H[t - 1][i][j] + sum(beta[k] * H_hat[k][i][j] for k in range(n)) for j in range(d)]
                for i in range(d)
            ]
            b = [
                V * dot(H[t - 1][i], a[t - 1]) + sum(beta[k] * dot(H_hat[k][i], a_hat[k]) for k in range(n))
                for i in range(d)
            ]
            new = solve(M, b)
        else:
            new = list(x)
            for _ in range(steps):
                slope = [V * s for s in gradient(H[t - 1], a[t - 1], new)]
                for k in range(n):
                    past = gradient(H_hat[k], a_hat[k], new)
                    slope = [s + beta[k] * p for s, p in zip(slope, past, strict=True)]
                new = [y - eta_t * s for y, s in zip(new, slope, strict=True)]
        candidates = [x] if reference == "previous" else models[-window:] if window else models
        d_k = []
        for k in range(n):
            best = min(value(H_hat[k], a_hat[k], model) for model in candidates)
            d_k.append(value(H_hat[k], a_hat[k], new) - best - delta)
        out.Qbar.append(sum(Q[:n]) / n if n else 0.0)
        out.alpha.append(alpha)
        out.Delta.append(sum(z * z for z in d_k) / (2 * n) if n else 0.0)
        out.cross.append(sum(Q[k] * d_k[k] for k in range(n)))
        for k in range(n):
            Q[k] = max(Q[k] + d_k[k], 0.0)
        out.lyapunov.append(sum(Q[k] ** 2 for k in range(n)) / (2 * n) if n else 0.0)
        out.Q.append(list(Q))
        x = new
        models.append(x)
        out.w.append(x)
        g = gradient(H[t - 1], a[t - 1], x)
        out.grad_sq_after.append(dot(g, g))
    return out
