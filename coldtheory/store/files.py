"""The rows of one source, to be read (`StoredRows`) or written (`RowFile`), and the files of a results folder."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

from ..ground.errors import ColdError
from ..ground.files import make_folder
from ..ground.provenance import provenance
from . import database, old_format
from .schema import ROW_SCHEMA, Row, damaged, key_of, read_object, read_origin, read_row

_AT_ONCE = 500  # keys per query and rows per page: memory stays bounded however large a file is


@dataclass(frozen=True)
class Summary:
    """What a list says of a file without reading its rows. `origin` is that of the latest rows; None without rows."""

    rows: int
    seeds: int
    V: tuple[float, float]
    origin: dict[str, Any] | None


class StoredRows:
    """The rows of one source, to be read; a context manager. A file that does not exist has no rows.

    path : as `row_files` gives it, or the one that it would have
    """

    def __init__(self, path: Path) -> None:
        self.path = path.with_suffix(".sqlite")
        self._old = path.with_suffix(".json")
        self._db: sqlite3.Connection

    def __enter__(self) -> Self:
        with database.problems("read", self.path):
            self._db = self._opened()
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def __len__(self) -> int:
        ((count,),) = self._query("SELECT count(*) FROM rows")
        return int(count)

    def having(self, keys: Collection[str]) -> set[str]:
        """Those of the keys that are there."""
        if len(keys) <= _AT_ONCE or len(keys) < len(self) / 10:
            return {key.decode() for (key,) in self._of_keys("SELECT key FROM rows", keys)}
        return {key.decode() for (key,) in self._query("SELECT key FROM rows")}.intersection(keys)

    def rows(self, keys: Iterable[str] | None = None) -> Iterator[Row]:
        """All rows in the order in which they were added; or those of the keys, in their order, that are there."""
        columns = (
            "SELECT rows.id, key, schema, provenance.id, rows.content"
            " FROM rows LEFT JOIN provenance ON provenance.id = rows.provenance"
        )
        if keys is None:
            page = self._query(f"{columns} ORDER BY rows.id LIMIT {_AT_ONCE}")
            while page:
                yield from map(self._checked, page)
                page = self._query(f"{columns} WHERE rows.id > ? ORDER BY rows.id LIMIT {_AT_ONCE}", page[-1][0])
            return
        wanted = iter(keys)
        while some := list(islice(wanted, _AT_ONCE)):
            found = {row["key"]: row for row in map(self._checked, self._of_keys(columns, some))}
            yield from (found[key] for key in some if key in found)

    @property
    def source(self) -> dict[str, Any]:
        """What the tasks depend on; empty if there is no file."""
        found = self._query("SELECT source FROM about")
        return read_object(found[0][0], self.path) if found else {}

    @property
    def origins(self) -> list[dict[str, Any]]:
        """The entries that `provenance` of a row is a place in."""
        found = self._query("SELECT id, content FROM provenance ORDER BY id")
        if [number for number, _ in found] != list(range(len(found))):
            raise damaged(self.path, "its origins are not numbered from 0")
        return [read_origin(content, self.path) for _, content in found]

    def has_another_schema(self) -> bool:
        """Whether there are rows that another version of the code must compute anew."""
        return bool(self._query("SELECT 1 FROM rows WHERE schema IS NOT ? LIMIT 1", ROW_SCHEMA))

    def summary(self) -> Summary:
        """What a list says of the file, without reading its rows."""
        ((count, seeds, low, high),) = self._query("SELECT count(*), count(DISTINCT seed), min(V), max(V) FROM rows")
        latest = self._query("SELECT content FROM provenance ORDER BY id DESC LIMIT 1")
        if count and not (isinstance(low, float) and isinstance(high, float) and latest):
            raise damaged(self.path, "its rows have no numbers V, or no origin")
        return Summary(count, seeds, (low, high), read_origin(latest[0][0], self.path) if latest else None)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Hold what is there: programs that write wait until the block ends."""
        self._query("BEGIN")
        try:
            yield
        finally:
            self._query("COMMIT")

    def _opened(self) -> sqlite3.Connection:
        """What is on disk; rows of the old format are taken into memory."""
        db = database.opened(self.path, "ro") if database.is_file(self.path) else None
        if db is not None and not database.is_file(self._old):
            try:
                if database.has_tables(db, self.path):
                    return db
            except BaseException:
                db.close()
                raise
        memory = database.in_memory()
        try:
            if db is not None:
                with closing(db):
                    db.backup(memory)
            if not database.has_tables(memory, self.path):
                database.make_tables(memory)
            old_format.take_in(memory, self._old)
        except BaseException:
            memory.close()
            raise
        return memory

    def _query(self, text: str, *values: Any) -> list[tuple[Any, ...]]:
        with database.problems("read", self.path):
            return self._db.execute(text, values).fetchall()

    def _of_keys(self, text: str, keys: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        wanted = iter(keys)
        while some := list(islice(wanted, _AT_ONCE)):
            yield from self._query(f"{text} WHERE key IN ({','.join('?' * len(some))})", *some)

    def _checked(self, found: tuple[Any, ...]) -> Row:
        _, key, schema, number, content = found
        row = read_row(content, self.path)
        own_key = key_of(content, schema, self.path)
        if type(key) is not bytes or own_key.encode() != key or type(number) is not int:
            raise damaged(self.path, "a row does not belong to its key, or has no origin")
        row["provenance"] = number
        return row


class RowFile(StoredRows):
    """The rows of one source, to be read and written; a context manager that saves at the end.

    It sees the rows that were there when it was opened and its own.
    """

    def __init__(self, path: Path, source: Mapping[str, Any], *, save_every: float = 1.0) -> None:
        super().__init__(path)
        self._source = dict(source)
        self._save_every = save_every
        self._unsaved: list[Row] = []
        self._writing = False
        self._last_save = time.monotonic()

    def __enter__(self) -> Self:
        with database.problems("write", self.path):
            make_folder(self.path.parent)
        if not os.access(self.path.parent, os.W_OK | os.X_OK):  # known before any work is done
            raise ColdError(f"cannot write to {self.path.parent}: permission denied; choose another folder with --out")
        super().__enter__()
        if (there := self.source) and there != json.loads(json.dumps(self._source)):
            raise damaged(self.path, "it has the rows of other tasks")
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.save()
        finally:
            super().__exit__()

    def add(self, rows: list[Row]) -> None:
        """Take rows in; they reach the disk within `save_every` seconds of work, or at the end."""
        self._unsaved += rows
        if time.monotonic() - self._last_save >= self._save_every:
            self.save()

    def save(self) -> None:
        """Write what was added, in one transaction."""
        rows, self._unsaved = self._unsaved, []
        if not rows:
            return
        with database.problems("write", self.path):
            if not self._writing:
                self._open_for_writing()
            with database.transaction(self._db):
                number = database.number_of(self._db, provenance())
                database.insert(self._db, (database.columns_of(row, number) for row in rows), over="REPLACE")
        self._last_save = time.monotonic()

    def _query(self, text: str, *values: Any) -> list[tuple[Any, ...]]:
        self.save()  # so that what was added is found
        return super()._query(text, *values)

    def _open_for_writing(self) -> None:
        """From now on on disk; rows of the old format are taken in, and their file gets another name."""
        database.is_file(self.path)  # or nothing, but nothing else
        db = database.opened(self.path, "rwc")
        try:
            db.execute("PRAGMA journal_mode = DELETE")  # whatever the file was told before
            db.execute("PRAGMA synchronous = EXTRA")  # what was saved survives a loss of power, too
            with database.transaction(db):
                if not database.has_tables(db, self.path):
                    database.make_tables(db)
                taken = old_format.take_in(db, self._old)
                database.note_source(db, self._source)
        except BaseException:
            db.close()
            raise
        self._db.close()
        self._db, self._writing = db, True
        if taken:
            old_format.put_aside(self._old)


def read_rows(path: Path) -> dict[str, Any]:
    """All that a file holds, in the form of coldtheory-rows/1; for large ones, `StoredRows` reads them bit by bit."""
    with StoredRows(path) as stored:
        return {
            "format": old_format.OLD_FORMAT, "source": stored.source, "provenance": stored.origins,
            "rows": list(stored.rows()),
        }  # fmt: skip


def row_files(folder: Path) -> list[Path]:
    """The row files of a results folder, one per source, by name."""
    found = {path.stem: path for kind in ("json", "sqlite") for path in folder.glob(f"*.{kind}")}
    return [found[name] for name in sorted(found)]


def remove_rows(path: Path) -> None:
    """Remove a row file, what is left of its old format included."""
    kinds = (".sqlite-journal", ".sqlite", ".json", ".json.old", ".lock")
    for kind in kinds:
        (path.parent / f"{path.stem}{kind}").unlink(missing_ok=True)


@contextmanager
def open_row_files(folder: Path, sources: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, RowFile]]:
    """The row files of several sources at once, by file stem; all are saved, whatever happens."""
    with ExitStack() as stack:
        yield {
            stem: stack.enter_context(RowFile(folder / f"{stem}.sqlite", source)) for stem, source in sources.items()
        }
