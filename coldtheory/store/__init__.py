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
so a killed program, a full disk or a loss of power leaves the last complete state. The journal is SQLite's rollback
journal, which is safe on network disks and is gone when the last program has ended; what a killed program leaves of it
is undone by the next one, and removed by the next one that writes.

**Format coldtheory-rows/1**: `results/SOURCE.json`, one JSON object with `format`, `source`, `provenance` (a list) and
`rows` (a list; `provenance` of a row is a place in that list), as earlier versions wrote it and as `coldtheory results
export` does. It is read like the other one. The first program that adds a row puts all of its rows into the SQLite file
and renames it to `SOURCE.json.old`, which nothing reads any more.

Beside the row files lie records of which rows one sweep is made of: see `coldtheory.store.sweeps`.

Nothing in such a file is trusted: a foreign or damaged file is a one-line error, rows are checked for their types, and
the database may contain only the three tables.
"""

from .export import EXPORTS
from .files import RowFile, StoredRows, Summary, open_row_files, read_rows, remove_rows, row_files
from .old_format import OLD_FORMAT
from .schema import ROW_SCHEMA, Row
from .sweeps import SweepRecord, stored_sweeps, write_sweep

__all__ = [
    "EXPORTS",
    "OLD_FORMAT",
    "ROW_SCHEMA",
    "Row",
    "RowFile",
    "StoredRows",
    "Summary",
    "SweepRecord",
    "open_row_files",
    "read_rows",
    "remove_rows",
    "row_files",
    "stored_sweeps",
    "write_sweep",
]
