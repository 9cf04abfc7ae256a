"""Small tidy tables: named columns of equal length, written as CSV and read back."""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..ground.errors import ColdError

Tell = Callable[[int, int], None]  #: called with the number of parts done and the number of all parts
Part = TypeVar("Part")

_DIGITS = 8  # a picture shows three; eight let a recomputation be compared


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of numbers (float) or of words (str).

    >>> table = Table.of([{"V": 1.0, "regime": "low"}, {"V": 2.0, "regime": "high"}])
    >>> table.where(regime="high")["V"]
    array([2.])
    """

    columns: Mapping[str, np.ndarray]

    @staticmethod
    def of(rows: Iterable[Mapping[str, Any]]) -> Table:
        """A table from rows; a column is empty in rows that lack it."""
        rows = list(rows)
        names = list(dict.fromkeys(name for row in rows for name in row))
        return Table({name: _column([row.get(name) for row in rows]) for name in names})

    @staticmethod
    def from_csv(text: str | bytes) -> Table:
        """A table as `to_csv` wrote it; raises if it is none."""
        try:
            lines = list(csv.reader(io.StringIO(text if isinstance(text, str) else text.decode("utf-8"))))
        except (UnicodeDecodeError, csv.Error) as error:
            raise ColdError(f"the table is damaged: {error}") from None
        if not lines or any(len(line) != len(lines[0]) for line in lines):
            raise ColdError("the table is damaged: its lines have different lengths")
        if len(set(lines[0])) != len(lines[0]):
            raise ColdError("the table is damaged: two columns have one name")
        return Table({name: _column([line[i] for line in lines[1:]]) for i, name in enumerate(lines[0])})

    def to_csv(self) -> str:
        """The table as CSV text, with a header line."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(zip(*([_text(entry) for entry in column] for column in self.columns.values()), strict=True))
        return out.getvalue()

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise ColdError(f"the table has no column {name!r}; it has {', '.join(self.columns)}")
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def where(self, **equal: Any) -> Table:
        """The rows in which every named column has the given value."""
        keep = np.ones(len(self), dtype=bool)
        for name, value in equal.items():
            keep &= self[name] == value
        return Table({name: column[keep] for name, column in self.columns.items()})

    def values(self, name: str) -> list[Any]:
        """The different entries of a column, in order of appearance."""
        return list(dict.fromkeys(self[name].tolist()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows one after the other, each a dict by column name."""
        for entries in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, entries, strict=True))

    def grid(self, x: str, y: str, *, by: str = "seed") -> tuple[np.ndarray, np.ndarray]:
        """Sorted values of x (n,), and y as (values of `by`, n); NaN where a pair does not occur."""
        xs, xi = np.unique(self[x], return_inverse=True)
        groups, gi = np.unique(self[by], return_inverse=True)
        table = np.full((len(groups), len(xs)), np.nan)
        table[gi, xi] = self[y]
        return xs, table


def quiet(_done: int, _total: int) -> None:
    """A `Tell` that ignores what it is told."""


def counted(parts: Sequence[Part], tell: Tell) -> Iterator[Part]:
    """The parts of a computation one after the other; `tell` is called with how many of them are done."""
    for done, part in enumerate(parts):
        tell(done, len(parts))
        yield part
    tell(len(parts), len(parts))


def joined(tables: Mapping[str, Table]) -> Table:
    """Several tables as one: a column `data` says which, columns that a table lacks stay empty."""
    if len(tables) == 1:
        return next(iter(tables.values()))
    return Table.of({"data": name, **row} for name, table in tables.items() for row in table.rows())


def split(table: Table, names: Sequence[str]) -> dict[str, Table]:
    """What `joined` put together; columns that are empty throughout a part are dropped from it."""
    if len(names) == 1:
        return {names[0]: table}
    parts = {}
    for name in names:
        part = table.where(data=name)
        kept = {n: column for n, column in part.columns.items() if n != "data" and not _empty(column)}
        parts[name] = Table(kept)
    return parts


def difference(old: Table, new: Table, rtol: float = 1e-6) -> str | None:
    """The first way in which two tables differ, in words; None if they agree.

    Numbers agree within `rtol` of the column's largest: last digits are a matter of the machine.
    """
    if list(old.columns) != list(new.columns):
        return f"columns {', '.join(old.columns)} became {', '.join(new.columns)}"
    if len(old) != len(new):
        return f"{len(old)} rows became {len(new)}"
    for name in old.columns:
        left, right = old[name], new[name]
        if left.dtype.kind != right.dtype.kind:
            return f"column {name} changed its kind"
        if left.dtype.kind != "f":
            changed = left != right
        else:
            scale = np.nanmax(np.abs(left)) if np.isfinite(left).any() else 0.0
            changed = ~np.isclose(left, right, rtol=rtol, atol=rtol * scale * 1e-3, equal_nan=True)
        if changed.any():
            at = int(np.flatnonzero(changed)[0])
            return f"{name} in row {at + 1} was {_text(left[at])}, is {_text(right[at])}"
    return None


def mean_and_quantiles(values: np.ndarray) -> dict[str, float]:
    """What a line and its band show of several seeds: the mean, and the 10 % and 90 % quantiles."""
    low, high = np.quantile(values, 0.1), np.quantile(values, 0.9)
    return {"mean": float(values.mean()), "low": float(low), "high": float(high)}


def digest(text: str | bytes) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a text."""
    data = text.encode() if isinstance(text, str) else text
    return hashlib.sha256(data).hexdigest()[:16]


def _column(entries: Sequence[Any]) -> np.ndarray:
    try:
        return np.array([_number(entry) for entry in entries], dtype=np.float64)
    except ValueError:
        return np.array(["" if entry is None else str(entry) for entry in entries], dtype=np.str_)


def _number(entry: Any) -> float:
    return math.nan if entry is None or entry == "" else float(entry)


def _text(entry: Any) -> str:
    if isinstance(entry, str):
        return str(entry)
    return "" if math.isnan(entry) else f"{entry:.{_DIGITS}g}"


def _empty(column: np.ndarray) -> bool:
    return bool(np.isnan(column).all() if column.dtype.kind == "f" else (column == "").all())
