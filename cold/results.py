"""What a run leaves: a folder with `result.json` and `arrays.npz`, format "cold-run/1".

result.json
    format, run_id, config (all fields of `RunConfig`)
    metrics      acc and learning_acc in per cent; forgetting (as printed), forgetting_after, bwt, fwt as fractions
    per_task     acc and forgetting after each task, over the tasks seen until then, (T,); forgetting starts with null
    diagnostics  with --diagnostics: what the theory speaks about, see `cold.diagnostics`; else empty
    timing       seconds of training and evaluation, CPU seconds, steps, steps per second, peak memory
    provenance   versions, commit, time
    data         fingerprint of the data that the run saw, see `cold.data.images.fingerprint`; absent: unrecorded
arrays.npz
    accuracy (T, T) in [0, 1], row = after task; start (T,): before any task
    queues (T+1, T): row 0 before, row t after task t; queue_steps (n, T) at steps queue_steps_at (n,)
    compared_with (T, T): the model whose loss each past task was compared with (COLD), -1 where none
model.safetensors, checkpoint-*.pt as the run goes
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically
from coldtheory.ground.provenance import provenance
from coldtheory.vocabulary import OLD_DIAGNOSTICS, with_present_names

from .metrics import after_each_task, metrics

FORMAT = "cold-run/1"
RESULT, ARRAYS, MODEL = "result.json", "arrays.npz", "model.safetensors"


@dataclass(frozen=True, eq=False)
class Result:
    """A finished run."""

    run_id: str
    config: dict[str, Any]
    metrics: dict[str, float | None]
    per_task: dict[str, list[float | None]]
    timing: dict[str, Any]
    provenance: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    diagnostics: dict[str, Any] = field(default_factory=dict)
    data: str | None = None  #: fingerprint of the data; None: unrecorded

    def as_json(self) -> dict[str, Any]:
        names = ("run_id", "config", "metrics", "per_task", "diagnostics", "timing", "provenance", "data")
        return {"format": FORMAT, **{name: getattr(self, name) for name in names}}


def make_result(
    run_id: str,
    config: dict[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    timing: dict[str, Any],
    packages: Mapping[str, str],
    diagnostics: dict[str, Any],
    data: str | None = None,
) -> Result:
    """Measures from the arrays; `packages` are versions beyond those that every file carries."""
    accuracy = arrays["accuracy"]
    origin = provenance()
    return Result(
        run_id=run_id,
        config=config,
        metrics=asdict(metrics(accuracy, arrays["start"])),
        per_task=after_each_task(accuracy),
        timing=timing,
        provenance={**origin, "packages": {**origin["packages"], **packages}},
        arrays=arrays,
        diagnostics=diagnostics,
        data=data,
    )


def write_result(folder: Path, result: Result) -> None:
    """The arrays first: whoever sees result.json finds all the rest."""
    buffer = io.BytesIO()
    named: dict[str, Any] = dict(result.arrays)
    np.savez_compressed(buffer, **named)
    write_atomically(folder / ARRAYS, buffer.getvalue())
    write_atomically(folder / RESULT, json.dumps(result.as_json(), indent=1) + "\n")


def read_result(folder: Path) -> Result:
    """A finished run from its folder (or its result.json)."""
    folder = folder.parent if folder.name == RESULT else folder
    path = folder / RESULT
    try:
        content = json.loads(path.read_text())
        with np.load(folder / ARRAYS, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        raise ColdError(f"no finished run in {folder}: {path.name} or {ARRAYS} is missing") from None
    except OSError as error:
        raise ColdError(f"cannot read {folder}: {error.strerror or error}") from None
    except Exception:
        raise ColdError(f"{folder} is damaged: {RESULT} or {ARRAYS} cannot be read; run it again") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ColdError(f"{path} is not in the format {FORMAT!r} that this version reads")
    names = ("run_id", "config", "metrics", "per_task", "timing", "provenance", "diagnostics")
    content["diagnostics"] = with_present_names(content["diagnostics"], OLD_DIAGNOSTICS)
    return Result(arrays=arrays, data=content.get("data"), **{name: content[name] for name in names})
