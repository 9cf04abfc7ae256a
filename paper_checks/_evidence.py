"""Evidence for statements: batches of runs on which a form is evaluated, and stored counterexamples replayed.

The batches are made once per process. `toy` is the paper's own setting (LOW, HIGH, CONFLICT), `mixed` holds random
positive semidefinite Hessians with a memory that differs from the tasks, V over six decades, both references and both
weights; `exact` and `toy_exact` minimise DPP_t and have a feasible ideal problem.
"""

from __future__ import annotations

import importlib
import inspect
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from coldtheory import DivergenceWarning, Tasks, from_optima, make_tasks, simulate
from coldtheory.bounds import STATEMENTS, Bound, Facts, evaluate, facts_of
from coldtheory.claims import Finding, Verdict
from coldtheory.counterexamples import load_counterexample, replay
from coldtheory.ground.dependencies import remembered
from coldtheory.ideal import smallest_feasible_delta
from coldtheory.paper import TOY
from coldtheory.settings import Reference, Solver, Weights

ETA, DELTA, STEPS = TOY.eta, TOY.delta, TOY.steps
TOY_V = (10.0, 50.0, 200.0, 1000.0)
REGIMES = ("low", "high", "conflict")


@cache
def toy(regime: str, weights: Weights = "mean", reference: Reference = "previous") -> Facts:
    """The paper's settings, 2 seeds x 4 V. CONFLICT's long queues of Case 2 or sum weights need smaller steps."""
    usual = regime != "conflict" or (weights, reference) == ("mean", "previous")
    eta: float | Literal["auto"] = ETA if usual else "auto"
    tasks = make_tasks(regime, range(2))
    return facts_of(simulate(tasks, V=TOY_V, eta=eta, delta=DELTA, steps=STEPS, weights=weights, reference=reference))


@cache
def mixed(weights: Weights = "mean", reference: Reference = "previous", window: int | None = None) -> Facts:
    """12 random streams x 14 settings: T = 10, d = 3, one or three steps of 1/(2 alpha_t)."""
    V = np.repeat(np.geomspace(1e-2, 1e4, 7), 2)
    delta = np.geomspace(1e-6, 1.0, 14)[np.random.default_rng(1).permutation(14)]
    return facts_of(
        simulate(
            random_tasks(12, T=10, d=3, seed=2), V=V, delta=delta, eta="auto", steps=np.tile([1, 3], 7),
            weights=weights, reference=reference, window=window,
        )
    )  # fmt: skip


@cache
def exact(weights: Weights = "mean", reference: Reference = "previous") -> Facts:
    """Minimisers of DPP_t on 4 random streams, with tolerances above the smallest feasible one of every stream.

    One tolerance serves all streams, so they have one scale: a narrow stream beside a wide one would fill no queue.
    """
    tasks = random_tasks(4, T=6, d=2, seed=3, scales=(1.0,))
    lowest = max(smallest_feasible_delta(tasks[i].phi_hat) for i in range(4))
    V, share = np.meshgrid(np.geomspace(1e-3, 1e3, 4), [1.05, 2.0])
    solver: Solver = "exact"
    return facts_of(simulate(tasks, V=V, delta=share * lowest, solver=solver, weights=weights, reference=reference))


def random_tasks(streams: int, *, T: int, d: int, seed: int, scales: Sequence[float] = (0.1, 1.0, 5.0)) -> Tasks:
    """Optima, PSD Hessians (some singular) and a memory that differs from the tasks in both."""
    rng = np.random.default_rng(seed)
    optima = rng.normal(size=(streams, T, d)) * rng.choice(scales, size=(streams, 1, 1))
    factors = rng.normal(size=(2, streams, T, d, d)) * rng.choice([0.0, 0.3, 1.0], size=(2, streams, T, 1, d))
    hessians, memory = factors @ factors.swapaxes(-1, -2)
    hessians = hessians + 0.05 * np.eye(d)
    memory = memory + 0.05 * np.eye(d)
    shift = 0.3 * rng.normal(size=optima.shape)
    return from_optima(optima, hessians, memory_optima=optima + shift, memory_hessians=memory, name="random")


def descents(weights: Weights | None = None, reference: Reference | None = None) -> list[Facts]:
    """All gradient-descent batches with these weights and this reference; None: with both."""
    return [
        facts
        for w in _weights(weights)
        for r in _references(reference)
        for facts in (*(toy(regime, w, r) for regime in REGIMES), mixed(w, r))
    ]


@cache
def stored(solver: Solver) -> Facts:
    """Case 3 on the streams of `exact`: minimisers of DPP_t, or three steps of 1/(2 alpha_t)."""
    tasks = random_tasks(4, T=6, d=2, seed=3, scales=(1.0,))
    lowest = max(smallest_feasible_delta(tasks[i].phi_hat) for i in range(4))
    V, share = np.meshgrid(np.geomspace(1e-3, 1e3, 4), [1.05, 2.0])
    return facts_of(simulate(tasks, V=V, delta=share * lowest, solver=solver, eta="auto", steps=3, reference="stored"))


def minimisers(weights: Weights | None = None) -> list[Facts]:
    """All batches of exact minimisers with these weights."""
    return [exact(w, r) for w in _weights(weights) for r in _references(None)]


def _weights(only: Weights | None) -> tuple[Weights, ...]:
    return ("mean", "sum") if only is None else (only,)


def _references(only: Reference | None) -> tuple[Reference, ...]:
    return ("previous", "best") if only is None else (only,)


@dataclass(frozen=True)
class Tally:
    """How a form did on runs: those that meet its premises, those that break it, and the least relative slack."""

    runs: int
    applicable: int
    violated: int
    slack: float  #: min over applicable runs of (rhs - lhs)/scale, infinite if none says anything

    @property
    def holds(self) -> bool:
        return self.violated == 0 and self.applicable > 0

    @property
    def margin(self) -> float:
        """The least relative slack; rounding of a tight bound counts as 0."""
        if not math.isfinite(self.slack):
            return 1.0
        return 0.0 if abs(self.slack) < 1e-9 else min(self.slack, 1.0)

    def __str__(self) -> str:
        return (
            f"0 of {self.applicable} runs break it" if self.holds else f"{self.violated} of {self.applicable} break it"
        )


def tally(id: str, form: str, batches: Iterable[Facts], **options: Any) -> Tally:
    """Evaluate one form on batches."""
    return total(evaluate(id, form, facts, **options) for facts in batches)


def total(bounds: Iterable[Bound]) -> Tally:
    """How a form did on several bounds together."""
    runs = applicable = violated = 0
    slack = math.inf
    for bound in bounds:
        met = np.asarray(bound.applicable)
        runs, applicable, violated = runs + met.size, applicable + int(met.sum()), violated + int(bound.violated.sum())
        if met.any():
            slack = min(slack, float((1.0 - np.asarray(bound.closeness))[met].min()))
    return Tally(runs, applicable, violated, slack)


def supported(found: Tally, text: str = "", data: Mapping[str, Any] | None = None) -> Finding:
    """A statement that is true as it stands."""
    words = f"{found}, least relative slack {found.margin:.2g}"
    text = f"{words}; {text}" if text else words
    return Finding("holds" if found.holds else "false", found.margin, text, vars(found) | dict(data or {}))


@dataclass(frozen=True)
class Replayed:
    """A stored counterexample, run again: both sides as printed, and in the form that holds instead."""

    name: str
    T: int
    violated: bool
    lhs: float
    rhs: float
    mended: bool | None  #: whether the corrected form holds on the same run

    @property
    def margin(self) -> float:
        return (self.rhs - self.lhs) / max(abs(self.lhs), abs(self.rhs))

    def __str__(self) -> str:
        digits = next((n for n in (4, 6) if f"{self.lhs:.{n}g}" != f"{self.rhs:.{n}g}"), 9)
        sign = ">" if self.violated else "<="
        return f"{self.lhs:.{digits}g} {sign} {self.rhs:.{digits}g} (T={self.T})"

    def as_data(self) -> dict[str, Any]:
        return {"counterexample": self.name, "T": self.T, "lhs": self.lhs, "rhs": self.rhs}


@remembered
def replayed(name: str) -> Replayed:
    """Run a stored counterexample again; also in the form that holds instead, if the file names one."""
    instance = load_counterexample(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        bound = replay(instance).worst()
        mended = None if instance.holds is None else str(replay(instance, instance.holds).outcome) == "holds"
    return Replayed(name, instance.T, bool(bound.violated), float(bound.lhs), float(bound.rhs), mended)


def refuted(example: Replayed, text: str = "") -> Finding:
    """A statement that is false because of a stored instance."""
    words = f"counterexample {example.name}: {example}" + (f"; {text}" if text else "")
    verdict: Verdict = "false" if example.violated else "open"
    return Finding(verdict, example.margin if example.violated else None, words, example.as_data())


def mended(example: Replayed, found: Tally, text: str = "") -> Finding:
    """A statement that fails as printed and is true in a corrected form: on that instance and on the batches."""
    verdict: Verdict = "holds with correction" if example.violated else "holds"
    if not found.holds or example.mended is False:
        verdict = "false"
    words = f"printed: {example}; corrected: {found}, least slack {found.margin:.2g}" + (f"; {text}" if text else "")
    return Finding(verdict, found.margin, words, vars(found) | example.as_data())


def explanation(id: str, *more: str) -> str:
    """What `--explain` says of a statement of `coldtheory.bounds`: its conventions, errors, proof and terms."""
    statement = STATEMENTS[id]
    module = next(iter(statement.forms.values())).__module__
    head = inspect.getdoc(importlib.import_module(module)) or ""
    said = statement.explain
    told = {"As printed": said.printed, "What is wrong": said.wrong, "What is true": said.correct,
            "Reading": said.conventions, "Proof": said.proof}  # fmt: skip
    parts = [head.split("\n\n", 1)[1], *(f"{name}: {words}" for name, words in told.items() if words)]
    width = max(map(len, said.terms))
    parts.append("Where each term comes from:\n" + "\n".join(f"    {n:<{width}}  {w}" for n, w in said.terms.items()))
    parts += [*more, f"Forms that can be evaluated: {', '.join(statement.forms)}."]
    return "\n\n".join(parts)
