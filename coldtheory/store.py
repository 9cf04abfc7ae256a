"""Rows on disk: one JSON file per source of tasks, one row per grid cell, keyed by the cell's configuration.

A file is only ever replaced whole and in one move, so that a killed program, a full disk or a second
program leaves the last complete state. A file that cannot be read is therefore damaged, not unfinished.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from .ground.errors import ColdError
from .ground.files import write_atomically
from .ground.provenance import provenance, same_origin
from .vocabulary import OLD_ROW_KEYS, with_present_names

FORMAT = "coldtheory-rows/1"
Row = dict[str, Any]


class RowFile:
    """The rows of one source. Used as a context manager it holds the file's lock and saves at the end."""

    def __init__(self, path: Path, source: Mapping[str, Any], *, save_every: float = 1.0) -> None:
        self.path = path
        self._source = dict(source)
        self._save_every = save_every
        self._lock = FileLock(path.with_suffix(".lock"), blocking=False)
        self._origins: list[dict[str, Any]] = []
        self._rows: dict[str, Row] = {}
        self._unsaved = False
        self._last_save = time.monotonic()

    def __enter__(self) -> RowFile:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout:
            raise ColdError(f"another program is writing {self.path}; wait for it, or use another --out") from None
        except OSError as error:
            raise ColdError(
                f"cannot write to {self.path.parent}: {error.strerror or error}; choose another folder with --out"
            ) from None
        try:
            if self.path.exists():
                content = read_rows(self.path)
                self._origins, self._rows = content["provenance"], {row["key"]: row for row in content["rows"]}
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._unsaved:
                self.save()
        finally:
            self._lock.release()

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def __getitem__(self, key: str) -> Row:
        return self._rows[key]

    def add(self, rows: list[Row]) -> None:
        """Take rows in; they reach the disk within `save_every` seconds of work, or at the end."""
        origin = provenance()
        known = next((i for i, old in enumerate(self._origins) if same_origin(old, origin)), None)
        if known is None:
            known = len(self._origins)
            self._origins.append(origin)
        for row in rows:
            self._rows[row["key"]] = {**row, "provenance": known}
        self._unsaved = True
        if time.monotonic() - self._last_save >= self._save_every:
            self.save()

    def save(self) -> None:
        content = {
            "format": FORMAT,
            "source": self._source,
            "provenance": self._origins,
            "rows": list(self._rows.values()),
        }
        write_atomically(self.path, json.dumps(content, indent=None, separators=(",", ":")) + "\n")
        self._unsaved = False
        self._last_save = time.monotonic()


def read_rows(path: Path) -> dict[str, Any]:
    """The content of a row file, checked; a damaged or foreign file is a `ColdError` with the remedy.

    Rows of older versions come under the present names of their quantities.
    """
    remedy = f"move it away or remove it with 'coldtheory results rm {path.stem}', then run the sweep again"
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise ColdError(f"cannot read {path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise ColdError(f"{path} is damaged (truncated or not JSON); {remedy}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else None
        raise ColdError(f"{path} has format {found!r}, this version reads {FORMAT!r}; {remedy}")
    if not isinstance(content.get("rows"), list) or not all("key" in row for row in content["rows"]):
        raise ColdError(f"{path} is damaged (no rows); {remedy}")
    return {**content, "rows": [with_present_names(row, OLD_ROW_KEYS) for row in content["rows"]]}


def row_files(folder: Path) -> list[Path]:
    """All row files of a results folder, by name."""
    return sorted(folder.glob("*.json")) if folder.is_dir() else []


@contextmanager
def open_row_files(folder: Path, sources: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, RowFile]]:
    """The row files of several sources at once, by file stem; all are saved, whatever happens."""
    opened: dict[str, RowFile] = {}
    try:
        for stem, source in sources.items():
            opened[stem] = RowFile(folder / f"{stem}.json", source).__enter__()
        yield opened
    finally:
        for file in opened.values():
            file.__exit__(None, None, None)
