"""Theorems that the paper lacks: adaptive steps, V that moves, noisy gradients. Their proofs are in docs/theorems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from coldtheory import simulate
from coldtheory.bounds import Bound, Facts, evaluate, facts_of
from coldtheory.claims import Finding
from coldtheory.ideal import smallest_feasible_delta
from coldtheory.settings import Reference
from paper_checks import _evidence as e
from paper_checks import claim
from paper_checks.beyond import SECTION

_MOVES = {"rising": np.geomspace(1.0, 30.0, 10), "falling": np.geomspace(1.0, 1 / 30, 10)}
_WEIGHTS = ("mean", "sum")
_NOISE_SEEDS = 200


@cache
def _moving(move: str, weights: str, reference: Reference = "previous") -> Facts:
    """12 random streams x 7 V, three steps of 0.9/alpha_t, V_t by a factor of 30 up or down."""
    tasks = e.random_tasks(12, T=10, d=3, seed=2)
    chosen: Any = {"weights": weights, "reference": reference, "eta": "auto", "eta_factor": 0.9}
    return facts_of(simulate(tasks, V=np.geomspace(1e-2, 1e4, 7), delta=0.01, V_schedule=_MOVES[move], **chosen))


@cache
def _minimised(move: str, reference: Reference) -> Facts:
    """Minimisers of DPP_t while V_t moves, with tolerances above the smallest feasible one."""
    tasks = e.random_tasks(4, T=6, d=2, seed=3, scales=(1.0,))
    lowest = max(smallest_feasible_delta(tasks[i].phi_hat) for i in range(4))
    V, share = np.meshgrid(np.geomspace(1e-3, 1e3, 4), [1.05, 2.0])
    return facts_of(
        simulate(tasks, V=V, delta=share * lowest, solver="exact", reference=reference, V_schedule=_MOVES[move][:6])
    )


@cache
def _noisy(regime: str) -> Facts:
    """A stream that stays where the model starts, or one that alternates between -1 and 1: 200 noise seeds, 4 V."""
    optima = np.zeros((20, 1)) if regime == "still" else np.where(np.arange(20) % 2, 1.0, -1.0)[:, None]
    V = np.array([1.0, 3.0, 10.0, 30.0])
    many = np.repeat(optima[None], _NOISE_SEEDS, axis=0)
    return facts_of(simulate(many, V=V, eta=0.2 / V, delta=0.01, steps=1, noise=0.3, w0=optima[0]))


def _in_the_mean(id_: str, regime: str) -> Bound:
    """One entry per V: each is a mean over the noise seeds."""
    return evaluate(id_, "proved", _noisy(regime)).at(0)


def _holding(id_: str, batches: Mapping[str, Sequence[Facts]]) -> Finding:
    """The main form on its batches, and every other form on its own: all of them must hold."""
    found = {form: e.tally(id_, form, facts) for form, facts in batches.items()}
    worst = next((one for one in found.values() if not one.holds), found["proved"])
    others = "; ".join(f"form {form}: {one}" for form, one in found.items() if form != "proved")
    return e.supported(worst, others)


@claim(
    id="adaptive-step",
    label="new:adaptive_step",
    section=SECTION,
    statement="""With eta_t = c/alpha_t, c <= 1, Case 1: the mean of |grad Phi_t(x_{t-1})|^2 with weights eta_t is at
        most [K/((1 - c/2) V^2) + (2/V) sum_t eta_t conflict_t] / sum_t eta_t, and 1/sum_t eta_t <= (V L + l avg
        Qbar)/(c T): the mean queue replaces the longest.""",
    recorded="holds",
    explain=e.explanation("adaptive_step", "The margin is the least relative slack (0: it is tight at T = 1)."),
)
def adaptive_step() -> Finding:
    """Evaluate the main form and two consequences on random tasks and on CONFLICT."""
    batches = [e.mixed("mean"), e.mixed("sum"), e.toy("conflict", "mean"), e.toy("conflict", "sum")]
    return _holding("adaptive_step", {"proved": batches, "mean_queue": batches, "total_step": batches})


@claim(
    id="moving-gap",
    label="new:moving_gap",
    section=SECTION,
    statement="""V may move: for minimisers of DPP_t, any reference, the average gap to w*_t is at most (1/T) sum_t
        Delta_t/V_t if V never falls; where it falls, (1/T) sum_t (1/V_{t+1} - 1/V_t)_+ Lyap[t] is added.""",
    recorded="holds",
    explain=e.explanation("moving_gap", "The margin is the least relative slack."),
)
def moving_gap() -> Finding:
    """Evaluate the main form on minimisers under every reference while V moves."""
    cases: tuple[Reference, ...] = ("previous", "best", "stored")
    return _holding("moving_gap", {"proved": [_minimised(move, case) for move in _MOVES for case in cases]})


@claim(
    id="moving-queue",
    label="new:moving_queue",
    section=SECTION,
    statement="""V may move: in Case 1 the average queue is at most [sum_t V_t var_t + V_2 Phi_1(x_1) + sum_t
        Delta_t]/(T delta) if V never rises; where it rises, sum_t (V_{t+1} - V_t)_+ Phi_t(x_t)/(T delta) is added.""",
    recorded="holds",
    explain=e.explanation("moving_queue", "The margin is the least relative slack."),
)
def moving_queue() -> Finding:
    """Evaluate the main form on Case 1 descents while V moves, and the form for minimisers in Case 3."""
    batches = [_moving(move, weights) for move in _MOVES for weights in _WEIGHTS]
    return _holding("moving_queue", {"proved": batches, "exact": [_minimised(move, "stored") for move in _MOVES]})


@claim(
    id="moving-gradient",
    label="new:moving_gradient",
    section=SECTION,
    statement="""V may move: in Case 1 with c/V_t <= eta_t <= 1/alpha_t the average of |grad Phi_t(x_{t-1})|^2 is at
        most (2/c)[Phi_1(x_0)/T + D + (1/T) sum_t Delta_t/V_t] + (2/T) sum_t conflict_t/V_t if V never falls; where it
        falls, (2/(c T)) sum_t (1/V_{t+1} - 1/V_t)_+ Lyap[t] is added.""",
    recorded="holds",
    explain=e.explanation("moving_gradient", "The margin is the least relative slack."),
)
def moving_gradient() -> Finding:
    """Evaluate the main form on Case 1 descents while V moves, and the form for any reference in Case 3."""
    batches = [_moving(move, weights) for move in _MOVES for weights in _WEIGHTS]
    other = [_moving(move, "mean", "stored") for move in _MOVES]
    return _holding("moving_gradient", {"proved": batches, "any_case": other})


@claim(
    id="noise-gradient",
    label="new:noise_gradient",
    section=SECTION,
    statement="""With noise of E|xi|^2 <= s^2 in the gradient, one step per task, Theorem 3' holds in expectation with
        eta s^2 (1/T) sum_t alpha_t added.""",
    recorded="holds",
    explain=e.explanation(
        "noise_gradient",
        f"Means over {_NOISE_SEEDS} noise seeds; broken means beyond 5 standard errors of left minus right. The margin "
        "is the least relative slack of the means.",
    ),
)
def noise_gradient() -> Finding:
    """Evaluate the statement averaged over noise seeds, with and without its variance term."""
    still, turns = (_in_the_mean("noise_gradient", regime) for regime in ("still", "turns"))
    short = still.lhs - (still.rhs - still.terms["noise"])
    errors = float((short / still.error).max())
    words = f"without the variance term it fails by up to {errors:.0f} standard errors"
    return e.supported(e.total([still, turns]), words, {"errors_without_variance": errors})


@claim(
    id="noise-queue",
    label="new:noise_queue",
    section=SECTION,
    statement="""With noise of E|xi|^2 <= s^2 in the gradient, one step per task, Theorem 4 holds in expectation with
        (eta^2 V^2 s^2/(2 delta)) (1/T) sum_{t>=2} alpha_t added.""",
    recorded="holds",
    explain=e.explanation(
        "noise_queue",
        f"Means over {_NOISE_SEEDS} noise seeds; broken means beyond 5 standard errors of left minus right. The margin "
        "is the least relative slack of the means.",
    ),
)
def noise_queue() -> Finding:
    """Evaluate the statement averaged over noise seeds."""
    return e.supported(e.total(_in_the_mean("noise_queue", regime) for regime in ("still", "turns")))
