"""Refuse what needs more memory than there is, before it is allocated and the system ends the program silently."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from .errors import ColdError

VARIABLE = "COLD_MEMORY"  #: environment variable that sets another limit, in bytes
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
#: Files with the limit of a control group, its use, and the part of that which only caches files; versions 2 and 1.
_SECOND = ("memory.max", "memory.current", "inactive_file")
_FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_LITTLE = 1e6  # bytes below which the system is not asked, as that takes longer than reading a small file


def available_memory() -> float:
    """Return how many bytes may be allocated now: COLD_MEMORY, or what the system and its control group have left.

    If the system does not say, there is no limit.
    """
    told = os.environ.get(VARIABLE)
    if told:
        with suppress(ValueError):
            if (given := float(told)) >= 0:
                return given
        raise ColdError(f"{VARIABLE} is a number of bytes, such as 8e9, got {told!r}")
    return min(_machine(), _control_group())


def demand_memory(wanted: float, what: str, remedy: str = "try a smaller size") -> None:
    """Raise, with both numbers, if `what` needs more bytes than there are."""
    if wanted <= _LITTLE and VARIABLE not in os.environ:
        return
    free = available_memory()
    if not wanted <= free:  # also refuses NaN
        raise ColdError(
            f"{what} needs about {in_words(wanted)} of memory, and {in_words(free)} are free; {remedy} "
            f"({VARIABLE} sets another limit)"
        )


def array_bytes(shape: Iterable[int], itemsize: int = 8) -> int:
    """Return the size of an array in bytes; the product cannot overflow.

    >>> array_bytes((2**40, 2**40))
    9671406556917033397649408
    """
    return math.prod(int(length) for length in shape) * itemsize


def in_words(size: float) -> str:
    """Return a size with a unit.

    >>> in_words(17_179_869_184), in_words(1500), in_words(1e300)
    ('17.2 GB', '1.5 kB', '1e+282 EB')
    """
    try:
        size = float(size)
    except OverflowError:
        return "more bytes than a number can express"
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
    """Return what the control groups of this process have left, such as those of a container or a batch system."""
    least = math.inf
    with suppress(OSError, UnicodeError):
        for line in _OWN_GROUPS.read_text().splitlines():
            _, _, named = line.partition(":")
            controllers, _, path = named.partition(":")
            if "memory" in controllers.split(","):
                least = min(least, _left_in(_GROUPS / "memory", path, _FIRST))
            elif not controllers:
                least = min(least, _left_in(_GROUPS, path, _SECOND))
    return least


def _left_in(top: Path, path: str, names: tuple[str, str, str]) -> float:
    """Return the least that is left in a group and in those above it, whose limits hold as well.

    A container sees its own group at the top, whatever its path says, so files that do not exist are ignored.
    """
    own = top / path.strip("/")
    return min(_left(group, names) for group in (own, *own.parents) if group.is_relative_to(top))


def _left(group: Path, names: tuple[str, str, str]) -> float:
    limit_file, used_file, kept_name = names
    try:
        limit = float((group / limit_file).read_text())  # "max" means no limit
        used = float((group / used_file).read_text())
    except (OSError, ValueError):
        return math.inf
    with suppress(OSError, ValueError):  # cached files are given up before memory is refused
        for line in (group / "memory.stat").read_text().splitlines():
            name, _, count = line.partition(" ")
            if name == kept_name:
                used -= float(count)
    return max(limit - used, 0.0)
