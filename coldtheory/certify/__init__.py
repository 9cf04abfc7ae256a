"""Machine-checked certificates: what is proved for all real numbers, and what is the exact worst case.

Two engines, both in the extra `certify`. z3 proves the algebra of the lemmas and theorems for few
tasks, and refutes printed statements with rational numbers (`algebra`). PEPit finds the exact worst
case of one COLD step, and of a few tasks along a given queue path, over all smooth losses
(`worst_case`, `paths`).

    CERTIFICATES            every certificate by id; `.doc` says what it is about
    certificates("small")   all records, in seconds; "full" takes larger sizes
    coldtheory certify      the same as a table; exit code 1 if one does not hold
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ground.errors import unknown_name
from . import controllers, lemmas, moving, paths, queue_theorems, real_forgetting, refutations, theorems
from .algebra import CLAIMS, AlgebraicClaim, Size
from .records import Certificate, Record, WorstCase, to_json
from .worst_case import WORST_CASES, WorstCases

CERTIFICATES: dict[str, AlgebraicClaim | WorstCases] = {**CLAIMS, **WORST_CASES}

__all__ = [
    "CERTIFICATES",
    "AlgebraicClaim",
    "Certificate",
    "Record",
    "WorstCase",
    "WorstCases",
    "certificates",
    "chosen_ids",
    "controllers",
    "lemmas",
    "moving",
    "paths",
    "queue_theorems",
    "real_forgetting",
    "refutations",
    "run_certificate",
    "theorems",
    "to_json",
]  # fmt: skip


def certificates(size: Size = "small", only: Iterable[str] | None = None) -> list[Record]:
    """Run all certificates, or those whose id starts with one of `only`.

    Problem    which statements are proved, which refuted, which bounds tight?
    Method     every entry of `CERTIFICATES`, one after the other.
    Guarantee  `record.holds` for each: proved, refuted with exact numbers, or worst case as claimed.
    Paper      each record's `label`
    Example    all(record.holds for record in certificates("small"))

    >>> certificates("medium")
    Traceback (most recent call last):
    coldtheory.ground.errors.ColdError: unknown size 'medium'; known: small, full
    """
    return [record for id in chosen_ids(only) for record in run_certificate(id, size)]


def chosen_ids(only: Iterable[str] | None = None) -> list[str]:
    """The ids of all certificates, or of those that start with one of `only`.

    >>> chosen_ids(["thm2"])
    ['thm2.mean']
    """
    wanted = ("",) if only is None else tuple(only)
    for name in wanted:
        if not any(id.startswith(name) for id in CERTIFICATES):
            raise unknown_name("certificate", name, CERTIFICATES)
    return [id for id in CERTIFICATES if id.startswith(wanted)]


def run_certificate(id: str, size: Size = "small") -> list[Record]:
    """The records of one certificate: one for a proof, one per setting for a worst case."""
    if size not in ("small", "full"):
        raise unknown_name("size", size, ("small", "full"))
    return list(CERTIFICATES[id].run(size))
