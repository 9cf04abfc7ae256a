"""Every statement on one run: what it says there, which premises are missed, and what to change so that it applies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..bounds import STATEMENTS, Statement, evaluate
from ..bounds.base import Kind
from ..tasks import Tasks
from .portrait import Shared, TaskFacts
from .premises import Context, Missed, missed, remedy
from .setting import Setting

Outcome = Literal["holds", "violated", "not applicable"]

_EVERY_STEP, _MOST_STEPS = "inner_average", 1000
_ROUNDS = 3  # a change may miss another premise, whose remedy is added
#: Statement -> what it bounds, and its forms that bound just that: the theorem itself first, then sharper ones.
ABOUT: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "thm3": ("average squared gradient", ("corrected", "trajectory", "sharp")),
    "thm3_sharp": ("average squared gradient", ("ball", "corrected", "sharp")),
    "cor1": ("average squared gradient", ("mean", "corrected", "sharp")),
    "cor2_gradient": ("average squared gradient", ("corrected",)),
    "adaptive_step": ("average squared gradient", ("proved", "ball", "any_case", "mean_queue", "sharp")),
    "moving_gradient": ("average squared gradient", ("proved", "ball", "rising", "any_case", "sharp")),
    "noise_gradient": ("average squared gradient", ("proved", "ball")),
    "thm4": ("average queue", ("corrected", "trajectory", "sharp", "progress", "by_lindley", "a_priori", "best")),
    "thm2": ("average queue", ("corrected", "trajectory", "sharp")),
    "cor2_queue": ("average queue", ("corrected",)),
    "moving_queue": ("average queue", ("proved", "ball", "falling", "exact")),
    "noise_queue": ("average queue", ("proved", "ball")),
    "lindley": ("each queue", ("a_priori",)),
    "no_tradeoff": ("each queue", ("proved",)),
    "constraint": ("average constraint", ("corrected",)),
    "forgetting": ("mean forgetting", ("proved", "sharp", "rate")),
    "forgetting_uniform": ("mean forgetting so far", ("proved",)),
    "leaky_queue": ("mean forgetting so far", ("proved",)),
    "yu_neely": ("mean forgetting so far", ("proved",)),
    "creeping": ("mean forgetting", ("average",)),
    "thm1": ("loss above the ideal", ("corrected", "sharp")),
    "moving_gap": ("loss above the ideal", ("proved", "rising", "sharp")),
    "pareto": ("distance of two tasks", ("proved",)),
    "memory_size": ("error of the memory", ("average",)),
}
#: Statements about features that a run need not have; without them they say nothing new.
SPECIAL: Mapping[str, Callable[[Setting, Tasks], bool]] = {
    "adaptive_step": lambda setting, _: isinstance(setting.eta, str),
    "memory_size": lambda _, tasks: tasks.samples is not None,
    **dict.fromkeys(("leaky_queue", "yu_neely"), lambda *_: False),  # the queue is the plain one here,
    **dict.fromkeys(("moving_gap", "moving_queue", "moving_gradient"), lambda *_: False),  # V is constant,
    **dict.fromkeys(("noise_gradient", "noise_queue"), lambda *_: False),  # and gradients are exact
}


@dataclass(frozen=True)
class Verdict:
    """A form of a statement on the run. For several streams: means, and it applies only if it does so in each of
    them."""

    statement: str
    form: str
    title: str
    kind: Kind
    about: str
    outcome: Outcome
    measured: float | None  #: the left side; of a statement about every task or pair, where it is closest
    bound: float | None  #: the right side
    terms: Mapping[str, float]
    missed: tuple[Missed, ...]

    @property
    def times(self) -> float | None:
        """The bound over what was measured."""
        if self.measured is None or self.bound is None or not self.measured > 0:
            return None
        return self.bound / self.measured


@dataclass(frozen=True)
class Remedy:
    """Changes of the setting, and the verdict on the run with them, which was made."""

    changes: Mapping[str, Any]
    verdict: Verdict


def verdicts(facts: TaskFacts, setting: Setting, delta_min: float, statements: Iterable[Statement]) -> list[Verdict]:
    """All forms of these statements, including those that are false as printed; a form that looks at every single step
    is left out where there are very many steps."""
    context = Context(setting, facts, delta_min)
    long = setting.solver == "gd" and setting.steps > _MOST_STEPS
    forms = [(told, form) for told in statements for form in told.forms]
    return [_verdict(told, form, context) for told, form in forms if not (long and form == _EVERY_STEP)]


@dataclass(frozen=True)
class Ruling:
    """A statement on the run: its own form, and the sharpest that bounds the same."""

    statement: str
    title: str
    about: str
    main: Verdict  #: the theorem; where it does not apply another form that does, or the one that misses least
    sharpest: Verdict  #: of the forms that apply the one with the smallest bound

    @property
    def outcome(self) -> Outcome:
        """The outcome of the main form."""
        return self.main.outcome


def rulings(found: Iterable[Verdict], setting: Setting, tasks: Tasks) -> list[Ruling]:
    """The statements that concern such a run, in the order of `ABOUT`."""
    by_name = {(one.statement, one.form): one for one in found}
    ruled = []
    for id_, (about, names) in ABOUT.items():
        forms = [by_name[id_, name] for name in names if (id_, name) in by_name]
        if not forms or (id_ in SPECIAL and not SPECIAL[id_](setting, tasks)):
            continue
        main = min(
            forms, key=lambda one: ({"violated": 0, "holds": 1, "not applicable": 2}[one.outcome], len(one.missed))
        )
        apply = [one for one in forms if one.outcome == "holds" and one.bound is not None]
        sharpest = min(apply, key=lambda one: one.bound or 0.0) if apply else main
        ruled.append(Ruling(id_, main.title, about, main, sharpest))
    return ruled


class Remedies:
    """Looks for settings with which statements apply, at the same V; runs that it has made are kept."""

    def __init__(self, tasks: Tasks, V: float, setting: Setting, delta_min: float, shared: Shared) -> None:
        self.tasks, self.V, self.setting, self.delta_min, self.shared = tasks, V, setting, delta_min, shared
        self._contexts: dict[tuple[tuple[str, Any], ...], Context] = {}

    def find(self, one: Verdict, start: Context) -> Remedy | None:
        """The changes that make this form apply, with the verdict on the run that has them; None if none does."""
        changes: dict[str, Any] = {}
        context, now = start, one
        for _ in range(_ROUNDS):
            names = [miss.premise for miss in now.missed]
            wanted = [remedy(name, context) for name in (["did not diverge"] if "did not diverge" in names else names)]
            if not wanted or any(change is None for change in wanted):
                return None
            before = dict(changes)
            for change in wanted:
                changes |= change or {}
            if changes == before:
                return None
            context = self._context(changes)
            now = _verdict(STATEMENTS[one.statement], one.form, context)
            if now.outcome != "not applicable":
                return Remedy(changes, now)
        return None

    def _context(self, changes: Mapping[str, Any]) -> Context:
        key = tuple(sorted(changes.items(), key=lambda pair: pair[0]))
        if key not in self._contexts:
            setting = replace(self.setting, **changes)
            facts = TaskFacts(setting.run(self.tasks, self.V), self.shared)
            self._contexts[key] = Context(setting, facts, self.delta_min)
        return self._contexts[key]


def _verdict(told: Statement, form: str, context: Context) -> Verdict:
    bound = evaluate(told, form, context.facts)
    outcomes = set(bound.outcome.reshape(-1).tolist())
    outcome: Outcome = "violated" if "violated" in outcomes else "holds" if outcomes == {"holds"} else "not applicable"
    failing = [name for name, met in bound.assumptions.items() if not np.all(met)]
    worst = bound.worst()
    return Verdict(
        statement=told.id,
        form=form,
        title=told.title,
        kind=bound.kind,
        about=ABOUT.get(told.id, ("", ()))[0],
        outcome=outcome,
        measured=_mean(worst.lhs),
        bound=_mean(worst.rhs),
        terms={name: value for name, term in worst.terms.items() if (value := _mean(term)) is not None},
        missed=tuple(missed(name, bound.assumptions[name], context) for name in failing),
    )


def _mean(values: Any) -> float | None:
    value = float(np.mean(values))
    return value if np.isfinite(value) else None
