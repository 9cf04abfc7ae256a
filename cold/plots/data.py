"""A training figure as the registry sees it: the state of its runs, the commands that make them, its table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coldtheory.figures.figure import State, Stored
from coldtheory.figures.table import Table, Tell
from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import config_key

from ..catalogue import IID, benchmark, benchmark_title, canonical, method_title
from ..runs import FORMAT, FoundRuns, Result, default_roots, find_runs
from ..studies import PROFILES, Picture, planned, studies
from .paper_figures import SEEDS, Panel, TrainingFigure
from .printed import printed_rows
from .select import REDUCED, curves_of, settings, table_of

_VERSION = 3  # raise it when the table of a figure means something else


class RunsFoundOnce:
    """Finished runs by the folders that hold them, looked for and sorted once: the figures of one list share them."""

    def __init__(self) -> None:
        self._found: dict[tuple[Path, ...], FoundRuns] = {}
        self._by_dataset: dict[tuple[Path, ...], dict[str, list[Result]]] = {}
        self._by_settings: dict[tuple[Path, ...], dict[str, list[Result]]] = {}

    def below(self, folders: tuple[Path, ...]) -> FoundRuns:
        """All runs below some folders, looked for once."""
        if folders not in self._found:
            self._found[folders] = find_runs(*folders)
        return self._found[folders]

    def on(self, folders: tuple[Path, ...], datasets: Iterable[str]) -> tuple[Result, ...]:
        """The runs on these datasets."""
        runs = self._sorted(self._by_dataset, folders, lambda run: canonical(run.dataset))
        return tuple(run for name in dict.fromkeys(map(canonical, datasets)) for run in runs.get(name, ()))

    def of_settings(self, folders: tuple[Path, ...], wanted: Iterable[str]) -> tuple[Result, ...]:
        """The runs with these settings, as `select.settings` names them."""
        runs = self._sorted(self._by_settings, folders, lambda run: settings(run.config))
        return tuple(run for name in wanted for run in runs.get(name, ()))

    def _sorted(
        self,
        known: dict[tuple[Path, ...], dict[str, list[Result]]],
        folders: tuple[Path, ...],
        key: Callable[[Result], str],
    ) -> dict[str, list[Result]]:
        if folders not in known:
            known[folders] = {}
            for run in self.below(folders).values():
                known[folders].setdefault(key(run), []).append(run)
        return known[folders]


@dataclass(frozen=True)
class TrainingData:
    """The stored runs of one figure."""

    figure: TrainingFigure
    profile: str | None = None  #: only runs of this profile; None: of none of the reduced ones
    paper: bool = False  #: whether the paper's printed numbers come along
    kept: bool = False  #: whether the runs in their usual places count, too: see `cold.runs.default_roots`
    dataset: str | None = None  #: what stands in for the paper's data, as `TrainingFigure.on` takes it
    shared: RunsFoundOnce | None = field(default=None, repr=False, compare=False)  #: None: look for runs at each call

    @property
    def name(self) -> str:
        return self.figure.id

    @property
    def command(self) -> str:
        """What makes the runs of the figure, and others of the same studies."""
        return " && ".join(f"cold study run {name} --profile {profile}" for name, profile in self._studies())

    @property
    def key(self) -> str:
        return config_key({"study": self.figure.id, "format": FORMAT, "version": _VERSION})

    def commands(self) -> Iterator[str]:
        """Every run of the paper's figure as a command, one seed after the other."""
        seen = dict.fromkeys(
            _command(panel, method, value, seed)
            for panel in self.figure.panels
            for method, value in panel.cells()
            for seed in SEEDS
        )
        yield from seen

    def state(self, folder: Path) -> State:
        runs, problems = self._read(folder)
        try:
            missing = self._missing(runs)
        except ColdError:  # matrices that cannot be read
            return "stale"
        if missing is None:
            return "present"
        return "stale" if problems else "missing"

    def load(self, folder: Path) -> Stored:
        runs, problems = self._read(folder)
        missing = self._missing(runs)
        if missing is not None and problems:
            more = f" ({len(problems)} such runs)" if len(problems) > 1 else ""
            raise ColdError(f"no readable runs of {_words(missing)}: {problems[0]}{more}")
        if missing is not None:
            raise ColdError(self._nothing(missing, runs, folder))
        table, used = table_of(self.figure, runs, self.profile)
        if self.paper:
            table = Table.of([*table.rows(), *printed_rows(self.figure)])
        return Stored(table, self._config(used), self.key, _origins(used))

    def _read(self, folder: Path) -> tuple[tuple[Result, ...], tuple[str, ...]]:
        """Stored runs, and what cannot be read. Where a study of the profile draws this very picture, only the study's
        own settings count, with any seed, if there are such runs: others would add stray points to a curve."""
        shared, folders = self.shared or RunsFoundOnce(), self._folders(folder)
        picture = Picture(self.figure.id, self.dataset)
        own = dict.fromkeys(
            settings(run.config.as_dict())
            for study in studies()
            if self.profile is not None and picture in study.pictures.get(self.profile, ())
            for run in planned(study, self.profile)
        )
        runs = shared.of_settings(folders, own) if own else ()
        runs = runs or shared.on(folders, (panel.dataset for panel in self.figure.panels))
        return runs, shared.below(folders).problems

    def _folders(self, folder: Path) -> tuple[Path, ...]:
        usual = default_roots() if self.kept else ()
        return (folder, *(root for root in usual if folder not in root.parents))

    def make(self, folder: Path, tell: Tell) -> None:
        raise ColdError(f"training runs are not made here; make them with: {self.command}")

    def _missing(self, runs: tuple[Result, ...]) -> Panel | None:
        return next((panel for panel in self.figure.panels if not self._varies(panel, runs)), None)

    def _varies(self, panel: Panel, runs: tuple[Result, ...]) -> bool:
        """Whether at least two values of what the panel varies are stored: one alone is no comparison."""
        curves = curves_of(panel, runs, self.profile)
        for run in (run for curve in curves for run in curve.runs if panel.kind != "sweep"):
            if run.array("accuracy") is None:
                raise ColdError(f"{run.folder} has no matrix of accuracies; run it again")
        if panel.field == "method":
            return len(curves) > 1
        return any(len({str(run.config.get(panel.field)) for run in curve.runs}) > 1 for curve in curves)

    def _nothing(self, missing: Panel, runs: tuple[Result, ...], folder: Path) -> str:
        """In one line: which runs are missing, and how to get them or a smaller picture."""
        kept = "" if self.profile is None else f" with profile {self.profile}"
        places = " or ".join(map(str, self._folders(folder)))
        words = f"no stored runs of {_words(missing)}{kept} in {places}; make them with: {self.command}"
        smaller = [name for name in REDUCED if self.profile is None and curves_of(missing, runs, name)]
        return words + (f"; or draw the smaller runs that are there: --profile {smaller[0]}" if smaller else "")

    def _studies(self) -> Iterator[tuple[str, str]]:
        """The studies whose runs the figure draws, each with the profile; without one, the largest that it has."""
        for study in studies():
            profile = self.profile or next(name for name in PROFILES if name in study.pictures)
            if any(picture.figure == self.figure.id for picture in study.pictures.get(profile, ())):
                yield study.id, profile

    def _config(self, used: list[Result]) -> dict[str, Any]:
        """What the drawn runs share, and what they vary."""
        names = dict.fromkeys(name for run in used for name in run.config)
        values = {name: _distinct(run.config.get(name) for run in used) for name in names}
        seeds = values.pop("seed", [])
        shared = {name: found[0] for name, found in values.items() if len(found) == 1}
        varied = {name: found for name, found in values.items() if len(found) > 1}
        about = "; ".join(sorted({run.about_data for run in used} - {""}))
        runs = {"runs": sorted(run.run_id for run in used), "seeds": seeds, "shared": shared, "varied": varied}
        return {**runs, **({"about": about} if about else {})}


def _command(panel: Panel, method: str, value: Any, seed: int) -> str:
    dataset = panel.dataset.removesuffix(IID)
    words = ["cold run", *(["--preset paper"] if benchmark(dataset).has_preset else []), f"--dataset {dataset}"]
    words += ["--iid"] * panel.dataset.endswith(IID) + [f"--method {method}"]
    if panel.memory is not None:
        words.append(f"--memory {panel.memory}")
    if panel.field != "method":
        words.append(f"--{panel.field.replace('_', '-')} {value}")
    return " ".join([*words, f"--seed {seed}"])


def _words(panel: Panel) -> str:
    if panel.field == "method":
        return f"any method on {benchmark_title(panel.dataset)}"
    methods = " or ".join(method_title(method) for method in panel.methods)
    return f"{methods} on {benchmark_title(panel.dataset)} over {panel.field}"


def _distinct(values: Iterator[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _origins(used: list[Result]) -> list[Mapping[str, Any]]:
    """Each different provenance once, the time aside: the earliest stands for all."""
    found: dict[str, Mapping[str, Any]] = {}
    for run in sorted(used, key=lambda run: run.time):
        found.setdefault(str({**run.provenance, "time": None}), dict(run.provenance))
    return list(found.values())
