"""Tiny runs for the tests of the trainer."""

from __future__ import annotations

from typing import Any

import numpy as np

from cold.config import RunConfig, make_config
from cold.results import Result

TINY: dict[str, Any] = {
    "dataset": "synthetic", "tasks": 3, "limit_train": 60, "limit_test": 40, "epochs": 2, "batch_size": 20,
    "memory": 30, "memory_batch": 2, "lr": 1e-2, "threads": 1, "data_options": {"classes": 6, "shape": [1, 8, 8]},
}  # fmt: skip


def tiny(**changes: Any) -> RunConfig:
    return make_config(TINY, changes)


def same_results(left: Result, right: Result) -> None:
    """Everything but time and place."""
    assert left.metrics == right.metrics
    assert left.per_task == right.per_task
    assert left.arrays.keys() == right.arrays.keys()
    for name in left.arrays:
        assert np.array_equal(left.arrays[name], right.arrays[name]), name
