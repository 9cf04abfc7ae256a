"""A comparison with its results: rows filled from stored runs, ranked, and compared with each other and with the
paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from coldtheory.ground.statistics import Difference, holm, paired, paired_p_value
from coldtheory.paper import PrintedResult, paper

from ..runs import Result
from .stored import RunsOnHand
from .terms import Row, Settings, Terms, layered
from .wanted import WantedRun, final_runs, tuning_run


@dataclass(frozen=True)
class Choice:
    """Chosen settings, or None as long as `missing` runs are not there; `to_come` more are named after those."""

    settings: Settings | None
    tried: tuple[tuple[Settings, float], ...] = ()
    missing: tuple[WantedRun, ...] = ()
    to_come: int = 0
    used: tuple[str, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class ComparedRow:
    """A row and what is stored of it: runs by seed, and those that are missing."""

    row: Row
    choice: Choice
    runs: dict[int, Result]
    missing: tuple[WantedRun, ...]
    printed: PrintedResult | None

    @cached_property
    def acc(self) -> dict[int, float]:
        """The average accuracy by seed, per cent."""
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
        """The ids of the runs behind the row."""
        return frozenset(run.run_id for run in self.runs.values())


@dataclass(frozen=True, eq=False)
class Comparison:
    """One benchmark, one kind, all rows."""

    terms: Terms
    rows: tuple[ComparedRow, ...]

    def row(self, key: str) -> ComparedRow | None:
        """The row with this key, or None."""
        return next((one for one in self.rows if one.row.key == key), None)

    @cached_property
    def ranking(self) -> list[ComparedRow]:
        """Ranked rows, best accuracy first; rows that stand on the same runs count once."""
        order: list[ComparedRow] = []
        for one in sorted((one for one in self.rows if one.ranked), key=lambda one: -_mean(one.acc)):
            if all(one.ids != above.ids for above in order):
                order.append(one)
        return order

    def best(self, row: ComparedRow, name: str) -> bool:
        """Whether a row has the best accuracy, or the least forgetting, of at least two that are ranked."""
        if len(self.ranking) < 2 or not row.ranked:
            return False
        if name == "acc":
            return row.ids == self.ranking[0].ids
        values = [_mean(one.forgetting) for one in self.ranking if one.forgetting]
        return bool(row.forgetting) and _mean(row.forgetting) == min(values, default=None)

    def gap(self, row: ComparedRow) -> Difference | None:
        """Best accuracy minus this row's, paired over seeds; the best row's is the one to the runner-up."""
        if len(self.ranking) < 2 or not row.runs:
            return None
        first = self.ranking[0]
        return paired(first.acc, self.ranking[1].acc if row.ids == first.ids else row.acc)

    @property
    def contrasts(self) -> Iterator[tuple[ComparedRow, ComparedRow, Difference]]:
        """The paired difference of each declared pair of rows that has runs in common."""
        for left, right in self.terms.contrasts:
            one, other = self.row(left), self.row(right)
            found = paired(one.acc, other.acc) if one and other and one.ids != other.ids else None
            if one and other and found:
                yield one, other, found

    @property
    def adjusted(self) -> list[float]:
        """The p-value of each contrast, by Holm's correction for all of them."""
        return holm([paired_p_value(found.each) for _, _, found in self.contrasts])

    @property
    def complete(self) -> bool:
        """Whether every row has the runs of all its seeds."""
        return all(one.row.absent or len(one.runs) == len(one.row.seeds) for one in self.rows)

    @property
    def missing(self) -> list[WantedRun]:
        """Runs for tuning first; each once."""
        wanted = [run for one in self.rows for run in one.choice.missing]
        wanted += [run for one in self.rows for run in one.missing]
        return list({run.run_id: run for run in wanted}.values())


def choose(terms: Terms, row: Row, stored: RunsOnHand) -> Choice:
    """Every learning rate with the parameter at its start; at the best one, the parameter's other values.

    The highest validation accuracy is chosen; of equal ones, the one that was tried first.
    """
    if row.tuning is None:
        return Choice({})
    parameter = row.tuning.parameter
    start, others = (parameter.start, parameter.others) if parameter else ({}, ())
    rates = _try(terms, row, stored, [layered(start, {"lr": lr}) for lr in row.tuning.lr])
    if rates.missing:
        return Choice(None, rates.tried, rates.missing, len(others))
    lr = _best(rates.tried)["lr"]
    values = _try(terms, row, stored, [layered(other, {"lr": lr}) for other in others])
    tried = (*rates.tried, *values.tried)
    if values.missing:
        return Choice(None, tried, values.missing)
    return Choice(_best(tried), tried, used=(*rates.used, *values.used))


def _best(tried: tuple[tuple[Settings, float], ...]) -> Settings:
    return max(tried, key=lambda found: found[1])[0]


def _try(terms: Terms, row: Row, stored: RunsOnHand, candidates: list[Settings]) -> Choice:
    tried, missing, used = [], [], []
    for settings in candidates:
        wanted = tuning_run(terms, row, settings)
        run = stored.get(wanted)
        if run is None:
            missing.append(wanted)
        else:
            tried.append((settings, float(run.metrics["acc"] or 0.0)))
            used.append(wanted.run_id)
    return Choice(None, tuple(tried), tuple(missing), used=tuple(used))


def compared(terms: Terms, stored: RunsOnHand) -> Comparison:
    """The comparison with what is stored now."""
    return Comparison(terms, tuple(_compared_row(terms, row, stored) for row in terms.rows))


def _compared_row(terms: Terms, row: Row, stored: RunsOnHand) -> ComparedRow:
    printed = _printed(terms, row)
    if row.absent:
        return ComparedRow(row, Choice({}), {}, (), printed)
    choice = choose(terms, row, stored)
    if choice.settings is None:
        return ComparedRow(row, choice, {}, (), printed)
    wanted = final_runs(terms, row, choice.settings)
    found = {seed: stored.get(one) for seed, one in zip(row.seeds, wanted, strict=True)}
    missing = tuple(one for one, run in zip(wanted, found.values(), strict=True) if run is None)
    return ComparedRow(row, choice, {seed: run for seed, run in found.items() if run is not None}, missing, printed)


def _printed(terms: Terms, row: Row) -> PrintedResult | None:
    if terms.printed is None:
        return None
    label, dataset, memory = terms.printed
    table = paper().table(label)
    return table.cell(row.title, (dataset, memory)) if row.title in table.methods else None


def _mean(values: dict[int, float]) -> float:
    return sum(values.values()) / len(values)
