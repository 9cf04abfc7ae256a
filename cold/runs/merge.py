"""Copy the results of several machines into one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically
from coldtheory.ground.reading import read_bytes

from .find import find_runs
from .identity import difference
from .loose import only_writer, write_result
from .schema import MODEL, Result


@dataclass(frozen=True)
class Merged:
    """Run ids that were copied, that were there with the same content, and that differ (and where)."""

    copied: tuple[str, ...]
    same: tuple[str, ...]
    different: Mapping[str, str]
    damaged: Mapping[str, str]


def merge(sources: Sequence[Path], out: Path) -> Merged:
    """Copy the finished runs at any depth below the sources to <out>/<run id>, packed ones as folders of their own.

    Nothing is overwritten: a run that is there with other content stays, and is reported. Timing and provenance may
    differ. Only ids that were checked become folders, and nothing outside `out` is written.
    """
    there = dict(find_runs(out))
    copied: list[str] = []
    same: list[str] = []
    different: dict[str, str] = {}
    damaged: dict[str, str] = {}
    for source in sources:
        if not source.is_dir():
            raise ColdError(f"there is no folder {source} to merge; name a folder of runs")
        found = find_runs(source)
        damaged |= found.damaged
        for run_id, result in found.items():
            try:
                if run_id not in there:
                    _copy(result, out / run_id)
                    there[run_id] = result
                    copied.append(run_id)
                elif _place(result) != _place(there[run_id]):
                    where = difference(there[run_id], result)
                    if where is None:
                        same.append(run_id)
                    else:
                        different[run_id] = f"{result.folder} and {there[run_id].folder} differ in {where}"
            except ColdError as error:
                damaged[run_id] = str(error)
    return Merged(tuple(copied), tuple(dict.fromkeys(same)), different, damaged)


def _place(result: Result) -> Path:
    return (result.folder or Path(result.run_id)).resolve()


def _copy(result: Result, target: Path) -> None:
    dict(result.arrays)  # all arrays are read before anything is written, so that damaged files are not copied
    weights = result.folder / MODEL if result.folder is not None else None
    with only_writer(target):
        if weights is not None and weights.is_file():
            write_atomically(target / MODEL, read_bytes(weights))
        write_result(target, result)
