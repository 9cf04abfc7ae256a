"""Stored training runs: the one schema that `cold run` writes and every training figure and table reads.

A results folder holds one folder a run, at any depth:

    <out>/.../<run-id>/result.json     what the run was and what came out, JSON
    <out>/.../<run-id>/arrays.npz      matrices, numpy without pickles

result.json:

    format       "cold-run/1"
    run_id       the folder's name
    config       every field of the run, defaults written out: dataset, method, seed, tasks, epochs, memory (samples
                 in all), memory_batch, V, delta, lr, optimizer, batch_size, queue_update ("step", "epoch", "task"),
                 weights ("sum", "mean"), oracle, replay, width, limit_train, ..., iid (true for the near-IID split of
                 a dataset), and profile: null, "paper", "cpu" or "smoke"
    metrics      acc (per cent, mean over tasks after the last one), forgetting (a fraction, max over l in [T-1], as
                 printed), forgetting_after (max over l >= j), bwt, fwt, learning_acc
    per_task     acc: ACC after each task, per cent; forgetting: F after each task, a fraction. For readers: figures
                 take both from the matrix `accuracy`, so that they mean the same for every method
    diagnostics  may be absent: what `cold.diagnostics` lists
    timing       seconds and the like; never compared
    provenance   commit, versions, time, as `coldtheory.ground.provenance.provenance()` gives them
    synthetic    true if the images were made on the fly; else absent
    made_up      true if no training took place: rows for a test. A picture of such rows carries a watermark.

arrays.npz:

    accuracy     (T, T) accuracy of task j (column) after task t (row), in [0, 1]; NaN where not evaluated
    queues       (T+1, T) Q_k at the start (row 0) and at each task's end; only for methods that have queues
    queue_steps  optional, (steps, T)
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from coldtheory.ground.errors import ColdError
from coldtheory.vocabulary import OLD_DIAGNOSTICS, with_present_names

from .names import IID

FORMAT = "cold-run/1"
RESULT, ARRAYS = "result.json", "arrays.npz"
_REQUIRED = ("config", "metrics")


@dataclass(frozen=True, eq=False)
class Run:
    """One stored run. Matrices stay on disk until they are asked for."""

    id: str
    config: Mapping[str, Any]
    metrics: Mapping[str, float | None]
    diagnostics: Mapping[str, float | None] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    timing: Mapping[str, Any] = field(default_factory=dict)
    made_up: bool = False
    synthetic: bool = False
    folder: Path | None = None

    @property
    def dataset(self) -> str:
        """The dataset's name, with the ending "-iid" for its near-IID split."""
        return str(self.config.get("dataset", "")) + (IID if self.config.get("iid") else "")

    @property
    def time(self) -> str:
        return str(self.provenance.get("time", ""))

    @property
    def seconds(self) -> float | None:
        """Processor time of all threads; of a run that did not keep it, the time on the clock."""
        names = ("cpu_seconds",) if "cpu_seconds" in self.timing else ("train_seconds", "eval_seconds")
        return sum(float(self.timing[name]) for name in names) if names[0] in self.timing else None

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

    def array(self, name: str) -> np.ndarray | None:
        """A matrix of arrays.npz; None if this run has none of that name."""
        path = (self.folder or Path()) / ARRAYS
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return np.asarray(arrays[name], dtype=np.float64) if name in arrays else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):
            raise ColdError(f"{path} is damaged; run 'cold run' with the same settings again") from None


def read_run(folder: Path) -> Run:
    """The run in a folder, checked; a damaged or foreign file is a `ColdError`."""
    path = folder / RESULT
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ColdError(f"cannot read {path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise ColdError(f"{path} is damaged (truncated or not JSON); run it again") from None
    found = content.get("format") if isinstance(content, dict) else None
    if found != FORMAT:
        raise ColdError(f"{path} has format {found!r}, this version reads {FORMAT!r}; run it again")
    absent = [name for name in _REQUIRED if not isinstance(content.get(name), dict)]
    if absent:
        raise ColdError(f"{path} has no {' and no '.join(absent)}; run it again")
    return Run(
        id=str(content.get("run_id", folder.name)),
        config=content["config"],
        metrics=content["metrics"],
        diagnostics=with_present_names(content.get("diagnostics") or {}, OLD_DIAGNOSTICS),
        provenance=content.get("provenance") or {},
        timing=content.get("timing") or {},
        made_up=content.get("made_up") is True,
        synthetic=content.get("synthetic") is True or content["config"].get("dataset") == "synthetic",
        folder=folder,
    )


def read_runs(*folders: Path) -> tuple[tuple[Run, ...], tuple[str, ...]]:
    """All readable runs at any depth of results folders, and one line for each that cannot be read."""
    paths = [path for folder in folders if folder.is_dir() for path in sorted(folder.rglob(RESULT))]
    return _read_all(tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths))


@lru_cache(maxsize=4)
def _read_all(files: tuple[tuple[Path, int, int], ...]) -> tuple[tuple[Run, ...], tuple[str, ...]]:
    """Read once as long as no file changes: all training figures share the folder."""
    runs, problems = [], []
    for path, _, _ in files:
        try:
            runs.append(read_run(path.parent))
        except ColdError as error:
            problems.append(str(error))
    return tuple(runs), tuple(problems)
