"""The search: rounds of differential evolution from a cold start, each polished in ever smaller boxes.

A whole population is one batch of runs. Round i looks at the i-th number of tasks of the plan, with random numbers
keyed by (seed, i). The first points of a round are thus the same on every machine. From then on candidates compete
by scores that are computed in floating point, so what a round finds is the same on the same machine, and on machines
with the same kernels; on others an equally good instance may win. A time limit decides how many rounds there are;
limits by rounds or by candidates leave the clock out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bounds import Bound, Statement, find_statement
from ..ground.checks import number, whole
from ..ground.errors import ColdError, unknown_name
from ..quadratics import Array
from .instance import Confirmed, confirm, in_few_digits, plain_of
from .plans import Plan, check_form, first_form, plan_for
from .population import REFUSED, assess
from .space import Space

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_SECONDS = 60.0  # where no limit is given
CLEAR = 1e-3  # a violation by more than this share of the larger side is not due to rounding
_POPULATION = 16  # points per coordinate
_SMALLEST, _LARGEST = 80, 400  # points
_GENERATIONS = 150
_BOXES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)  # half-widths of the boxes of the polish, in units of the cube
_BOX_GENERATIONS = 30


@dataclass(frozen=True, eq=False)
class Found:
    """The tightest instance of a search, and how it was found."""

    statement: str
    form: str
    best: Confirmed
    config: dict[str, Any]  #: all that is needed to search again
    rounds: int
    evaluations: int
    seconds: float
    applicable: int  #: of the evaluations, those that meet all premises


class NothingMet(ColdError):
    """Raised where no run of the family meets the premises."""


@dataclass(frozen=True)
class Limits:
    """When a search ends, besides a clear violation: the first of these that is reached."""

    seconds: float | None = None
    rounds: int | None = None
    candidates: int | None = None

    def checked(self) -> Limits:
        """The limits, with the default time limit if there are none; raises `ColdError` if one makes no sense."""
        if self.seconds is self.rounds is self.candidates is None:
            return Limits(seconds=_SECONDS)
        if self.seconds is not None:
            number("seconds", self.seconds, above=0)
        for name, value in (("rounds", self.rounds), ("candidates", self.candidates)):
            if value is not None:
                whole(name, value, least=1)
        return self


@dataclass(frozen=True)
class SearchProgress:
    """What is reported after each generation of a search."""

    elapsed: float
    limits: Limits
    rounds: int
    evaluations: int
    T: int
    score: float  #: the best so far, over all rounds


class _Stop(Exception):
    """The time is over, or enough candidates were seen."""


def search(
    statement: str | Statement,
    form: str | None = None,
    plan: Plan | None = None,
    *,
    seconds: float | None = None,
    seed: int = 0,
    rounds: int | None = None,
    candidates: int | None = None,
    until_broken: bool | None = None,
    waived: Collection[str] = (),
    watch: Callable[[SearchProgress], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Found:
    """The largest lhs/rhs of a statement's form over the runs of a plan, within limits.

    seconds      : a time limit; 60 if no limit is given at all
    rounds       : stop after so many restarts
    candidates   : stop after the population in which so many runs are reached
    until_broken : stop at the first clear violation; None stops for forms that are not declared true
    waived       : premises that need not hold, to see whether a statement can do without them
    clock        : where the seconds come from

    Without a time limit, equal seeds give equal results on the same machine.

    >>> found = search("lemma1", rounds=1)
    >>> found.best.broken, found.best.instance.T
    (True, 3)
    """
    told = find_statement(statement)
    form = first_form(told) if form is None else form
    check_form(told, form)
    plan = plan_for(told, form) if plan is None else plan.checked()
    seed = whole("seed", seed, least=0)
    limits = Limits(seconds, rounds, candidates).checked()
    hunt = _Hunt(told, form, plan, limits, seed, tuple(waived), watch, clock)
    doubtful = hunt.probe.kind in ("false as printed", "conjectured")
    return hunt.run(doubtful if until_broken is None else until_broken)


class _Hunt:
    """One call of `search`: the clock, the count, and the best so far."""

    def __init__(
        self,
        statement: Statement,
        form: str,
        plan: Plan,
        limits: Limits,
        seed: int,
        waived: tuple[str, ...],
        watch: Callable[[SearchProgress], None],
        clock: Callable[[], float],
    ) -> None:
        self.statement, self.form, self.plan = statement, form, plan
        self.limits, self.seed, self.waived, self.watch, self.clock = limits, seed, waived, watch, clock
        self.began, self.rounds, self.evaluations, self.applicable = clock(), 0, 0, 0
        self.best: Confirmed | None = None
        self.top = -np.inf
        for name in waived:
            if name not in self.probe.assumptions:
                raise unknown_name(f"premise of {statement.id} ({form})", name, self.probe.assumptions)

    @cached_property
    def probe(self) -> Bound:
        """The form on any instance of the family, to learn its kind and its premises."""
        space = Space(self.plan, self.plan.T[0])
        candidates = space.decode(np.full((1, space.size), 0.9))
        return confirm(plain_of(candidates, self.plan, 0), self.statement, self.form).bound

    @property
    def elapsed(self) -> float:
        return self.clock() - self.began

    def _over(self) -> bool:
        """Whether no further population may be looked at; the first one always is."""
        seconds, candidates = self.limits.seconds, self.limits.candidates
        late = seconds is not None and self.evaluations > 0 and self.elapsed > seconds
        return late or (candidates is not None and self.evaluations >= candidates)

    def run(self, until_broken: bool) -> Found:
        low, high = self.plan.T
        while self.limits.rounds is None or self.rounds < self.limits.rounds:
            space = Space(self.plan, low + self.rounds % (high - low + 1))
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.rounds,)))
            over = self._round(space, rng, until_broken)
            self.rounds += 1
            if over or (until_broken and self.best is not None and _clear(self.best.score)):
                break
        if self.best is None:
            raise NothingMet(
                f"no run of this family meets the premises of {self.statement.id} ({self.form}); try other --T, "
                "--weights, --reference or --solver, or more --seconds or --rounds"
            )
        best = in_few_digits(self.best)
        config = {
            "statement": self.statement.id, "form": self.form, "seed": self.seed, "seconds": self.limits.seconds,
            "candidates": self.limits.candidates, "rounds": self.rounds, "evaluations": self.evaluations,
            "until_broken": until_broken, "waived": list(self.waived), "plan": asdict(self.plan),
        }  # fmt: skip
        counts = (self.rounds, self.evaluations, self.elapsed, self.applicable)
        return Found(self.statement.id, self.form, best, config, *counts)

    def _round(self, space: Space, rng: np.random.Generator, until_broken: bool) -> bool:
        """One restart; whether a limit is reached."""
        here, over = _Best(), False

        def loss(points: Array) -> Array:
            if self._over():
                raise _Stop
            values = assess(self.statement, self.form, space.decode(points.T), self.plan, self.waived)
            self.evaluations += len(values)
            self.applicable += int((values > REFUSED).sum())
            here.take(points.T, values)
            self.top = max(self.top, here.score)
            self.watch(SearchProgress(self.elapsed, self.limits, self.rounds, self.evaluations, space.T, self.top))
            return -values

        def enough(intermediate_result: OptimizeResult) -> None:
            if until_broken and _clear(-float(intermediate_result.fun)):
                raise StopIteration

        try:
            _evolve(loss, np.zeros(space.size), np.ones(space.size), rng, _GENERATIONS, enough)
            for width in _BOXES:
                low, high = np.clip(here.point - width, 0.0, 1.0), np.clip(here.point + width, 0.0, 1.0)
                _evolve(loss, low, high, rng, _BOX_GENERATIONS, lambda intermediate_result: None, here.point)
        except _Stop:
            over = True
        except KeyboardInterrupt:  # what has been found so far is worth having
            if self.best is None and here.score <= REFUSED:
                raise
            over = True
        if here.score > REFUSED:
            plain = plain_of(space.decode(here.point[None]), self.plan, 0)
            confirmed = confirm(plain, self.statement, self.form, self.waived)
            if confirmed.score > REFUSED and (self.best is None or confirmed.score > self.best.score):
                self.best = confirmed
        return over


def _clear(score: float) -> bool:
    return score > 1.0 + CLEAR


class _Best:
    """The best point of a round, seen from within the populations."""

    def __init__(self) -> None:
        self.score, self.point = -np.inf, np.zeros(0)

    def take(self, points: Array, values: Array) -> None:
        at = int(np.argmax(values))
        if values[at] > self.score:
            self.score, self.point = float(values[at]), points[at].copy()


def _evolve(
    loss: Callable[[Array], Array],
    low: Array,
    high: Array,
    rng: np.random.Generator,
    generations: int,
    callback: Callable[..., None],
    centre: Array | None = None,
) -> None:
    """Differential evolution in a box, a population at a time. The best point is kept by `loss` itself."""
    from scipy.optimize import differential_evolution  # noqa: PLC0415  (slow to load)

    count = int(np.clip(_POPULATION * len(low), _SMALLEST, _LARGEST))
    start = low + (high - low) * rng.random((count, len(low)))
    if centre is not None:
        start[0] = centre
    differential_evolution(
        loss, list(zip(low, high, strict=True)), init=start, maxiter=generations, tol=1e-10, atol=0.0,
        mutation=(0.4, 1.0), recombination=0.8, rng=rng, polish=False, vectorized=True, updating="deferred",
        callback=callback,
    )  # fmt: skip
