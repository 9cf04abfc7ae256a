"""Both sides of the theorems on controllers and on every T at once, in plain Python: loops, written from the
statements.

Losses are h/2 |w - a|^2 in any dimension, so that DPP_t has one curvature. `without` names a mutant: a part of a
formula that is left out or changed, so that tests can see that they would notice.
"""

from __future__ import annotations

from math import ceil, sqrt

Point = list[float]


def square(x: Point, y: Point) -> float:
    return sum((p - q) ** 2 for p, q in zip(x, y, strict=True))


class Plain:
    """One run: models, constraints, weights and queues. Lists over t and k begin with an unused entry 0."""

    def __init__(self, tasks: dict, settings: dict, w_star: list[Point], delta_prime: float) -> None:
        self.a, self.h = [[], *tasks["optima"]], [0.0, *tasks["hessians"]]
        self.b, self.g = [[], *tasks["memory_optima"]], [0.0, *tasks["memory_hessians"]]
        self.T, self.V, self.delta = len(self.a) - 1, [0.0, *settings["V_t"]], settings["delta"]
        self.kind, self.leak, self.weights = settings["kind"], settings.get("leak", 0.0), settings["weights"]
        self.eta, self.steps = settings.get("eta"), settings.get("steps", 1)
        self.star, self.prime = [[], *w_star], delta_prime
        T = self.T
        self.x = [settings["w0"]] + [[]] * T
        self.Q = [[0.0] * (T + 1) for _ in range(T + 1)]
        self.weight = [[0.0] * (T + 1) for _ in range(T + 1)]
        self.eps = [0.0] * (T + 1)
        for t in range(1, T + 1):
            self._task(t)

    def phi(self, t: int, w: Point) -> float:
        return 0.5 * self.h[t] * square(w, self.a[t])

    def hat(self, k: int, w: Point) -> float:
        return 0.5 * self.g[k] * square(w, self.b[k])

    def F(self, k: int, t: int) -> float:
        return self.hat(k, self.x[t]) - self.hat(k, self.x[k])

    def c(self, k: int, t: int) -> float:
        """The constraint g_k[t]; right after its own task it is -delta."""
        return self.F(k, t) - self.delta

    def _task(self, t: int) -> None:
        for k in range(1, t):
            if self.kind == "yu-neely":
                before = self.delta if k == t - 1 else self.Q[t - 1][k]
                self.weight[t][k] = max(before + self.c(k, t - 1), 0.0)
            else:
                self.weight[t][k] = self.Q[t - 1][k]
        share = 1.0 / (t - 1) if self.weights == "mean" and t > 1 else 1.0
        beta = [share * w for w in self.weight[t]]
        d = len(self.a[t])
        curve = self.V[t] * self.h[t] + sum(beta[k] * self.g[k] for k in range(1, t))
        pull = [
            self.V[t] * self.h[t] * self.a[t][i] + sum(beta[k] * self.g[k] * self.b[k][i] for k in range(1, t))
            for i in range(d)
        ]
        if self.eta is None:
            self.x[t] = [p / curve for p in pull]
        else:
            y = list(self.x[t - 1])
            for _ in range(self.steps):
                y = [y[i] - self.eta * (curve * y[i] - pull[i]) for i in range(d)]
            self.x[t] = y
        self.eps[t] = 0.5 * curve * square(self.x[t], [p / curve for p in pull])
        for k in range(1, t):
            now = self.c(k, t)
            if self.kind == "yu-neely":
                before = self.delta if k == t - 1 else self.Q[t - 1][k]
                self.Q[t][k] = max(before + now, -now)
            else:
                self.Q[t][k] = max((1.0 - self.leak) * self.Q[t - 1][k] + now, 0.0)

    # -----------------------------------------------------------------------------------------------
    # The parts of the formulas

    def past(self, t: int) -> int:
        return max(t - 1, 1)

    def Delta(self, t: int) -> float:
        return sum(self.c(k, t) ** 2 for k in range(1, t)) / (2 * self.past(t))

    def unclipped(self, t: int) -> float:
        total = 0.0
        for k in range(1, t):
            d = self.c(k, t)
            total += d * d - min(self.Q[t - 1][k] + d, 0.0) ** 2
        return total / (2 * self.past(t))

    def moved(self, t: int) -> float:
        total = sum((self.hat(k, self.x[t]) - self.hat(k, self.x[t - 1])) ** 2 for k in range(1, t))
        return total / (2 * self.past(t))

    def Wbar(self, t: int) -> float:
        return sum(self.weight[t][1:t]) / self.past(t)

    def lyapunov(self, t: int) -> float:
        return sum(self.Q[t][k] ** 2 for k in range(1, t)) / (2 * self.past(t))

    def psi(self, t: int) -> float:
        return sum(self.Q[t][k] ** 2 - self.c(k, t) ** 2 for k in range(1, t)) / (2 * self.past(t))

    def compared(self, t: int, without: str = "", *, summed: bool = False) -> float:
        gap = self.V[t] * (self.phi(t, self.star[t]) - self.phi(t, self.x[t]))
        relief = -(self.delta - self.prime) * self.Wbar(t) * (self.past(t) if summed else 1)
        parts = {"eps": self.eps[t], "gap": gap, "relief": relief}
        if without == "gap earlier" and t > 1:
            parts["gap"] = self.V[t - 1] * (self.phi(t - 1, self.star[t - 1]) - self.phi(t - 1, self.x[t - 1]))
        if without == "sign of relief":
            parts["relief"] = -relief
        parts.pop(without, None)
        return sum(parts.values())

    def mean_forgetting(self, s: int) -> float:
        return sum(self.F(k, t) for t in range(2, s + 1) for k in range(1, t)) / max(s * (s - 1) / 2, 1)

    def total(self, k: int, s: int) -> float:
        return sum(self.F(k, t) - self.delta for t in range(k + 1, s + 1))

    # -----------------------------------------------------------------------------------------------
    # Energies

    def uniform(self, s: int, without: str = "") -> float:
        """B_s of forgetting_uniform."""
        residual = 0.0 if without == "residual" else 1.0
        return sum(residual * self.Delta(t) + self.compared(t, without) for t in range(1, s + 1))

    def uniform_sharp(self, s: int, without: str = "") -> float:
        if s == 1:
            return self.compared(1, without)
        parts = ((t - 1) / (s - 1) * (self.unclipped(t) + self.compared(t, without)) for t in range(2, s + 1))
        return sum(parts)

    def uniform_sum(self, s: int, without: str = "") -> float:
        """C_s, for sum weights."""
        parts = ((t - 1) * self.unclipped(t) + self.compared(t, without, summed=True) for t in range(1, s + 1))
        return sum(parts)

    def leaky(self, s: int, without: str = "") -> float:
        """B_s of leaky_queue."""
        a, B = self.leak, 0.0
        keep = 1.0 if without == "contraction" else (1 - a) if without == "one power" else (1 - a) ** 2
        share = 1.0 if without == "factor 1-a" else 1 - a
        for t in range(1, s + 1):
            residual = 0.0 if without == "residual" else self.Delta(t)
            B = keep * B + residual + share * self.compared(t, without)
        return B

    def yu_neely(self, s: int, without: str = "", *, summed: bool = False, last: bool = True) -> float:
        """E_s of yu_neely, or D_s, without its last part."""
        E = 0.0
        for t in range(1, s + 1):
            factor = self.past(t) if summed else 1
            E += factor * (0.0 if without == "movement" else self.moved(t)) + self.compared(t, without, summed=summed)
        if not last or without == "last constraint":
            return E
        return E + sum(self.c(k, s) ** 2 for k in range(1, s)) / 2 / self.past(s)

    # -----------------------------------------------------------------------------------------------
    # Sides of the forms, (lhs, rhs) by s, or by (s, k)

    def sides(self, id_: str, form: str, without: str = "") -> list[tuple[float, float]]:
        found: list[tuple[float, float]] = getattr(self, f"_{id_}_{form}")(without)
        return found

    def _forgetting_uniform_proved(self, m: str, energy: str = "uniform") -> list[tuple[float, float]]:
        known = getattr(self, energy)
        out = [(0.0, 0.0)]
        for s in range(2, self.T + 1):
            delta = 0.0 if m == "delta" else self.delta
            over = 1 / s if m == "half the excess" else 2 / s
            out.append((self.mean_forgetting(s), delta + over * root(known(s, m))))
        return out

    def _forgetting_uniform_sharp(self, m: str) -> list[tuple[float, float]]:
        return self._forgetting_uniform_proved(m, "uniform_sharp")

    def _forgetting_uniform_most(self, m: str, theta: float = 0.1) -> list[tuple[float, float]]:
        out = [(0.0, root(self.uniform_sharp(1)) / sqrt(theta))]
        for s in range(2, self.T + 1):
            largest = sorted((self.total(k, s) for k in range(1, s)), reverse=True)
            rank = max(ceil(theta * (s - 1) - 1e-9), 1)
            out.append((largest[rank - 1], sqrt(2 * max(self.uniform_sharp(s, m), 0) / theta)))
        return out

    def _forgetting_uniform_each_task(self, m: str) -> list[tuple[float, float]]:
        def limit(s: int, _: int) -> float:
            if self.weights == "sum":
                return root(self.uniform_sum(s, m))
            return sqrt(self.past(s)) * root(self.uniform_sharp(s, m))

        return self._per_task(limit)

    def _leaky_queue_proved(self, m: str) -> list[tuple[float, float]]:
        out = [(0.0, 0.0)]
        for s in range(2, self.T + 1):
            leak = sum((t - 2) * root(self.leaky(t - 1, m)) for t in range(3, s + 1)) * 2 * self.leak / (s * (s - 1))
            leak = 0.0 if m == "leak" else leak
            delta = 0.0 if m == "delta" else self.delta
            out.append((self.mean_forgetting(s), delta + 2 / s * root(self.leaky(s, m)) + leak))
        return out

    def _leaky_queue_queue(self, m: str) -> list[tuple[float, float]]:
        return [(sum(self.Q[s][1:s]) / self.past(s), root(self.leaky(s, m))) for s in range(1, self.T + 1)]

    def _leaky_queue_gap(self, m: str) -> list[tuple[float, float]]:
        a, V, T = self.leak, self.V[1], self.T
        lhs = sum(self.phi(t, self.x[t]) - self.phi(t, self.star[t]) for t in range(1, T + 1)) / T
        over = 1 / (V * T) if m == "factor 1-a" else 1 / ((1 - a) * V * T)
        rhs = 0.0 if m == "residual" else over * sum(self.Delta(t) for t in range(1, T + 1))
        rhs += sum(self.eps) / (V * T)
        rhs -= (self.delta - self.prime) * sum(self.Wbar(t) for t in range(1, T + 1)) / (V * T)
        rhs -= over * (1 - (1 - a) ** 2) * sum(self.lyapunov(t - 1) for t in range(2, T + 1))
        rhs -= over * self.lyapunov(T)
        return [(lhs, rhs)]

    def _leaky_queue_violation(self, m: str) -> list[tuple[float, float]]:
        out = [(0.0, 0.0)]
        for s in range(2, self.T + 1):
            waiting = sum(self.Q[t - 1][k] for t in range(2, s + 1) for k in range(1, t))
            leak = 0.0 if m == "leak" else self.leak * waiting
            last = 0.0 if m == "last queues" else sum(self.Q[s][1:s])
            out.append((self.mean_forgetting(s), self.delta + 2 * (last + leak) / (s * (s - 1))))
        return out

    def _yu_neely_proved(self, m: str) -> list[tuple[float, float]]:
        out = [(0.0, 0.0)]
        for s in range(2, self.T + 1):
            delta = 0.0 if m == "delta" else self.delta
            start = 0.0 if m == "head start" else 2 * self.delta / s
            out.append((self.mean_forgetting(s), delta - start + 2 / s * root(self.yu_neely(s, m))))
        return out

    def _yu_neely_drift(self, m: str) -> list[tuple[float, float]]:
        out = []
        for t in range(1, self.T + 1):
            rhs = 0.0 if m == "movement" else self.moved(t)
            rhs += sum(self.weight[t][k] * self.c(k, t) for k in range(1, t)) / self.past(t)
            if t > 2 and m != "potential before":
                rhs += (t - 2) / (t - 1) * self.psi(t - 1)
            out.append((self.psi(t), rhs))
        return out

    def _yu_neely_gap(self, m: str) -> list[tuple[float, float]]:
        V, T = self.V[1], self.T
        lhs = sum(self.phi(t, self.x[t]) - self.phi(t, self.star[t]) for t in range(1, T + 1)) / T
        rhs = 0.0 if m == "movement" else sum(self.moved(t) for t in range(1, T + 1))
        rhs += sum(self.eps) - (self.delta - self.prime) * sum(self.Wbar(t) for t in range(1, T + 1)) - self.psi(T)
        return [(lhs, rhs / (V * T))]

    def _yu_neely_each_task(self, m: str) -> list[tuple[float, float]]:
        def limit(s: int, k: int) -> float:
            summed = self.weights == "sum"
            known = self.yu_neely(s, m, summed=summed, last=False)
            own = 0.0 if m == "last constraint" else self.c(k, s) ** 2 / 2
            start = 0.0 if m == "head start" else self.delta
            return root(known * (1 if summed else self.past(s)) + own) - start

        return self._per_task(limit)

    def _per_task(self, limit) -> list[tuple[float, float]]:
        return [
            (self.total(k, s), limit(s, k)) if k < s else (0.0, 0.0)
            for s in range(1, self.T + 1)
            for k in range(1, self.T + 1)
        ]


def root(B: float) -> float:
    return sqrt(2 * max(B, 0.0))
