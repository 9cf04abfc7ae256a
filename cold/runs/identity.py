"""Which runs are the same: one rule for the trainer, grids, studies, tables and merging.

Two runs are the same if their settings and their data are.

Settings: those at their default do not count, so that a version with more settings keeps the names of old runs; nor
do those that say where a run computes and not what (`cold.config.PLACE`). A folder of images counts by its name, and so
does a file of weights that a network starts from.

Data: a fingerprint of the data (`cold.data.images.fingerprint`) stands beside the settings, never a path, and is
compared where both sides have one. Where one of them has none, the data are unrecorded: the runs count as the same,
and `cold show` and `cold compare` say so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from coldtheory.ground.errors import ColdError

from ..catalogue import default_tasks
from ..config import PLACE, RunConfig, make_config
from .schema import Result

UNRECORDED = "unrecorded"  #: the word for a missing fingerprint
_FOLDER = "folder:"
_NEWER = ("loss",)  # arrays that older versions did not keep


def identified(config: RunConfig, tasks: int | None = None) -> RunConfig:
    """Return the settings as a finished run stores them: with the number of tasks, and a folder of images by its name.

    tasks : as the loaded data have them. Without it, what the settings say, else what the benchmark's recipe says;
            for a folder that is unknown before its images are read, and a `ColdError`

    >>> identified(RunConfig(dataset="folder:/some/where/birds"), 4).dataset
    'folder:birds'
    """
    count = config.tasks if tasks is None else tasks
    if count is None:
        count = _tasks(config)
    return replace(config, dataset=_by_name(config.dataset), model=_model_by_name(config.model), tasks=count)


def by_run_id(configs: Iterable[RunConfig]) -> dict[str, RunConfig]:
    """Return the configurations by the ids of their runs, each once."""
    return {identified(config).run_id: config for config in configs}


def comparable(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that count, as JSON stores them; missing ones get their defaults."""
    full = {**_defaults(), **config}
    full["dataset"], full["model"] = _by_name(str(full["dataset"])), _model_by_name(full["model"])
    plain: dict[str, Any] = json.loads(json.dumps({name: full[name] for name in full if name not in PLACE}))
    return plain


def same_data(left: str | None, right: str | None) -> bool:
    """Return whether two fingerprints may belong to the same data; None (not recorded) agrees with all.

    >>> same_data("8f14e45fceea167a", "c9f0f895fb98ab91"), same_data(None, "c9f0f895fb98ab91")
    (False, True)
    """
    return left is None or right is None or left == right


def of_one_data(results: Iterable[Result]) -> list[Result]:
    """Of runs on one dataset those that may stand side by side: made from the data that most of them were made from,
    of equally many the ones that come first, and those that do not record their data."""
    found = list(results)
    count = Counter(result.data for result in found if result.data is not None)
    usual = max(count, key=count.__getitem__, default=None)
    return [result for result in found if same_data(result.data, usual)]


def data_notes(used: Sequence[Result]) -> Iterator[str]:
    """Whether runs were made from a part of a data set, or from copies; and if not all from the same data."""
    for about in dict.fromkeys(run.about_data for run in used if run.about_data):
        count = sum(run.about_data == about for run in used)
        yield f"data{'' if count == len(used) else f' of {count} of the {len(used)} runs'}: {about}"
    prints: dict[str, set[str]] = {}
    for run in used:
        if run.data is not None:
            prints.setdefault(run.dataset, set()).add(run.data)
    for dataset, found in prints.items():
        if len(found) > 1:
            yield f"not comparable: runs on {dataset} were made from different data ({', '.join(sorted(found))})"


def same_run(result: Result, config: RunConfig, data: str | None = None) -> bool:
    """Return whether a stored result is the run of these settings (see `identified`) on these data."""
    return (
        result.run_id == config.run_id
        and comparable(result.config) == comparable(config.as_dict())
        and same_data(result.data, data)
    )


def check_same_run(result: Result, config: RunConfig, data: str | None = None) -> Result:
    """Return the result if it is the run of these settings on these data; otherwise a `ColdError` says what differs."""
    where = result.folder or result.run_id
    if same_run(result, config, data):
        return result
    if same_data(result.data, data):
        raise ColdError(f"{where} contains a run whose settings do not match its name; run it again")
    raise OtherData(str(where), result.data, data, "or keep both with another --out")


class OtherData(ColdError):
    """Something was made from other data than those here; `why` is the message without the `remedy`.

    otherwise : another remedy than the right data, which depends on the command
    """

    def __init__(
        self,
        what: str,
        stored: str | None,
        here: str | None,
        otherwise: str = "start over with --fresh, or keep both with another --out",
    ) -> None:
        self.why = f"{what} was made from other data (fingerprint {stored}, the data here have {here})"
        words = ["name the data it was made from with --data-root or folder:PATH", *([otherwise] if otherwise else [])]
        self.remedy = ", ".join(words)
        super().__init__(f"{self.why}; {self.remedy}")


def difference(left: Result, right: Result) -> str | None:
    """Return the first part in which two results of one run differ, apart from timing and provenance, or None.

    Data that one side did not record, a measure that one side's version did not know, and arrays that one side dropped
    when it was packed do not count as differences.
    """
    if not same_data(left.data, right.data):
        return "data"
    for name in ("config", "metrics", "views", "per_task", "diagnostics"):
        here, there = getattr(left, name), getattr(right, name)
        if name == "config":
            here, there = comparable(here), comparable(there)
        elif name == "metrics":
            here, there = (
                {key: one[key] for key in one if key in other} for one, other in ((here, there), (there, here))
            )
        if json.dumps(here, sort_keys=True) != json.dumps(there, sort_keys=True):
            keys = (key for key in here if json.dumps(here[key]) != json.dumps(there.get(key)))
            return f"{name} ({next(keys, 'more entries')})"
    aside = {*left.dropped, *right.dropped, *_NEWER}
    if set(left.arrays) - aside != set(right.arrays) - aside:
        return "the names of arrays"
    newer = {name for name in _NEWER if name in left.arrays and name in right.arrays}
    for name in (left.arrays.keys() - aside) | newer:
        here, there = left.arrays[name], right.arrays[name]
        if here.dtype != there.dtype or not np.array_equal(here, there, equal_nan=here.dtype.kind == "f"):
            return f"array {name}"
    return None


def stored_config(result: Result) -> RunConfig:
    """Return the settings of a stored run, checked; unknown ones raise a `ColdError`."""
    return make_config(result.config)


@lru_cache(maxsize=1)
def _defaults() -> dict[str, Any]:
    """All settings at their defaults; made once, and never changed."""
    return RunConfig().as_dict()


def _by_name(dataset: str) -> str:
    """Return a dataset without the path to it."""
    if not dataset.startswith(_FOLDER):
        return dataset
    return _FOLDER + Path(dataset.removeprefix(_FOLDER)).expanduser().name


def _model_by_name(model: str | None) -> str | None:
    """Return a model without the path to its weights."""
    name, at, path = (model or "").partition("@")
    return f"{name}@{Path(path).name}" if at else model


def _tasks(config: RunConfig) -> int:
    count = default_tasks(config.dataset, config.data_options)
    if count is None:
        raise ColdError(f"a grid on {config.dataset} needs the number of tasks; set tasks")
    return count
