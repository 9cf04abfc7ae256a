"""Entries by any of their spellings: as typed, as tables print them, as the paper writes them."""

from __future__ import annotations

from functools import lru_cache

from coldtheory.ground.errors import ColdError, unknown_name
from coldtheory.paper import Complexity, paper

from .benchmarks import BENCHMARK_NAMES, BENCHMARKS, BenchmarkEntry
from .constraints import constraint_of
from .methods import COLD, COLD_DISTILL, METHODS, QUEUE_SETTINGS, MethodEntry

IID = "-iid"  #: ends the name of a benchmark's near-IID counterpart


@lru_cache(maxsize=4096)  # thousands of runs have few names
def canonical(name: str) -> str:
    """The one name of a method or benchmark, from any spelling; an unknown name in lower case, letters and digits only.

    >>> [canonical(name) for name in ("A-GEM", "der++", "online EWC", "Permuted-MNIST", "my_method.py")]
    ['agem', 'derpp', 'ewc-online', 'pmnist', 'mymethodpy']
    """
    bare = _bare(name)
    return _SPELLINGS.get(bare, bare)


def same(left: str, right: str) -> bool:
    """Whether two spellings mean the same method or benchmark.

    >>> same("DER++", "derpp"), same("A-GEM", "agem"), same("ER", "DER")
    (True, True, False)
    """
    return canonical(left) == canonical(right)


def method(name: str) -> MethodEntry:
    """The entry of a method; raises if there is none."""
    if canonical(name) not in METHODS:
        raise unknown_name("method", name, METHODS)
    return METHODS[canonical(name)]


def benchmark(name: str) -> BenchmarkEntry:
    """The entry of a benchmark; raises if there is none."""
    if canonical(name) not in BENCHMARKS:
        raise unknown_name("benchmark", name, BENCHMARK_NAMES)
    return BENCHMARKS[canonical(name)]


def method_title(name: str) -> str:
    """A method as tables and figures print it; a method of the user's own keeps its name."""
    found = METHODS.get(canonical(name))
    return name if found is None else found.title


def benchmark_title(name: str) -> str:
    """
    >>> benchmark_title("split-mnist-iid")
    'Split-MNIST, near-IID'
    """
    base = name.removesuffix(IID)
    found = BENCHMARKS.get(canonical(base))
    shown = base if found is None else found.title
    return f"{shown}, near-IID" if name.endswith(IID) else shown


def unused_settings(method_name: str) -> tuple[str, ...]:
    """Settings of a run that the method does not use; none are known for a method of the user's own."""
    found = METHODS.get(canonical(method_name))
    return () if found is None or found.has_queues else QUEUE_SETTINGS


def named_by_reference(method_name: str, reference: str | None) -> tuple[str, str | None]:
    """The one name of a method with a reference, and the reference where the name does not say it.

    >>> named_by_reference("cold", "best"), named_by_reference("cold", "previous"), named_by_reference("cold", "stored")
    (('cold-oracle', None), ('cold', None), ('cold', 'stored'))
    """
    found = METHODS.get(method_name)
    if reference is None or found is None or found.reference is None:
        return method_name, reference
    if found.reference == reference:
        return method_name, None
    if found is not COLD:
        raise ColdError(
            f"{method_name} is cold with --reference {found.reference}; for {reference} take --method cold "
            f"--reference {reference}"
        )
    for entry in METHODS.values():
        if entry.reference == reference and entry.constraint == found.constraint:
            return entry.name, None
    return method_name, reference


def named_by_constraint(method_name: str, constraint: str | None) -> tuple[str, str | None]:
    """The one name of a method with a constraint, and the constraint where the name does not say it.

    >>> named_by_constraint("cold", "logits"), named_by_constraint("cold", "logits:shift=0")
    (('cold-distill', None), ('cold-distill', 'logits:shift=0'))
    """
    if constraint is None:
        return method_name, None
    wanted = constraint_of(constraint)
    found = METHODS.get(method_name)
    if found is not None and found.has_queues:
        if wanted.name != found.constraint and found.name not in (COLD.name, COLD_DISTILL.name):
            raise ColdError(f"{method_name} is held to its {found.constraint}; for {wanted.name} take --method cold")
        method_name = next(e.name for e in (COLD, COLD_DISTILL, found) if e.constraint == wanted.name)
    return method_name, None if wanted.text == wanted.name else wanted.text


def printed_costs() -> dict[str, Complexity]:
    """The rows of the paper's complexity table by the method's name.

    The paper prints two rows named COLD; the second one is COLD-ORACLE.
    """
    rows: dict[str, Complexity] = {}
    for row in paper().complexity:
        name = method(row.method).name
        rows["cold-oracle" if name == "cold" and name in rows else name] = row
    return rows


def _bare(name: str) -> str:
    return "".join(c for c in name.lower().replace("+", "p") if c.isalnum())


_ENTRIES: tuple[MethodEntry | BenchmarkEntry, ...] = (*METHODS.values(), *BENCHMARKS.values())
_SPELLINGS = {_bare(spelling): entry.name for entry in _ENTRIES for spelling in (entry.name, entry.title)}
