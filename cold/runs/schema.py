"""What a finished run is on disk, and the check that every file passes before anyone sees its content.

A run is finished when its result is written. There are two forms, which may stand side by side in one folder; both
are read by `cold.runs.find_runs` and `cold.runs.read_result`, and nothing else in the project opens these files.

**Format cold-run/1: a folder of its own**, as `cold run`, `cold study run` and `cold table --run` write it::

    <out>/<run id>/result.json          the record below, one JSON object
    <out>/<run id>/arrays.npz           the arrays, numpy's format without pickles
    <out>/<run id>/model.safetensors    the trained weights, where they are kept
    <out>/<run id>/checkpoint-*.pt      while the run goes on; removed at its end

The arrays are written before the record, so that whoever sees `result.json` finds all the rest. Results may lie at
any depth below the folder that a command is given.

**Format cold-rows/3: many runs in two files**, as `cold study pack` writes them::

    <folder>/rows.jsonl                 what rows have in common, then one record per line, sorted by run id
    <folder>/arrays.npz                 all arrays; those of one name, type and shape are stacked in one member

The first line has the entry `common`: the most common values of single entries of `config`, `timing` and `provenance`,
and of `data`, `arrays` and `dropped`. A row has what is written there, unless it has an entry of its own, which takes
its place, or `absent` names the entry, such as {"config": ["blur"]}. The first line stays as it is when rows are added,
until another one would make the file a tenth smaller. A line without a `format` is read with the first one only.

A line has the entries of the record and two more: `arrays`, the names of the run's arrays, and `dropped`, the names of
those that were left out when the run was packed. In arrays.npz, the arrays of one name are the members "<name>/0",
"<name>/1" and so on, (n, ...) each. Two members say whose they are: `runs` (r,), the run ids; and `rows` (r, m), for
each run and each of the m other members, in the order of the file, the row that is the run's, -1 if none is. Members
are compressed by LZMA, which Python and numpy read.

The path `<folder>/<run id>` names the run in both forms, and kept weights stay there as `model.safetensors`. A file
`unrecorded.toml` may stand beside the rows: for each dataset, the fingerprint (`data`) and the words (`about`) for rows
that were made before these were recorded.

Files of earlier formats are read too. Each line has its `format` and all entries of its record there. In cold-rows/2
`arrays` has the member and the row of each array, such as {"accuracy": ["accuracy/0", 17]}; in cold-rows/1 it is a list
of names, and each array is a member "<run id>/<name>" of its own.

**The record**; entries that this version does not know are passed over::

    format       "cold-run/1"; of rows, "cold-rows/3" in the first line of rows.jsonl
    run_id       a name of letters, digits and -_.+=, of at most 200 characters; in result.json it may be absent, then
                 it is the folder's name
    config       all settings of the run, names and types as in `cold.RunConfig`; a setting that is absent, because
                 the version that wrote the file did not have it, counts as not set, that is, it has its default.
                 A folder of images is named by its last part ("folder:NAME"), never by its path
    data         fingerprint of the data the run was trained and tested on; null or absent: unrecorded
    metrics      acc, learning_acc and anytime_acc in per cent; forgetting (as the paper prints it, the maximum over all
                 l < T), forgetting_after (l >= j only), bwt and fwt as fractions; null where a single task leaves it
                 undefined. Of a class-incremental run also class_il (that is acc) and task_il, in per cent. A measure
                 that is absent was not known to the version that wrote the file
    views        of a class-incremental run, all of these measures again among fewer answers: "seen", the classes of the
                 tasks until then, and "task", those of the sample's own task; else empty or absent
    per_task     acc (per cent) and forgetting (a fraction) after each task over the tasks seen until then, (T,) each;
                 forgetting starts with null
    diagnostics  with --diagnostics: what the theory speaks about, see `cold.diagnostics`; else empty. Names that
                 older versions wrote are read as the present ones (`coldtheory.vocabulary`)
    timing       seconds of training and evaluation, CPU seconds, steps, steps per second, peak memory; never compared
    provenance   commit, versions, time, as `coldtheory.ground.provenance.provenance` gives them; never compared. Also
                 `kernels`, what decides how sums are rounded (`cold.kernels`), and `data`, the name of the data's
                 file and in words how they differ from the whole data set in its canonical form ("" if they do not);
                 rows of earlier versions have neither
    synthetic    true if the images were made on the fly; else false or absent
    made_up      true if no training took place (rows for a test; pictures of them carry a watermark); else absent

**The arrays**: numbers or truth values; T is the number of tasks::

    accuracy        (T, T) in [0, 1]: of task j (column) after task t (row); NaN where it was not evaluated
    loss            (T, T) mean cross-entropy of task j after task t on the same samples, in nats; absent in files of
                    versions that did not keep it
    start           (T,) accuracies before any training
    accuracy_seen, accuracy_task, start_seen, start_task
                    of a class-incremental run: the same among the answers of each of its views
    queues          (T+1, T) Q_k before the first task (row 0) and at the end of task t (row t); of methods that have
                    queues
    queue_steps     (n, T) the queues at the steps queue_steps_at (n,), about a thousand of them. Nothing in the
                    project reads these two; packing drops them unless it is told to keep them
    gauge_loss, gauge_accuracy
                    (T, T) of the gauge samples of task j after task t, NaN where j > t; of runs with a gauge
    requested_weight
                    (T,) the weight of the past at the end of task t, 0 for the first; of runs that requested forgetting
    compared_with   (T, T) the model whose loss each past task was compared with, -1 where none (COLD, COLD-ORACLE)
    diag_...        see `cold.diagnostics`; further arrays are a method's own

Packing changes no value but for what `dropped` names. Two results are of the same run if settings and data are the
same (see `cold.runs.identity`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from coldtheory.ground.checks import LARGEST_WHOLE
from coldtheory.ground.errors import ColdError
from coldtheory.vocabulary import OLD_DIAGNOSTICS, with_present_names

from ..catalogue import IID
from ..config import RunConfig

FORMAT, ROWS_FORMAT = "cold-run/1", "cold-rows/3"
ROWS_FORMATS = (ROWS_FORMAT, "cold-rows/2", "cold-rows/1")  #: that are read
RESULT, ARRAYS, MODEL, ROWS = "result.json", "arrays.npz", "model.safetensors", "rows.jsonl"
UNRECORDED_DATA = "unrecorded.toml"
_NAME = re.compile(r"(?!\.)[\w.+=,-]{1,200}")
#: The sets of allowed answers in a class-incremental run, beside all classes.
VIEWS = ("seen", "task")
_DIMENSIONS = {
    "accuracy": 2,
    "loss": 2,
    "gauge_loss": 2,
    "gauge_accuracy": 2,
    "requested_weight": 1,
    "accuracy_seen": 2,
    "accuracy_task": 2,
    "start": 1,
    "start_seen": 1,
    "start_task": 1,
    "queues": 2,
    "queue_steps": 2,
    "queue_steps_at": 1,
    "compared_with": 2,
}

Arrays = Mapping[str, NDArray[Any]]
#: What the values of a part may be, where the structures below leave it open.
_VALUES: dict[str, Any] = {
    "diagnostics": dict[str, float | list[Any] | dict[str, Any] | None],
    "timing": dict[str, bool | int | float | str | None],
    "provenance": dict[str, bool | int | float | str | list[Any] | dict[str, Any] | None],
}


class Record(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What both formats store of a run beside its arrays."""

    run_id: str
    config: dict[str, Any]
    metrics: dict[str, float | None]
    views: dict[str, dict[str, float | None]] = {}
    per_task: dict[str, list[float | None]] = {}
    diagnostics: dict[str, Any] = {}
    timing: dict[str, Any] = {}
    provenance: dict[str, Any] = {}
    data: str | None = None
    synthetic: bool = False
    made_up: bool = False


class Result(Record, frozen=True, kw_only=True, eq=False):
    """A finished run. Arrays of a stored run stay on disk until they are asked for."""

    arrays: Arrays = {}
    dropped: tuple[str, ...] = ()  #: names of arrays that were left out when the run was packed
    folder: Path | None = None  #: the path of the run, whether a folder or packed; None if it is not on disk

    @property
    def dataset(self) -> str:
        """The dataset's name, with the ending "-iid" for its near-IID split."""
        return str(self.config.get("dataset", "")) + (IID if self.config.get("iid") else "")

    @property
    def time(self) -> str:
        """When the run ended, in UTC; empty if that is not recorded."""
        return str(self.provenance.get("time", ""))

    @property
    def about_data(self) -> str:
        """How the data differ from the whole data set in its canonical form; empty if they do not, or nobody knows."""
        told = self.provenance.get("data")
        return str(told.get("about", "")) if isinstance(told, dict) else ""

    @property
    def seconds(self) -> float | None:
        """The processor time of all threads, or the time on the clock if that was not recorded."""
        names = ("cpu_seconds",) if "cpu_seconds" in self.timing else ("train_seconds", "eval_seconds")
        found = [self.timing.get(name) for name in names]
        numbers = [float(value) for value in found if isinstance(value, int | float)]
        return sum(numbers) if len(numbers) == len(names) else None

    def array(self, name: str) -> NDArray[Any] | None:
        """Return an array of the run, or None if it has none of that name."""
        return self.arrays.get(name)

    def over_tasks(self, name: str) -> list[float]:
        """ACC (per cent) or F (a fraction) after each task, from the matrix of accuracies; NaN where undefined.

        F after task t is the mean over j < t of the best accuracy of task j before t minus the present one.
        """
        matrix = self.array("accuracy")
        if matrix is None:
            return []
        if name == "acc":
            return [float(100.0 * np.mean(row[: t + 1])) for t, row in enumerate(matrix)]
        drops = [np.fmax.reduce(matrix[:t, :t], axis=0) - matrix[t, :t] for t in range(1, len(matrix))]
        return [float("nan"), *(float(np.mean(drop)) for drop in drops)]

    def as_json(self) -> dict[str, Any]:
        """Return the record as in result.json; marks that are not set are left out."""
        names = ("run_id", "config", "data", "metrics", "per_task", "diagnostics", "timing", "provenance")
        marks = {name: getattr(self, name) for name in ("views", "synthetic", "made_up") if getattr(self, name)}
        return {"format": FORMAT, **{name: getattr(self, name) for name in names}, **marks}


class Row(Record, frozen=True, kw_only=True, eq=False):
    """A line of rows.jsonl, with what it takes over from the first one."""

    format: str
    arrays: dict[str, tuple[str, int]] | list[str]
    dropped: list[str] = []


_R = TypeVar("_R", bound=Record)


def safe_name(name: str) -> bool:
    """Return whether a name from a file may become part of a path.

    >>> safe_name("pmnist-cold-s0-1a2b3c4d"), safe_name("../x"), safe_name(".."), safe_name("a/b"), safe_name("")
    (True, False, False, False, False)
    """
    return _NAME.fullmatch(name) is not None


def read_record(raw: bytes, where: Path | str, *, remedy: str, name: str | None = None) -> Record:
    """Return the checked record in the bytes of a result.json; `name` replaces a missing run id."""
    content = parsed(raw, where, remedy=remedy)
    return _checked(content, where, (FORMAT,), Record, remedy, {} if name is None else {"run_id": name})


def read_row(content: object, where: Path | str, *, remedy: str) -> Row:
    """Return the checked record in the content of a line of rows.jsonl."""
    row = _checked(content, where, ROWS_FORMATS, Row, remedy, {})
    for name in (*row.arrays, *row.dropped):
        if not safe_name(name):
            raise ColdError(f"{where} has an array named {name[:80]!r}, which no run has; {remedy}")
    return row


def parsed(raw: bytes, where: Path | str, *, remedy: str) -> Any:
    """Return what the bytes of a result.json, or of a line of rows.jsonl, say; it is still to be checked."""
    try:
        return _parsed(raw)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        raise ColdError(f"{where} is damaged (truncated or not JSON); {remedy}") from None


def wrong_entry(where: object, error: Exception, remedy: str, part: str = "") -> ColdError:
    """Return the one line on content that does not follow its schema."""
    words = " ".join(str(error).split())[:300].replace("`$", f"`{part}" if part else "`$")
    return ColdError(f"{where} has a wrong entry: {words}; {remedy}")


def check_array(name: str, array: object, where: Path | str) -> NDArray[Any]:
    """Check the kind and shape of an array by its name; a wrong one raises a `ColdError`."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub":
        raise ColdError(f"{where} is damaged: the array {name} does not hold numbers; run it again")
    square = not name.startswith(("accuracy", "loss", "gauge")) or array.shape[:1] == array.shape[1:]
    if array.ndim != _DIMENSIONS.get(name, array.ndim) or not square:
        raise ColdError(f"{where} is damaged: the array {name} has the shape {array.shape}; run it again")
    return array


def _checked(
    content: Any, where: object, wanted: Sequence[str], kind: type[_R], remedy: str, absent: dict[str, str]
) -> _R:
    """Check the content of either format; any problem becomes one line."""
    found = content.get("format") if isinstance(content, dict) else None
    if found not in wanted:
        known = " and ".join(map(repr, wanted))
        raise ColdError(f"{where} has format {str(found)[:40]!r}, this version reads {known}; {remedy}")
    lacking = [name for name in ("config", "metrics") if not isinstance(content.get(name), dict)]
    if lacking:
        raise ColdError(f"{where} has no {' and no '.join(lacking)}; {remedy}")
    part = ""
    try:
        record = msgspec.convert({**absent, **content}, kind)
        part = "config"
        _check_settings(record.config)
        for part, values in _VALUES.items():
            msgspec.convert(getattr(record, part), values)
    except (msgspec.ValidationError, RecursionError) as error:
        raise wrong_entry(where, error, remedy, part) from None
    if not safe_name(record.run_id):
        raise ColdError(f"{where} has the run id {record.run_id[:80]!r}, which cannot name a folder; {remedy}")
    present = with_present_names(record.diagnostics, OLD_DIAGNOSTICS)
    synthetic = record.synthetic or record.config.get("dataset") == "synthetic"
    return msgspec.structs.replace(record, diagnostics=present, synthetic=synthetic)


def _check_settings(config: dict[str, Any]) -> None:
    """Raise as `RunConfig` does. Settings that differ only in a valid seed are checked once."""
    seed = config.get("seed")
    same = {**config, "seed": 0} if type(seed) is int and 0 <= seed <= LARGEST_WHOLE else config
    _check_settings_in(json.dumps(same))


@lru_cache(maxsize=4096)
def _check_settings_in(text: str) -> None:
    msgspec.convert(json.loads(text), RunConfig)


def _parsed(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError):
        if b"NaN" in raw or b"Infinity" in raw:  # no JSON, but Python writes and reads it
            return json.loads(raw)
        raise
