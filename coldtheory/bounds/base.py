"""What every statement is evaluated to: both sides, each term by name, the premises, and the verdict.

Arrays have a run's leading axes `...` (streams, then settings). A statement about every task t (or every pair
t, k) has that many trailing axes more on both sides; `Bound.worst()` reduces it to its worst entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..quadratics import Array
from ..tolerance import within
from ..vocabulary import beyond_the_paper

if TYPE_CHECKING:
    from .facts import Facts

#: "conjectured": a user's statement that is not declared to be proved
Kind = Literal["tight", "valid", "false as printed", "conjectured"]

STANDARD_ERRORS = 5.0  # a statement in expectation counts as broken beyond so many of them

quiet = partial(np.errstate, over="ignore", invalid="ignore")  # a diverged run is "not applicable" and needs no warning


@dataclass(frozen=True, eq=False)
class Bound:
    """One inequality lhs <= rhs = sum of the terms, on a batch of runs."""

    id: str
    form: str
    label: str  #: the paper's label
    lhs: Array
    terms: Mapping[str, Array]  #: signed; their sum is the right side
    assumptions: Mapping[str, np.ndarray]  #: premise -> whether each run meets it, (...)
    kind: Kind
    attained: str = ""  #: where equality is reached, if kind is "tight"
    series: Mapping[str, Array] = field(default_factory=dict)  #: summands over t of the terms that are such sums
    trailing: int = 0  #: axes after the leading ones: 0, or 1 (tasks), or 2 (pairs)
    magnitude: Array | float = 0.0  #: largest number that entered by a difference and shows in no term
    error: Array | float = 0.0  #: standard error of lhs - rhs, where both are averages over seeds of a random quantity

    @cached_property
    def rhs(self) -> Array:
        """The right side: the sum of all terms, an entry per entry of `lhs`."""
        total = np.zeros(np.shape(self.lhs))
        with quiet():
            for term in self.terms.values():
                total = total + term
        return np.asarray(total)

    @property
    def slack(self) -> Array:
        """rhs - lhs, an entry per entry of `lhs`; negative where the inequality is broken."""
        with quiet():
            return np.asarray(self.rhs - self.lhs)

    @property
    def ratio(self) -> Array:
        """lhs / rhs where the right side is positive, NaN elsewhere."""
        positive = self.rhs > 0
        with quiet():
            return np.asarray(np.where(positive, self.lhs / np.where(positive, self.rhs, 1.0), np.nan))

    @cached_property
    def scale(self) -> Array:
        """The largest magnitude of the numbers that enter, an entry of `lhs` each."""
        sizes = [np.abs(self.lhs), *(np.abs(term) for term in self.terms.values()), np.abs(self.magnitude)]
        size = np.zeros(np.shape(self.lhs))
        for one in sizes:
            size = np.maximum(size, one)
        return size

    @cached_property
    def applicable(self) -> np.ndarray:
        """Whether every premise is met and both sides are numbers, (...)."""
        met = np.asarray(self._all(np.isfinite(self.lhs) & np.isfinite(self.rhs)))
        for premise in self.assumptions.values():
            met = met & premise
        return met

    @property
    def holds(self) -> np.ndarray:
        """lhs <= rhs up to rounding and `STANDARD_ERRORS` times the error, an entry of `lhs` each, whatever the
        premises."""
        with quiet():
            return within(self.lhs, self.rhs + STANDARD_ERRORS * np.asarray(self.error), self.scale)

    @property
    def violated(self) -> np.ndarray:
        """Applicable, and yet broken somewhere, (...)."""
        return np.asarray(self.applicable & ~self._all(self.holds))

    @property
    def outcome(self) -> np.ndarray:
        """One of "holds", "violated" and "not applicable", (...)."""
        words = np.where(self._all(self.holds), "holds", "violated")
        return np.asarray(np.where(self.applicable, words, "not applicable"))

    @property
    def closeness(self) -> Array:
        """1 - slack/scale: 1 at equality, more than 1 when broken; the worst entry of each run, (...).

        Unlike `ratio` it makes sense for sides of any sign, so searches climb it.
        """
        room = self._room()
        lead = room.shape[: room.ndim - self.trailing]
        least = room.reshape(*lead, -1).min(axis=-1)
        return np.asarray(1.0 - np.where(np.isfinite(least), least, 1.0))

    def worst(self) -> Bound:
        """The same bound at the entry with the least slack relative to its scale: arrays (...)."""
        if self.trailing == 0:
            return self
        shape = np.shape(self.lhs)
        lead = shape[: len(shape) - self.trailing]
        at = self._room().reshape(*lead, -1).argmin(axis=-1)[..., None]

        def pick(values: Array) -> Array:
            full = np.broadcast_to(values, shape).reshape(*lead, -1)
            return np.asarray(np.take_along_axis(full, at, axis=-1)[..., 0])

        terms = {name: pick(term) for name, term in self.terms.items()}
        magnitude = pick(np.asarray(self.magnitude, dtype=np.float64))
        error = pick(np.asarray(self.error, dtype=np.float64))
        return replace(self, lhs=pick(self.lhs), terms=terms, series={}, trailing=0, magnitude=magnitude, error=error)

    def at(self, index: int) -> Bound:
        """The bound of one entry along the first leading axis."""

        def pick(values: Array | float) -> Array:
            return np.asarray(np.broadcast_to(values, np.shape(self.lhs))[index])

        return replace(
            self, lhs=pick(self.lhs), terms={name: pick(term) for name, term in self.terms.items()},
            assumptions={name: np.asarray(met[index]) for name, met in self.assumptions.items()},
            series={name: np.asarray(values[index]) for name, values in self.series.items()},
            magnitude=pick(self.magnitude), error=pick(self.error),
        )  # fmt: skip

    def _room(self) -> Array:
        """slack/scale; infinite where both sides are 0 or not numbers, which carries no information."""
        empty = ((self.lhs == 0.0) & (self.rhs == 0.0)) | ~np.isfinite(self.slack) | ~(self.scale > 0)
        with quiet():
            return np.where(empty, np.inf, self.slack / np.where(empty, 1.0, self.scale))

    def _all(self, entries: np.ndarray) -> np.ndarray:
        return np.asarray(entries.all(axis=tuple(range(entries.ndim - self.trailing, entries.ndim))))


@dataclass(frozen=True)
class Explanation:
    """A statement in words, for `--explain`."""

    printed: str  #: what the paper says; empty for a theorem that the paper lacks
    wrong: str  #: what is wrong with it, or "nothing"
    correct: str  #: the form that is true
    conventions: str
    proof: str
    terms: Mapping[str, str]  #: term -> where it comes from


@dataclass(frozen=True)
class Statement:
    """A numbered claim of the paper, or a theorem that it lacks, with all forms in which it can be evaluated.

    Forms of the paper's claims are called `printed`, `corrected`, `sharp` and so on. The main form of a theorem that
    the paper lacks is called `proved`, and its label begins with `new:`.
    """

    id: str
    title: str
    label: str
    forms: Mapping[str, Callable[..., Bound]]  #: form -> function (facts, **options)
    latex: str  #: the form that is true
    explain: Explanation
    family: Mapping[str, Any] = field(default_factory=dict)  #: where a search looks: fields of `coldtheory.search.Plan`
    family_of_form: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  #: what differs for one form

    @property
    def beyond(self) -> bool:
        """Whether the paper lacks it."""
        return beyond_the_paper(self.label)


def average(facts: Facts, factor: Array | float, summands: Array) -> Array:
    """factor * summands / T, the summands over t of a term that is an average: (..., T)."""
    return np.asarray(np.asarray(factor)[..., None] * summands / facts.T)


def make(
    statement: tuple[str, str],
    form: str,
    facts: Facts,
    lhs: Array,
    *,
    kind: Kind,
    premises: tuple[str, ...] = (),
    more: Mapping[str, np.ndarray] | None = None,
    terms: Mapping[str, Array] | None = None,
    series: Mapping[str, Array] | None = None,
    attained: str = "",
    trailing: int = 0,
    magnitude: Array | float = 0.0,
    error: Array | float = 0.0,
) -> Bound:
    """A `Bound` from summands over t (`series`, (..., T)) and finished `terms`; `statement` is (id, label)."""
    id_, label = statement
    shape = np.shape(lhs)
    summed = {name: np.asarray(values.sum(axis=-1)) for name, values in (series or {}).items()}
    whole = {name: np.broadcast_to(values, shape) for name, values in {**summed, **(terms or {})}.items()}
    named = {"did not diverge": facts.bounded} | {name: facts.premise(name) for name in premises} | dict(more or {})
    return Bound(
        id=id_,
        form=form,
        label=label,
        lhs=np.asarray(lhs),
        terms=whole,
        assumptions={name: np.broadcast_to(value, facts.lead) for name, value in named.items()},
        kind=kind,
        attained=attained,
        series=series or {},
        trailing=trailing,
        magnitude=magnitude,
        error=error,
    )
