"""Worst cases of a few tasks along a prescribed queue path.

Free queues would make the programme bilinear. With the increments d_k[t] prescribed the queues, hence
the weights and alpha_t, are numbers, and hatPhi_k(x_t) - hatPhi_k(x_{t-1}) - delta = d_k[t] is linear in
function values: an exact constraint.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .records import WorstCase, need
from .terms import QueuePath, pairs
from .worst_case import record, smooth_functions, solve, worst_case

QUIET = dict.fromkeys(pairs(3), 0.0)
RISING = {(1, 2): 0.2, (1, 3): 0.05, (2, 3): 0.05}
FALLING = {(1, 2): 0.05, (1, 3): -0.05, (2, 3): 0.1}
FILLED = {(1, 2): 0.2, (1, 3): 0.1, (2, 3): 0.0}  #: one queue that only grows, the other empty but never cut at 0
FILLED_LONGER = {**FILLED, (1, 4): 0.1, (2, 4): 0.0, (3, 4): 0.0}
LONGER = {**RISING, (1, 4): 0.0, (2, 4): 0.0, (3, 4): 0.0}


@dataclass(frozen=True)
class Prescribed:
    """A Case 1 run with mean weights and V = 1, L = l = 1 along given increments, eta = fraction / max_t alpha_t."""

    d: Mapping[tuple[int, int], float]
    delta: float = 0.05
    fraction: float = 1.0

    @cached_property
    def T(self) -> int:
        """The number of tasks."""
        return max(t for _, t in self.d)

    @cached_property
    def path(self) -> QueuePath:
        """The queues that follow from the increments."""
        return QueuePath(self.T, self.d, max)

    @cached_property
    def beta(self) -> dict[tuple[int, int], float]:
        """The weight of past task k at task t, by (k, t)."""
        return {(k, t): float(self.path.Q[k, t - 1]) / (t - 1) for k, t in pairs(self.T)}

    @property
    def queues(self) -> float:
        """sum_t Qbar[t-1]."""
        return sum(self.beta.values())

    @property
    def alpha(self) -> float:
        """max_t alpha_t."""
        return max(1.0 + sum(self.beta[k, t] for k in range(1, t)) for t in range(1, self.T + 1))

    @property
    def eta(self) -> float:
        """The step size, a fraction of 1 / max_t alpha_t."""
        return self.fraction / self.alpha

    def sharp_bound(self, losses: float, conflict: float) -> float:
        """The sharper gradient bound, given Phi_1(x_0) - Phi_T(x_T) + T D and the conflict term's sum.

        >>> Prescribed({(1, 2): 0.1}).sharp_bound(1.0, 0.0)
        1.0
        """
        steps = self.path.steps()
        paid = float(sum(s.Delta for s in steps.values()) - steps[self.T].lyapunov_after) - self.delta * self.queues
        return (2 / self.eta * (losses + paid) + 2 * conflict) / self.T

    @property
    def loss_needed(self) -> float:
        """What Theorem 4 asks of V (Phi_1(x_1) - Phi_T(x_T) + T D) for these queues, with the ageing term kept.

        >>> round(Prescribed({(1, 2): 0.2, (1, 3): 0.0, (2, 3): 0.0}).loss_needed, 6)
        0.005
        """
        steps = self.path.steps()
        aged = sum(s.lyapunov_before / s.K for s in steps.values())
        paid = sum(s.Delta for s in steps.values()) - steps[self.T].lyapunov_after - aged
        return self.delta * self.queues - float(paid)

    def printed_bound(self, start: float, variation: float, rho: float, r: float) -> float:
        """The printed gradient bound, given Phi_1(x_0), T D_Phi, sum_t rho_{t,-} and r.

        >>> Prescribed({(1, 2): 0.1}).printed_bound(1.0, 0.0, 0.0, 2.0)
        1.0
        """
        return (2 * (start + variation) / self.eta + r * r * rho + r * r * self.queues / self.eta) / self.T


def _run(problem: Any, run: Prescribed) -> dict[str, Any]:
    """The run in PEPit's terms: iterates, losses, and the sums the bounds are made of."""
    expression = need("PEPit").Expression
    phi = dict(enumerate(smooth_functions(problem, 1.0, run.T), 1))
    hat = dict(enumerate(smooth_functions(problem, 1.0, run.T - 1), 1))
    x = [problem.set_initial_point()]
    gradients, weighted, negative, variation = 0, 0, 0, 0
    for t in range(1, run.T + 1):
        gradient = phi[t].gradient(x[-1])
        gradients = gradients + gradient**2
        direction = gradient
        for k in range(1, t):
            pull, part = hat[k].gradient(x[-1]), expression()
            direction = direction + run.beta[k, t] * pull
            problem.add_constraint(part >= 0)
            problem.add_constraint(part >= -(gradient * pull))
            weighted, negative = weighted + run.beta[k, t] * part, negative + part
        if t > 1:
            size, change = expression(), phi[t](x[-1]) - phi[t - 1](x[-1])
            problem.add_constraint(size >= change)
            problem.add_constraint(size >= -change)
            variation = variation + size
        x.append(x[-1] - run.eta * direction)
        for k in range(1, t):
            problem.add_constraint(hat[k](x[-1]) - hat[k](x[-2]) - run.delta == run.d[k, t])
    return {
        "gradients": gradients * (1 / run.T),
        "x": x,
        "phi": phi,
        "hat": hat,
        "conflict": weighted,
        "rho": negative,
        "variation": variation,
    }


def sharp_worst(run: Prescribed, losses: float, conflict: float) -> float:
    """The largest average of |grad Phi_t(x_{t-1})|^2 when the sharper bound's own terms are at most these."""
    problem = need("PEPit").PEP()
    terms = _run(problem, run)
    ends = terms["phi"][1](terms["x"][0]) - terms["phi"][run.T](terms["x"][-1])
    problem.add_constraint(ends + terms["variation"] <= losses)
    problem.add_constraint(terms["conflict"] <= conflict)
    problem.set_performance_metric(terms["gradients"])
    return solve(problem)


@worst_case(
    "pep.thm3.sharp", "thm:gradient_norm_bound",
    small=[
        {"name": "T=2", "d": {(1, 2): 0.1}},
        {"name": "T=3, quiet", "d": QUIET},
        {"name": "T=3, rising", "d": RISING},
    ],
    full=[
        {"name": "T=2", "d": {(1, 2): 0.1}},
        {"name": "T=2, half step", "d": {(1, 2): 0.1}, "fraction": 0.5},
        {"name": "T=2, falling", "d": {(1, 2): -0.1}},
        {"name": "T=3, quiet", "d": QUIET},
        {"name": "T=3, rising", "d": RISING},
        {"name": "T=3, rising, conflict", "d": RISING, "conflict": 0.1},
        {"name": "T=3, falling", "d": FALLING},
        {"name": "T=4, rising", "d": LONGER},
    ],
)  # fmt: skip
def sharp_path(
    name: str, d: Mapping[tuple[int, int], float], fraction: float = 1.0, conflict: float = 0.0
) -> WorstCase:
    """The sharper gradient bound (Case 1) next to its worst case.

    Problem    the largest average squared gradient along a queue path, with the bound's terms given.
    Method     worst smooth losses for all T tasks together; Phi_1(x_0) - Phi_T(x_T) + T D <= 1.
    Guarantee  at most the bound; equal to it at eta = 1/alpha while the past tasks carry no weight (then the closed
               form is 1/(T eta (1 - alpha eta/2))); within a few per cent of it once they do.
    Paper      `thm:gradient_norm_bound`, sharpened
    Example    sharp_path("T=2", {(1, 2): 0.1}).tight is True
    """
    began = time.perf_counter()
    run = Prescribed(d, fraction=fraction)
    closed = 1 / (run.T * run.eta * (1 - run.alpha * run.eta / 2)) if run.queues == 0 else None
    value, bound = sharp_worst(run, 1.0, conflict), run.sharp_bound(1.0, conflict)
    setting = _setting(run, conflict=conflict)
    return record(
        f"pep.thm3.sharp[{name}]", "thm:gradient_norm_bound", setting, value, bound, began, closed_form=closed
    )


@worst_case(
    "pep.thm3.printed", "thm:gradient_norm_bound", small=[{"name": "T=3, rising", "d": RISING}],
    full=[{"name": "T=3, rising", "d": RISING}, {"name": "T=3, falling", "d": FALLING}],
)  # fmt: skip
def printed_path(name: str, d: Mapping[tuple[int, int], float], r: float = 2.0) -> WorstCase:
    """The printed gradient bound with mean weights, at the paper's step size, next to its worst case.

    Problem    how much of the printed bound a run can use up.
    Method     as for the sharper bound; each past loss has a stationary minimiser within r of every model,
               Phi_1(x_0) <= 1, Phi_t >= 0 at the models, T D <= 1/2, sum of rho_{t,-} along the run <= 1/10.
    Guarantee  an upper bound on the worst case (Phi_t >= 0 is asked at the models only), below the printed one.
    Paper      `thm:gradient_norm_bound`
    Example    printed_path("T=3, rising", RISING).ratio < 1
    """
    began = time.perf_counter()
    run, start, variation, rho = Prescribed(d, fraction=0.5), 1.0, 0.5, 0.1
    problem = need("PEPit").PEP()
    terms = _run(problem, run)
    problem.set_performance_metric(terms["gradients"])
    problem.add_constraint(terms["phi"][1](terms["x"][0]) <= start)
    problem.add_constraint(terms["variation"] <= variation)
    problem.add_constraint(terms["rho"] <= rho)
    for t in range(1, run.T + 1):
        problem.add_constraint(terms["phi"][t](terms["x"][t]) >= 0)
    for hat in terms["hat"].values():
        best = hat.stationary_point()
        for x in terms["x"]:
            problem.add_constraint((x - best) ** 2 <= r * r)
    value, bound = solve(problem), run.printed_bound(start, variation, rho, r)
    setting = _setting(run, start=start, variation=variation, rho=rho, r=r)
    return record(f"pep.thm3.printed[{name}]", "thm:gradient_norm_bound", setting, value, bound, began)


@worst_case(
    "pep.thm4.path", "thm:avg_queue_bound_case2",
    small=[{"name": "T=3, 2/alpha", "d": FILLED, "fraction": 2.0}],
    full=[
        {"name": "T=3, 1/(2 alpha)", "d": FILLED, "fraction": 0.5},
        {"name": "T=3, 1/alpha", "d": FILLED},
        {"name": "T=3, 2/alpha", "d": FILLED, "fraction": 2.0},
        {"name": "T=4, 2/alpha", "d": FILLED_LONGER, "fraction": 2.0},
    ],
)  # fmt: skip
def queue_path(name: str, d: Mapping[tuple[int, int], float], fraction: float = 1.0) -> WorstCase:
    """Theorem 4 (Case 1) next to its worst case: what queues cost.

    Problem    the least V (Phi_1(x_1) - Phi_T(x_T) + T D) with which a run can have these queues.
    Method     worst smooth losses for all T tasks together, models and first gradients within distance 1 (else the
               optimum is not attained); both sides with a minus, so that the bound is above.
    Guarantee  not less than the corrected Theorem 4 asks for, with the ageing term kept: 5 per cent more at the paper's
               step size, one in a thousand more at eta = 2/alpha, where a step need not decrease DPP_t at all.
    Paper      `thm:avg_queue_bound_case2`, corrected
    Example    queue_path("T=3", FILLED, 2.0).holds is True
    """
    began = time.perf_counter()
    run = Prescribed(d, fraction=fraction)
    problem = need("PEPit").PEP()
    terms = _run(problem, run)
    ends = terms["phi"][1](terms["x"][1]) - terms["phi"][run.T](terms["x"][-1])
    problem.set_performance_metric(-(ends + terms["variation"]))
    start = terms["x"][0]
    for x in terms["x"][1:]:
        problem.add_constraint((x - start) ** 2 <= 1)
    for phi in terms["phi"].values():
        problem.add_constraint(phi.gradient(start) ** 2 <= 1)
    return record(
        f"pep.thm4.path[{name}]", "thm:avg_queue_bound_case2", _setting(run), solve(problem), -run.loss_needed, began
    )


def _setting(run: Prescribed, **more: float) -> dict[str, float]:
    increments = {f"d{k}_{t}": value for (k, t), value in run.d.items()}
    return {"V": 1.0, "L": 1.0, "l": 1.0, "delta": run.delta, "T": float(run.T), "eta": run.eta, **increments, **more}
