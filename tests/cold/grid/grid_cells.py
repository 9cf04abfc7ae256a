"""Cells of a few hundredths of a second, and methods that misbehave, for the tests of the grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cold.config import RunConfig, make_config
from cold.runs import read_result

TINY: dict[str, Any] = {
    "dataset": "synthetic", "tasks": 2, "limit_train": 40, "limit_test": 20, "epochs": 1, "batch_size": 20,
    "memory": 20, "memory_batch": 2, "lr": 1e-2, "threads": 1, "data_options": {"classes": 4, "shape": [1, 8, 8]},
}  # fmt: skip


def cells(*seeds: int, **changes: Any) -> list[RunConfig]:
    return [make_config(TINY, changes, {"seed": seed}) for seed in seeds]


def rows(folders: Any) -> dict[str, Any]:
    """Everything of the results but time and place, by run id."""
    found = {}
    for folder in folders:
        result = read_result(Path(folder))
        config = {k: v for k, v in result.config.items() if k not in ("threads", "device", "eval_batch")}
        arrays = {name: array.tolist() for name, array in result.arrays.items()}
        found[result.run_id] = (config, result.metrics, result.per_task, result.diagnostics, arrays)
    return found


def troubled(order: Path, what: str | None, **changes: Any) -> RunConfig:
    """A cell that does what the file says when its second task begins."""
    if what is not None:
        order.write_text(what)
    method = str(Path(__file__).parent / "trouble.py")
    return make_config(TINY, {"method": method, "options": {"order": str(order)}}, changes)
