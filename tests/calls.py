"""How much work a call is, without a clock: the functions it calls, which other programs on a machine cannot change."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls_of(work: Callable[[], Any]) -> int:
    """The number of functions, of Python and of C, that `work` calls.

    >>> calls_of(lambda: [abs(x) for x in range(100)]) >= 100
    True
    """
    count = 0

    def seen(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
