"""Which rows one sweep is made of, so that a picture shows that sweep and nothing else.

**Format coldtheory-sweep/1**: `results/sweeps/NAME.json`, one JSON object per sweep. A later sweep of the same name
takes its place; the rows of both stay in their row files.

    format      "coldtheory-sweep/1"
    name        the setting that was varied and the tasks, such as V-high; also the name of the file
    axis        the setting that was varied
    command     what makes the rows again
    number      1, 2, ... in the order in which the sweeps of the folder ended: the largest is the newest
    sources     by row file: all that the tasks depend on besides the seed
    keys        by row file: the keys of the rows
    provenance  commit, versions, machine and time
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..ground.errors import ColdError
from ..ground.files import write_atomically
from ..ground.provenance import provenance
from ..ground.reading import read_json


class SweepRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One sweep: what was varied, of which tasks, and the keys of its rows; see the format above."""

    format: Literal["coldtheory-sweep/1"] = "coldtheory-sweep/1"
    name: str
    axis: str
    command: str
    number: int = 0
    sources: dict[str, dict[str, Any]]
    keys: dict[str, list[str]]
    provenance: dict[str, Any] = {}


def write_sweep(folder: Path, record: SweepRecord) -> SweepRecord:
    """Store a record as the newest one of a results folder."""
    latest = max((one.number for one in stored_sweeps(folder)), default=0)
    record = msgspec.structs.replace(record, number=latest + 1, provenance=provenance())
    write_atomically(_place(folder) / f"{record.name}.json", json.dumps(msgspec.to_builtins(record)) + "\n")
    return record


def stored_sweeps(folder: Path) -> list[SweepRecord]:
    """The sweeps of a results folder, the newest first."""
    found = [_read(path) for path in sorted(_place(folder).glob("*.json"))]
    return sorted(found, key=lambda record: -record.number)


def _place(folder: Path) -> Path:
    return folder / "sweeps"


def _read(path: Path) -> SweepRecord:
    remedy = "remove it, or make the sweep again"
    try:
        record = msgspec.convert(read_json(path, remedy), SweepRecord)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ColdError(f"{path} is damaged ({error}); {remedy}") from None
    if record.keys.keys() != record.sources.keys() or any(Path(stem).name != stem for stem in record.keys):
        raise ColdError(f"{path} is damaged (it names no row files); {remedy}")
    return record
