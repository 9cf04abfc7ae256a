"""A run in a folder of its own: how it is made, written by one program at a time, and read."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock, Timeout
from msgspec.structs import asdict as fields_of
from numpy.typing import NDArray

from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import make_folder, write_atomically
from coldtheory.ground.provenance import provenance
from coldtheory.ground.reading import Npz, read_bytes

from ..metrics import after_each_task, loss_forgetting, metrics
from .schema import ARRAYS, RESULT, VIEWS, Arrays, Result, check_array, read_record, safe_name

OWNERS, TABLE = "runs", "rows"  #: members of an arrays.npz that say whose the rows of its other members are
_AGAIN = "run it again"


class Busy(ColdError):
    """Another program is working on the same run."""


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; the system releases it when the process ends, however it ends.

    The file of the lock is removed while the lock is held. A program that has opened it before then holds a file
    without a name, which `FileLock` does not accept as a lock.
    """
    path = folder / ".lock"
    lock = FileLock(path, blocking=False)
    try:
        make_folder(folder)
        lock.acquire()
    except Timeout:
        raise Busy(f"another program is running {folder}; wait for it, or use another --out") from None
    except OSError as error:
        raise ColdError(f"cannot write to {folder}: {error.strerror or error}; choose another --out") from None
    try:
        yield
    finally:
        with suppress(OSError):  # the folder may have been removed, too
            path.unlink()
        lock.release()


class ArrayFile:
    """The arrays of a file in numpy's npz format. The file is opened once, and each array is read when it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open: Npz | None = None
        self._stacks: dict[str, NDArray[Any]] = {}
        self._owned: dict[str, dict[str, Place]] | None = None

    def names(self) -> list[str]:
        """The names of all arrays in the file."""
        return self._opened().names()

    def read(self, name: str, place: Place | Owner) -> NDArray[Any]:
        """The array of that name at a place of the file, or of a run, checked."""
        if isinstance(place, Owner):
            place = self._place(name, place.run_id)
        if place.row is None:
            return check_array(name, self._opened().read(place.member), self.path)
        if place.member not in self._stacks:
            self._stacks[place.member] = np.asarray(self._opened().read(place.member))
        stack = self._stacks[place.member]
        if stack.ndim == 0 or not 0 <= place.row < len(stack):
            raise ColdError(f"{self.path} is damaged: {place.member} has no row {place.row}; {_AGAIN}")
        return check_array(name, np.array(stack[place.row]), self.path)

    def _place(self, name: str, run_id: str) -> Place:
        if self._owned is None:
            self._owned = self._owners()
        place = self._owned.get(run_id, {}).get(name)
        if place is None:
            raise ColdError(f"{self.path} is damaged: it has no array {name[:80]} of {run_id}; {_AGAIN}")
        return place

    def _owners(self) -> dict[str, dict[str, Place]]:
        """Return the places of arrays by run id and name, as the file itself has them."""
        file = self._opened()
        stacks = [member for member in file.names() if member not in (OWNERS, TABLE)]
        names = [member.rpartition("/")[0] for member in stacks]
        owners, table = (np.asarray(file.read(member)) for member in (OWNERS, TABLE))
        if owners.dtype.kind != "U" or table.dtype.kind != "i" or table.shape != (*owners.shape, len(stacks)):
            raise ColdError(f"{self.path} is damaged: it does not say whose its arrays are; {_AGAIN}")
        return {
            run_id: {
                name: Place(member, row) for name, member, row in zip(names, stacks, rows, strict=True) if row >= 0
            }
            for run_id, rows in zip(owners.tolist(), table.tolist(), strict=True)
        }

    def _opened(self) -> Npz:
        if self._open is None:
            if not self.path.exists():
                raise ColdError(f"{self.path} is missing; {_AGAIN}")
            self._open = Npz(self.path, "run 'cold run' with the same settings again")
        return self._open


class Place(NamedTuple):
    """Where an array is in a file: a member of its own, or a row of a member that holds one array of many runs."""

    member: str
    row: int | None = None


class Owner(NamedTuple):
    """The run that an array belongs to, in a file that says itself where the arrays of each run are."""

    run_id: str


class StoredArrays(Mapping[str, NDArray[Any]]):
    """The arrays of one run: a whole file, or its part of a file with many runs."""

    def __init__(self, file: ArrayFile, places: Mapping[str, Place | Owner] | None = None) -> None:
        self._file, self._places = file, places
        self._read: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._read:
            self._read[name] = self._file.read(name, self._known()[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def __contains__(self, name: object) -> bool:
        return name in self._known()

    def _known(self) -> Mapping[str, Place | Owner]:
        if self._places is None:
            found = tuple(self._file.names())
            strange = next((name for name in found if not safe_name(name)), None)
            if strange is not None:
                path = self._file.path
                raise ColdError(f"{path} has an array named {strange[:80]!r}, which no run has; {_AGAIN}")
            self._places = {name: Place(name) for name in found}
        return self._places


def npz_bytes(arrays: Arrays, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a compressed npz file; equal arrays give equal bytes. LZMA takes less space, and more time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, array in arrays.items():
            about = zipfile.ZipInfo(f"{name}.npy")  # without a date
            about.compress_type = method
            with file.open(about, "w") as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    return buffer.getvalue()


def make_result(
    run_id: str,
    config: dict[str, Any],
    arrays: Arrays,
    timing: dict[str, Any],
    packages: Mapping[str, str],
    diagnostics: dict[str, Any],
    data: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> Result:
    """Measures from the arrays. `packages` are versions beyond those that every file carries; `data` is the data's
    fingerprint; `more` are further entries of the provenance."""
    accuracy = arrays["accuracy"]
    measures = asdict(metrics(accuracy, arrays["start"]))
    views = {
        view: asdict(metrics(arrays[f"accuracy_{view}"], arrays[f"start_{view}"]))
        for view in VIEWS
        if f"accuracy_{view}" in arrays
    }
    if "loss" in arrays and len(accuracy) > 1:
        measures["forgetting_loss"] = float(loss_forgetting(arrays["loss"])[-1, :-1].mean())
    if views:
        measures |= {"class_il": measures["acc"], "task_il": views["task"]["acc"]}
    origin = provenance()
    return Result(
        run_id=run_id,
        config=config,
        metrics=measures,
        views=views,
        per_task=after_each_task(accuracy),
        diagnostics=diagnostics,
        timing=timing,
        provenance={**origin, "packages": {**origin["packages"], **packages}, **(more or {})},
        data=data,
        synthetic=config.get("dataset") == "synthetic",
        arrays=arrays,
    )


def write_result(folder: Path, result: Result) -> None:
    """Write a result, arrays first, so that result.json is never there without them."""
    write_atomically(folder / ARRAYS, npz_bytes(result.arrays))
    write_atomically(folder / RESULT, json.dumps(result.as_json(), indent=1) + "\n")


def read_loose(folder: Path) -> Result:
    """Read a run in a folder of its own, only once as long as its files do not change."""
    return _read(folder, stamp(folder / RESULT), stamp(folder / ARRAYS))


def stamp(path: Path) -> tuple[int, int]:
    """Return what changes when the file does."""
    try:
        about = path.stat()
    except FileNotFoundError:
        raise ColdError(f"no finished run in {path.parent}: {path.name} is missing") from None
    except (OSError, ValueError) as error:  # a ValueError means, for example, a null byte in the path
        raise ColdError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    return about.st_mtime_ns, about.st_size


@lru_cache(maxsize=20_000)
def _read(folder: Path, *_stamps: tuple[int, int]) -> Result:
    path = folder / RESULT
    record = read_record(read_bytes(path), path, remedy=_AGAIN, name=folder.name)
    return Result(**fields_of(record), arrays=StoredArrays(ArrayFile(folder / ARRAYS)), folder=folder)
