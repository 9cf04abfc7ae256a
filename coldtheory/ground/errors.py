"""What can go wrong, said in one line that names the problem and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 120  # signs of an unknown name that are repeated


class ColdError(ValueError):
    """Bad input, a damaged file, or a run that cannot go on. The CLI prints it and exits with 2."""


class DivergenceWarning(UserWarning):
    """Some runs left every bounded set: eta is too large for their V."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> ColdError:
    """An error for a name that is not among `known`, with the nearest ones first."""
    known = list(known)
    near = difflib.get_close_matches(str(name).lower(), known, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
    shown = " ".join(repr(name).split())
    return ColdError(f"unknown {kind} {shown if len(shown) <= _LONGEST else shown[:_LONGEST] + '...'}; {hint}")
