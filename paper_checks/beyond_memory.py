"""Theorems that the paper lacks: the size of the memory, forgetting for every T at once, and other controllers.

Their proofs are in docs/theorems. What is not true is refuted by stored instances, and what is not settled is recorded
as open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coldtheory import make_tasks, memory_needed, simulate
from coldtheory.bounds import Facts, evaluate, facts_of
from coldtheory.claims import Finding
from coldtheory.ideal import smallest_feasible_delta
from coldtheory.quadratics import Array
from coldtheory.settings import Weights
from paper_checks import _evidence as e
from paper_checks import claim

SECTION = "Beyond the paper"
_SEEDS, _N, _P = 20, 60, 0.05


@claim(
    id="memory-size",
    label="new:memory_size",
    section=SECTION,
    statement="""With probability 1 - p every memory of M of n samples, drawn without replacement, has sup_W |Phi_k -
        hatPhi_k| <= kappa (r scatter + unevenness) + tau sqrt(log((T-1)/p)/2) (r width + span), where
        kappa^2 = (n-M)/(M(n-1)) and tau^2 = min{(n-M+1)/(Mn), (n-M)(M+1)/(M^2 n)}.""",
    recorded="holds",
    explain=e.explanation(
        "memory_size",
        "Checked on 20 seeds of LOW, HIGH and CONFLICT with 60 samples per task and memories of 3, 20 and 57 at p = "
        "0.05, and by 4000 draws of two-point samples, which fail no more often than p. The margin is the least "
        "relative slack.",
    ),
)  # fmt: skip
def memory_size() -> Finding:
    """Evaluate the bound on sampled regimes, and count how often two-point draws exceed it."""
    batches = [_sampled(regime, m) for regime in e.REGIMES for m in (3, 20, 57)]
    found = e.tally("memory_size", "proved", batches, p=_P)
    average = e.tally("memory_size", "average", batches, p=_P)
    always = e.tally("memory_size", "always", batches)
    share = _two_point_failures(40, 10, 4000)
    text = f"mean over the tasks: {average}; every draw: {always}; of 4000 two-point draws {share:.2%} fail at p = 1 %"
    finding = e.supported(found, text)
    return finding if average.holds and always.holds and share <= 0.01 else Finding("false", -1.0, finding.evidence)


@claim(
    id="memory-size-needed",
    label="new:memory_size",
    section=SECTION,
    statement="""The memory size that memory_needed names for a wanted mean error is enough, with probability 1 - p, and
        halving the error takes four times as many samples of an endless supply.""",
    recorded="holds",
    explain="""
        memory_needed inverts the a-priori form: c s kappa (r + s/4) + c s (2r + s/2) tau sqrt(log(1/p)/(2K)) for
        samples within s of their task's mean, models within r of it, curvature c and K past tasks. Checked on 20 seeds
        of sampled HIGH for three errors; the margin is the least relative distance of the measured mean error from the
        wanted one.""",
)
def memory_size_needed() -> Finding:
    """Compare the error measured with the advised memory size with the error that was asked for."""
    T, margins, told = 10, [], []
    whole = make_tasks("high", range(_SEEDS), T=T, d=3, n=_N)
    assert whole.samples is not None
    s, r = float(whole.samples.reach.max()), 2.0 * float(whole.samples.radius.max())
    for error in (3.0, 1.5, 0.5):
        M = memory_needed(error, sample_radius=s, model_radius=r, n=_N, tasks=T - 1, p=_P)
        kept = make_tasks("high", range(_SEEDS), T=T, d=3, n=_N, m=M)
        measured = evaluate("memory_size", "a_priori", simulate(kept, V=1.0)).lhs.max()
        margins.append(float(1.0 - measured / error))
        told.append(f"{error:g}: M = {M} of {_N}, measured at most {measured:.2g}")
    known: dict[str, Any] = {"sample_radius": s, "model_radius": r, "tasks": T - 1}
    ratio = memory_needed(0.01, **known) / memory_needed(0.02, **known)
    holds = min(margins) >= 0 and abs(ratio - 4.0) < 0.01
    return Finding(
        "holds" if holds else "false", min(margins), "; ".join(told) + f"; half the error: {ratio:.3f} times M"
    )


def _sampled(regime: str, m: int) -> Facts:
    return facts_of(simulate(make_tasks(regime, range(_SEEDS), T=12, d=4, n=_N, m=m), V=10.0))


def _two_point_failures(n: int, m: int, count: int) -> float:
    """The share of draws in which the error of samples at 1 and -1 exceeds the bound at p = 1 %; W = [-3, 3]."""
    rng = np.random.default_rng(1)
    points = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    kept = points[rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)[:, :m]].mean(axis=1)
    kappa = np.sqrt((n - m) / (m * (n - 1)))
    tau = np.sqrt(min((n - m + 1) / (m * n), (n - m) * (m + 1) / (m * m * n)))
    return float((3.0 * np.abs(kept) > 3.0 * kappa + tau * np.sqrt(0.5 * np.log(100.0)) * 6.0).mean())


# ---------------------------------------------------------------------------------------------------
# Every T at once, and other controllers


@claim(
    id="forgetting-uniform",
    label="new:forgetting_uniform",
    section=SECTION,
    statement="""In Case 3 the bound on mean forgetting holds after every task at once, whatever V_t > 0 does: the
        mean over k < t <= s is at most delta + (2/s) sqrt(2 B_s). All but a share theta of the tasks have a total
        excess of at most sqrt(2 B_s/theta).""",
    recorded="holds",
    explain=e.explanation(
        "forgetting_uniform",
        "Checked on minimisers and descents with constant, rising and falling V. The margin is the least relative "
        "slack.",
    ),
)
def forgetting_uniform() -> Finding:
    """Evaluate all proved forms with constant, rising and falling V."""
    batches = [_runs("queue", schedule=schedule) for schedule in (None, "power:0.3333", "power:-0.5")]
    sums = [_runs("queue", weights="sum")]
    others = {form: e.tally("forgetting_uniform", form, batches) for form in ("sharp", "most")}
    others["each task"] = e.tally("forgetting_uniform", "each_task", [*batches, *sums])
    return _with_others(e.tally("forgetting_uniform", "proved", batches), others)


@claim(
    id="forgetting-one-task",
    label="new:forgetting_uniform",
    section=SECTION,
    statement="""In Case 3 with mean weights the forgetting of every single task comes down to delta on average, as that
        of the mean over all tasks does, if the ideal problem is strictly feasible.""",
    recorded="false",
    explain="""
        One task at 0, then only tasks at 1.5, with delta = 1/2: the model 0.75 forgets none of them by more than 0.29.
        The weight of the first task is Q_1/(t-1). Put q = Q_1/(t-1): the minimiser is x = 1.5/(1 + q) for V = 1, Q_1
        grows by x^2/2 - 1/2 per task, and q tends to the solution of q = (1.5/(1+q))^2/2 - 1/2, which is 0.2362. So
        the first task is forgotten by delta + 0.2362 for ever. The stored instances forgetting_one_task (T = 3, the
        smallest) and forgetting_one_task_for_ever refute the form `hoped`, a total of at most sqrt(2 B_s) per task.
        With sum weights the total of that task stays at 1/2. Replay: coldtheory replay
        forgetting_one_task_for_ever.""",
)
def forgetting_one_task() -> Finding:
    """Replay the stored instances, and measure how the total of the first task grows with T."""
    return _one_task("queue", "forgetting_one_task")


@claim(
    id="leaky-queue",
    label="new:leaky_queue",
    section=SECTION,
    statement="""The leaky queue needs no strictly feasible point: in Case 3 mean forgetting exceeds delta by at most
        (2/s) sqrt(2 B_s) + (2a/(s(s-1))) sum_t (t-2) sqrt(2 B_{t-1}), where B_t = (1-a)^2 B_{t-1} + b_t stays bounded
        as T grows; and Theorem 1 holds with the factor 1/(1-a).""",
    recorded="holds",
    explain=e.explanation(
        "leaky_queue",
        "Checked with a = 0.02, 0.3 and 1, also for a tolerance below the smallest feasible one. The margin is the "
        "least relative slack.",
    ),
)
def leaky_queue() -> Finding:
    """Evaluate all forms for three leaks, also with a tolerance below the smallest feasible one."""
    leaks = ("leaky:a=0.02", "leaky:a=0.3", "leaky:a=1")
    batches = [_runs(name) for name in leaks]
    infeasible = e.total(
        evaluate("leaky_queue", "proved", _runs(name, shares=(0.3, 0.8)), delta_prime=_lowest() * 1.01)
        for name in leaks
    )
    others = {form: e.tally("leaky_queue", form, batches) for form in ("queue", "gap", "cap", "violation")}
    return _with_others(e.tally("leaky_queue", "proved", batches), others | {"delta below feasible": infeasible})


@claim(
    id="yu-neely",
    label="new:yu_neely",
    section=SECTION,
    statement="""Under Yu and Neely's controller in Case 3 the squared movement R_t of the past losses takes the place
        of the residual Delta_t, in the bound on mean forgetting and in Theorem 1.""",
    recorded="holds",
    explain=e.explanation(
        "yu_neely", "Checked on minimisers and descents, mean and sum weights. The margin is the least relative slack."
    ),
)
def yu_neely() -> Finding:
    """Evaluate all proved forms on minimisers and descents, with mean and sum weights."""
    batches = [_runs("yu-neely"), _runs("yu-neely", schedule="power:0.3333")]
    others = {form: e.tally("yu_neely", form, batches) for form in ("drift", "gap")}
    others["each task"] = e.tally("yu_neely", "each_task", [*batches, _runs("yu-neely", weights="sum")])
    return _with_others(e.tally("yu_neely", "proved", batches), others)


@claim(
    id="yu-neely-constant",
    label="new:yu_neely",
    section=SECTION,
    statement="""Yu and Neely's total violation of O(1) per constraint carries over: under their controller, in Case 3
        with mean weights and a strictly feasible ideal problem, the sum over t of F_k[t] - delta stays bounded for
        every k.""",
    recorded="false",
    explain="""
        The stream of forgetting-one-task under this controller. If Q_1 stayed bounded, the weight (Q_1 + g_1)/(t-1)
        would tend to 0, and all other tasks pull to 1.5, so x_t would tend to 1.5 and g_1 to 0.625 > 0: a
        contradiction. In fact the total grows by 0.2362 per task, as under the queue. Their proof has a fixed number of
        constraints, each with its full weight; sum weights restore it on this stream. Replay: coldtheory replay
        yu_neely_one_task_for_ever.""",
)
def yu_neely_constant() -> Finding:
    """Replay the stored instances, and measure how the total of the first task grows with T."""
    return _one_task("yu-neely", "yu_neely_one_task")


@claim(
    id="mean-violation",
    label="new:forgetting_uniform",
    section=SECTION,
    statement="""With a strictly feasible ideal problem the mean over the tasks of their queues stays bounded as T grows
        (Case 3, mean weights, exact minimiser), so that mean forgetting exceeds delta by O(1/T) only.""",
    recorded="open",
    explain="""
        What is proved is O(sqrt(V/T)), through the mean square of the queues. That mean square does grow like T (one
        task that is forgotten for ever is enough), so no proof through it can show more. The mean itself did not
        grow on any of the streams that were tried: optima that alternate, at random, in blocks of doubling length, on
        circles, on a simplex. No proof and no counterexample is known here. The evidence compares T = 100 with T =
        800.""",
)
def mean_violation() -> Finding:
    """Compare the mean and the mean square of the queues at T = 100 and T = 800 on several streams."""
    told, growth = [], []
    for name in _STREAMS:
        means = []
        for T in (100, 800):
            run = simulate(_stream(name, T), V=1.0, delta=0.6, solver="exact", reference="stored")
            means.append((float(run.Q[-1, :-1].mean()), float(run.lyapunov[-1])))
        (short, low), (long, high) = means
        growth.append(long / short)
        told.append(f"{name}: mean queue {short:.2f} then {long:.2f}, mean square times {high / low:.1f}")
    return Finding("open", None, "; ".join(told), {"growth": growth})


_STREAMS = ("alternating", "doubling blocks", "circle", "one task")


def _stream(name: str, T: int) -> Array:
    t = np.arange(T)
    return {
        "alternating": np.where(t % 2, -1.0, 1.0)[:, None],
        "doubling blocks": np.where(np.floor(np.log2(t + 1)) % 2, 1.0, -1.0)[:, None],
        "circle": np.stack([np.cos(2.4 * t), np.sin(2.4 * t)], axis=-1),
        "one task": np.where(t == 0, 0.0, 1.5)[:, None],
    }[name]


def _one_task(controller: str, stored: str) -> Finding:
    """The stored instances of a task that is forgotten for ever, and how its total grows with T."""
    small, long = e.replayed(stored), e.replayed(f"{stored}_for_ever")
    means = []
    for T in (100, 400):
        run = simulate(
            _stream("one task", T), V=1.0, delta=0.5, solver="exact", reference="stored", controller=controller
        )
        means.append(float((run.forgetting[1:, 0] - 0.5).mean()))
    text = f"and {long}; its mean excess over delta is {means[0]:.3f} after 100 tasks, {means[1]:.3f} after 400"
    finding = e.refuted(small, text)
    return finding if long.violated and means[1] > 0.2 else Finding("open", None, text)


def _lowest() -> float:
    tasks = e.random_tasks(3, T=6, d=2, seed=3, scales=(1.0,))
    return max(smallest_feasible_delta(tasks[i].phi_hat) for i in range(3))


def _runs(
    controller: str, *, weights: Weights = "mean", schedule: str | None = None, shares: tuple[float, ...] = (1.05, 2.0)
) -> Facts:
    """Case 3 on random streams: three steps of 1/(2 alpha_t) under a schedule, minimisers otherwise."""
    V, share = np.meshgrid(np.geomspace(1e-3, 1e3, 4), shares)
    how: dict[str, Any] = (
        {"solver": "exact"} if schedule is None else {"eta": "auto", "steps": 3, "V_schedule": schedule}
    )
    tasks = e.random_tasks(3, T=6, d=2, seed=3, scales=(1.0,))
    return facts_of(
        simulate(
            tasks, V=V, delta=share * _lowest(), reference="stored", weights=weights, controller=controller, **how
        )
    )  # fmt: skip


def _with_others(found: e.Tally, others: dict[str, e.Tally]) -> Finding:
    text = "; ".join(f"{name}: {one}" for name, one in others.items())
    finding = e.supported(found, text)
    return finding if all(one.holds for one in others.values()) else Finding("false", -1.0, finding.evidence)
