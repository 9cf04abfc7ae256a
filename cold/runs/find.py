"""Find finished runs by their ids, at any depth, in folders of their own or packed."""

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
        """One line for each run that cannot be read."""
        return tuple(self.damaged.values())

    def of(self, config: RunConfig, data: str | None = None) -> Result | None:
        """Return the finished run of these settings (see `identity.identified`) on these data, or None."""
        result = self.get(config.run_id)
        return result if result is not None and same_run(result, config, data) else None

    def __getitem__(self, run_id: str) -> Result:
        return self._runs[run_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)


def find_runs(*roots: Path) -> FoundRuns:
    """Find finished runs at any depth below the roots; if two have the same id, the one in the first root counts.

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
    """Read a finished run by its path: its folder, its result.json, or <folder>/<run id> if it is packed."""
    folder = folder.parent if folder.name == RESULT else folder
    packed = None if (folder / RESULT).exists() else _packed_run(folder)
    return read_loose(folder) if packed is None else packed


def _packed_run(path: Path) -> Result | None:
    """Return the packed run that a path <folder>/<run id> names."""
    return read_rows(path.parent).runs.get(path.name) if (path.parent / ROWS).is_file() else None


def find_run(name: str, *roots: Path) -> Result:
    """Read a finished run by its path, or by its id below the roots (by default `default_roots`)."""
    path = Path(name)
    if path.name == name and not os.path.lexists(path):
        found = find_runs(*(roots or default_roots()))
        if name in found:
            return found[name]
        if name in found.damaged:
            raise ColdError(found.damaged[name])
        places = ", ".join(map(str, roots or default_roots()))
        raise ColdError(f"there is no finished run {name} here or below {places}; give its folder")
    return read_result(path)


def evidence() -> Path:
    """Return the folder of runs behind tables and claims: `runs` of the checkout, or the copy in the package."""
    package = Path(__file__).parents[1]
    checkout = package.parent
    kept = checkout / "runs"
    return kept if kept.is_dir() and (checkout / "pyproject.toml").is_file() else package / "evidence"


def default_roots() -> tuple[Path, ...]:
    """Return the default places of runs: first those here, then those that come with the package."""
    here = (Path("runs"), Path("results/runs"))
    return here if evidence().resolve() == here[0].resolve() else (*here, evidence())


def _folders(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield all folders at or below a root, or that of a result.json, with the names of their files."""
    for place, _, names in os.walk(root.parent if root.name == RESULT else root):
        yield Path(place), names
