"""An instance as plain data: what a file of `coldtheory.counterexamples` holds, made from a point of the search.

The search computes whole populations at once; what it reports is computed again, alone and through the public functions
`simulate` and `evaluate`. Nothing that only the search has computed is ever printed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from typing import Any

from ..bounds import Bound, Statement
from ..counterexamples import Counterexample, replay
from ..ground.errors import ColdError, DivergenceWarning
from ..tasks import from_optima
from .plans import Plan, main_forms
from .population import scores, settings_of, step_sizes, tasks_of, tightness
from .space import Candidates

#: "tasks", "settings", "options" and, where gradients are noisy, "seeds", each of numbers, lists and names
Plain = dict[str, dict[str, Any]]

_KEPT = 0.9  # share of a violation's margin that must survive the rounding to few digits
_DIGITS = 17  # a double exactly
_CONFIRMING = 2000  # noise seeds of an instance that is reported


@dataclass(frozen=True, eq=False)
class Confirmed:
    """An instance with the statement evaluated on it."""

    plain: Plain
    instance: Counterexample
    bound: Bound  #: at its worst entry
    score: float  #: see `population.scores`; negative where a premise is missed
    waived: tuple[str, ...] = ()  #: premises that need not hold

    @property
    def constant(self) -> float | None:
        """lhs/rhs, or None where the right side is not positive and the quotient says nothing."""
        return float(self.bound.lhs / self.bound.rhs) if self.bound.rhs > 0 else None

    @property
    def tightness(self) -> float:
        """1 + (lhs - rhs)/the larger side: always a number, and `constant` where 0 <= lhs <= rhs."""
        return float(tightness(self.bound.lhs, self.bound.rhs))

    @property
    def broken(self) -> bool:
        """All premises but the waived ones hold, and the inequality does not."""
        return self.score > 0 and not bool(self.bound.holds)


def plain_of(candidates: Candidates, plan: Plan, row: int) -> Plain:
    """The numbers of one candidate."""
    names = ("optima", "hessians", "memory_optima", "memory_hessians")
    given = {name: getattr(candidates, name) for name in names}
    tasks = {name: values[row].tolist() for name, values in given.items() if values is not None}
    settings = settings_of(candidates, plan, row, step_sizes(tasks_of(candidates), candidates, plan)[row])
    if plan.noise_seeds:  # fresh noise: what the search fitted to the noise that it saw must not count
        settings |= {"noise_seed": 1}
    prime = candidates.delta_prime
    return {
        "tasks": tasks,
        "settings": settings,
        "options": {} if prime is None else {"delta_prime": float(prime[row])},
        **({"seeds": {"count": _CONFIRMING}} if plan.noise_seeds else {}),
    }


def confirm(
    plain: Plain, statement: str | Statement, form: str, waived: Collection[str] = (), name: str = "found"
) -> Confirmed:
    """The statement on the instance, simulated alone."""
    bare = Counterexample(name, statement, form, "", from_optima(**plain["tasks"]), plain["settings"], {},
                          options=plain["options"], seeds=plain.get("seeds", {}).get("count"))  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        bound = replay(bare).worst()
    return Confirmed(plain, bare, bound, float(scores(bound, waived)), tuple(waived))


def in_form(found: Confirmed, form: str) -> Bound:
    """Another form on the same run, at its worst entry."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        return replay(found.instance, form).worst()


def form_that_holds(found: Confirmed) -> str | None:
    """The first form that is meant to be true and does hold on this run, if there is one."""
    for form in main_forms(found.instance.statement):
        if form != found.instance.form and str(in_form(found, form).outcome) == "holds":
            return form
    return None


def in_few_digits(found: Confirmed) -> Confirmed:
    """The same violation in numbers short enough to be read and typed: as few digits as keep most of its margin.

    First all numbers together, then each on its own. What breaks nothing keeps every digit it has.
    """
    if not found.broken:
        return found
    least = 1.0 + _KEPT * (found.score - 1.0)

    def good(plain: Plain) -> Confirmed | None:
        try:
            tried = confirm(plain, found.instance.statement, found.instance.form, found.waived)
        except ColdError:  # a rounded delta' may be infeasible
            return None
        return tried if tried.broken and tried.score >= least else None

    for digits in range(1, _DIGITS):
        short = good(_map_numbers(found.plain, lambda _, x, n=digits: _rounded(x, n)))
        if short is not None:
            found = short
            break
    for place in _places(found.plain):
        for digits in range(1, _DIGITS):
            plain = _map_numbers(found.plain, lambda at, x, p=place, n=digits: _rounded(x, n) if at == p else x)
            if plain == found.plain:
                break
            short = good(plain)
            if short is not None:
                found = short
                break
    return found


def _map_numbers(plain: Plain, change: Callable[..., float]) -> Plain:
    """A copy with every float replaced by change(place, float)."""

    def walk(value: Any, at: tuple[str | int, ...]) -> Any:
        if isinstance(value, Mapping):
            return {key: walk(part, (*at, key)) for key, part in value.items()}
        if isinstance(value, list):
            return [walk(part, (*at, i)) for i, part in enumerate(value)]
        return change(at, value) if isinstance(value, float) else value

    copy: Plain = walk(plain, ())
    return copy


def _places(plain: Plain) -> list[tuple[str | int, ...]]:
    """Where its floats stand."""
    seen: list[tuple[str | int, ...]] = []

    def note(at: tuple[str | int, ...], value: float) -> float:
        seen.append(at)
        return value

    _map_numbers(plain, note)
    return seen


def _rounded(value: float, digits: int) -> float:
    """So many significant digits; towards 0, for a step size at its limit must not go over it."""
    if value == 0.0 or not math.isfinite(value):
        return value
    return float(Context(prec=digits, rounding=ROUND_DOWN).create_decimal(Decimal(repr(value))))
