"""How advice looks: numbers with few digits, tables that fit 80 columns, and pages of titled parts."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .setting import significant

WIDTH = 80


def shown(value: float | None, digits: int = 3) -> str:
    """A number as one reads it.

    >>> shown(0.000012345), shown(12345.6), shown(2.9345e8), shown(None), shown(0.5)
    ('1.23e-5', '12,300', '2.93e8', '–', '0.5')
    """
    if value is None or not np.isfinite(value):
        return "–"
    rounded = significant(value, digits)
    if 1000 <= abs(rounded) < 1e6:
        return f"{rounded:,.0f}"
    text = f"{rounded:.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else text


def percent(share: float) -> str:
    """A share as per cent.

    >>> percent(0.3104), percent(1.2e-8), percent(-0.02)
    ('31 %', 'less than 0.0001 %', '-2 %')
    """
    if share != 0 and abs(share) < 1e-6:
        return "less than 0.0001 %"
    return f"{shown(100 * share, 2)} %"


def _wrapped(words: str, width: int) -> list[str]:
    return textwrap.wrap(words, width, break_on_hyphens=False, break_long_words=False)


@dataclass(frozen=True)
class Table:
    """Columns of texts; a title that ends in a blank is aligned to the left, and the last column may wrap."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def lines(self, width: int = WIDTH) -> list[str]:
        """The table as lines of at most `width` characters."""
        columns = list(zip(self.titles, *self.rows, strict=True))
        widths = [max(len(cell.rstrip()) for cell in column) for column in columns]
        before = sum(widths[:-1]) + 2 * (len(widths) - 1)
        found = []
        for row in (self.titles, *self.rows):
            cells = [
                f"{cell.rstrip():<{size}}" if title.endswith(" ") else f"{cell:>{size}}"
                for cell, size, title in zip(row, widths, self.titles, strict=True)
            ]
            head = "".join(f"{cell}  " for cell in cells[:-1])
            if self.titles[-1].endswith(" "):
                last = _wrapped(row[-1], max(width - before, 20)) or [""]
                found += [f"{head}{last[0]}".rstrip(), *(" " * before + more for more in last[1:])]
            else:
                found.append(f"{head}{cells[-1]}".rstrip())
        return found


@dataclass(frozen=True)
class Part:
    """A part of a page: a title, and paragraphs or tables."""

    title: str
    blocks: Sequence[str | Table]

    def lines(self, width: int = WIDTH) -> list[str]:
        """The part as lines: its title in capitals, then its blocks with an empty line after each."""
        found = [self.title.upper()]
        for block in self.blocks:
            found += block.lines(width) if isinstance(block, Table) else _wrapped(block, width)
            found.append("")
        return found


@dataclass(frozen=True)
class Page:
    """Advice that can be read: the answer in a few labelled lines, the parts below it, and all numbers for scripts."""

    answer: Sequence[tuple[str, str]]
    parts: Sequence[Part]
    data: Mapping[str, Any]

    def answer_lines(self, width: int = WIDTH) -> list[str]:
        """A line per label; what does not fit goes on below it."""
        room = max(len(label) for label, _ in self.answer) + 2
        lines = []
        for label, words in self.answer:
            first, *more = _wrapped(words, width - room)
            lines += [f"{label:<{room}}{first}", *(" " * room + line for line in more)]
        return lines

    def text(self, width: int = WIDTH) -> str:
        """The whole page as text of at most `width` columns."""
        lines = [*self.answer_lines(width), ""]
        for part in self.parts:
            lines += part.lines(width)
        return "\n".join(lines).rstrip()
