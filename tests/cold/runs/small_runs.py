"""Finished runs that no training made, small and quick to write, as the trainer writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from cold.config import RunConfig, make_config
from cold.runs import ARRAYS, ROWS, Result, find_runs, make_result, write_result
from cold.runs.loose import npz_bytes


def config(**changes: Any) -> RunConfig:
    return make_config({"dataset": "pmnist", "tasks": 3, "epochs": 1}, changes)


def finished(data: str | None = None, *, steps: bool = True, **changes: Any) -> Result:
    """A run whose numbers depend on its settings."""
    chosen = config(**changes)
    rng = np.random.default_rng([chosen.seed, int(chosen.V)])
    arrays: dict[str, Any] = {"accuracy": rng.random((3, 3)), "start": rng.random(3), "queues": rng.random((4, 3))}
    arrays["compared_with"] = np.tril(np.ones((3, 3), dtype=np.int64)) - 1
    if steps:
        arrays |= {"queue_steps": rng.random((50, 3)), "queue_steps_at": np.arange(50)}
    timing = {"train_seconds": 1.5, "eval_seconds": 0.5, "steps": 30}
    return make_result(chosen.run_id, chosen.as_dict(), arrays, timing, {"torch": "none"}, {"Delta_bar": 0.25}, data)


def store(out: Path, *seeds: int, data: str | None = None, **changes: Any) -> list[str]:
    """Runs in folders of their own; their ids."""
    results = [finished(data, seed=seed, **changes) for seed in seeds]
    for result in results:
        write_result(out / result.run_id, result)
    return [result.run_id for result in results]


def content(result: Result) -> dict[str, Any]:
    """Everything that is stored of a run, to be compared."""
    arrays = {name: (array.dtype.str, array.tolist()) for name, array in result.arrays.items()}
    return {**result.as_json(), "arrays": arrays}


def as_earlier(folder: Path, number: int) -> None:
    """Write the packed runs of a folder again, as an earlier format (cold-rows/1 or cold-rows/2) has them."""
    runs = find_runs(folder)
    lines: list[dict[str, Any]] = []
    members: dict[str, Any] = {}
    for position, (run_id, run) in enumerate(runs.items()):
        places = {name: (f"{name}/0", position) for name in run.arrays}
        told = places if number == 2 else list(places)
        lines.append({**run.as_json(), "format": f"cold-rows/{number}", "arrays": told, "dropped": run.dropped})
        members |= {f"{run_id}/{name}": array for name, array in run.arrays.items()}
    if number == 2:
        first = next(iter(runs.values()))
        members = {f"{name}/0": np.stack([run.arrays[name] for run in runs.values()]) for name in first.arrays}
    (folder / ARRAYS).write_bytes(npz_bytes(members))
    (folder / ROWS).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
