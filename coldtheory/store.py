"""Rows on disk: one SQLite file per source of tasks, one row per grid cell, keyed by the cell's configuration.

**Format coldtheory-rows/2**: `results/SOURCE.sqlite`, a database with the application id 0x434F4C44 ("COLD"), the user
version 2 and three tables::

    about       source      JSON: all that the tasks depend on besides the seed: the regime with its constants, or a
                            file with its digest
    provenance  id          0, 1, 2, ...
                content     JSON: commit, versions, machine and time of a program run that added rows
                identity    the same without the time: program runs that differ in nothing else share an entry
    rows        id          in the order in which they were added
                key         hash of the cell's configuration
                schema, seed, V    as in the content, for lists
                provenance  the id of its entry there
                content     JSON: the cell's configuration and the measured quantities; see `coldtheory results keys`

Several programs may read and write a file at once; those that write wait for each other. Each save is one transaction,
so that a killed program or a full disk leaves the last complete state. The journal is SQLite's rollback journal, which
is safe on network disks and is gone when the last program has ended; what a killed program leaves of it is undone and
removed by the next one.

**Format coldtheory-rows/1**: `results/SOURCE.json`, one JSON object with `format`, `source`, `provenance` (a list) and
`rows` (a list; `provenance` of a row is a place in that list), as earlier versions wrote it and as `coldtheory results
export` does. It is read like the other one. The first program that adds a row puts all of its rows into the SQLite file
and renames it to `SOURCE.json.old`, which nothing reads any more.

Nothing in such a file is trusted: a foreign or damaged file is an error in one line, rows are checked for their types,
and nothing but the three tables may be in the database.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from .ground.errors import ColdError
from .ground.provenance import provenance
from .vocabulary import OLD_ROW_KEYS, with_present_names

ROW_SCHEMA = 2  #: raise it when the meaning of a row changes: old rows are then computed anew
OLD_FORMAT = "coldtheory-rows/1"
Row = dict[str, Any]

_APPLICATION, _VERSION = 0x434F4C44, 2
_TABLES = (
    "CREATE TABLE about (source TEXT NOT NULL)",
    "CREATE TABLE provenance (id INTEGER PRIMARY KEY, content TEXT NOT NULL, identity TEXT NOT NULL UNIQUE)",
    "CREATE TABLE rows (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, schema INTEGER, seed INTEGER, V REAL,"
    " provenance INTEGER NOT NULL, content TEXT NOT NULL)",
)
_INSERT = "INSERT OR {} INTO rows (key, schema, seed, V, provenance, content) VALUES (?, ?, ?, ?, ?, ?)"
_AT_ONCE = 500  # keys per query and rows per page: memory stays bounded however large a file is
_PATIENCE = 120.0  # seconds that a program waits for others that write
_CACHE = 16_000  # KiB of a file that are kept in memory
_LONGEST = 50_000_000  # bytes of one value; a row has about a thousand


class _Types(msgspec.Struct):
    """What a row of the present schema has, whatever else it has."""

    key: str
    schema: int
    source: dict[str, bool | int | float | str | None]
    regime: str
    T: int
    d: int
    seed: int
    V: float
    eta: float | Literal["auto"]
    delta: float
    steps: int
    reference: str
    weights: str
    solver: str
    noise: float
    memory: int | None
    window: int | None
    avg_grad_sq_before: float | None
    avg_grad_sq_after: float | None
    avg_Qbar: float | None
    Delta_bar: float | None
    rho_bar: float | None
    D_phi: float | None
    D_phi_trajectory: float | None
    D_phi_hull: float | None
    D_phi_hat: float | None
    eta_alpha_max: float | None
    step_half: bool
    step_one: bool
    delta_min: float | None
    diverged: bool
    # what rows have that were stored before these were known: nothing
    eta_factor: float | None = None
    controller: str | None = None
    V_schedule: str | None = None
    avg_forgetting: float | None = None
    max_forgetting: float | None = None


class _OldTypes(msgspec.Struct):
    """What is asked of a row of another schema: it is counted, and not used."""

    key: str


class _Origin(msgspec.Struct):
    """What is asked of an entry of the provenance."""

    time: str
    commit: str | None


class _OldFile(msgspec.Struct):
    source: dict[str, Any]
    provenance: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    format: Literal["coldtheory-rows/1"]


_row = msgspec.json.Decoder(dict[str, bool | int | float | str | dict[str, bool | int | float | str | None] | None])
_types, _old_types = msgspec.json.Decoder(_Types), msgspec.json.Decoder(_OldTypes)
_origin, _entries = msgspec.json.Decoder(_Origin), msgspec.json.Decoder(dict[str, Any])


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
        with self._problems("read"):
            self._db = self._reading()
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
        return self._decoded(_entries, found[0][0]) if found else {}

    @property
    def origins(self) -> list[dict[str, Any]]:
        """The entries that `provenance` of a row is a place in."""
        found = self._query("SELECT id, content FROM provenance ORDER BY id")
        if [number for number, _ in found] != list(range(len(found))):
            raise self._damaged("its origins are not numbered from 0")
        return [self._origin(content) for _, content in found]

    def has_another_schema(self) -> bool:
        """Whether there are rows that another version of the code must compute anew."""
        return bool(self._query("SELECT 1 FROM rows WHERE schema IS NOT ? LIMIT 1", ROW_SCHEMA))

    def summary(self) -> Summary:
        ((count, seeds, low, high),) = self._query("SELECT count(*), count(DISTINCT seed), min(V), max(V) FROM rows")
        latest = self._query("SELECT content FROM provenance ORDER BY id DESC LIMIT 1")
        if count and not (isinstance(low, float) and isinstance(high, float) and latest):
            raise self._damaged("its rows have no numbers V, or no origin")
        return Summary(count, seeds, (low, high), self._origin(latest[0][0]) if latest else None)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Hold what is there: programs that write wait until the block ends."""
        self._query("BEGIN")
        try:
            yield
        finally:
            self._query("COMMIT")

    # ------------------------------------------------------------------------------------------- opening

    def _reading(self) -> sqlite3.Connection:
        """What is on disk; rows of the old format are taken into memory."""
        db = self._connected("ro") if _is_file(self.path) else None
        if db is not None and not _is_file(self._old):
            try:
                if self._has_tables(db):
                    return db
            except BaseException:
                db.close()
                raise
        memory = _connect(None, "memory")
        try:
            if db is not None:
                with closing(db):
                    db.backup(memory)
            if not self._has_tables(memory):
                _make_tables(memory)
            self._take_in_old_rows(memory)
        except BaseException:
            memory.close()
            raise
        return memory

    def _connected(self, mode: Literal["ro", "rwc"]) -> sqlite3.Connection:
        try:
            return _connect(self.path, mode)
        except sqlite3.OperationalError:
            if mode != "ro" or not self.path.with_name(f"{self.path.name}-journal").exists():
                raise
        _connect(self.path, "rw").close()  # a program was killed while it wrote: what it left is undone
        return _connect(self.path, mode)

    def _has_tables(self, db: sqlite3.Connection) -> bool:
        """Whether it is a file of this format; False if it is empty, as a program that was killed early leaves it."""
        ((application,),), ((version,),) = db.execute("PRAGMA application_id"), db.execute("PRAGMA user_version")
        found = {
            sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite#_%' ESCAPE '#'")
        }
        if not found and not application:
            return False
        if application != _APPLICATION:
            raise self._damaged("it is another program's database")
        if version > _VERSION:
            raise ColdError(
                f"{self.path} was written by a later version of this program; use that one, or another --out"
            )
        if version != _VERSION or found != {table.encode() for table in _TABLES}:
            raise self._damaged("its tables are not those of this program")
        return True

    def _take_in_old_rows(self, db: sqlite3.Connection) -> bool:
        """Add the rows of the old format, whether or not that was done before; False if there are none."""
        if not _is_file(self._old):
            return False
        old = self._read_old()
        numbers = [_number_of(db, origin) for origin in old.provenance]
        rows = []
        for row in old.rows:
            here = dict(row)
            at = here.pop("provenance", None)
            if type(at) is not int or not 0 <= at < len(numbers) or not isinstance(here.get("key"), str):
                raise self._damaged("a row has no key or no origin", self._old)
            columns = _columns(with_present_names(here, OLD_ROW_KEYS), numbers[at])
            self._decoded(_types if columns[1] == ROW_SCHEMA else _old_types, columns[-1], self._old)
            rows.append(columns)
        if not db.execute("SELECT 1 FROM about").fetchall():
            db.execute("INSERT INTO about VALUES (?)", [json.dumps(old.source)])
        db.executemany(_INSERT.format("IGNORE"), rows)
        return True

    def _read_old(self) -> _OldFile:
        try:
            old = msgspec.json.decode(self._old.read_bytes(), type=_OldFile)
        except OSError as error:
            raise ColdError(f"cannot read {self._old}: {error.strerror or error}") from None
        except msgspec.ValidationError as error:
            words = " ".join(str(error).split())[:200]
            raise self._damaged(f"it is not of the format {OLD_FORMAT}: {words}", self._old) from None
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            raise self._damaged("it is truncated or no JSON", self._old) from None
        for origin in old.provenance:
            self._origin(msgspec.json.encode(origin), self._old)
        return old

    # ------------------------------------------------------------------------------------------- reading

    def _query(self, text: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._problems("read"):
            return self._db.execute(text, values).fetchall()

    def _of_keys(self, text: str, keys: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        wanted = iter(keys)
        while some := list(islice(wanted, _AT_ONCE)):
            yield from self._query(f"{text} WHERE key IN ({','.join('?' * len(some))})", *some)

    def _checked(self, found: tuple[Any, ...]) -> Row:
        _, key, schema, number, content = found
        row: Row = self._decoded(_row, content)
        types = self._decoded(_types if schema == ROW_SCHEMA else _old_types, content)
        if type(key) is not bytes or types.key.encode() != key or type(number) is not int:
            raise self._damaged("a row does not belong to its key, or has no origin")
        row["provenance"] = number
        return row

    def _origin(self, content: Any, path: Path | None = None) -> dict[str, Any]:
        self._decoded(_origin, content, path)
        entries: dict[str, Any] = self._decoded(_entries, content, path)
        return entries

    def _decoded(self, decoder: msgspec.json.Decoder[Any], content: Any, path: Path | None = None) -> Any:
        try:
            return decoder.decode(content)
        except (msgspec.MsgspecError, RecursionError, TypeError, UnicodeError) as error:
            raise self._damaged(" ".join(str(error).split())[:200], path) from None

    # ------------------------------------------------------------------------------------------- what goes wrong

    def _damaged(self, why: str, path: Path | None = None) -> ColdError:
        remedy = f"move it away or remove it with 'coldtheory results rm {self.path.stem}', then run the sweep again"
        return ColdError(f"{path or self.path} is damaged ({why}); {remedy}")

    @contextmanager
    def _problems(self, doing: Literal["read", "write"]) -> Iterator[None]:
        """Whatever SQLite or the system says becomes one line with its remedy."""
        try:
            yield
        except OSError as error:
            where = error.filename or self.path
            why = error.strerror or error
            raise ColdError(f"cannot {doing} {where}: {why}; choose another folder with --out") from None
        except (OverflowError, UnicodeError):  # in a message of SQLite, too, which may quote what it finds
            raise self._damaged("it has what cannot be text or a number") from None
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the kind of error, without its details
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                words = f"another program is writing {self.path}; wait for it, or use another --out"
            elif doing == "write" and not self.path.exists():
                words = f"{self.path} was removed while it was being written; run the command again"
            elif code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                words = f"cannot {doing} {self.path}: {error}; what was stored stays, so make room and run it again"
            elif code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
                words = f"cannot {doing} {self.path}: {error}; choose another folder with --out"
            else:
                raise self._damaged(" ".join(str(error).split())[:200]) from None
            raise ColdError(words) from None


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
        with self._problems("write"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(self.path.parent, os.W_OK | os.X_OK):  # known before any work is done
            raise ColdError(f"cannot write to {self.path.parent}: permission denied; choose another folder with --out")
        super().__enter__()
        if (there := self.source) and there != json.loads(json.dumps(self._source)):
            raise self._damaged("it has the rows of other tasks")
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.save()
        finally:
            super().__exit__()

    def _query(self, text: str, *values: Any) -> list[tuple[Any, ...]]:
        self.save()  # so that what was added is found
        return super()._query(text, *values)

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
        with self._problems("write"):
            if not self._writing:
                self._open_for_writing()
            with _transaction(self._db):
                number = _number_of(self._db, provenance())
                self._db.executemany(_INSERT.format("REPLACE"), (_columns(row, number) for row in rows))
        self._last_save = time.monotonic()

    def _open_for_writing(self) -> None:
        """From now on on disk; rows of the old format are taken in, and their file gets another name."""
        _is_file(self.path)  # or nothing, but nothing else
        db = self._connected("rwc")
        try:
            db.execute("PRAGMA journal_mode = DELETE")  # whatever the file was told before
            with _transaction(db):
                if not self._has_tables(db):
                    _make_tables(db)
                taken = self._take_in_old_rows(db)
                if not db.execute("SELECT 1 FROM about").fetchall():
                    db.execute("INSERT INTO about VALUES (?)", [json.dumps(self._source)])
        except BaseException:
            db.close()
            raise
        self._db.close()
        self._db, self._writing = db, True
        if taken:
            with suppress(FileNotFoundError):  # another program was here first
                self._old.replace(self._old.with_name(f"{self._old.name}.old"))
                self._old.with_suffix(".lock").unlink(missing_ok=True)  # earlier versions leave it behind


def read_rows(path: Path) -> dict[str, Any]:
    """All that a file holds, in the form of coldtheory-rows/1; for large ones, `StoredRows` reads them bit by bit."""
    with StoredRows(path) as stored:
        return {
            "format": OLD_FORMAT, "source": stored.source, "provenance": stored.origins, "rows": list(stored.rows()),
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


# ------------------------------------------------------------------------------------------------ SQLite


def _is_file(path: Path) -> bool:
    """Whether there is a file; anything else of that name is an error."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        raise ColdError(f"{path} is not a regular file; move it away, or use another --out")
    return True


def _connect(path: Path | None, mode: Literal["ro", "rw", "rwc", "memory"]) -> sqlite3.Connection:
    """A connection that a foreign file cannot harm: no code of its own runs, and no value is larger than ours."""
    where = f"{'file:' if path is None else path.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(where, uri=True, timeout=_PATIENCE, isolation_level=None)
    try:
        db.text_factory = bytes  # checked where it is decoded
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        db.execute(f"PRAGMA cache_size = {-_CACHE}")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # the file is opened here, not before
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; the only writer from its beginning, so that two that wait for each other cannot happen."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            with suppress(sqlite3.Error):  # SQLite has rolled back by itself
                db.execute("ROLLBACK")


def _make_tables(db: sqlite3.Connection) -> None:
    for table in _TABLES:
        db.execute(table)
    db.execute(f"PRAGMA application_id = {_APPLICATION}")
    db.execute(f"PRAGMA user_version = {_VERSION}")


def _number_of(db: sqlite3.Connection, origin: Mapping[str, Any]) -> int:
    """The id of a provenance; one that differs from it in nothing but the time is the same."""
    identity = json.dumps({**origin, "time": None}, sort_keys=True)
    found = db.execute("SELECT id FROM provenance WHERE identity = ?", [identity]).fetchone()
    if found is not None:
        return int(found[0])
    ((number,),) = db.execute("SELECT count(*) FROM provenance")
    db.execute("INSERT INTO provenance VALUES (?, ?, ?)", [number, json.dumps(origin), identity])
    return int(number)


def _columns(row: Mapping[str, Any], number: int) -> tuple[Any, ...]:
    content = {name: value for name, value in row.items() if name != "provenance"}
    listed = (row["key"], row.get("schema"), row.get("seed"), row.get("V"))
    return (*listed, number, msgspec.json.encode(content).decode())
