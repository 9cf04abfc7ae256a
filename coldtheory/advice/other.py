"""Advice from other packages, for example on a training run, of which this package knows nothing.

A package that declares

    [project.entry-points."coldtheory.advice"]
    mine = "my_package:advice"

answers `coldtheory advise WORD` where WORD is neither a regime nor a file of tasks: `my_package.advice(word)` returns
an iterable of `Page`s, empty if the word means nothing to it.
"""

from __future__ import annotations

from ..ground.plugins import contributions
from .text import Page

GROUP = "coldtheory.advice"


def advice_on(word: str) -> Page | None:
    """The first page that an installed package has on what the user named; None if there is none."""
    return next(contributions(GROUP, Page, word), None)
