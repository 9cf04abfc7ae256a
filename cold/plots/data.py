"""A training study as the figure registry sees it: the state of its runs, the commands that make them, its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldtheory.errors import ColdError
from coldtheory.figures.datasets import State, Stored
from coldtheory.figures.table import Table
from coldtheory.store import config_key

from .names import IID, dataset_name, method_name
from .printed import printed_rows
from .select import lines_of, table_of
from .store import FORMAT, Run, read_runs
from .studies import SEEDS, Panel, Study

_NO_PRESET = ("split-mnist", "synthetic")  # the paper's hyper-parameter tables leave them out
_VERSION = 2  # raise it when the table of a study means something else


@dataclass(frozen=True)
class TrainingData:
    """The stored runs of one study."""

    study: Study
    profile: str | None = None  #: only runs of this profile
    paper: bool = False  #: whether the paper's printed numbers come along
    kept: Path | None = None  #: a second folder of runs, such as the one under version control

    @property
    def name(self) -> str:
        return self.study.id

    @property
    def command(self) -> str:
        """The first of `commands`; the others differ in its method, value and seed."""
        return next(self.commands())

    @property
    def key(self) -> str:
        return config_key({"study": self.study.id, "format": FORMAT, "version": _VERSION})

    def commands(self) -> Iterator[str]:
        """Every run of the paper's figure as a command, one seed after the other."""
        seen = dict.fromkeys(
            _command(panel, method, value, seed)
            for panel in self.study.panels
            for method, value in panel.cells()
            for seed in SEEDS
        )
        yield from seen

    def state(self, folder: Path) -> State:
        runs, problems = read_runs(*self._folders(folder))
        try:
            missing = self._missing(runs)
        except ColdError:  # matrices that cannot be read
            return "stale"
        if missing is None:
            return "present"
        return "stale" if problems else "missing"

    def load(self, folder: Path) -> Stored:
        runs, problems = read_runs(*self._folders(folder))
        missing = self._missing(runs)
        if missing is not None and problems:
            more = f" ({len(problems)} such runs)" if len(problems) > 1 else ""
            raise ColdError(f"no readable runs of {_words(missing)}: {problems[0]}{more}")
        if missing is not None:
            kept = "" if self.profile is None else f" with profile {self.profile}"
            command = _command(missing, *next(missing.cells()), SEEDS[0])
            places = " or ".join(map(str, self._folders(folder)))
            raise ColdError(f"no stored runs of {_words(missing)}{kept} in {places}; make them with: {command}")
        table, used = table_of(self.study, runs, self.profile)
        if self.paper:
            table = Table.of([*table.rows(), *printed_rows(self.study)])
        return Stored(table, self._config(used), self.key, _origins(used))

    def _folders(self, folder: Path) -> tuple[Path, ...]:
        return (folder,) if self.kept is None else (folder, self.kept)

    def make(self, folder: Path) -> None:
        raise ColdError(f"training runs are not made here; make them with: {self.command}")

    def _missing(self, runs: tuple[Run, ...]) -> Panel | None:
        return next((panel for panel in self.study.panels if not lines_of(panel, runs, self.profile)), None)

    def _config(self, used: list[Run]) -> dict[str, Any]:
        """What the drawn runs share, and what they vary."""
        names = dict.fromkeys(name for run in used for name in run.config)
        values = {name: _distinct(run.config.get(name) for run in used) for name in names}
        seeds = values.pop("seed", [])
        shared = {name: found[0] for name, found in values.items() if len(found) == 1}
        varied = {name: found for name, found in values.items() if len(found) > 1}
        return {"runs": sorted(run.id for run in used), "seeds": seeds, "shared": shared, "varied": varied}


def _command(panel: Panel, method: str, value: Any, seed: int) -> str:
    dataset = panel.dataset.removesuffix(IID)
    words = ["cold run", *([] if dataset in _NO_PRESET else ["--preset paper"]), f"--dataset {dataset}"]
    words += ["--iid"] * panel.dataset.endswith(IID) + [f"--method {method}"]
    if panel.memory is not None:
        words.append(f"--memory {panel.memory}")
    if panel.field != "method":
        words.append(f"--{panel.field.replace('_', '-')} {value}")
    return " ".join([*words, f"--seed {seed}"])


def _words(panel: Panel) -> str:
    if panel.field == "method":
        return f"any method on {dataset_name(panel.dataset)}"
    methods = " or ".join(method_name(method) for method in panel.methods)
    return f"{methods} on {dataset_name(panel.dataset)} over {panel.field}"


def _distinct(values: Iterator[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _origins(used: list[Run]) -> list[Mapping[str, Any]]:
    """Each different provenance once, the time aside: the earliest stands for all."""
    found: dict[str, Mapping[str, Any]] = {}
    for run in sorted(used, key=lambda run: run.time):
        found.setdefault(str({**run.provenance, "time": None}), dict(run.provenance))
    return list(found.values())
