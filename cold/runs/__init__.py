"""Finished runs on disk: the one way to read, find, name, merge and pack them. It imports no torch.

schema    what both formats hold, and the check of every file that is read
loose     a run in a folder of its own: `result.json` and `arrays.npz`
header    what most rows of a file have in common, written once
packed    many runs in one `rows.jsonl` and one `arrays.npz`
find      finished runs at any depth, by id
identity  which runs are the same: settings and data
requested what runs that requested forgetting have delivered
merge     results of several machines in one folder
replace   a run in the place of a stored one
rules     runs that were made by an earlier rule of their method
"""

from .find import FoundRuns, default_roots, evidence, find_run, find_runs, read_result
from .identity import (
    UNRECORDED,
    OtherData,
    by_run_id,
    check_same_run,
    comparable,
    data_notes,
    difference,
    identified,
    of_one_data,
    same_data,
    same_run,
    stored_config,
)
from .loose import Busy, make_result, only_writer, write_result
from .merge import Merged, merge
from .packed import Packed, pack, unpack
from .replace import replace_run
from .requested import Delivered, delivered
from .rules import RuleChange, earlier_rule
from .schema import ARRAYS, FORMAT, MODEL, RESULT, ROWS, ROWS_FORMAT, VIEWS, Result

__all__ = [
    "ARRAYS",
    "FORMAT",
    "MODEL",
    "RESULT",
    "ROWS",
    "ROWS_FORMAT",
    "UNRECORDED",
    "VIEWS",
    "Busy",
    "Delivered",
    "FoundRuns",
    "Merged",
    "OtherData",
    "Packed",
    "Result",
    "RuleChange",
    "by_run_id",
    "check_same_run",
    "comparable",
    "data_notes",
    "default_roots",
    "delivered",
    "difference",
    "earlier_rule",
    "evidence",
    "find_run",
    "find_runs",
    "identified",
    "make_result",
    "merge",
    "of_one_data",
    "only_writer",
    "pack",
    "read_result",
    "replace_run",
    "same_data",
    "same_run",
    "stored_config",
    "unpack",
    "write_result",
]
