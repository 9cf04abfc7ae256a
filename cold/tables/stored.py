"""Stored runs by name: what is there, and what of it can be used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coldtheory.ground.errors import ColdError

from ..runs import Result, check_same_run, default_roots, find_runs
from .cells import Cell


class Shelf:
    """Finished runs below some folders, those that cells ask for; what is wrong with one is told."""

    def __init__(self, roots: Sequence[Path] | None = None) -> None:
        self._found = find_runs(*(default_roots() if roots is None else roots))
        self._runs: dict[str, Result | None] = {}
        self.problems: dict[str, str] = {}  #: by run id, one line each

    def get(self, cell: Cell) -> Result | None:
        """The run of a cell, or None if there is none that can be used."""
        if cell.run_id not in self._runs:
            self._runs[cell.run_id] = self._usable(cell)
        return self._runs[cell.run_id]

    def _usable(self, cell: Cell) -> Result | None:
        run = self._found.get(cell.run_id)
        if run is None:
            if cell.run_id in self._found.damaged:
                self.problems[cell.run_id] = self._found.damaged[cell.run_id]
            return None
        try:
            if run.metrics.get("acc") is None:
                raise ColdError(f"{run.folder} has no accuracy; run it again")
            return check_same_run(run, cell.config)
        except ColdError as error:
            self.problems[cell.run_id] = str(error)
            return None

    def command(self, cell: Cell) -> str:
        return cell.command(again=cell.run_id in self.problems)

    @property
    def used(self) -> list[Result]:
        """Every run that was asked for and found."""
        return [run for run in self._runs.values() if run is not None]
