"""Tiny runs for the tests of the trainer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from cold.cli.app import app
from cold.config import RunConfig, make_config
from cold.runs import Result
from cold.trainer import Trainer

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


def killed_config() -> RunConfig:
    return tiny(epochs=40, method="cold-oracle")


def run_killed_config(out: Path, steps: Any) -> None:
    """What a process of the kill test does: go on, count steps, write a checkpoint as often as possible."""

    def count() -> bool:
        steps.value += 1
        return False

    Trainer(killed_config(), out=out, checkpoint_every=0.0, should_stop=count).run(resume=True)


def run_cold(words: list[str], stderr: Path) -> None:
    """The `cold` command in a process of its own."""
    with stderr.open("w") as file:
        sys.stderr = file
        app(words)
