"""A comparison with its results: rows filled from stored runs, ranked, held against each other and the paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from coldtheory.ground.statistics import Difference, paired
from coldtheory.paper import PrintedResult, paper

from ..runs import Result
from .cells import Cell, final_cells
from .choice import Choice, choose
from .stored import Shelf
from .terms import Row, Settings, Terms, layered


@dataclass(frozen=True, eq=False)
class Line:
    """A row and what is stored of it: runs by seed, cells that are missing."""

    row: Row
    choice: Choice
    runs: dict[int, Result]
    missing: tuple[Cell, ...]
    printed: PrintedResult | None

    @cached_property
    def acc(self) -> dict[int, float]:
        return {seed: float(run.metrics["acc"] or 0.0) for seed, run in self.runs.items()}

    @cached_property
    def forgetting(self) -> dict[int, float]:
        """F as printed; none for a method for which it means nothing."""
        found = {seed: run.metrics.get("forgetting") for seed, run in self.runs.items()}
        return {seed: value for seed, value in found.items() if value is not None} if self.row.forgets else {}

    @property
    def settings(self) -> Settings | None:
        """All that the row has beyond the base; None before tuning is done."""
        chosen = self.choice.settings
        return None if chosen is None else layered(self.row.fixed, chosen, self.row.final)

    @property
    def ranked(self) -> bool:
        """All seeds, on the table's terms, no upper bound."""
        return len(self.runs) == len(self.row.seeds) and not (self.row.reduced or self.row.bound or self.row.absent)

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(run.run_id for run in self.runs.values())


@dataclass(frozen=True, eq=False)
class Comparison:
    """One benchmark, one kind, all rows."""

    terms: Terms
    lines: tuple[Line, ...]

    def line(self, key: str) -> Line | None:
        return next((line for line in self.lines if line.row.key == key), None)

    @cached_property
    def ranking(self) -> list[Line]:
        """Ranked rows, best accuracy first; rows that stand on the same runs count once."""
        order: list[Line] = []
        for line in sorted((one for one in self.lines if one.ranked), key=lambda one: -_mean(one.acc)):
            if all(line.ids != above.ids for above in order):
                order.append(line)
        return order

    def best(self, line: Line, name: str) -> bool:
        """Whether a row has the best accuracy, or the least forgetting, of at least two that are ranked."""
        if len(self.ranking) < 2 or not line.ranked:
            return False
        if name == "acc":
            return line.ids == self.ranking[0].ids
        values = [_mean(one.forgetting) for one in self.ranking if one.forgetting]
        return bool(line.forgetting) and _mean(line.forgetting) == min(values, default=None)

    def gap(self, line: Line) -> Difference | None:
        """Best accuracy minus this row's, paired over seeds; the best row's is the one to the runner-up."""
        if len(self.ranking) < 2 or not line.runs:
            return None
        first = self.ranking[0]
        return paired(first.acc, self.ranking[1].acc if line.ids == first.ids else line.acc)

    @property
    def contrasts(self) -> Iterator[tuple[Line, Line, Difference]]:
        for left, right in self.terms.contrasts:
            one, other = self.line(left), self.line(right)
            found = paired(one.acc, other.acc) if one and other and one.ids != other.ids else None
            if one and other and found:
                yield one, other, found

    @property
    def complete(self) -> bool:
        return all(line.row.absent or len(line.runs) == len(line.row.seeds) for line in self.lines)

    @property
    def missing(self) -> list[Cell]:
        """Tuning cells first; each once."""
        cells = [cell for line in self.lines for cell in line.choice.missing]
        cells += [cell for line in self.lines for cell in line.missing]
        return list({cell.run_id: cell for cell in cells}.values())


def compared(terms: Terms, shelf: Shelf) -> Comparison:
    return Comparison(terms, tuple(_line(terms, row, shelf) for row in terms.rows))


def _line(terms: Terms, row: Row, shelf: Shelf) -> Line:
    printed = _printed(terms, row)
    if row.absent:
        return Line(row, Choice({}), {}, (), printed)
    choice = choose(terms, row, shelf)
    if choice.settings is None:
        return Line(row, choice, {}, (), printed)
    cells = final_cells(terms, row, choice.settings)
    found = {seed: shelf.get(cell) for seed, cell in zip(row.seeds, cells, strict=True)}
    missing = tuple(cell for cell, run in zip(cells, found.values(), strict=True) if run is None)
    return Line(row, choice, {seed: run for seed, run in found.items() if run is not None}, missing, printed)


def _printed(terms: Terms, row: Row) -> PrintedResult | None:
    if terms.printed is None:
        return None
    label, dataset, memory = terms.printed
    table = paper().table(label)
    return table.cell(row.title, (dataset, memory)) if row.title in table.methods else None


def _mean(values: dict[int, float]) -> float:
    return sum(values.values()) / len(values)
