"""What each premise of a theorem asks, by how much a run misses it, and which change of the setting would meet it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bounds.base import quiet
from ..bounds.facts import POSSIBLE
from ..simulation import largest_stable_eta
from .portrait import TaskFacts
from .setting import Setting, significant
from .text import shown

_ROOM = 2.0  # delta is advised this many times larger than the smallest one that is feasible
_CASE = {
    "previous": "the previous model (Case 1)", "best": "the best model so far (Case 2)",
    "stored": "the model at the end of the past task (Case 3)", "own": "a rule of your own",
}  # fmt: skip


@dataclass(frozen=True)
class Missed:
    """A premise that a run does not meet."""

    premise: str
    words: str  #: by how much, or what the run has instead
    value: float | None = None  #: what the run has, where that is a number
    limit: float | None = None  #: what the premise asks for
    streams: int = 1  #: in how many streams it is missed


@dataclass(frozen=True)
class Context:
    """All that a premise may be judged by."""

    setting: Setting
    facts: TaskFacts
    delta_min: float

    @property
    def reach(self) -> float:
        """max_t eta alpha_t over all streams."""
        return float(np.max(self.facts.eta_alpha_max))

    def largest_eta(self, most: float) -> float:
        """The largest eta with eta alpha_t <= most in every stream, with three digits."""
        return largest_eta(self.facts, most)


def largest_eta(facts: TaskFacts, most: float) -> float:
    """The largest eta with eta alpha_t <= most in every stream of the run, rounded down to three digits."""
    run = facts.run
    indices = list(np.ndindex(*run.tasks.streams)) if run.tasks.streams else [()]
    return significant(min(largest_stable_eta(run, index, most=most) for index in indices), up=False)


def missed(name: str, met: np.ndarray, context: Context) -> Missed:
    """A premise that is not met in some streams."""
    judge = _JUDGES.get(name, _other)
    with quiet():  # of a run that diverged
        words, value, limit = judge(name, context)
    return Missed(name, words, value, limit, int((~np.asarray(met)).sum()))


def remedy(name: str, context: Context) -> Mapping[str, Any] | None:
    """Changes of the setting with which the premise would be met; None if no setting can."""
    return _REMEDIES[name](context) if name in _REMEDIES else None


Judged = tuple[str, float | None, float | None]


def _other(name: str, context: Context) -> Judged:
    return _PLAIN.get(name, "this run does not meet it"), None, None


def _step(most: float, name: str = "alpha_t") -> Callable[[str, Context], Judged]:
    def judge(premise: str, context: Context) -> Judged:
        reach = context.reach
        return f"eta {name} reaches {shown(reach)}, and may be at most {most:g}", reach, most

    return judge


def _printed_step(premise: str, context: Context) -> Judged:
    reach = float(np.max(context.facts.eta_alpha_printed))
    return f"eta alpha_t reaches {shown(reach)}, and may be at most 0.5", reach, 0.5


def _tolerance(premise: str, context: Context) -> Judged:
    delta, least = float(context.setting.delta), context.delta_min
    times = f", {shown(least / delta)} times as much" if delta > 0 and least > delta else ""
    return f"delta = {shown(delta)}, and these tasks need more than {shown(least)}{times}", delta, least


def _reference(premise: str, context: Context) -> Judged:
    return f"the reference is {_CASE[context.facts.reference]}", None, None


def _worse(premise: str, context: Context) -> Judged:
    facts = context.facts
    own = np.diagonal(facts.hat[..., 1:, :], axis1=-2, axis2=-1)[..., None, :]
    worse = np.where(np.tri(facts.T, k=-1, dtype=bool), facts.hat_ref - own, -np.inf).max()
    return f"a reference is worse than x_k by up to {shown(float(worse))}", float(worse), 0.0


def _impossible(premise: str, context: Context) -> Judged:
    facts = context.facts
    above = facts.hat_ref - (facts.hat - facts.hat_above)[..., 1:, :]
    least = float(np.where(np.tri(facts.T, k=-1, dtype=bool), above, np.inf).min())
    return f"your rule gives a loss {shown(-least)} below what any model has", least, 0.0


def _minimiser(premise: str, context: Context) -> Judged:
    left = float(np.nanmax(context.facts.eps)) if np.isfinite(context.facts.eps).any() else None
    words = "the run takes gradient steps"
    return words + ("" if left is None else f", which leave DPP_t up to {shown(left)} above its minimum"), left, 0.0


def _steps(premise: str, context: Context) -> Judged:
    return f"the run takes {context.setting.steps} steps per task", float(context.setting.steps), 1.0


_PLAIN = {
    "gradient descent": "the run minimises DPP_t exactly",
    "queues drive the model": "the queues have no weight",
    "mean weights": "the weights are the queues themselves, not their mean",
    "sum weights": "the weights are the mean of the queues",
    "delta > 0": "delta is 0",
    "sampled memory": "the losses are not means over stored samples",
    "plain queue": "a controller other than the plain queue is used",
    "leaky queue": "the controller is not the leaky queue",
    "Yu-Neely controller": "the controller is the plain queue",
    "curvatures are positive multiples of the identity": "the Hessians of these tasks are not",
    "did not diverge": "the models left every bounded set",
    "eta is constant": "eta follows the queues",
    "w* in W": "the ideal models do not exist, or lie outside the ball around optima and models",
    "inner iterates in W": "a step between two tasks leaves the ball around optima and models",
    "models in W": "a model lies outside W",
}

_JUDGES: dict[str, Callable[[str, Context], Judged]] = {
    "eta <= 1/alpha_t": _step(1.0),
    "eta < 2/alpha_t": _step(2.0),
    "eta <= 2/alpha_t, or the minimiser": _step(2.0),
    "eta <= 1/(2 alpha_t) as printed": _printed_step,
    "w* is feasible": _tolerance,
    "delta' <= delta": _tolerance,
    "delta' < delta": _tolerance,
    "Case 1": _reference,
    "Case 2": _reference,
    "Case 3": _reference,
    "no reference is worse than x_k": _worse,
    POSSIBLE: _impossible,
    "exact minimiser": _minimiser,
    "one step per task": _steps,
}


def _more_tolerance(context: Context) -> Mapping[str, Any]:
    return {"delta": significant(max(_ROOM * context.delta_min, float(context.setting.delta), 1e-12), 2, up=True)}


def _shorter(most: float) -> Callable[[Context], Mapping[str, Any] | None]:
    def change(context: Context) -> Mapping[str, Any] | None:
        eta = context.largest_eta(most)
        return {"eta": eta} if eta > 0 else None

    return change


def _constant_eta(context: Context) -> Mapping[str, Any]:
    return {"eta": significant(float(np.min(context.facts.eta)), up=False)}


_REMEDIES: dict[str, Callable[[Context], Mapping[str, Any] | None]] = {
    "gradient descent": lambda _: {"solver": "gd"},
    "exact minimiser": lambda _: {"solver": "exact"},
    "the method's own models": lambda _: {"solver": "gd"},
    "Case 1": lambda _: {"reference": "previous"},
    "Case 2": lambda _: {"reference": "best"},
    "Case 3": lambda _: {"reference": "stored"},
    "no reference is worse than x_k": lambda _: {"reference": "stored"},
    POSSIBLE: lambda _: {"reference": "stored"},
    "mean weights": lambda _: {"weights": "mean"},
    "sum weights": lambda _: {"weights": "sum"},
    "queues drive the model": lambda _: {"weights": "mean"},
    "delta > 0": lambda _: {"delta": 1e-6},
    "w* is feasible": _more_tolerance,
    "delta' <= delta": _more_tolerance,
    "delta' < delta": _more_tolerance,
    "w* in W": _more_tolerance,
    "one step per task": lambda _: {"steps": 1},
    "eta is constant": _constant_eta,
    "did not diverge": _shorter(1.0),
    "eta <= 1/alpha_t": _shorter(1.0),
    "eta < 2/alpha_t": _shorter(1.999),
    "eta <= 2/alpha_t, or the minimiser": _shorter(2.0),
    "eta <= 1/(2 alpha_t) as printed": _shorter(0.5),
}
