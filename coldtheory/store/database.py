"""The SQLite side of a store: opening a file that may be foreign, its tables, transactions, and what goes wrong."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..ground.errors import ColdError
from .schema import Row, damaged

_APPLICATION, _VERSION = 0x434F4C44, 2
_TABLES = (
    "CREATE TABLE about (source TEXT NOT NULL)",
    "CREATE TABLE provenance (id INTEGER PRIMARY KEY, content TEXT NOT NULL, identity TEXT NOT NULL UNIQUE)",
    "CREATE TABLE rows (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, schema INTEGER, seed INTEGER, V REAL,"
    " provenance INTEGER NOT NULL, content TEXT NOT NULL)",
)
_INSERT = "INSERT OR {} INTO rows (key, schema, seed, V, provenance, content) VALUES (?, ?, ?, ?, ?, ?)"
_NAMES_A_FILE = bytes.fromhex("d9d505f920a163d7")  # the end of a journal that does, by SQLite's file format
_PATIENCE = 120.0  # seconds that a program waits for others that write
_CACHE = 16_000  # KiB of a file that are kept in memory
_LONGEST = 50_000_000  # bytes of one value; a row has about a thousand


def is_file(path: Path) -> bool:
    """Whether there is a file; anything else of that name is an error."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        raise ColdError(f"{path} is not a regular file; move it away, or use another --out")
    return True


# ------------------------------------------------------------------------------------------------ opening


def opened(path: Path, mode: Literal["ro", "rwc"]) -> sqlite3.Connection:
    """A connection to a file; what a killed program left half written is undone first."""
    try:
        return _connect(path, mode)
    except sqlite3.OperationalError:
        if mode != "ro" or not path.with_name(f"{path.name}-journal").exists():
            raise
    _connect(path, "rw").close()  # a program was killed while it wrote: what it left is undone
    return _connect(path, mode)


def in_memory() -> sqlite3.Connection:
    """An empty database in memory."""
    return _connect(None, "memory")


def _connect(path: Path | None, mode: Literal["ro", "rw", "rwc", "memory"]) -> sqlite3.Connection:
    """A connection that a foreign file cannot harm: no code of its own runs, and no value is larger than ours."""
    if path is not None:
        _check_what_lies_beside(path)
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


def _check_what_lies_beside(path: Path) -> None:
    """Raises for a journal by which SQLite would write to, or remove, a file elsewhere.

    A journal may be a link; and one of several databases at once, which this program never has, ends in the name of a
    file that SQLite removes when it has undone what the journal says.
    """
    end = Path(os.path.realpath(path))  # SQLite follows links, too, and looks beside the file itself
    for ending in ("-journal", "-wal", "-shm"):
        beside = end.with_name(f"{end.name}{ending}")
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(beside.lstat().st_mode):
                raise ColdError(f"{beside} is not a regular file; remove it")
            if ending == "-journal" and _last_bytes(beside, len(_NAMES_A_FILE)) == _NAMES_A_FILE:
                raise ColdError(f"{beside} is not of this program, for it names another file; remove it")


def _last_bytes(path: Path, count: int) -> bytes:
    with path.open("rb") as file:
        file.seek(-min(count, file.seek(0, os.SEEK_END)), os.SEEK_END)
        return file.read()


# ------------------------------------------------------------------------------------------------ tables


def has_tables(db: sqlite3.Connection, path: Path) -> bool:
    """Whether it is a file of this format; False if it is empty, as a program that was killed early leaves it."""
    ((application,),), ((version,),) = db.execute("PRAGMA application_id"), db.execute("PRAGMA user_version")
    found = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite#_%' ESCAPE '#'")}
    if not found and not application:
        return False
    if application != _APPLICATION:
        raise damaged(path, "it is another program's database")
    if version > _VERSION:
        raise ColdError(f"{path} was written by a later version of this program; use that one, or another --out")
    if version != _VERSION or found != {table.encode() for table in _TABLES}:
        raise damaged(path, "its tables are not those of this program")
    return True


def make_tables(db: sqlite3.Connection) -> None:
    """Create the tables of the format, with its application id and version."""
    for table in _TABLES:
        db.execute(table)
    db.execute(f"PRAGMA application_id = {_APPLICATION}")
    db.execute(f"PRAGMA user_version = {_VERSION}")


# ------------------------------------------------------------------------------------------------ writing


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing. It is the only writer from its beginning, so two programs cannot wait for each other."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            with suppress(sqlite3.Error):  # SQLite has rolled back by itself
                db.execute("ROLLBACK")


def note_source(db: sqlite3.Connection, source: Mapping[str, Any]) -> None:
    """What the tasks depend on, unless it is there."""
    if not db.execute("SELECT 1 FROM about").fetchall():
        db.execute("INSERT INTO about VALUES (?)", [json.dumps(source)])


def number_of(db: sqlite3.Connection, origin: Mapping[str, Any]) -> int:
    """The id of a provenance; one that differs from it in nothing but the time is the same."""
    identity = json.dumps({**origin, "time": None}, sort_keys=True)
    found = db.execute("SELECT id FROM provenance WHERE identity = ?", [identity]).fetchone()
    if found is not None:
        return int(found[0])
    ((number,),) = db.execute("SELECT count(*) FROM provenance")
    db.execute("INSERT INTO provenance VALUES (?, ?, ?)", [number, json.dumps(origin), identity])
    return int(number)


def columns_of(row: Row, number: int) -> tuple[Any, ...]:
    """A row as the columns of its table, the JSON last; `number` is that of its provenance."""
    content = {name: value for name, value in row.items() if name != "provenance"}
    listed = (row["key"], row.get("schema"), row.get("seed"), row.get("V"))
    return (*listed, number, msgspec.json.encode(content).decode())


def insert(db: sqlite3.Connection, columns: Iterable[tuple[Any, ...]], *, over: Literal["REPLACE", "IGNORE"]) -> None:
    """Add rows; `over` says what happens to one whose key is there."""
    db.executemany(_INSERT.format(over), columns)


# ------------------------------------------------------------------------------------------------ what goes wrong


@contextmanager
def problems(doing: Literal["read", "write"], path: Path) -> Iterator[None]:
    """Whatever SQLite or the system says becomes one line with its remedy."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        why = error.strerror or error
        raise ColdError(f"cannot {doing} {where}: {why}; choose another folder with --out") from None
    except (OverflowError, UnicodeError):  # in a message of SQLite, too, which may quote what it finds
        raise damaged(path, "it has what cannot be text or a number") from None
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the kind of error, without its details
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            words = f"another program is writing {path}; wait for it, or use another --out"
        elif doing == "write" and not path.exists():
            words = f"{path} was removed while it was being written; run the command again"
        elif code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            words = f"cannot {doing} {path}: {error}; what was stored stays, so make room and run it again"
        elif code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            words = f"cannot {doing} {path}: {error}; choose another folder with --out"
        else:
            raise damaged(path, error) from None
        raise ColdError(words) from None
