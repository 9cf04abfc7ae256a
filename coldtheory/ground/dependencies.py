"""Notes on what a computation uses while it runs: modules that it calls, files and runs that it reads.

>>> with recording() as notes:
...     note("run", "pmnist-er-s0", "5b1f")
>>> notes
{'run pmnist-er-s0': '5b1f'}

Outside of `recording` a note is dropped and costs next to nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

ABSENT = "absent"  #: stands for the digest of something that was looked for and not found

_P = ParamSpec("_P")
_T = TypeVar("_T")
_NOTES: ContextVar[dict[str, str] | None] = ContextVar("notes", default=None)


@contextmanager
def recording() -> Iterator[dict[str, str]]:
    """Yield what is noted within the block: digests by "kind name". An enclosing recording gets the notes, too."""
    notes: dict[str, str] = {}
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)
        outer = _NOTES.get()
        if outer is not None:
            outer.update(notes)


def note(kind: str, name: str, digest: str = "") -> None:
    """Note that something was used, and the digest of its content at that time.

    kind : "code" for a module of this version, whose digest is filled in when the notes are stored; "run" for a
           finished run by its id
    """
    notes = _NOTES.get()
    if notes is not None:
        notes[f"{kind} {name}"] = digest


def remembered(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Like `functools.cache`, for a function that notes what it uses: a cached answer repeats the notes."""

    def record(*args: _P.args, **kwargs: _P.kwargs) -> tuple[_T, dict[str, str]]:
        with recording() as notes:
            return function(*args, **kwargs), notes

    once: Callable[..., tuple[_T, dict[str, str]]] = functools.cache(record)

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        value, used = once(*args, **kwargs)
        notes = _NOTES.get()
        if notes is not None:
            notes.update(used)
        return value

    return call
