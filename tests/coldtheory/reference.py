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
    weight: list[list[float]]
    forgetting: list[list[float]]
    eps: list[float]
    V_t: list[float]


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


def first_state(name, g):
    """What a controller keeps of a task that has just become a past task, with constraint g at the present model."""
    return {"queue": [0.0], "leaky": [0.0], "nupi": [0.0, 0.0], "yu-neely": [max(-g, 0.0)], "augmented": [0.0]}[name]


def weight_of(name, p, kept, g):
    """The weight of a past task whose constraint is g at the model (or iterate) in question."""
    if name == "yu-neely":
        return max(kept[0] + g, 0.0)
    if name == "augmented":
        return max(kept[0] + p["c"] * g, 0.0)
    return kept[0]


def next_state(name, p, kept, g):
    """What is kept after the step, with constraint g at the new model."""
    if name == "queue":
        return [max(kept[0] + g, 0.0)]
    if name == "leaky":
        return [max(kept[0] - p["a"] * kept[0] + g, 0.0)]
    if name == "nupi":
        mean = p["nu"] * kept[1] + (1 - p["nu"]) * g
        return [max(kept[0] + p["kappa_i"] * g + p["kappa_p"] * (mean - kept[1]), 0.0), mean]
    if name == "yu-neely":
        return [max(-g, kept[0] + g)]
    return [max(kept[0] + p["c"] * g, 0.0)]


def lowest(M, b):
    """min of 1/2 w'Mw - b'w for positive definite M."""
    return -0.5 * dot(b, solve(M, b))


def cold(  # noqa: PLR0915
    H, a, H_hat, a_hat, *, V, eta, delta, steps, reference, weights, w0, solver, L, l, window=None,  # noqa: E741
    eta_factor=0.5, V_schedule=None, controller="queue", parameters=None, convex=False,
):  # fmt: skip
    """Every quantity of `coldtheory.simulation`, for one run; eps_t only if the losses are `convex` enough."""
    T, d = len(a), len(w0)
    x = list(w0)
    models = []  # x_1 .. x_{t-1}
    kept = []  # per past task
    out = Reference([x], [[0.0] * T], [], [], [], [], [], [0.0], [], [], [], [], [])

    def compared(k):
        """hatPhi_k(ref_{t,k}), before x and models are those after task t."""
        candidates = {"previous": [x], "best": models[-window:] if window else models, "stored": models[k : k + 1]}
        return min(value(H_hat[k], a_hat[k], model) for model in candidates[reference])

    def constraints(model, target):
        return [value(H_hat[k], a_hat[k], model) - target[k] - delta for k in range(len(target))]

    def weigh(model, target):
        return [weight_of(controller, parameters, *pair) for pair in zip(kept, constraints(model, target), strict=True)]

    for t in range(1, T + 1):
        n = t - 1
        V_t = V * (V_schedule[n] if V_schedule else 1.0)
        share = {"mean": 1.0 / n if n else 0.0, "sum": 1.0, "none": 0.0}[weights]
        target = [compared(k) for k in range(n)]
        if n:
            kept.append(first_state(controller, constraints(x, target)[-1]))
        weight = weigh(x, target)
        beta = [share * b for b in weight]
        alpha = V_t * L + l * sum(beta)
        eta_t = eta_factor / alpha if eta == "auto" else eta
        g = gradient(H[t - 1], a[t - 1], x)
        out.grad_sq_before.append(dot(g, g))
        M = [
            [V_t * H[t - 1][i][j] + sum(beta[k] * H_hat[k][i][j] for k in range(n)) for j in range(d)] for i in range(d)
        ]
        b = [
            V_t * dot(H[t - 1][i], a[t - 1]) + sum(beta[k] * dot(H_hat[k][i], a_hat[k]) for k in range(n))
            for i in range(d)
        ]
        if solver == "exact":
            new = solve(M, b)
        else:
            new = list(x)
            for _ in range(steps):
                now = [share * v for v in weigh(new, target)] if controller == "augmented" else beta
                slope = [V_t * s for s in gradient(H[t - 1], a[t - 1], new)]
                for k in range(n):
                    past = gradient(H_hat[k], a_hat[k], new)
                    slope = [s + now[k] * p for s, p in zip(slope, past, strict=True)]
                new = [y - eta_t * s for y, s in zip(new, slope, strict=True)]
        d_k = constraints(new, target)
        Q = [state[0] for state in kept]
        out.Qbar.append(sum(weight) / n if n else 0.0)
        out.alpha.append(alpha)
        out.V_t.append(V_t)
        out.weight.append(weight + [0.0] * (T - n))
        out.Delta.append(sum(z * z for z in d_k) / (2 * n) if n else 0.0)
        out.cross.append(sum(Q[k] * d_k[k] for k in range(n)))
        kept = [next_state(controller, parameters, kept[k], d_k[k]) for k in range(n)]
        out.lyapunov.append(sum(state[0] ** 2 for state in kept) / (2 * n) if n else 0.0)
        out.Q.append([state[0] for state in kept] + [0.0] * (T - n))
        out.forgetting.append(
            [value(H_hat[k], a_hat[k], new) - value(H_hat[k], a_hat[k], models[k]) for k in range(n)] + [0.0] * (T - n)
        )
        if convex:
            quadratic = 0.5 * dot(new, [dot(row, new) for row in M]) - dot(b, new)
            out.eps.append(quadratic - lowest(M, b))
        x = new
        models.append(x)
        out.w.append(x)
        g = gradient(H[t - 1], a[t - 1], x)
        out.grad_sq_after.append(dot(g, g))
    return out
