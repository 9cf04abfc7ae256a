"""The algebra of the theorems' proofs for few tasks, with function values as free reals.

A trajectory enters only through numbers: Phi_t at x_{t-1} (`before`) and x_t (`after`), the increments
d_k[t] (any reals: the queues follow from them), inner products and squared norms of gradients. What the
algorithm guarantees is an inequality between them, the descent (or the minimality) of DPP_t.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from .algebra import Problem, claim
from .terms import ZERO, Goal, Maximum, Number, QueuePath, Step, Values, Weights, absolute, pairs, squares, total


def _tasks(name: str, T: int) -> tuple[str, ...]:
    return tuple(f"{name}{t}" for t in range(1, T + 1))


def _pairs(name: str, T: int) -> tuple[str, ...]:
    return tuple(f"{name}{k}_{t}" for k, t in pairs(T))


def _path(T: int, v: Values, maximum: Maximum) -> QueuePath:
    return QueuePath(T, {(k, t): v[f"d{k}_{t}"] for k, t in pairs(T)}, maximum)


def _pull(step: Step, weights: Weights, shift: Number) -> Number:
    """sum_k beta_k (d_k + shift): with shift = delta, what the past tasks' part of DPP_t changes by in Case 1."""
    return total(b * (d + shift) for b, d in zip(step.betas(weights), step.d, strict=True))


def _factor(weights: Weights, t: int) -> Number:
    return Fraction(1 if weights == "mean" else t - 1)


def _variation(T: int, v: Values, maximum: Maximum) -> dict[int, Number]:
    """|Phi_t - Phi_{t-1}| at x_{t-1}, t >= 2."""
    return {t: absolute(v[f"before{t}"] - v[f"after{t - 1}"], maximum) for t in range(2, T + 1)}


def _queue_terms(steps: Mapping[int, Step], weights: Weights, margin: Number) -> Number:
    """sum_t f_t (Delta_t - margin Qbar[t-1]) - f_T Lyap[T]."""
    T = max(steps)
    paid = total(_factor(weights, t) * (s.Delta - margin * s.Qbar) for t, s in steps.items())
    return paid - _factor(weights, T) * squares(steps[T].after) / (2 * (T - 1))


def theorem1(T: int, weights: Weights) -> Problem:
    """V sum_t gap_t <= sum_t f_t (Delta_t - margin Qbar[t-1]) - f_T Lyap[T], gap_t = Phi_t(x_t) - Phi_t(w*_t)."""

    def goal(v: Values, maximum: Maximum) -> Goal:
        steps = _path(T, v, maximum).steps()
        minimal = [-v["gap1"], *(-v["V"] * v[f"gap{t}"] - _pull(s, weights, v["margin"]) for t, s in steps.items())]
        gaps = total(v[f"gap{t}"] for t in range(1, T + 1))
        return Goal([_queue_terms(steps, weights, v["margin"]) - v["V"] * gaps], [*minimal, v["margin"]], [v["V"]])

    return Problem(("V", "margin", *_tasks("gap", T), *_pairs("d", T)), goal)


@claim(
    "thm1.mean", "thm:avg_loss_boundedcase",
    "V sum_t [Phi_t(x_t) - Phi_t(w*_t)] <= sum_t Delta_t - Lyap[T] - (delta - delta') sum_t Qbar[t-1] (mean weights)",
    unit="T", small=(2, 3), full=(2, 3, 4),
)  # fmt: skip
def theorem1_mean(T: int) -> Problem:
    """The loss gap of the exact minimiser.

    Problem    how far the algorithm is from the ideal problem's solution.
    Method     DPP_t(x_t) <= DPP_t(w*_t) and d_k(w*_t) <= delta' - delta, with the drift lemma, telescoped.
    Guarantee  margin = delta - delta' >= 0 suffices; any reference model.
    Paper      `thm:avg_loss_boundedcase` with the appendix's weights
    Example

    >>> theorem1_mean(2).at(V=1, margin=0, gap1=0, gap2=0, d1_2=1)
    [Fraction(0, 1)]
    """
    return theorem1(T, "mean")


@claim(
    "thm1.sum", "thm:avg_loss_boundedcase",
    "V sum_t [Phi_t(x_t) - Phi_t(w*_t)] <= sum_t (t-1) Delta_t - (T-1) Lyap[T] - ... (sum weights)",
    unit="T", small=(2, 3), full=(2, 3, 4),
)  # fmt: skip
def theorem1_sum(T: int) -> Problem:
    """The loss gap for the main text's DPP, with the factor t-1 it needs.

    Problem    the printed bound fails for the printed DPP.
    Method     as with mean weights, each drift inequality multiplied by t-1.
    Guarantee  the corrected bound for the printed DPP.
    Paper      `thm:avg_loss_boundedcase` with `eq:dpp_opt_problem`
    Example

    >>> theorem1_sum(3).at(V=1, margin=0, gap1=0, gap2=0, gap3=0, d1_2=0, d1_3=-1, d2_3=0)
    [Fraction(1, 2)]
    """
    return theorem1(T, "sum")


@claim(
    "thm2.mean", "thm:queue_stability",
    "(delta - delta') sum_t Qbar[t-1] <= sum_{t>=2} V (delta' + 2 sup |Phi_t - hatPhi_{t-1}|) + sum_t Delta_t "
    "(mean weights)",
    unit="T", small=(2, 3),
)  # fmt: skip
def theorem2_mean(T: int) -> Problem:
    """The average queue of the exact minimiser.

    Problem    how large the queues are when delta > delta'.
    Method     minimality of DPP_t, Phi_t exchanged for hatPhi_{t-1} at x_t and w*_t, the drift lemma.
    Guarantee  hx, hw are hatPhi_{t-1} above its infimum at x_t, w*_t; px, pw are Phi_t, shifted alike.
    Paper      `thm:queue_stability`
    Example

    >>> theorem2_mean(2).at(V=1, margin=1, tol=1, sup2=0, px2=0, pw2=0, hx2=0, hw2=0, d1_2=0)
    [Fraction(1, 1)]
    """
    names = ("V", "margin", "tol", *(f"{n}{t}" for t in range(2, T + 1) for n in ("sup", "px", "pw", "hx", "hw")))

    def goal(v: Values, maximum: Maximum) -> Goal:
        steps = _path(T, v, maximum).steps()
        assume = [v["margin"], v["tol"]]
        for t, s in steps.items():
            px, pw, hx, hw, sup = (v[f"{n}{t}"] for n in ("px", "pw", "hx", "hw", "sup"))
            assume += [hx, hw, v["tol"] - hw, sup - px + hx, sup + px - hx, sup - pw + hw, sup + pw - hw]
            assume.append(v["V"] * (pw - px) - _pull(s, "mean", v["margin"]))
        right = total(v["V"] * (v["tol"] + 2 * v[f"sup{t}"]) + s.Delta for t, s in steps.items())
        return Goal([right - v["margin"] * total(s.Qbar for s in steps.values())], assume, [v["V"]])

    return Problem((*names, *_pairs("d", T)), goal)


def theorem3_sharp(T: int, weights: Weights, *, start: Number = Fraction(1)) -> Problem:
    """The sharper gradient bound, times T V^2 eta / 2; `start` multiplies Phi_1(x_0) (1 in the theorem)."""
    names = ("V", "eta", "delta", *(n for name in ("before", "after", "grad", "pull") for n in _tasks(name, T)))

    def goal(v: Values, maximum: Maximum) -> Goal:
        V, eta, delta = v["V"], v["eta"], v["delta"]
        steps = _path(T, v, maximum).steps()
        squared = {t: eta / 2 * V * V * v[f"grad{t}"] for t in range(1, T + 1)}
        assume = [delta, *(v[f"{n}{t}"] for n in ("grad", "pull") for t in range(1, T + 1))]
        assume.append(V * (v["before1"] - v["after1"]) - squared[1])
        conflict: Number = ZERO
        for t, s in steps.items():
            products = [(b, v[f"ip{k}_{t}"]) for k, b in enumerate(s.betas(weights), 1)]
            gradient = squared[t] + eta / 2 * v[f"pull{t}"] + eta * V * total(b * ip for b, ip in products)
            assume.append(V * (v[f"before{t}"] - v[f"after{t}"]) - _pull(s, weights, delta) - gradient)
            conflict = conflict + eta * V * total(b * maximum(ZERO, -ip) for b, ip in products)
        losses = start * v["before1"] - v[f"after{T}"] + total(_variation(T, v, maximum).values())
        right = V * losses + _queue_terms(steps, weights, delta) + conflict
        return Goal([right - total(squared.values())], assume, [V, eta])

    return Problem((*names, *_pairs("d", T), *_pairs("ip", T)), goal)


@claim(
    "thm3.sharp.mean", "thm:gradient_norm_bound",
    "(V^2 eta/2) sum_t |grad Phi_t(x_{t-1})|^2 <= V (Phi_1(x_0) - Phi_T(x_T) + T D) + sum_t Delta_t - Lyap[T] "
    "- delta sum_t Qbar[t-1] + eta V sum_{k<t} beta_k max(0, -<grad Phi_t, grad hatPhi_k>) (Case 1, mean weights)",
    unit="T", small=(2, 3),
)  # fmt: skip
def theorem3_sharp_mean(T: int) -> Problem:
    """The average squared gradient in Case 1, without r and l.

    Problem    the printed bound replaces each past loss by its largest value.
    Method     descent of DPP_t, its change in the past losses written with d_k[t], the drift lemma.
    Guarantee  eta <= 1/alpha_t suffices; V, eta, delta, all values free; D along the trajectory.
    Paper      `thm:gradient_norm_bound`, sharpened
    Example

    >>> values = dict(V=1, eta=1, delta=0, before1=2, after1=1, before2=1, after2=0, d1_2=0, ip1_2=0)
    >>> theorem3_sharp_mean(2).at(**values, grad1=2, grad2=2, pull1=0, pull2=0)
    [Fraction(0, 1)]
    """
    return theorem3_sharp(T, "mean")


@claim(
    "thm3.sharp.sum", "thm:gradient_norm_bound",
    "the same with (t-1) Delta_t, (T-1) Lyap[T], (t-1) Qbar[t-1] (sum weights)",
    unit="T", small=(2, 3),
)  # fmt: skip
def theorem3_sharp_sum(T: int) -> Problem:
    """The average squared gradient for the printed update, Case 1.

    Problem    eq. batchCOLD has no 1/(t-1); its bound needs the factor t-1.
    Method     as with mean weights, each drift inequality multiplied by t-1.
    Guarantee  eta <= 1/(V L + l sum_k Q_k[t-1]) suffices.
    Paper      `thm:gradient_norm_bound` with `eq:batchCOLD`
    Example

    >>> values = dict(V=1, eta=1, delta=0, before1=2, after1=1, before2=1, after2=0, d1_2=0, ip1_2=0)
    >>> theorem3_sharp_sum(2).at(**values, grad1=2, grad2=2, pull1=0, pull2=0)
    [Fraction(0, 1)]
    """
    return theorem3_sharp(T, "sum")
