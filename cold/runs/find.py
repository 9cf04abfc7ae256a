"""Finding finished runs: at any depth, in folders of their own or packed, by their ids."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from coldtheory.ground.errors import ColdError

from ..config import RunConfig
from .identity import same_run
from .loose import read_loose
from .packed import read_rows
from .schema import RESULT, ROWS, Result


class FoundRuns(Mapping[str, Result]):
    """Finished runs by id. Records are read and checked; arrays stay on disk until they are asked for.

    damaged   by the name of the run's folder, or by the place of the row: one line on each that cannot be read
    problems  these lines alone
    """

    def __init__(self, runs: Mapping[str, Result], damaged: Mapping[str, str]) -> None:
        self._runs, self.damaged = dict(runs), dict(damaged)

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(self.damaged.values())

    def of(self, config: RunConfig, data: str | None = None) -> Result | None:
        """The finished run of these settings (see `identity.identified`), on these data; None if there is none."""
        result = self.get(config.run_id)
        return result if result is not None and same_run(result, config, data) else None

    def __getitem__(self, run_id: str) -> Result:
        return self._runs[run_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)


def find_runs(*roots: Path) -> FoundRuns:
    """Finished runs at any depth below the roots; of runs with the same id, the first root's counts.

    Inside a root runs come in the order of their paths. Files that did not change are not read again.
    """
    runs: dict[str, Result] = {}
    damaged: dict[str, str] = {}
    for root in roots:
        loose: list[Result] = []
        packed: list[Result] = []
        for folder, names in _folders(root):
            if RESULT in names:
                try:
                    loose.append(read_loose(folder))
                except ColdError as error:
                    damaged.setdefault(folder.name, str(error))
            if ROWS in names:
                try:
                    rows = read_rows(folder)
                except ColdError as error:
                    damaged[str(folder / ROWS)] = str(error)
                else:
                    packed += rows.runs.values()
                    damaged |= rows.problems
        if not loose and not packed and (one := _packed_run(root)) is not None:
            packed.append(one)
        for result in sorted([*loose, *packed], key=lambda result: result.folder or Path()):
            runs.setdefault(result.run_id, result)
    return FoundRuns(runs, damaged)


def read_result(folder: Path) -> Result:
    """A finished run by the path that names it: its folder, its result.json, or <folder>/<run id> if it is packed."""
    folder = folder.parent if folder.name == RESULT else folder
    packed = None if (folder / RESULT).exists() else _packed_run(folder)
    return read_loose(folder) if packed is None else packed


def _packed_run(path: Path) -> Result | None:
    """The packed run that a path <folder>/<run id> names."""
    return read_rows(path.parent).runs.get(path.name) if (path.parent / ROWS).is_file() else None


def find_run(name: str, *roots: Path) -> Result:
    """A finished run by the path that names it, or by its id below the roots; without roots, `default_roots`."""
    path = Path(name)
    if path.name == name and not os.path.lexists(path):
        found = find_runs(*(roots or default_roots()))
        if name in found:
            return found[name]
        if name in found.damaged:
            raise ColdError(found.damaged[name])
        places = ", ".join(map(str, roots or default_roots()))
        raise ColdError(f"no finished run {name} here or below {places}; give its folder")
    return read_result(path)


def evidence() -> Path:
    """The runs that tables and claims stand on: the checkout's `runs`, or what an installed package carries along."""
    package = Path(__file__).parents[1]
    checkout = package.parent
    kept = checkout / "runs"
    return kept if kept.is_dir() and (checkout / "pyproject.toml").is_file() else package / "evidence"


def default_roots() -> tuple[Path, ...]:
    """Where commands look for runs unless told: those here first, then those that come with the package."""
    here = (Path("runs"), Path("results/runs"))
    return here if evidence().resolve() == here[0].resolve() else (*here, evidence())


def _folders(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """All folders at or below a root, or that of a result.json, with the names of their files."""
    for place, _, names in os.walk(root.parent if root.name == RESULT else root):
        yield Path(place), names
