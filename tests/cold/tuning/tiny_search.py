"""A search of a few seconds on synthetic images, for the tests of tuning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cold.grid import Engine
from cold.tuning.search import Search, Tuned, prepare, tune

TINY: dict[str, Any] = {
    "dataset": "synthetic", "method": "er", "tasks": 4, "limit_train": 40, "limit_test": 20, "epochs": 1,
    "batch_size": 20, "memory": 20, "memory_batch": 2, "data_options": {"classes": 8, "shape": [1, 8, 8]},
}  # fmt: skip
#: The same on the command line.
WORDS = (
    "--dataset", "synthetic", "--tasks", "4", "--limit-train", "40", "--epochs", "1", "--batch-size", "20",
    "--memory", "20", "--memory-batch", "2", "--data-option", "classes=8", "--data-option", "shape=[1,8,8]",
)  # fmt: skip
SERIAL = Engine("serial")


def tiny(budget: int = 3, ranges: Any = None, **changes: Any) -> Search:
    return prepare({**TINY, **changes}, budget, ranges)


def done(search: Search, out: Path, **more: Any) -> Tuned:
    return tune(search, out, **{"engine": SERIAL, **more})


def story(tuned: Tuned) -> Any:
    """All that is known of the trials."""
    return [(one.number, dict(one.values), dict(one.accuracies), one.state) for one in tuned.trials]
