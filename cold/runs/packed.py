"""Many runs in two files of one folder, rows.jsonl and arrays.npz."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import asdict as fields_of
from msgspec.structs import replace
from numpy.typing import NDArray

from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically
from coldtheory.ground.reading import read_bytes, read_toml

from .header import Common, is_header, read_header, text_of_rows, whole
from .identity import difference
from .loose import (
    OWNERS,
    TABLE,
    ArrayFile,
    Owner,
    Place,
    StoredArrays,
    npz_bytes,
    only_writer,
    read_loose,
    stamp,
    write_result,
)
from .schema import ARRAYS, RESULT, ROWS, ROWS_FORMAT, UNRECORDED_DATA, Result, Row, parsed, read_row

STEPS = ("queue_steps", "queue_steps_at")  #: what packing drops by default
_RESTORE = "restore the file, or remove the line and run it again"
_RESTORE_FIRST = "restore the file, whose rows cannot be read without this line"


@dataclass(frozen=True)
class Rows:
    """The content of a rows.jsonl: runs by id, and problems with lines that cannot be read, by "<file>, line <n>"."""

    runs: Mapping[str, Result]
    problems: Mapping[str, str]


@dataclass(frozen=True)
class Packed:
    """What packing did: run ids that were packed, or were packed before; and arrays that were dropped."""

    packed: tuple[str, ...]
    same: tuple[str, ...]
    dropped: tuple[str, ...]
    folders: tuple[Path, ...]


def read_rows(folder: Path, *, as_written: bool = False) -> Rows:
    """The runs that are packed in a folder; read once as long as its files do not change.

    With `as_written`, nothing is added that only the file of unrecorded data says.
    """
    known = folder / UNRECORDED_DATA
    stamps = (stamp(folder / ROWS), stamp(folder / ARRAYS), *((stamp(known),) if known.is_file() else ()))
    return _read(folder, as_written, *stamps)


@lru_cache(maxsize=256)
def _read(folder: Path, as_written: bool, *_stamps: tuple[int, int]) -> Rows:
    path, file = folder / ROWS, ArrayFile(folder / ARRAYS)
    lines = read_bytes(path).splitlines()
    known = {} if as_written else _unrecorded(folder / UNRECORDED_DATA)
    runs: dict[str, Result] = {}
    problems: dict[str, str] = {}
    common: Common | None = None
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        try:
            content = parsed(line, where, remedy=_RESTORE)
            if number == 1 and is_header(content):
                common = read_header(content, where, remedy=_RESTORE_FIRST)
                continue
            if common is not None:
                content = whole(content, common, where, remedy=_RESTORE)
            elif f"{path}, line 1" in problems and isinstance(content, dict) and "format" not in content:
                continue  # without the first line it means nothing, and that one is named already
            row = read_row(content, where, remedy=_RESTORE)
            if row.run_id in runs:
                raise ColdError(f"{where} contains the run {row.run_id} a second time; {_RESTORE}")
        except ColdError as error:
            problems[where] = str(error)
            continue
        fields = {**fields_of(row), "dropped": tuple(row.dropped), "arrays": StoredArrays(file, _places(row))}
        del fields["format"]
        result = Result(**fields, folder=folder / row.run_id)
        told = known.get(result.dataset)
        if told is not None and "data" not in result.provenance and result.data in (None, told.data):
            about = {**result.provenance, "data": {"about": told.about}}
            result = replace(result, data=told.data, provenance=about)
        runs[row.run_id] = result
    return Rows(runs, problems)


def _places(row: Row) -> dict[str, Place | Owner]:
    """Return where the arrays of a row are, as its format says it."""
    if isinstance(row.arrays, dict):
        return {name: Place(*place) for name, place in row.arrays.items()}
    if row.format == ROWS_FORMAT:
        return dict.fromkeys(row.arrays, Owner(row.run_id))
    return {name: Place(f"{row.run_id}/{name}") for name in row.arrays}


class _Data(msgspec.Struct, forbid_unknown_fields=True):
    """What is known, from elsewhere, of the data of rows that do not record them."""

    data: str
    about: str = ""


def _unrecorded(path: Path) -> dict[str, _Data]:
    if not path.is_file():
        return {}
    try:
        return msgspec.convert(read_toml(path), dict[str, _Data])
    except msgspec.ValidationError as error:
        raise ColdError(f"{path} does not follow its schema: {' '.join(str(error).split())}; restore it") from None


def pack(folder: Path, *, keep_steps: bool = False) -> Packed:
    """Put the finished runs at any depth below a folder into one rows.jsonl and one arrays.npz beside them.

    Runs that are packed already stay. Where a run is packed with other content than its folder has, nothing is packed
    and a `ColdError` names the difference. Every value is read back from the new files and compared before the folders
    are removed; only the queues at single steps are dropped, unless `keep_steps`. Weights stay where they are.
    """
    if not folder.is_dir():
        raise ColdError(f"there is no folder {folder} to pack; name a folder of runs")
    places: dict[Path, list[Path]] = {}
    for path in sorted(folder.rglob(RESULT)):
        places.setdefault(path.parent.parent, []).append(path.parent)
    if folder in (run for runs in places.values() for run in runs):
        raise ColdError(f"{folder} is a single run; name the folder that holds it")
    done = [_pack(place, runs, keep_steps=keep_steps) for place, runs in places.items()]
    return Packed(
        tuple(run_id for one in done for run_id in one.packed),
        tuple(run_id for one in done for run_id in one.same),
        tuple(dict.fromkeys(name for one in done for name in one.dropped)),
        tuple(places),
    )


def _pack(place: Path, folders: Iterable[Path], *, keep_steps: bool) -> Packed:
    with only_writer(place):
        has_rows = (place / ROWS).is_file()
        there = dict(all_rows(place, as_written=True)) if has_rows else {}
        told = all_rows(place) if has_rows else {}
        loose = [read_loose(folder) for folder in folders]
        packed, same, dropped = [], [], dict[str, None]()
        for result in loose:
            if result.folder is None or result.run_id != result.folder.name:
                raise ColdError(f"{result.folder} holds the run {result.run_id}; give the folder this name first")
            if result.run_id in there:
                where = difference(told[result.run_id], result)
                if where is not None:
                    row = f"its row in {place / ROWS}"
                    raise ColdError(f"{result.folder} and {row} differ in {where}; remove one of them")
                same.append(result.run_id)
                continue
            left_out = () if keep_steps else tuple(name for name in STEPS if name in result.arrays)
            kept = {name: array for name, array in result.arrays.items() if name not in left_out}
            there[result.run_id] = replace(result, arrays=kept, dropped=(*result.dropped, *left_out))
            packed.append(result.run_id)
            dropped.update(dict.fromkeys(left_out))
        if packed:
            write_rows(place, there.values())
            again = read_rows(place).runs
            for result in loose:
                where = difference(again[result.run_id], result)
                if where is not None:
                    raise ColdError(f"{place / ROWS} does not give back {where} of {result.run_id}; its folder stays")
        for result in loose:
            assert result.folder is not None
            _remove(result.folder)
    return Packed(tuple(packed), tuple(same), tuple(dropped), (place,))


def write_rows(place: Path, results: Iterable[Result]) -> None:
    """Write the arrays first, so that every row has its arrays."""
    ordered = sorted(results, key=lambda result: result.run_id)
    records = [{**result.as_json(), "arrays": list(result.arrays), "dropped": result.dropped} for result in ordered]
    for record in records:
        del record["format"]
    text = text_of_rows(records, _first_line(place / ROWS))
    write_atomically(place / ARRAYS, npz_bytes(_stacked(ordered), zipfile.ZIP_LZMA))
    write_atomically(place / ROWS, text)


def _first_line(path: Path) -> Common | None:
    """Return what the rows of a file have in common, or None if it is not there or has an earlier format."""
    if not path.is_file():
        return None
    line = read_bytes(path).partition(b"\n")[0]
    with suppress(ColdError):
        content = parsed(line, path, remedy=_RESTORE_FIRST)
        return read_header(content, str(path), remedy=_RESTORE_FIRST) if is_header(content) else None
    return None


def _stacked(results: Sequence[Result]) -> dict[str, NDArray[Any]]:
    """Return the members of arrays.npz: arrays of one name, type and shape in one stack, and whose they are."""
    stacks: dict[tuple[str, str, tuple[int, ...]], list[NDArray[Any]]] = {}
    members: dict[tuple[str, str, tuple[int, ...]], str] = {}
    numbers: Counter[str] = Counter()
    rows: list[dict[str, int]] = []
    for result in results:
        mine = {}
        for name, array in result.arrays.items():
            kind = (name, array.dtype.str, array.shape)
            if kind not in members:
                members[kind] = f"{name}/{numbers[name]}"
                numbers[name] += 1
            stack = stacks.setdefault(kind, [])
            mine[members[kind]] = len(stack)
            stack.append(array)
        rows.append(mine)
    table = [[mine.get(member, -1) for member in members.values()] for mine in rows]
    return {
        OWNERS: np.array([result.run_id for result in results], dtype=str),
        TABLE: np.array(table, dtype=np.int32).reshape(len(results), len(members)),
        **{members[kind]: np.stack(stack) for kind, stack in stacks.items()},
    }


def _remove(folder: Path) -> None:
    """Remove the files of a packed run, and its folder unless it contains something else, such as weights."""
    with only_writer(folder):
        for name in (RESULT, ARRAYS):
            (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def unpack(folder: Path, out: Path | None = None) -> tuple[str, ...]:
    """Write the runs that are packed in a folder as folders of their own, below `out` or beside the rows; the packed
    files stay. A run that is there already is left alone."""
    written = []
    for run_id, result in all_rows(folder).items():
        target = (out or folder) / run_id
        if not (target / RESULT).exists():
            with only_writer(target):
                write_result(target, result)
            written.append(run_id)
    return tuple(written)


def all_rows(folder: Path, *, as_written: bool = False) -> Mapping[str, Result]:
    """The runs that are packed in a folder, see `read_rows`; one that cannot be read is a `ColdError`."""
    rows = read_rows(folder, as_written=as_written)
    for problem in rows.problems.values():
        raise ColdError(problem)
    return rows.runs
