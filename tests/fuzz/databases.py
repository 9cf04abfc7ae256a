"""Damage to the SQLite file of a store of rows: its bytes, its schema, its tables, its values, and its journal."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec

from tests.fuzz.sandbox import PRECIOUS
from tests.fuzz.values import changed, damaged

_HEAD, _ZERO = 100, b"\0"
_LEAF = 0x0D  # the first byte of a page with rows of a table
#: What stands where in the head of a file: page size, write and read version (2: a write-ahead log), number of pages,
#: list of free pages, schema format, text encoding, user version, application id.
_FIELDS = {16: 2, 18: 1, 19: 1, 20: 1, 24: 4, 28: 4, 32: 4, 36: 4, 44: 4, 52: 4, 56: 4, 60: 4, 68: 4}
_PLANTED = (
    "CREATE TABLE stranger (a)",
    "CREATE INDEX stranger ON rows (seed)",
    "CREATE VIEW stranger AS SELECT * FROM rows",
    "CREATE TRIGGER stranger AFTER INSERT ON rows BEGIN DELETE FROM rows; END",
    "CREATE TRIGGER stranger AFTER INSERT ON rows BEGIN SELECT load_extension('./evil'); END",
    "ALTER TABLE rows ADD COLUMN stranger DEFAULT 1",
    "ALTER TABLE rows RENAME COLUMN seed TO grain",
    "ALTER TABLE rows RENAME TO lines",
    "DROP TABLE about",
    "DROP TABLE provenance",
    "DROP TABLE rows",
    "CREATE VIRTUAL TABLE stranger USING fts5(a)",
)
#: A table that has become a question without an end.
_ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    " SELECT i AS id, i AS key, 2 AS schema, 0 AS seed, 1.0 AS V, 0 AS provenance, '{}' AS content FROM n"
)
_VALUES: list[Any] = [
    0, -1, 2**63 - 1, 1.5, float("inf"), "", "x", "nan", "x" * 300, "a\nb\x1b[31m", b"", b"\xff\xfe", "{}", "[]",
    "null", b"{}", "[" * 5000, '{"key": "../../escaped"}', None,
]  # fmt: skip
_COLUMNS = {
    "rows": ("id", "key", "schema", "seed", "V", "provenance", "content"),
    "provenance": ("id", "content", "identity"),
    "about": ("source",),
}


def damaged_database(raw: bytes, rng: random.Random) -> bytes:
    """A file with flipped bits anywhere, other heads or pages, another schema, strangers, wrong or huge values."""
    kind = rng.random()
    if kind < 0.15:
        return damaged(raw, rng)
    if kind < 0.3:
        return _other_head(raw, rng)
    if kind < 0.45:
        return _other_pages(raw, rng)
    return _rewritten(raw, rng.choice([_plant, _other_schema, _other_values, _other_values, _other_rows, _huge]), rng)


def _other_head(raw: bytes, rng: random.Random) -> bytes:
    data = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at, length = rng.choice(list(_FIELDS.items()))
        number = rng.choice([0, 1, 2, 3, rng.randrange(256**length), 256**length - 1])
        data[at : at + length] = number.to_bytes(length, "big")
    return bytes(data)


def _other_pages(raw: bytes, rng: random.Random) -> bytes:
    """Flipped bits or wrong numbers where pages begin, pages in each other's place, rows that claim terabytes."""
    data = bytearray(raw)
    size = int.from_bytes(data[16:18], "big") or 4096
    starts = list(range(0, len(data), size))
    page = rng.choice(starts)
    kind = rng.randrange(4)
    if kind == 0:
        begin = page or _HEAD
        for _ in range(rng.choice([1, 3, 10])):
            data[begin + rng.randrange(12)] ^= 1 << rng.randrange(8)
    elif kind == 1:
        other = rng.choice(starts)
        data[page : page + size] = raw[other : other + size]
    elif kind == 2:
        for _ in range(rng.choice([1, 5, 50])):
            data[page + rng.randrange(min(size, len(data) - page))] ^= 1 << rng.randrange(8)
    else:
        leaves = [start for start in starts[1:] if data[start] == _LEAF and data[start + 3 : start + 5] != _ZERO * 2]
        for start in leaves:
            cell = start + int.from_bytes(data[start + 8 : start + 10], "big")
            claim = rng.choice([b"\xff\xff\xff\xff\xff\x7f", b"\xff" * 9, b"\xa0\x80\x80\x80\x00", b"\x00"])
            data[cell : cell + len(claim)] = claim  # the length of the row
    return bytes(data[: len(raw)])


def _rewritten(raw: bytes, change: Callable[[sqlite3.Connection, random.Random], None], rng: random.Random) -> bytes:
    """The file after a change that SQLite itself makes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "database"
        path.write_bytes(raw)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA synchronous = OFF")
            db.execute("PRAGMA journal_mode = MEMORY")
            change(db, rng)
        return path.read_bytes()


def _plant(db: sqlite3.Connection, rng: random.Random) -> None:
    if rng.random() < 0.2:
        table = rng.choice(list(_COLUMNS))
        db.execute(f"DROP TABLE {table}")
        db.execute(f"CREATE VIEW {table} AS {_ENDLESS}")
        return
    for text in rng.sample(_PLANTED, rng.choice([1, 1, 2])):
        try:
            db.execute(text)
        except sqlite3.OperationalError:  # of something that is gone, or not built in
            continue


def _other_schema(db: sqlite3.Connection, rng: random.Random) -> None:
    """The list of tables itself; or the marks by which a file is known."""
    if rng.random() < 0.3:
        db.execute(f"PRAGMA {rng.choice(['application_id', 'user_version'])} = {rng.choice([0, 1, 3, -1, 2**31 - 1])}")
        return
    db.execute("PRAGMA writable_schema = ON")
    where = rng.choice([f"name = '{table}'" for table in _COLUMNS] + ["1"])
    new = rng.choice(
        [
            "rootpage = 0", "rootpage = 1", "rootpage = 2", "rootpage = 999999999", "type = 'view'", "type = 'index'",
            "sql = NULL", "sql = 'CREATE TABLE rows (a)'", "sql = sql || ' '", "sql = x'ff'", "name = x'ff00'",
            "name = 'sqlite_' || name", "tbl_name = 'x'", "sql = replace(sql, 'TEXT', 'BLOB')",
            "sql = replace(sql, 'NOT NULL', '')", "sql = 'CREATE VIRTUAL TABLE rows USING fts5(a)'",
        ]
    )  # fmt: skip
    db.execute(f"UPDATE sqlite_schema SET {new} WHERE {where}")


def _other_values(db: sqlite3.Connection, rng: random.Random) -> None:
    """Values of another type in some column, as far as its rules allow."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        table = rng.choice(["rows", "rows", "provenance", "about"])
        column = rng.choice(_COLUMNS[table])
        where = "" if rng.random() < 0.3 else f" WHERE rowid = (SELECT max(rowid) FROM {table})"
        with suppress(sqlite3.IntegrityError):  # the number of a row is a whole number, whoever writes it
            db.execute(f"UPDATE OR IGNORE {table} SET {column} = ?{where}", [rng.choice(_VALUES)])
    if rng.random() < 0.15:
        db.execute(f"DELETE FROM {rng.choice(list(_COLUMNS))}")
    if rng.random() < 0.15:
        db.execute("INSERT INTO about VALUES ('{}')")


def _other_rows(db: sqlite3.Connection, rng: random.Random) -> None:
    """Plain data with changes, where the content is JSON."""
    table, column = rng.choice(
        [("rows", "content"), ("rows", "content"), ("provenance", "content"), ("about", "source")]
    )
    for number, content in db.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
        if rng.random() < 0.6:
            try:
                new = msgspec.json.encode(changed(msgspec.json.decode(content), rng)).decode()
            except (RecursionError, msgspec.MsgspecError, TypeError, OverflowError):
                new = "[" * 3000
            db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", [new, number])


def _huge(db: sqlite3.Connection, rng: random.Random) -> None:
    """A value larger than any of ours; most of the time too small to be refused for its size."""
    size = rng.choice([100_000, 1_000_000, 1_000_000, 60_000_000])
    content = rng.choice([f"zeroblob({size})", f"'{{\"key\": \"' || hex(zeroblob({size // 2})) || '\"}}'"])
    table, column = rng.choice([("rows", "content"), ("rows", "key"), ("provenance", "content"), ("about", "source")])
    db.execute(f"UPDATE OR IGNORE {table} SET {column} = {content} WHERE rowid = (SELECT min(rowid) FROM {table})")


def left_by_a_killed_program(path: Path) -> bytes:
    """The journal of a transaction that changed every row of the file and did not end."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")  # the journal then counts its pages by its length
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE rows SET seed = seed + 1")
        journal = path.with_name(f"{path.name}-journal").read_bytes()
        db.execute("ROLLBACK")
    return journal


def damaged_journal(raw: bytes, rng: random.Random) -> bytes:
    """Flipped bits; or one that names another database's journal, which SQLite would look for."""
    if rng.random() < 0.6:
        return damaged(raw, rng)
    return raw + naming(rng.choice([PRECIOUS.encode(), b"../../escaped", b"evil.py", b"x" * 300]))


def naming(name: bytes) -> bytes:
    """The end of a journal that is part of a larger one: SQLite removes that one when it has undone this."""
    check = sum(byte - 256 * (byte > 127) for byte in name) & 0xFFFFFFFF
    mark = (0x40000000 // 4096 + 1).to_bytes(4, "big")
    return mark + name + len(name).to_bytes(4, "big") + check.to_bytes(4, "big") + bytes.fromhex("d9d505f920a163d7")
