"""Stored runs by name: what is there, and what of it can be used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coldtheory.ground.errors import ColdError

from ..config import RunConfig
from ..runs import Result, check_same_run, default_roots, find_runs, identified
from .wanted import WantedRun


class RunsOnHand:
    """Finished runs below some folders, as far as they are asked for; `problems` says what is wrong with one."""

    def __init__(self, roots: Sequence[Path] | None = None) -> None:
        self._found = find_runs(*(default_roots() if roots is None else roots))
        self._runs: dict[str, Result | None] = {}
        self.problems: dict[str, str] = {}  #: by run id, one line each

    def of(self, config: RunConfig) -> Result | None:
        """The finished run of these settings, whichever table or study asks for it."""
        found = self._found.of(identified(config))
        if found is not None:
            self._runs[found.run_id] = found
        return found

    def get(self, wanted: WantedRun) -> Result | None:
        """The run that is wanted, or None if there is none that can be used."""
        if wanted.run_id not in self._runs:
            self._runs[wanted.run_id] = self._usable(wanted)
        return self._runs[wanted.run_id]

    def _usable(self, wanted: WantedRun) -> Result | None:
        run_id, run = wanted.run_id, self._found.get(wanted.run_id)
        if run is None:
            if run_id in self._found.damaged:
                self.problems[run_id] = self._found.damaged[run_id]
            return None
        try:
            if run.metrics.get("acc") is None:
                raise ColdError(f"{run.folder} has no accuracy; run it again")
            return check_same_run(run, wanted.config)
        except ColdError as error:
            self.problems[run_id] = str(error)
            return None

    def command(self, wanted: WantedRun) -> str:
        """The command that makes a run that is missing or cannot be used."""
        return wanted.command(again=wanted.run_id in self.problems)

    @property
    def used(self) -> list[Result]:
        """Every run that was asked for and found."""
        return [run for run in self._runs.values() if run is not None]
