"""What a certificate says: frozen records, and their JSON form."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from types import ModuleType
from typing import Any

from ..ground.errors import ColdError

HINT = "pip install 'cold-continual[certify]'"
RELATIVE = 1e-6  #: the relative gap up to which two numbers of a semidefinite programme count as equal


@dataclass(frozen=True)
class Certificate:
    """A statement of real algebra that a solver settled; `proved` is about `claim` as it is worded.

    A refutation claims that a printed statement fails, and carries the rational numbers at which it does.
    """

    id: str
    label: str  #: the paper's label
    claim: str
    proved: bool
    engine: str
    size: str
    seconds: float
    detail: str
    model: Mapping[str, Fraction] | None = None

    @property
    def holds(self) -> bool:
        """Whether the claim was proved, or the refutation confirmed."""
        return self.proved

    @property
    def kind(self) -> str:
        """ "proof" or "refutation"."""
        return "proof" if self.model is None else "refutation"

    @property
    def found(self) -> str:
        """The sizes proved, or the numbers that refute."""
        return ", ".join(f"{k}={v}" for k, v in self.model.items()) if self.model else f"for {self.size}"


@dataclass(frozen=True)
class WorstCase:
    """The largest value of a quantity over all smooth losses in any dimension, next to a bound on it."""

    id: str
    label: str  #: the paper's label
    setting: Mapping[str, float]
    worst_case: float
    bound: float  #: the paper's, or the corrected one where the id says so
    closed_form: float | None  #: the worst case as a formula, where one is known
    ratio: float  #: worst_case / bound; of two negative numbers, a bound that holds has ratio >= 1
    tight: bool  #: the worst case is the bound, to `RELATIVE`
    seconds: float
    refutes: bool = False  #: the record exists to show that the bound fails

    @property
    def exact(self) -> bool:
        """Whether the worst case is its closed form, to `RELATIVE`."""
        return self.closed_form is not None and close(self.worst_case, self.closed_form)

    @property
    def exceeds(self) -> bool:
        """Whether the worst case breaks the bound, by more than the solver's error."""
        return self.worst_case > self.bound + RELATIVE * max(abs(self.bound), abs(self.worst_case))

    @property
    def holds(self) -> bool:
        """The bound does what the record says of it, and the closed form is met where there is one."""
        return self.exceeds == self.refutes and (self.closed_form is None or self.exact)

    @property
    def kind(self) -> str:
        """ "worst case", or "refutation" if the record shows that the bound fails."""
        return "refutation" if self.refutes else "worst case"

    @property
    def found(self) -> str:
        """Worst case, bound and their ratio."""
        tight = ", tight" if self.tight else ""
        return f"worst {self.worst_case:.6g}, bound {self.bound:.6g}, ratio {self.ratio:.4f}{tight}"


Record = Certificate | WorstCase


def close(a: float, b: float) -> bool:
    """Whether two numbers are equal up to the relative gap `RELATIVE`."""
    return abs(a - b) <= RELATIVE * max(abs(a), abs(b))


def to_json(record: Record) -> dict[str, Any]:
    """Plain numbers, strings and lists: fractions as "p/q", numbers that are not finite as null.

    >>> to_json(Certificate("x", "lem", "c", True, "z3", "K=1", 0.0, "", {"Q1": Fraction(3, 4)}))["model"]
    {'Q1': '3/4'}
    """
    out: dict[str, Any] = {"type": type(record).__name__, "kind": record.kind, "holds": record.holds}
    for f in fields(record):
        out[f.name] = _plain(getattr(record, f.name))
    return out


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def need(module: str) -> ModuleType:
    """Import an optional solver, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ColdError(f"this certificate needs {module.split('.', maxsplit=1)[0]}; {HINT}") from error
