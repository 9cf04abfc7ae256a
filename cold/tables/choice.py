"""What tuning chose: a function of the stored tuning runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from .cells import Cell, tuning_cell
from .stored import Shelf
from .terms import Row, Settings, Terms, layered


@dataclass(frozen=True)
class Choice:
    """Chosen settings, or None as long as `missing` cells are not there; `to_come` more are named after those."""

    settings: Settings | None
    tried: tuple[tuple[Settings, float], ...] = ()
    missing: tuple[Cell, ...] = ()
    to_come: int = 0
    used: tuple[str, ...] = field(default=())


def choose(terms: Terms, row: Row, shelf: Shelf) -> Choice:
    """Every learning rate with the parameter at its start; at the best one, the parameter's other values.

    The highest validation accuracy is chosen; of equal ones, the one that was tried first.
    """
    if row.tuning is None:
        return Choice({})
    parameter = row.tuning.parameter
    start, others = (parameter.start, parameter.others) if parameter else ({}, ())
    rates = _try(terms, row, shelf, [layered(start, {"lr": lr}) for lr in row.tuning.lr])
    if rates.missing:
        return Choice(None, rates.tried, rates.missing, len(others))
    lr = _best(rates.tried)["lr"]
    values = _try(terms, row, shelf, [layered(other, {"lr": lr}) for other in others])
    tried = (*rates.tried, *values.tried)
    if values.missing:
        return Choice(None, tried, values.missing)
    return Choice(_best(tried), tried, used=(*rates.used, *values.used))


def _best(tried: tuple[tuple[Settings, float], ...]) -> Settings:
    return max(tried, key=lambda found: found[1])[0]


def _try(terms: Terms, row: Row, shelf: Shelf, candidates: list[Settings]) -> Choice:
    tried, missing, used = [], [], []
    for settings in candidates:
        cell = tuning_cell(terms, row, settings)
        run = shelf.get(cell)
        if run is None:
            missing.append(cell)
        else:
            tried.append((settings, float(run.metrics["acc"] or 0.0)))
            used.append(cell.run_id)
    return Choice(None, tuple(tried), tuple(missing), used=tuple(used))
