"""Checks of the arguments that a user passes to a function. A bad one raises a `ColdError` that names it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ColdError, unknown_name
from .limits import demand_memory

#: A double represents every whole number up to this one.
LARGEST_WHOLE = 2**53


def number(
    name: str, value: object, *, least: float | None = None, above: float | None = None, most: float | None = None
) -> float:
    """Return the value as a finite number within the given limits; texts and truth values are refused.

    >>> number("delta", 0.5, least=0)
    0.5
    """
    ends = ((">=", least), (">", above), ("<=", most))
    found = _real(value)
    if (
        found is None
        or not math.isfinite(found)
        or (least is not None and found < least)
        or (above is not None and found <= above)
        or (most is not None and found > most)
    ):
        words = [f"{sign} {end:g}" for sign, end in ends if end is not None]
        wanted = " and ".join([*words, "finite"]) if words else "a finite number"
        raise ColdError(f"{name} must be {wanted}, got {shown(value)}")
    return found


def whole(name: str, value: object, *, least: int | None = None, most: int | None = None) -> int:
    """Return the value as a whole number; 3.0 counts as one.

    >>> whole("T", 150.0, least=1)
    150
    """
    found = _real(value)
    limits = [f"of at least {least}"] * (least is not None) + [f"at most {most}"] * (most is not None)
    exact: int | None = None
    if isinstance(value, Integral) and found is not None:
        exact = int(value)  # a double keeps only 53 bits of it
    elif found is not None and math.isfinite(found) and found == int(found):
        exact = int(found)
    if exact is None or (least is not None and exact < least) or (most is not None and exact > most):
        words = f" {' and '.join(limits)}" if limits else ""
        raise ColdError(f"{name} must be a whole number{words}, got {shown(value)}")
    return exact


def choice(kind: str, value: object, known: Iterable[str]) -> str:
    """Return the value if it is one of the known names; otherwise the error suggests the nearest ones."""
    names = list(known)
    if not isinstance(value, str) or value not in names:
        raise unknown_name(kind, shown(value) if not isinstance(value, str) else value, names)
    return value


def kind_of(name: str, value: Any, kind: type, remedy: str) -> None:
    """Raise unless the value is an object of this class."""
    if not isinstance(value, kind):
        raise ColdError(f"{name} must be a {kind.__name__}, got {shown(value)}; {remedy}")


def numbers(name: str, values: object, *, finite: bool = True, copy: bool = True) -> NDArray[np.float64]:
    """Return an array of real numbers, a copy by default; complex numbers, texts, dates and objects are refused.

    >>> numbers("optima", [[0, 1]])
    array([[0., 1.]])
    """
    wrong = ColdError(f"{name} must be numbers in a rectangular array")
    demand_length(name, values)
    try:
        given = np.asarray(values)
    except Exception:  # an object may raise anything when it is asked for an array
        raise wrong from None
    if given.dtype.kind == "O":
        if not all(isinstance(entry, Real | Decimal) and not isinstance(entry, bool) for entry in given.flat):
            raise wrong
    elif given.dtype.kind not in "fiub":
        raise ColdError(f"{name} must be numbers in a rectangular array, but these are of the type {given.dtype}")
    try:
        array = np.array(given, dtype=np.float64) if copy else np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        raise wrong from None
    if finite and not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0].tolist()
        where = f"entry {bad} is" if bad else "it is"
        raise ColdError(f"{name} must be finite: {where} {array[tuple(bad)]}")
    return array


def demand_length(name: str, values: object) -> None:
    """Raise if a list or a range is too long to become an array."""
    if isinstance(values, list | tuple | range):
        try:
            length = len(values)
        except OverflowError:  # of a range
            length = LARGEST_WHOLE
        demand_memory(8 * length, f"{name}, a list of {length} entries,")


def shown(value: object) -> str:
    """A value in a message: short, and on one line.

    >>> shown(float("nan")), shown("x" * 100)
    ('nan', "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'")
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # not every object can describe itself
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:37]}...{text[-1]}"


def _real(value: object) -> float | None:
    """Return a real number as a float, and None for anything else."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "fiu":
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
