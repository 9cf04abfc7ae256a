"""Stored rows for other programs: JSON, CSV and Parquet, written row by row."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import IO

from ..ground.errors import ColdError
from .files import StoredRows
from .old_format import OLD_FORMAT
from .schema import Row

_ROWS_AT_ONCE = 10_000  # of a Parquet file's groups


def _write_json(stored: StoredRows, to: IO[bytes]) -> None:
    head = json.dumps({"format": OLD_FORMAT, "source": stored.source, "provenance": stored.origins})
    to.write(f'{head[:-1]}, "rows": ['.encode())
    for number, row in enumerate(stored.rows()):
        to.write(f"{',' if number else ''}\n{json.dumps(row)}".encode())
    to.write(b"\n]}\n")


def _write_csv(stored: StoredRows, to: IO[bytes]) -> None:
    text = io.TextIOWrapper(to, encoding="utf-8", newline="", write_through=True)
    table = csv.DictWriter(text, list(_types(stored)), lineterminator="\n")
    table.writeheader()
    table.writerows(_flat(stored))
    text.detach()


def _write_parquet(stored: StoredRows, to: IO[bytes]) -> None:
    try:
        import pyarrow as pa  # noqa: PLC0415  (an extra)
        from pyarrow.parquet import ParquetWriter  # noqa: PLC0415
    except ImportError:
        raise ColdError("--format parquet needs pyarrow: pip install 'cold-continual[parquet]'") from None
    kinds = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    columns = {name: max(types, key=list(kinds).index, default=float) for name, types in _types(stored).items()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in columns.items()])
    rows = ({name: None if row.get(name) is None else kind(row[name]) for name, kind in columns.items()}
            for row in _flat(stored))  # fmt: skip
    with ParquetWriter(to, schema) as table:
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            table.write_table(pa.Table.from_pylist(some, schema=schema))


def _types(stored: StoredRows) -> dict[str, set[type]]:
    """The columns of all rows, with the types of their values."""
    types: dict[str, set[type]] = {}
    for row in _flat(stored):
        for name, value in row.items():
            types.setdefault(name, set()).update(() if value is None else (type(value),))
    return types


def _flat(stored: StoredRows) -> Iterator[Row]:
    """Rows without structure: the source as JSON, the origin by its commit and time."""
    origins = stored.origins
    for row in stored.rows():
        origin = origins[row.pop("provenance")]
        flat = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in row.items()}
        yield {**flat, "commit": origin["commit"], "time": origin["time"]}


#: Functions that write all rows to a file, by the format's name. CSV and Parquet have a column per key of a row, the
#: source of the tasks as JSON, and the commit and time of each row. JSON is coldtheory-rows/1.
EXPORTS: Mapping[str, Callable[[StoredRows, IO[bytes]], None]] = {
    "csv": _write_csv, "json": _write_json, "parquet": _write_parquet,
}  # fmt: skip
