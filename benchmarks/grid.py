"""A grid of short runs on one worker process and on two: how much sooner it ends.

    python benchmarks/grid.py                       # 200 cells of two to three seconds each, loky
    python benchmarks/grid.py --cells 20 --engine dask

A cell is a real training run on synthetic images with one thread, results, checkpoints and all. The workers have
started and imported torch before the clock runs: in a grid that takes hours these seconds do not matter, with 200 short
cells they would. Both sides run the same cells, in turns of a tenth of them, so that other load on the machine hits
both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from cold.config import RunConfig, make_config
from cold.grid import Engine, fill
from coldtheory.ground.provenance import provenance

CELL: dict[str, Any] = {
    "dataset": "synthetic", "method": "cold", "tasks": 5, "model": "mlp-256-256", "batch_size": 10, "memory": 200,
    "memory_batch": 2, "threads": 1, "epochs": 3, "data_options": {"train_per_class": 200, "shape": [1, 28, 28]},
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--engine", choices=("loky", "dask"), default="loky")
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=CELL["epochs"], help="more of them make longer cells")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    each = max(2, options.cells // options.turns)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.turns):
            for jobs in (1, 2) if turn % 2 == 0 else (2, 1):
                seeds = range(turn * each, (turn + 1) * each)
                seconds[jobs].append(
                    timed(cells(seeds, options.epochs), Path(folder) / str(jobs), options.engine, jobs)
                )
    ratios = [one / two for one, two in zip(seconds[1], seconds[2], strict=True)]
    total = {jobs: sum(values) for jobs, values in seconds.items()}
    found = {
        "cells": each * options.turns, "engine": options.engine, "cores": os.cpu_count(),
        "seconds_a_cell": total[1] / (each * options.turns), "one_worker": total[1], "two_workers": total[2],
        "ratio": total[1] / total[2], "median_ratio": median(ratios), "provenance": provenance(),
    }  # fmt: skip
    if options.json:
        print(json.dumps(found))
    else:
        print(f"{found['cells']} cells of {found['seconds_a_cell']:.2f} s on {options.engine}, {found['cores']} cores")
        print(f"1 worker {total[1]:.1f} s, 2 workers {total[2]:.1f} s: ratio {found['ratio']:.2f}, ", end="")
        print(f"median over {options.turns} turns {found['median_ratio']:.2f}")


def cells(seeds: range, epochs: int) -> list[RunConfig]:
    return [make_config(CELL, {"seed": seed, "epochs": epochs}) for seed in seeds]


def timed(configs: list[RunConfig], out: Path, engine: str, jobs: int) -> float:
    """Seconds from the end of each worker's first cell, a small one, to the end of the last cell."""
    warm = [
        make_config(CELL, {"seed": 10**6 + configs[0].seed * 10 + k, "epochs": 1, "limit_train": 10})
        for k in range(jobs)
    ]
    ended: list[float] = []
    report = fill(
        [*warm, *configs],
        out,
        engine=Engine(engine, jobs=jobs, threads=1),
        on_event=lambda _: ended.append(time.perf_counter()),
    )
    assert report.complete, report.failed
    return ended[-1] - ended[jobs - 1]


if __name__ == "__main__":
    main()
