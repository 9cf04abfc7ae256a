"""Every attempt to break a form within a stated budget: random runs, extreme ones, and runs that climb.

    random    points drawn evenly from the cube of each plan
    extreme   points on its faces and corners: repeated tasks, V and delta at their ends, eta at its limit
    climbing  `search` where these came closest: in a few plans, each with one number of tasks

A budget is a number of runs. A quarter of it is for the first kind, a quarter for the second, and half for the third.
The challenge ends with the first kind that breaks the form. The run that broke it is made as small as possible, and is
evaluated alone and through the public functions before it is reported.

Streams far from the origin are not tried: the method moves along when all optima do, so they would only show rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from ..bounds import Statement, find_statement
from ..ground.checks import choice, whole
from ..ground.errors import ColdError
from ..quadratics import Array
from .driver import CLEAR, Found, NothingMet, search
from .instance import Confirmed, Plain, confirm, in_few_digits, plain_of
from .plans import Plan, check_form, first_form, plans_for
from .population import REFUSED, assess
from .space import Space

Attempt = Literal["random", "extreme", "climbing"]
Verdict = Literal["holds on all tried", "violated", "not applicable"]
ATTEMPTS: tuple[Attempt, ...] = ("random", "extreme", "climbing")
CANDIDATES = 100_000

_SHARE = {"random": 0.25, "extreme": 0.25, "climbing": 0.5}
_AT_ONCE = 400  # runs
_CLIMBED = 4  # places, those that came closest
_ALIKE = 6  # digits: of places that come equally close the simplest is taken, and rounding does not choose
_KEPT = 0.5  # share of a violation's margin that must survive when the instance is made smaller


@dataclass(frozen=True)
class Tally:
    """What one kind of attempt came to."""

    attempt: Attempt
    tried: int
    applicable: int  #: of these, the runs that meet all premises
    tightest: float | None  #: the largest 1 + (left - right)/the larger side: above 1 the form is broken


@dataclass(frozen=True, eq=False)
class Challenge:
    """A form, all that was tried against it, and the run that came closest or broke it."""

    statement: str
    form: str
    kind: str
    plans: tuple[Plan, ...]
    tallies: tuple[Tally, ...]
    found: Found | None  #: None where no run met the premises

    @property
    def verdict(self) -> Verdict:
        """ "violated", "holds on all tried", or "not applicable" where no run met the premises."""
        if self.found is None:
            return "not applicable"
        return "violated" if self.found.best.broken else "holds on all tried"

    @property
    def broken_by(self) -> Attempt | None:
        """The kind of attempt that broke the form, if one did."""
        return self.tallies[-1].attempt if self.verdict == "violated" else None

    @property
    def clear(self) -> bool:
        """Whether it is broken by more than could be rounding."""
        return self.found is not None and self.found.best.score > 1.0 + CLEAR

    @property
    def tried(self) -> int:
        """The number of runs that were tried."""
        return sum(tally.tried for tally in self.tallies)

    @property
    def applicable(self) -> int:
        """The number of runs that met all premises."""
        return sum(tally.applicable for tally in self.tallies)


def challenge(
    statement: str | Statement,
    form: str | None = None,
    plans: Sequence[Plan] | None = None,
    *,
    candidates: int = CANDIDATES,
    seed: int = 0,
    attempts: Sequence[Attempt] = ATTEMPTS,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Challenge:
    """Try to break a form on so many runs.

    plans    : where to look; without them, wherever the premises allow
    attempts : which kinds of attempt; the budget is divided among them
    tell     : is called with the number of runs done and the number of all runs

    >>> done = challenge("lemma1", "printed", candidates=2000)
    >>> done.verdict, done.broken_by
    ('violated', 'random')
    """
    told = find_statement(statement)
    form = first_form(told) if form is None else form
    check_form(told, form)
    chosen = tuple(plans_for(told, form) if plans is None else (plan.checked() for plan in plans))
    kinds = [choice("attempt", attempt, ATTEMPTS) for attempt in attempts]
    if not chosen or not kinds:
        raise ColdError("a challenge needs at least one plan and one kind of attempt")
    work = _Work(told, form, chosen, whole("seed", seed, least=0), whole("candidates", candidates, least=1), tell)
    whole_share = sum(_SHARE[kind] for kind in kinds)
    for kind in ATTEMPTS:
        if kind in kinds and not work.broken:
            work.attempt(kind, max(1, round(work.budget * _SHARE[kind] / whole_share)))
    return work.outcome()


_Place = tuple[Plan, int]  # a plan with one number of tasks


class _Work:
    """One call of `challenge`: the budget, the closest run so far, and how close each place came."""

    def __init__(
        self,
        statement: Statement,
        form: str,
        plans: tuple[Plan, ...],
        seed: int,
        budget: int,
        tell: Callable[[int, int], None],
    ) -> None:
        self.statement, self.form, self.plans = statement, form, plans
        self.seed, self.budget, self.tell = seed, budget, tell
        self.best: tuple[Confirmed, Plan, Attempt] | None = None
        every = [(plan, T) for plan in plans for T in range(plan.T[0], plan.T[1] + 1)]
        self.closest: dict[_Place, float] = dict.fromkeys(every, -np.inf)
        self.tallies: list[Tally] = []

    @property
    def broken(self) -> bool:
        return self.best is not None and self.best[0].broken and self.best[0].score > 1.0 + CLEAR

    @property
    def done(self) -> int:
        return sum(tally.tried for tally in self.tallies)

    def attempt(self, kind: Attempt, budget: int) -> None:
        tried = applicable = 0
        top = -np.inf
        for number, met, place, found in (self._climb if kind == "climbing" else self._sample)(kind, budget):
            tried, applicable = tried + number, applicable + met
            self.tell(min(self.done + tried, self.budget), self.budget)
            if found is not None and found.score > REFUSED:
                top = max(top, found.score)
                self.closest[place] = max(self.closest[place], found.score)
                if self.best is None or found.score > self.best[0].score:
                    self.best = (found, place[0], kind)
            if self.broken:
                break
        self.tallies.append(Tally(kind, tried, applicable, top if top > REFUSED else None))

    def _sample(self, kind: Attempt, budget: int) -> Iterator[tuple[int, int, _Place, Confirmed | None]]:
        """Random or extreme runs, place by place, each with random numbers of its own."""
        for at, (plan, T) in enumerate(self.closest):
            count = _part(budget, at, len(self.closest))
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(ATTEMPTS.index(kind), at)))
            space = Space(plan, T)
            best, point, met = -np.inf, np.zeros(space.size), 0
            for first in range(0, count, _AT_ONCE):
                points = rng.random((min(_AT_ONCE, count - first), space.size))
                points = _pushed(points, rng) if kind == "extreme" else points
                values = assess(self.statement, self.form, space.decode(points), plan)
                met += int((values > REFUSED).sum())
                if values.max() > best:
                    best, point = float(values.max()), points[int(values.argmax())]
            found = None
            if best > REFUSED:
                found = confirm(plain_of(space.decode(point[None]), plan, 0), self.statement, self.form)
            yield count, met, (plan, T), found

    def _climb(self, _kind: Attempt, budget: int) -> Iterator[tuple[int, int, _Place, Confirmed | None]]:
        """`search` in the places that came closest, the same budget in each."""
        near = {place: -np.inf if score == -np.inf else round(score, _ALIKE) for place, score in self.closest.items()}
        chosen = sorted(near, key=lambda place: -near[place])[:_CLIMBED]
        for at, (plan, T) in enumerate(chosen):
            count = _part(budget, at, len(chosen))
            if count == 0:
                continue
            here = replace(plan, T=(T, T))
            try:
                found = search(self.statement, self.form, here, candidates=count, seed=self.seed, until_broken=True)
            except NothingMet:
                yield count, 0, (plan, T), None
            else:
                yield found.evaluations, found.applicable, (plan, T), found.best

    def outcome(self) -> Challenge:
        found = None
        if self.best is not None:
            best, plan, kind = self.best
            config = {
                "statement": self.statement.id, "form": self.form, "seed": self.seed, "candidates": self.budget,
                "evaluations": self.done, "stage": f"{kind} runs", "plan": asdict(plan),
            }  # fmt: skip
            met = sum(tally.applicable for tally in self.tallies)
            found = Found(self.statement.id, self.form, shrunk(best), config, 0, self.done, 0.0, met)
        kind_ = "conjectured" if found is None else found.best.bound.kind
        return Challenge(self.statement.id, self.form, kind_, self.plans, tuple(self.tallies), found)


def _part(budget: int, at: int, parts: int) -> int:
    """The size of a part when a budget is divided as evenly as it can be."""
    return budget * (at + 1) // parts - budget * at // parts


def _pushed(points: Array, rng: np.random.Generator) -> Array:
    """Most coordinates moved to an end or to the middle, which for an increment is 0."""
    where = rng.choice([0.0, 0.5, 1.0, np.nan], p=[0.3, 0.2, 0.3, 0.2], size=points.shape)
    return np.where(np.isnan(where), points, where)


def shrunk(found: Confirmed) -> Confirmed:
    """The same violation on a smaller run: fewer tasks, no memory or curvature of its own, few digits.

    What breaks nothing stays as it is.
    """
    if not found.broken:
        return found
    least = 1.0 + _KEPT * (found.score - 1.0)
    smaller = True
    while smaller:
        smaller = False
        for plain in _simpler(found.plain):
            try:
                tried = confirm(plain, found.instance.statement, found.instance.form, found.waived)
            except ColdError:  # a rule that needs what was taken away
                continue
            if tried.broken and tried.score >= least:
                found, smaller = tried, True
                break
    return in_few_digits(found)


def _simpler(plain: Plain) -> Iterator[Plain]:
    """Instances with one thing less."""
    tasks, settings = plain["tasks"], plain["settings"]
    T = len(tasks["optima"])

    def without(values: Any, at: int) -> Any:
        return values[:at] + values[at + 1 :] if isinstance(values, list) and len(values) == T else values

    for at in range(T - 1, -1, -1) if T > 2 else ():  # one task has no past
        fewer = {name: without(values, at) for name, values in tasks.items()}
        rules = {name: values if name == "w0" else without(values, at) for name, values in settings.items()}
        yield {**plain, "tasks": fewer, "settings": rules}
    for name in ("memory_hessians", "memory_optima", "hessians"):
        if name in tasks and not (name == "hessians" and "memory_hessians" in tasks):
            fewer = {key: values for key, values in tasks.items() if key != name}
            yield {**plain, "tasks": fewer}
    if settings.get("w0") != tasks["optima"][0]:
        yield {**plain, "settings": {**settings, "w0": tasks["optima"][0]}}
    if settings["V"] != 1.0 and isinstance(
        settings.get("eta"), float
    ):  # as long as queues are empty, only eta V counts
        of_one = {**settings, "V": 1.0, "eta": settings["eta"] * settings["V"]}
        yield {**plain, "settings": of_one}
    if settings.get("steps", 1) != 1:
        yield {**plain, "settings": {**settings, "steps": 1}}
    if "V_schedule" in settings:
        yield {**plain, "settings": {name: value for name, value in settings.items() if name != "V_schedule"}}
