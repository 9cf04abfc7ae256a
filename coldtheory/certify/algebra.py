"""Proofs and refutations in exact real arithmetic.

z3 decides whether the negation of a statement has a real solution. "Unsatisfiable" is a proof for
all real values of the variables; a solution is read as fractions and put back into the statement by
Python's own arithmetic, so that a refutation does not rest on z3.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from ..ground.errors import ColdError
from .records import Certificate, need
from .terms import Goal, Maximum, Values

Size = Literal["small", "full"]
TIMEOUT = 120.0  #: seconds for one query


@dataclass(frozen=True)
class Problem:
    """Free real variables by name, and the statement about them.

    >>> square = Problem(("x",), lambda v, maximum: Goal(claim=[v["x"] * v["x"] - v["x"]]))
    >>> square.at(x=Fraction(1, 2))
    [Fraction(-1, 4)]
    >>> square.violated({"x": Fraction(1, 2)})
    True
    """

    names: tuple[str, ...]
    goal: Callable[[Values, Maximum], Goal]

    def at(self, **values: Fraction | int) -> list[Fraction]:
        """The claim's slack, entry by entry: negative where it fails."""
        return [Fraction(c) for c in self._goal(values).claim]

    def violated(self, values: Mapping[str, Fraction | int]) -> bool:
        """Whether these numbers obey all assumptions and break the claim, by exact arithmetic."""
        goal = self._goal(values)
        met = all(a >= 0 for a in goal.assume) and all(p > 0 for p in goal.positive)
        return met and any(c < 0 for c in goal.claim)

    def _goal(self, values: Mapping[str, Fraction | int]) -> Goal:
        if set(values) != set(self.names):
            raise ColdError(f"needs a value for each of {', '.join(self.names)}")
        return self.goal({name: Fraction(value) for name, value in values.items()}, max)


@dataclass(frozen=True)
class SolverAnswer:
    """What the solver found: `refuted` comes with a model that exact arithmetic confirmed."""

    status: Literal["proved", "refuted", "undecided"]
    model: dict[str, Fraction] | None = None
    reason: str = ""


@dataclass(frozen=True)
class AlgebraicClaim:
    """A statement for every size, how it is worded, and whether it is to be proved or refuted."""

    id: str
    label: str
    text: str
    unit: str  #: what the sizes count
    small: tuple[int, ...]
    full: tuple[int, ...]
    refute: bool
    problem: Callable[[int], Problem]

    @property
    def doc(self) -> str:
        """What the certificate is about: the docstring of its problem."""
        return self.problem.__doc__ or ""

    def run(self, size: Size = "small") -> list[Certificate]:
        """The certificate at all sizes of "small" or "full"."""
        return [certify(self, self.small if size == "small" else self.full)]


CLAIMS: dict[str, AlgebraicClaim] = {}


def claim(
    id: str,
    label: str,
    text: str,
    *,
    unit: str,
    small: tuple[int, ...],
    full: tuple[int, ...] = (),
    refute: bool = False,
) -> Callable[[Callable[[int], Problem]], Callable[[int], Problem]]:
    """Register a function from size to `Problem` under `id`."""

    def register(problem: Callable[[int], Problem]) -> Callable[[int], Problem]:
        CLAIMS[id] = AlgebraicClaim(id, label, text, unit, small, full or small, refute, problem)
        return problem

    return register


def prove(problem: Problem, timeout: float = TIMEOUT) -> SolverAnswer:
    """Settle one statement.

    Problem    is `assume >= 0, positive > 0 => claim >= 0` true for all reals?
    Method     z3 searches for reals that break it; none exist, or one is returned.
    Guarantee  "proved" is z3's "unsat"; "refuted" is confirmed in fractions (an irrational solution is
               first rounded to a near rational one); anything else is "undecided".
    Paper      none: the engine of all statements here.
    Example    prove(lemma1_mean(3)).status == "proved"
    """
    z3 = need("z3")
    variables = {name: z3.Real(name) for name in problem.names}
    goal = problem.goal(variables, lambda a, b: z3.If(_real(z3, a) >= _real(z3, b), _real(z3, a), _real(z3, b)))
    solver = z3.Solver()
    solver.set("timeout", int(1000 * timeout))
    solver.add(*[_real(z3, a) >= 0 for a in goal.assume], *[_real(z3, p) > 0 for p in goal.positive])
    solver.add(z3.Or(*[_real(z3, c) < 0 for c in goal.claim]))
    answer = solver.check()
    if answer == z3.unsat:
        return SolverAnswer("proved")
    if answer != z3.sat:
        return SolverAnswer("undecided", reason=str(solver.reason_unknown()))
    found = solver.model()
    values = {name: found.eval(v, model_completion=True) for name, v in variables.items()}
    values = {n: v.approx(12) if z3.is_algebraic_value(v) else v for n, v in values.items()}
    model = {n: Fraction(v.numerator_as_long(), v.denominator_as_long()) for n, v in values.items()}
    if not problem.violated(model):
        return SolverAnswer("undecided", reason="exact arithmetic does not confirm the solution found")
    return SolverAnswer("refuted", model)


def certify(claim: AlgebraicClaim, sizes: tuple[int, ...], timeout: float = TIMEOUT) -> Certificate:
    """One record for a claim over all `sizes`: a proof holds at each, a refutation needs the first that gives one."""
    begin = time.perf_counter()
    engine = f"z3 {need('z3').get_version_string()}"
    outcomes = {}
    for n in sizes:
        outcomes[n] = prove(claim.problem(n), timeout)
        if claim.refute and outcomes[n].status == "refuted":
            break
    wanted = "refuted" if claim.refute else "proved"
    good = [n for n, o in outcomes.items() if o.status == wanted]
    model = outcomes[good[0]].model if claim.refute and good else None
    notes = [f"{claim.unit}={n}: {o.status}{' (' + o.reason + ')' if o.reason else ''}" for n, o in outcomes.items()]
    return Certificate(
        id=claim.id,
        label=claim.label,
        claim=claim.text,
        proved=bool(good) if claim.refute else len(good) == len(sizes),
        engine=f"{engine}, confirmed in fractions" if claim.refute else engine,
        size=f"{claim.unit}={','.join(map(str, outcomes))}",
        seconds=time.perf_counter() - begin,
        detail="; ".join(notes),
        model=model,
    )


def _real(z3: Any, value: Any) -> Any:
    """Fractions as z3 numerals, z3 terms as they are."""
    return z3.Q(value.numerator, value.denominator) if isinstance(value, (Fraction, int)) else value
