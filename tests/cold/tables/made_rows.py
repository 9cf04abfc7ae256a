"""Rows for tests of tables: folders as `cold run` leaves them, with numbers that a test chooses."""

from __future__ import annotations

import json

import numpy as np

from cold.runs import ARRAYS, FORMAT, RESULT
from cold.tables.comparison import choose
from cold.tables.stored import RunsOnHand
from cold.tables.wanted import final_runs

TINY = """
seeds = [0, 1, 2]

[tuning]
lr = [1e-3, 1e-2]
seed = 100
settings = { validation = 0.2, evaluate_on = "validation" }

[method.finetune]
title = "Fine-tune"
unpublished = true
[method.er]
title = "ER"
parameter = { option = "replay_weight", default = 1, others = [3] }
[method.cold]
title = "COLD"
equal = { delta = 0 }
parameter = { setting = "V", factors = [0.5, 4] }
[method.joint]
title = "Joint"
tuned = false
forgets = false
bound = true

[variant.er-plain]
method = "er"
label = "ER, plain_1"
plain = true
[variant.er-short]
method = "er"
label = "ER short"
reduced = "one seed"
seeds = [0]

[benchmark.tiny]
title = "A tiny stream"
out = "final"
tuning_out = "select"
equal = ["finetune", "er-plain", "er", "er-short", "cold", "joint"]
contrasts = [["cold", "er"]]
[benchmark.tiny.base]
dataset = "synthetic"
tasks = 2
limit_train = 60
limit_test = 20
epochs = 1
lr = 1e-3
batch_size = 20
memory = 20
memory_batch = 2
threads = 1
data_options = { classes = 4, shape = [1, 8, 8] }
"""


def write_row(cell, root, acc, forgetting=0.1, **more):
    """The run of a cell, below `root` in the folder that the cell names."""
    folder = root / cell.out / cell.run_id
    folder.mkdir(parents=True)
    content = {
        "format": FORMAT, "run_id": cell.run_id, "config": cell.config.as_dict(),
        "metrics": {"acc": acc, "forgetting": forgetting}, "per_task": {}, "diagnostics": {}, "timing": {},
        "provenance": {"commit": "c0ffee" * 6}, **more,
    }  # fmt: skip
    (folder / RESULT).write_text(json.dumps(content))
    np.savez(folder / ARRAYS, accuracy=np.full((2, 2), acc / 100))
    return folder


def row_of(terms, key):
    return next(row for row in terms.rows if row.key == key)


def tune(terms, key, root, *accuracies):
    """Tuning runs in the order in which they are asked for."""
    row, given = row_of(terms, key), list(accuracies)
    while given:
        missing = choose(terms, row, RunsOnHand([root])).missing
        for cell in missing[: len(given)]:
            write_row(cell, root, given.pop(0))
    return choose(terms, row, RunsOnHand([root]))


def finish(terms, key, root, chosen, accuracies, forgetting=(0.1, 0.1, 0.1)):
    for cell, acc, drop in zip(final_runs(terms, row_of(terms, key), chosen), accuracies, forgetting, strict=True):
        write_row(cell, root, acc, drop)
