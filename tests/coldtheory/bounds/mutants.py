"""Mutants of a bound, generated from the terms of its record: dropped, negated, halved, doubled, shifted in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from coldtheory.bounds import Bound

# Terms that are never positive, with the reason. Dropping, negating, halving or shifting such a term only raises the
# right side, so that mutant follows from the bound itself; doubling it is what must not go unnoticed.
NEVER_POSITIVE = {
    "relief": "minus a non-negative margin (delta, or delta - delta') times a sum of queues",
    "ageing": "minus Lyap[t-1]/(t-1), a sum of squares",
    "last Lyapunov": "minus Lyap[T], a sum of squares",
    "last loss": "minus Phi_T(x_T), a non-negative loss",
    "clipped": "minus a sum of squares",
}


@dataclass(frozen=True)
class Mutation:
    """What is done to one term."""

    term: str
    kind: str  #: "drop", "negate", "halve", "double", "earlier" or "later"

    def __str__(self) -> str:
        return f"{self.kind} {self.term}"

    @property
    def loosens(self) -> bool:
        return self.term in NEVER_POSITIVE and self.kind != "double"

    def apply(self, bound: Bound) -> Bound:
        value = np.asarray(bound.terms[self.term])
        if self.kind == "earlier":  # every index t becomes t-1: the summand of task T is lost
            value = value - bound.series[self.term][..., -1]
        elif self.kind == "later":  # every index t becomes t+1: the summand of task 1 is lost
            value = value - bound.series[self.term][..., 0]
        else:
            value = {"drop": 0.0, "negate": -1.0, "halve": 0.5, "double": 2.0}[self.kind] * value
        # The scale stays that of the true bound: a dropped term must not make the comparison stricter than it was.
        return replace(bound, terms={**bound.terms, self.term: value}, magnitude=bound.scale)


def mutations(bound: Bound) -> Iterator[Mutation]:
    """All mutations of a record; halving is for bounds that claim to be tight."""
    for term in bound.terms:
        yield from (Mutation(term, kind) for kind in ("drop", "negate"))
        if term in NEVER_POSITIVE:
            yield Mutation(term, "double")
        if bound.kind == "tight":
            yield Mutation(term, "halve")
        if term in bound.series:
            yield from (Mutation(term, kind) for kind in ("earlier", "later"))
