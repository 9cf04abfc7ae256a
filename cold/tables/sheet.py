"""A table before it has a format: columns, entries with numbers in them, words below."""

from __future__ import annotations

from dataclasses import dataclass

from coldtheory.ground.statistics import Difference, Spread


@dataclass(frozen=True)
class Interval:
    """A mean and its interval over seeds; one seed has none."""

    mean: float
    low: float | None
    high: float | None


Value = str | Spread | Difference | Interval | None
DASH = "–"


@dataclass(frozen=True)
class Column:
    """A column: its name, the kind of its entries, their digits, and whether terminals show it."""

    name: str
    kind: str = "text"  #: text, spread, difference or interval
    digits: int = 2
    terminal: bool = True  #: False: too wide for a terminal, shown in the other formats


@dataclass(frozen=True)
class Entry:
    """One entry of a table: a text, a number or an interval, bold or not."""

    value: Value = None
    bold: bool = False


@dataclass(frozen=True)
class Sheet:
    """`commands` make what is missing; `origin` says where the numbers come from."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()


def text(entry: Entry, column: Column) -> str:
    """
    >>> text(Entry(Spread(91.512, 0.06)), Column("ACC %", "spread"))
    '91.51 ± 0.06'
    >>> text(Entry(Difference(1.07, 0.44, 1.7, ())), Column("", "difference"))
    '+1.07 [+0.44, +1.70]'
    >>> text(Entry(Interval(91.07, 90.44, 91.7)), Column("", "interval"))
    '91.07 [90.44, 91.70]'
    """
    value, digits = entry.value, column.digits
    if isinstance(value, Spread):
        sd = "" if value.sd is None else f" ± {value.sd:.{digits}f}"
        return value.shown or f"{value.mean:.{digits}f}{sd}"
    if isinstance(value, Difference):
        interval = "" if value.low is None else f" [{value.low:+.{digits}f}, {value.high:+.{digits}f}]"
        return f"{value.mean:+.{digits}f}{interval}"
    if isinstance(value, Interval):
        ends = "" if value.low is None else f" [{value.low:.{digits}f}, {value.high:.{digits}f}]"
        return f"{value.mean:.{digits}f}{ends}"
    return DASH if value is None or value == "" else value
