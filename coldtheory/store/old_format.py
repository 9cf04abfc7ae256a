"""coldtheory-rows/1: one JSON file with all rows, as earlier versions stored them; it is read, and upgraded."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..ground.errors import ColdError
from ..vocabulary import OLD_ROW_KEYS, with_present_names
from .database import columns_of, insert, is_file, note_source, number_of
from .schema import damaged, key_of, read_origin

OLD_FORMAT = "coldtheory-rows/1"


class _OldFile(msgspec.Struct):
    source: dict[str, Any]
    provenance: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    format: Literal["coldtheory-rows/1"]


def take_in(db: sqlite3.Connection, path: Path) -> bool:
    """Add the rows of an old file, whether or not that was done before; False if there is no such file."""
    if not is_file(path):
        return False
    old = _read(path)
    numbers = [number_of(db, origin) for origin in old.provenance]
    rows = []
    for row in old.rows:
        here = dict(row)
        at = here.pop("provenance", None)
        if type(at) is not int or not 0 <= at < len(numbers) or not isinstance(here.get("key"), str):
            raise damaged(path, "a row has no key or no origin")
        columns = columns_of(with_present_names(here, OLD_ROW_KEYS), numbers[at])
        key_of(columns[-1], columns[1], path)
        rows.append(columns)
    note_source(db, old.source)
    insert(db, rows, over="IGNORE")
    return True


def put_aside(path: Path) -> None:
    """Give an old file whose rows were taken in a name under which nothing reads it."""
    with suppress(FileNotFoundError):  # another program was here first
        path.replace(path.with_name(f"{path.name}.old"))
        path.with_suffix(".lock").unlink(missing_ok=True)  # earlier versions leave it behind


def _read(path: Path) -> _OldFile:
    try:
        old = msgspec.json.decode(path.read_bytes(), type=_OldFile)
    except OSError as error:
        raise ColdError(f"cannot read {path}: {error.strerror or error}") from None
    except msgspec.ValidationError as error:
        raise damaged(path, f"it is not of the format {OLD_FORMAT}: {error}") from None
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise damaged(path, "it is truncated or no JSON") from None
    for origin in old.provenance:
        read_origin(msgspec.json.encode(origin), path)
    return old
