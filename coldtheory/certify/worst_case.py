"""The exact worst case of one COLD step over all smooth losses, as a semidefinite programme.

PEPit writes "the worst smooth functions for this algorithm" as a semidefinite programme over Gram
matrices and function values, without fixing the dimension or the functions; its dual value is an
upper bound for every instance, and it is attained. The queues are given numbers, so weights and step size are
constants.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..ground.errors import ColdError
from .records import WorstCase, close, need

Size = Literal["small", "full"]
Weights = Literal["mean", "sum"]


@dataclass(frozen=True)
class WorstCases:
    """A registered worst case: the settings of each size, and the function that solves one of them."""

    id: str
    label: str
    small: tuple[Mapping[str, Any], ...]
    full: tuple[Mapping[str, Any], ...]
    solve: Callable[..., WorstCase]

    @property
    def doc(self) -> str:
        """What the certificate is about: the docstring of its function."""
        return self.solve.__doc__ or ""

    def run(self, size: Size = "small") -> list[WorstCase]:
        """One record per setting of "small" or "full"."""
        return [self.solve(**setting) for setting in (self.small if size == "small" else self.full)]


PRECISIONS = (1e-9, 1e-8)  #: the solver's stopping rules, the second where the first is out of its reach
WORST_CASES: dict[str, WorstCases] = {}
Solve = Callable[..., WorstCase]


def worst_case(
    id: str, label: str, *, small: Sequence[Mapping[str, Any]], full: Sequence[Mapping[str, Any]] = ()
) -> Callable[[Solve], Solve]:
    """Register a function that solves one setting under `id`."""

    def register(solve: Solve) -> Solve:
        WORST_CASES[id] = WorstCases(id, label, tuple(small), tuple(full) or tuple(small), solve)
        return solve

    return register


def step_change(alpha: float, eta: float) -> float:
    """-eta (1 - alpha eta/2): the worst change of an alpha-smooth function by one step, per squared gradient.

    >>> step_change(2.0, 0.25), step_change(2.0, 1.0)
    (-0.1875, -0.0)
    """
    return -eta * (1.0 - alpha * eta / 2.0)


def smoothness(V: float, L: float, ell: float, queues: Sequence[float], weights: Weights) -> float:
    """alpha_t of the DPP with these weights; Lemma 2 prints the one of "mean" for the DPP of "sum". `ell` is l.

    >>> smoothness(1.0, 1.0, 1.0, [1.0] * 8, "mean"), smoothness(1.0, 1.0, 1.0, [1.0] * 8, "sum")
    (2.0, 9.0)
    """
    return V * L + ell * sum(_betas(queues, weights))


def record(
    id: str, label: str, setting: Mapping[str, float], value: float, bound: float, began: float,
    *, closed_form: float | None = None, refutes: bool = False,
) -> WorstCase:  # fmt: skip
    """The record of one solved programme: the value beside the bound, their ratio, and the seconds since `began`."""
    return WorstCase(
        id=id, label=label, setting=dict(setting), worst_case=value, bound=bound, closed_form=closed_form,
        ratio=value / bound, tight=close(value, bound), seconds=time.perf_counter() - began, refutes=refutes,
    )  # fmt: skip


def solve(problem: Any) -> float:
    """The worst case of a PEPit problem, to about 1e-7, or an error that says why there is none."""
    cvxpy, status = need("cvxpy"), ""
    for tolerance in PRECISIONS:
        rules = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an inaccurate solution; the status says the same, and is heeded
            value = problem.solve(wrapper="cvxpy", verbose=0, solver=cvxpy.CLARABEL, **rules)
        status = problem.wrapper.prob.status
        if value is not None and status == "optimal":
            return float(value)
    raise ColdError(f"the worst-case programme ended as {status}; choose a setting that a run can follow")


def smooth_functions(problem: Any, L: float, count: int) -> list[Any]:
    """`count` L-smooth functions, convex or not."""
    kind = need("PEPit.functions").SmoothFunction
    return [problem.declare_function(kind, L=L) for _ in range(count)]


def _betas(queues: Sequence[float], weights: Weights) -> list[float]:
    return [q / len(queues) if weights == "mean" else q for q in queues]


def _dpp(problem: Any, V: float, L: float, ell: float, queues: Sequence[float], weights: Weights) -> Any:
    """DPP_t as a PEPit function, up to its constant."""
    (phi,), hats = smooth_functions(problem, L, 1), smooth_functions(problem, ell, len(queues))
    return sum((b * h for b, h in zip(_betas(queues, weights), hats, strict=True)), V * phi)


def step_worst(V: float, L: float, ell: float, queues: Sequence[float], weights: Weights, eta: float) -> float:
    """The largest DPP_t(x_t) - DPP_t(x_{t-1}) when |grad DPP_t(x_{t-1})| = 1."""
    problem = need("PEPit").PEP()
    dpp = _dpp(problem, V, L, ell, queues, weights)
    x = problem.set_initial_point()
    gradient, before = dpp.oracle(x)
    problem.add_constraint(gradient**2 == 1)
    problem.set_performance_metric(dpp(x - eta * gradient) - before)
    return solve(problem)


def _one_step(id: str, K: int, weights: Weights, fraction: float, queue: float, refutes: bool) -> WorstCase:
    """K equal queues, V = L = l = 1, eta = fraction / alpha of Lemma 2; the bound is the paper's -eta/2."""
    began = time.perf_counter()
    queues = [queue] * K
    eta = fraction / smoothness(1.0, 1.0, 1.0, queues, "mean")
    closed = step_change(smoothness(1.0, 1.0, 1.0, queues, weights), eta)
    value = step_worst(1.0, 1.0, 1.0, queues, weights, eta)
    setting = {"V": 1.0, "L": 1.0, "l": 1.0, "K": float(K), "Q": queue, "eta": eta}
    label = WORST_CASES[id].label
    return record(f"{id}[K={K}]", label, setting, value, -eta / 2, began, closed_form=closed, refutes=refutes)


@worst_case(
    "pep.step.mean", "thm:gradient_norm_bound", small=[{"K": 1}, {"K": 2}, {"K": 4}],
    full=[{"K": K} for K in (1, 2, 4, 8, 16, 40)],
)  # fmt: skip
def step_mean(K: int) -> WorstCase:
    """One step with mean weights and the paper's step size.

    Problem    how little DPP_t falls at eta = 1/(2 alpha_t), per squared gradient.
    Method     worst L- and l-smooth losses for K queues, in any dimension.
    Guarantee  -eta (1 - alpha_t eta/2) = -3 eta/4 exactly; the paper uses -eta/2.
    Paper      `thm:gradient_norm_bound`, the first inequality of its proof; `lemm:smooth_dpp`
    Example    step_mean(4).exact is True
    """
    return _one_step("pep.step.mean", K, "mean", 0.5, 1.5, False)


@worst_case("pep.step.largest", "thm:gradient_norm_bound", small=[{"K": 2}], full=[{"K": K} for K in (1, 2, 8)])
def step_largest(K: int) -> WorstCase:
    """One step with the largest step size for which -eta/2 holds.

    Problem    is the paper's -eta/2 ever attained, and is eta <= 1/(2 alpha_t) needed for it?
    Method     the same programme at eta = 1/alpha_t.
    Guarantee  the worst case is -eta/2: tight, and twice the paper's step size is allowed.
    Paper      `thm:gradient_norm_bound`
    Example    step_largest(2).tight is True
    """
    return _one_step("pep.step.largest", K, "mean", 1.0, 1.5, False)


@worst_case("pep.step.sum", "eq:batchCOLD", small=[{"K": 8}], full=[{"K": K} for K in (8, 16, 40)])
def step_sum(K: int) -> WorstCase:
    """One printed step, with the printed smoothness constant.

    Problem    eq. batchCOLD has no 1/(t-1), Lemma 2's alpha_t has; does eta <= 1/(2 alpha_t) still descend?
    Method     the worst case of the sum update at eta = 1/(2 alpha_t) of Lemma 2.
    Guarantee  DPP_t can increase: the worst change is positive, and is its closed form.
    Paper      `eq:batchCOLD`, `lemm:smooth_dpp`
    Example    step_sum(8).worst_case > 0
    """
    return _one_step("pep.step.sum", K, "sum", 0.5, 1.5, True)


def _smoothness(id: str, K: int, weights: Weights) -> WorstCase:
    began = time.perf_counter()
    V, L, ell, queues = 1.0, 1.0, 2.0, [0.5] * K
    problem = need("PEPit").PEP()
    dpp = _dpp(problem, V, L, ell, queues, weights)
    x, y = problem.set_initial_point(), problem.set_initial_point()
    problem.add_constraint((x - y) ** 2 <= 1)
    problem.set_performance_metric((dpp.gradient(x) - dpp.gradient(y)) ** 2)
    value = solve(problem) ** 0.5
    setting = {"V": V, "L": L, "l": ell, "K": float(K), "Q": 0.5}
    printed, closed = smoothness(V, L, ell, queues, "mean"), smoothness(V, L, ell, queues, weights)
    label = WORST_CASES[id].label
    return record(f"{id}[K={K}]", label, setting, value, printed, began, closed_form=closed, refutes=weights == "sum")


@worst_case("pep.smooth.mean", "lemm:smooth_dpp", small=[{"K": 3}], full=[{"K": K} for K in (1, 3, 10)])
def smooth_mean(K: int) -> WorstCase:
    """The smoothness constant of the DPP with mean weights.

    Problem    the largest |grad DPP(x) - grad DPP(y)| for |x - y| = 1.
    Method     worst smooth losses at two points.
    Guarantee  Lemma 2's alpha_t exactly.
    Paper      `lemm:smooth_dpp`
    Example    smooth_mean(3).tight is True
    """
    return _smoothness("pep.smooth.mean", K, "mean")


@worst_case("pep.smooth.sum", "lemm:smooth_dpp", small=[{"K": 3}], full=[{"K": K} for K in (3, 10)])
def smooth_sum(K: int) -> WorstCase:
    """The smoothness constant of the printed DPP.

    Problem    Lemma 2 divides by t-1, the DPP it speaks of does not.
    Method     worst smooth losses at two points.
    Guarantee  V L + l sum_k Q_k, above the printed alpha_t from two queues on.
    Paper      `lemm:smooth_dpp` with `eq:dpp_opt_problem`
    Example    smooth_sum(3).exceeds is True
    """
    return _smoothness("pep.smooth.sum", K, "sum")


@worst_case("pep.gap", "lemm:losses_boundedby_const", small=[{"r": 2.0}])
def optimality_gap(r: float) -> WorstCase:
    """The optimality gap within distance r of a stationary minimiser.

    Problem    the largest hatPhi_k(w) - hatPhi_k(v*) with |w - v*| <= r.
    Method     worst l-smooth loss with a stationary point.
    Guarantee  l r^2/2 exactly, when r is measured from v* and v* is stationary.
    Paper      `lemm:losses_boundedby_const`
    Example    optimality_gap(2.0).tight is True
    """
    began, ell = time.perf_counter(), 3.0
    problem = need("PEPit").PEP()
    (loss,) = smooth_functions(problem, ell, 1)
    best, w = loss.stationary_point(), problem.set_initial_point()
    problem.add_constraint((w - best) ** 2 <= r**2)
    problem.set_performance_metric(loss(w) - loss(best))
    exact = ell * r * r / 2
    return record(
        "pep.gap", "lemm:losses_boundedby_const", {"l": ell, "r": r}, solve(problem), exact, began, closed_form=exact
    )
