"""What needs more memory than there is, refused before it is taken: else the system ends the program without a word."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from .errors import ColdError

VARIABLE = "COLD_MEMORY"  #: the environment variable that sets another limit, in bytes
_GROUP = Path("/sys/fs/cgroup")
_LITTLE = 1e6  # bytes for which the system is not asked: that would take longer than reading a small file


def available_memory() -> float:
    """Bytes that a program may take now: COLD_MEMORY, or what the system and its control group have left.

    Where the system does not tell, there is no limit.
    """
    told = os.environ.get(VARIABLE)
    if told:
        with suppress(ValueError):
            if (given := float(told)) >= 0:
                return given
        raise ColdError(f"{VARIABLE} is a number of bytes, such as 8e9, got {told!r}")
    return min(_machine(), _control_group())


def demand_memory(wanted: float, what: str, remedy: str = "ask for less") -> None:
    """Raises, with both numbers, if `what` needs more bytes than there are."""
    if wanted <= _LITTLE and VARIABLE not in os.environ:
        return
    free = available_memory()
    if not wanted <= free:  # NaN is no size
        raise ColdError(
            f"{what} needs about {in_words(wanted)} of memory, and {in_words(free)} are free; {remedy} "
            f"({VARIABLE} sets another limit)"
        )


def array_bytes(shape: Iterable[int], itemsize: int = 8) -> int:
    """The size of an array, without the overflow of a product of machine integers.

    >>> array_bytes((2**40, 2**40))
    9671406556917033397649408
    """
    return math.prod(int(length) for length in shape) * itemsize


def in_words(size: float) -> str:
    """A size with a unit.

    >>> in_words(17_179_869_184), in_words(1500), in_words(1e300)
    ('17.2 GB', '1.5 kB', '1e+282 EB')
    """
    try:
        size = float(size)
    except OverflowError:
        return "more bytes than a number can say"
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} EB"


def _machine() -> float:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    return math.inf


def _control_group() -> float:
    """What a container has left; none of these files exists outside of one."""
    with suppress(OSError, ValueError):
        limit = float((_GROUP / "memory.max").read_text())  # "max", for no limit, is no number
        return max(limit - float((_GROUP / "memory.current").read_text()), 0.0)
    return math.inf
