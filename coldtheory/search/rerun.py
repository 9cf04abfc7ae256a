"""A stored or saved instance, run again: do both sides still come out?"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from ..bounds import Bound, Statement
from ..counterexamples import Counterexample, load_counterexample, path_of, replay
from ..ground.errors import ColdError, DivergenceWarning
from ..ground.reading import read_toml
from ..simulation import Run
from ..tolerance import RTOL
from .plans import check_form


@dataclass(frozen=True, eq=False)
class Rerun:
    """What an instance gives now."""

    instance: Counterexample
    run: Run
    stored: Bound  #: the form of the file, at its worst entry
    other: Bound | None  #: the form that holds, or one that was asked for, at its worst entry
    off: Mapping[str, float]  #: side -> how far it is from the file's value, where that is too far

    @property
    def comes_out(self) -> bool:
        """Whether both sides agree with the file's values."""
        return not self.off


def rerun(name: str | Path, form: str | None = None, statement: Statement | None = None) -> Rerun:
    """Simulate the instance and evaluate its own form, and `form` (by default the one that holds instead).

    An instance of a statement in a Python file needs the `statement`: what a file names is not run.

    >>> again = rerun("lemma1_main_text")
    >>> again.comes_out, str(again.stored.outcome), str(again.other.outcome)
    (True, 'violated', 'holds')
    """
    try:
        instance = load_counterexample(name, statement)
        check_form(instance.statement, instance.form)
        if form is not None:
            check_form(instance.statement, form)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)
            run = instance.first_run()
            stored = replay(instance).worst()
            wanted = instance.holds if form is None else form
            other = None if wanted is None or wanted == instance.form else replay(instance, wanted).worst()
        off = {side: gap for side, gap in _gaps(stored, _written(name), instance.exact).items() if gap > 0.0}
    except ColdError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise ColdError(f"{name} is damaged or not a counterexample file: {problem}") from None
    return Rerun(instance, run, stored, other, off)


def _gaps(bound: Bound, written: Mapping[str, Decimal], exact: bool) -> dict[str, float]:
    """How far each side is off beyond its tolerance: one unit of the last digit written, and rounding if not exact."""
    gaps = {}
    for side in ("lhs", "rhs"):
        value = written[side]
        exponent = value.as_tuple().exponent
        unit = 0.0 if exact or not isinstance(exponent, int) else 10.0**exponent
        gap = abs(float(getattr(bound, side)) - float(value))
        # ~(<=): a side that is not a number any more is off, too
        gaps[side] = 0.0 if gap <= unit + RTOL * float(bound.scale) else max(gap, sys.float_info.min)
    return gaps


def _written(name: str | Path) -> dict[str, Decimal]:
    """The two sides with the digits that the file gives them."""
    data = read_toml(path_of(name), parse_float=Decimal)
    return {side: Decimal(data["expected"][side]) for side in ("lhs", "rhs")}
