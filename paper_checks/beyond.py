"""Theorems that the paper lacks: real forgetting, and what no method can do. Their proofs are in docs/theorems.

Claims here have labels that begin with `new:` and are counted separately from those of the paper.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coldtheory import simulate
from coldtheory.bounds import evaluate, facts_of, follow
from coldtheory.claims import Finding
from coldtheory.ideal import ideal_points, smallest_feasible_delta
from coldtheory.settings import Reference
from paper_checks import _evidence as e
from paper_checks import claim

SECTION = "Beyond the paper"
_REFERENCES: tuple[Reference, ...] = ("previous", "best", "stored")
_EQUAL = 1e-9


@claim(
    id="forgetting",
    label="new:forgetting",
    section=SECTION,
    statement="""With a stored reference, or the best past model, the mean over all pairs k < t of hatPhi_k(x_t) -
        hatPhi_k(x_k) is at most delta + (2/T) sqrt(2 B) with B = sum_t (Delta_t + eps_t +
        V [Phi_t(w*_t) - Phi_t(x_t)] - (delta - delta') Qbar[t-1]).""",
    recorded="holds",
    explain=e.explanation(
        "forgetting", "The margin is the least relative slack over minimisers and descending runs, Cases 2 and 3."
    ),
)
def forgetting() -> Finding:
    """Evaluate both forms on minimisers and on descending runs in Cases 2 and 3."""
    batches = [e.stored("exact"), e.stored("gd"), e.exact("mean", "best")]
    sharp = e.tally("forgetting", "sharp", batches)
    words = f"sharper form: {sharp}, least slack {sharp.margin:.2g}"
    return e.supported(e.tally("forgetting", "proved", batches), words)


@claim(
    id="forgetting-rate",
    label="new:forgetting",
    section=SECTION,
    statement="""The excess of mean forgetting over delta is O(sqrt(V/T)); with V = T^(1/3) it and the loss gap are both
        O(T^(-1/3)).""",
    recorded="holds",
    explain="""
        b_t <= (G + delta)^2/2 + V P + eps, where G is the largest gap of a memory loss on W, P the largest loss of an
        ideal model, and eps bounds eps_t: the excess is at most sqrt(2 [(G + delta)^2 + 2 V P + 2 eps]/T), and the gap
        of Theorem 1 at most [(G + delta)^2/2 + eps]/V. Needs delta' <= delta, and eps bounded as T grows. Instance:
        optima that alternate between -1 and 1, delta = .5, exact minimisation, T from 50 to 800. The margin is .05
        minus the difference of the fitted exponent of the proved excess from -1/2 at V = 1.""",
)
def forgetting_rate() -> Finding:
    """Fit the exponents of the proved excess over T, at V = 1 and at V = T^(1/3)."""
    lengths = np.array([50, 100, 200, 400, 800])
    fixed = [_alternating_excess(int(T), 1.0) for T in lengths]
    growing = [_alternating_excess(int(T), float(T) ** (1 / 3)) for T in lengths]
    slope, both = _slope(lengths, fixed), _slope(lengths, growing)
    margin = 0.05 - abs(slope + 0.5)
    text = f"the excess falls as T^{slope:.3f} at V = 1, as T^{both:.3f} at V = T^(1/3)"
    holds = margin >= 0 and both <= -1 / 3 + 0.05
    return Finding("holds" if holds else "false", margin if holds else min(margin, -1 / 3 + 0.05 - both), text)


def _alternating_excess(T: int, V: float) -> float:
    """The proved excess over delta; both bounds are checked on the way."""
    optima = np.where(np.arange(T) % 2, 1.0, -1.0)[:, None]
    facts = facts_of(simulate(optima, V=V, delta=0.5, solver="exact", reference="stored"))
    options: dict[str, Any] = {"delta_prime": 0.5, "w_star": np.zeros_like(optima)}
    bounds = [evaluate("forgetting", form, facts, **options) for form in ("proved", "rate")]
    return float(bounds[0].terms["excess"]) if all(bound.outcome == "holds" for bound in bounds) else np.inf


def _slope(x: np.ndarray, y: list[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


@claim(
    id="creeping",
    label="new:creeping",
    section=SECTION,
    statement="""In Case 1 hatPhi_k(x_t) - hatPhi_k(x_k) <= Q_k[t] + (t-k) delta, and nothing better is true: a model
        may forget delta per task for ever with all queues empty. In Cases 2 and 3 one delta is enough.""",
    recorded="holds",
    explain=e.explanation(
        "creeping",
        "The stored instance: coldtheory replay creeping. In exact numbers: optima (0,0,..), (1,0,..), (1,1,..), ..., "
        "with delta = 1/2, where every pair attains the bound and no queue fills. The margin is the least slack.",
    ),
)
def creeping() -> Finding:
    """Evaluate the bound in all cases, simulate a creeping model, and replay the stored instance."""
    found = e.tally("creeping", "proved", e.descents(reference="previous"))
    one = e.tally("creeping", "one_delta", [e.stored("exact"), e.stored("gd"), *e.descents(reference="best")])
    creep = simulate(np.tri(12, k=-1)[:, :-1], V=1.0, delta=0.5, solver="exact")
    bound, example = evaluate("creeping", "proved", creep), e.replayed("creeping")
    pairs = np.tri(12, k=-1, dtype=bool)
    attained = bool((np.abs(bound.slack[pairs]) < _EQUAL).all()) and float(creep.Q.max()) < _EQUAL and example.violated
    text = (
        f"Cases 2 and 3: {one}; with empty queues a task forgets {float(creep.max_forgetting):g} = 11 delta; "
        f"one delta in Case 1: {example}"
    )
    finding = e.supported(found, text)
    return finding if attained and one.holds else Finding("false", -1.0, text)


@claim(
    id="pareto",
    label="new:pareto",
    section=SECTION,
    statement="""Any model has sqrt(Phi_k) + sqrt(Phi_t) >= sqrt(L/2) |a_k - a_t| for losses (L/2)|w - a|^2; where tasks
        are of two kinds COLD's models attain it for every V, reference and tolerance.""",
    recorded="holds",
    explain=e.explanation(
        "pareto", "The margin is the least relative slack (0: it is attained); the evidence adds the largest slack of "
        "minimisers on tasks of two kinds over 8 decades of V and all references.",
    ),
)  # fmt: skip
def pareto() -> Finding:
    """Evaluate the bound on the toy under every reference, and measure its slack on two kinds of task."""
    found = e.tally("pareto", "proved", [e.toy(regime, "mean", r) for regime in e.REGIMES for r in _REFERENCES])
    kinds = np.array([[1.0, 2.0], [-2.0, 6.0]])[np.array([0, 0, 1, 0, 1, 1, 0, 1])]
    worst = 0.0
    for reference in _REFERENCES:
        run = simulate(kinds, V=np.geomspace(1e-4, 1e4, 9), delta=0.3, solver="exact", reference=reference)
        bound = evaluate("pareto", "proved", run)
        worst = max(worst, float(np.abs(bound.slack / np.where(bound.lhs > 0, bound.lhs, np.inf)).max()))
    finding = e.supported(found, f"two kinds of task, minimisers: largest relative slack {worst:.1e}")
    return finding if worst < _EQUAL else Finding("false", -worst, finding.evidence)


@claim(
    id="no-tradeoff",
    label="new:no_tradeoff",
    section=SECTION,
    statement="""Where the ideal problem is feasible with delta' <= delta, playing x_t = w*_t has no loss gap and no
        queue, for every reference: no O(1/V) - O(V) trade-off is forced.""",
    recorded="holds",
    explain=e.explanation(
        "no_tradeoff",
        "The margin is the least relative slack of the bound on queues over all runs; the evidence adds the largest "
        "queue and gap of the ideal models of four random streams under three references.",
    ),
)
def no_tradeoff() -> Finding:
    """Evaluate the bound on all runs, and follow the ideal models of random streams under three references."""
    batches = [*e.descents("mean"), *e.minimisers("mean"), e.stored("exact"), e.stored("gd")]
    found = e.tally("no_tradeoff", "proved", batches)
    queue = gap = 0.0
    for i in range(4):
        tasks = e.random_tasks(4, T=6, d=2, seed=3, scales=(1.0,))[i]
        delta = 1.05 * smallest_feasible_delta(tasks.phi_hat)
        star = ideal_points(tasks, delta).w_star
        for reference in _REFERENCES:
            run = follow(tasks, np.vstack([star[:1], star]), V=1.0, delta=delta, reference=reference)
            queue = max(queue, float(run.Q.max()))
            gap = max(gap, float(np.abs(facts_of(run).phi_after - tasks.phi.at(star)).max()))
    finding = e.supported(found, f"at the ideal models: largest queue {queue:g}, largest gap {gap:g}")
    return finding if queue == gap == 0.0 else Finding("false", -max(queue, gap), finding.evidence)
