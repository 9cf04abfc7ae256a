"""Stored runs by name: what is there, and what of it can be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coldtheory.ground.errors import ColdError

from ..config import make_config
from ..plots.store import RESULT, Run, read_run
from .wanted import WantedRun

__all__ = ["ROOTS", "Run", "RunsOnHand"]

ROOTS = (Path("runs"), Path("results/runs"))


class RunsOnHand:
    """Finished runs below some folders. A file is read when it is asked for; `problems` says what is wrong with it."""

    def __init__(self, roots: Sequence[Path] = ROOTS) -> None:
        self._folders = {path.parent.name: path.parent for root in reversed(roots) for path in root.rglob(RESULT)}
        self._runs: dict[str, Run | None] = {}
        self.problems: dict[str, str] = {}  #: by run id, one line each

    def get(self, wanted: WantedRun) -> Run | None:
        """The run that is wanted, or None if there is none that can be used."""
        if wanted.run_id not in self._runs:
            self._runs[wanted.run_id] = self._read(wanted.run_id)
        return self._runs[wanted.run_id]

    def _read(self, run_id: str) -> Run | None:
        folder = self._folders.get(run_id)
        if folder is None:
            return None
        try:
            run = read_run(folder)
            if make_config(run.config).run_id != run_id:
                raise ColdError(f"{folder} holds a run with other settings than its name says; run it again")
            if not isinstance(run.metrics.get("acc"), int | float):
                raise ColdError(f"{folder} has no accuracy; run it again")
        except ColdError as error:
            self.problems[run_id] = str(error)
            return None
        return run

    def command(self, wanted: WantedRun) -> str:
        """The command that makes a run that is missing or cannot be used."""
        return wanted.command(again=wanted.run_id in self.problems)

    @property
    def used(self) -> list[Run]:
        """Every run that was asked for and found."""
        return [run for run in self._runs.values() if run is not None]
