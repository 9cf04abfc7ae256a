"""Results of several machines in one folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically

from ..config import PLACE, RunConfig
from ..lock import only_writer
from ..results import ARRAYS, MODEL, RESULT, Result, read_result
from .index import ERROR, index


@dataclass(frozen=True)
class Merged:
    """Run ids: copied now, there already with the same content, there with other content (and where it differs)."""

    copied: tuple[str, ...]
    same: tuple[str, ...]
    different: Mapping[str, str]
    damaged: Mapping[str, str]


def merge(sources: Sequence[Path], out: Path) -> Merged:
    """Copy the finished runs at any depth below the sources to <out>/<run id>. Nothing is overwritten: a run that is
    there with other content stays, and is reported. Timing and provenance may differ."""
    there = index(out)
    copied: list[str] = []
    same: list[str] = []
    different: dict[str, str] = {}
    damaged: dict[str, str] = {}
    for source in sources:
        if not source.is_dir():
            raise ColdError(f"no folder {source} to merge")
        for run_id, folder in index(source).items():
            try:
                if run_id not in there:
                    _copy(folder, out / run_id)
                    there[run_id] = out / run_id
                    copied.append(run_id)
                elif folder.resolve() != there[run_id].resolve():
                    where = difference(read_result(there[run_id]), read_result(folder))
                    if where is None:
                        same.append(run_id)
                    else:
                        different[run_id] = f"{folder} and {there[run_id]} differ in {where}"
            except ColdError as error:
                damaged[run_id] = str(error)
    return Merged(tuple(copied), tuple(dict.fromkeys(same)), different, damaged)


def difference(left: Result, right: Result) -> str | None:
    """The first part in which two results of one run differ, timing and provenance aside; None if in none."""
    for name in ("config", "metrics", "per_task", "diagnostics"):
        here, there = (_comparable(name, getattr(result, name)) for result in (left, right))
        if json.dumps(here, sort_keys=True) != json.dumps(there, sort_keys=True):
            keys = (key for key in here if json.dumps(here[key]) != json.dumps(there.get(key)))
            return f"{name} ({next(keys, 'more entries')})"
    if set(left.arrays) != set(right.arrays):
        return "the names of arrays"
    for name, array in left.arrays.items():
        if not np.array_equal(array, right.arrays[name], equal_nan=array.dtype.kind == "f"):
            return f"array {name}"
    return None


def _comparable(name: str, part: dict[str, Any]) -> dict[str, Any]:
    """A part without what names the place only; what an older version did not store has its default."""
    if name != "config":
        return part
    return {key: value for key, value in {**RunConfig().as_dict(), **part}.items() if key not in PLACE}


def _copy(source: Path, target: Path) -> None:
    read_result(source)  # damaged files are not spread
    with only_writer(target):
        try:
            for name in (MODEL, ARRAYS, RESULT):  # whoever sees result.json finds all the rest
                if (source / name).is_file():
                    write_atomically(target / name, (source / name).read_bytes())
            (target / ERROR).unlink(missing_ok=True)
        except OSError as error:
            raise ColdError(f"cannot copy {source}: {error.strerror or error}") from None
