"""Errors whose message is one line that names the problem and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 120  # characters of an unknown name that a message repeats


class ColdError(ValueError):
    """Bad input, a damaged file, or a run that cannot go on. The CLI prints it and exits with 2.

    The message is one line. It may repeat text from a file, so characters that control a terminal are written out.
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in message))


class DivergenceWarning(UserWarning):
    """Some runs diverged, because eta is too large for their V."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> ColdError:
    """Return an error for a name that is not among `known`, with the nearest known names."""
    known = list(known)
    near = difflib.get_close_matches(str(name).lower(), known, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
    shown = " ".join(repr(name).split())
    return ColdError(f"unknown {kind} {shown if len(shown) <= _LONGEST else shown[:_LONGEST] + '...'}; {hint}")
