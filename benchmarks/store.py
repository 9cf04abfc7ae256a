"""What a store of many cells costs: the list of it, one cell more, and going on with a sweep; and many finished runs.

    python benchmarks/store.py                      # 100, 1,000, 10,000 and 100,000 cells; 5,000 runs; some minutes
    python benchmarks/store.py --cells 100 1000 --runs 0

"before" is how rows were stored at first: one JSON file per source of tasks, written anew at every save. It is kept
here, in `JsonRows`, for this comparison. "after" is `coldtheory.store`. All times are seconds of CPU of one process,
the median of several; exponents p of cost ~ cells^p are fitted through all sizes. Peak memory is what Python holds at
most beyond what it held before (`tracemalloc`), measured in a run of its own.

list      what `coldtheory results ls` asks of a file
add       open the file, look for one cell, add it, close
resume    open the file with all cells of the sweep and find those that are missing: what comes before the first job
rows      the same with all rows in memory at the end, as `run_cells` returns them

Each command on finished runs is a process of its own, with the start of Python and all imports.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from cold.config import make_config
from cold.runs import identified, make_result, write_result
from cold.runs.packed import write_rows
from coldtheory.ground.files import write_atomically
from coldtheory.ground.provenance import provenance
from coldtheory.sources import Source
from coldtheory.store import Row, RowFile, StoredRows
from coldtheory.sweep import SweepCell, cell_keys, grid, run_cells

SOURCE = Source("high", {"T": 20, "d": 4})
SEEDS = 100
LIMITS = {"list": 1.1, "add": 0.1}  # of the exponents
SECONDS = {"list": 0.5, "add": 0.5, "resume": 0.5}  # with the most cells


class JsonRows:
    """One JSON file, read whole and written whole."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_suffix(".json")
        self.content: dict[str, Any] = {"rows": []}
        if self.path.exists():
            self.content = json.loads(self.path.read_text())
        self.rows = {row["key"]: row for row in self.content["rows"]}

    def save(self) -> None:
        content = {**self.content, "provenance": [provenance()], "rows": list(self.rows.values())}
        write_atomically(self.path, json.dumps(content, separators=(",", ":")) + "\n")

    def summary(self) -> tuple[int, int, float, float]:
        V = [row["V"] for row in self.rows.values()]
        return len(self.rows), len({row["seed"] for row in self.rows.values()}), min(V), max(V)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[100, 1000, 10_000, 100_000])
    parser.add_argument("--runs", type=int, default=5000, help="finished runs, loose and packed; 0: none")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        of_cells(sorted(options.cells), options.repeat, Path(folder))
        if options.runs:
            of_runs(options.runs, Path(folder) / "runs")


# ------------------------------------------------------------------------------------------------ cells


def of_cells(sizes: Sequence[int], repeat: int, folder: Path) -> None:
    (row,) = run_cells(grid(SOURCE, "V", [5.0], 1), folder / "one", engine="serial")
    found: dict[tuple[str, str], list[float]] = {}
    memory: dict[tuple[str, str], list[float]] = {}
    for size in sizes:
        place = folder / str(size)
        cells = grid(SOURCE, "V", [float(v) for v in range(1, size // SEEDS + 1)], SEEDS)
        fill(place, cells, row)
        for side, works in (("before", old_works(place, cells, row)), ("after", new_works(place, cells, row))):
            for name, work in works.items():
                times = [cpu_seconds(work) for _ in range(repeat if size < 10_000 or side == "after" else 1)]
                found.setdefault((side, name), []).append(median(times))
                memory.setdefault((side, name), []).append(peak(work))
    print(f"CPU seconds on {os.cpu_count()} cores")
    print_table(sizes, found, lambda value: f"{value:.4f}", exponents=True)
    print("\npeak memory beyond the start, MB")
    print_table(sizes, memory, lambda value: f"{value:.2f}", exponents=True)
    verdicts(sizes, found)


def fill(place: Path, cells: Sequence[SweepCell], row: Row) -> None:
    """The same cells on both sides, with the measured values of one of them."""
    rows = [
        {**row, "key": key, "V": cell.numbers.V, "seed": cell.seed}
        for key, cell in zip(cell_keys(cells), cells, strict=True)
    ]
    with RowFile(place / f"{SOURCE.stem}.sqlite", SOURCE.config) as file:
        file.add(rows)
    old = JsonRows(place / "old" / "rows.json")
    old.rows = {one["key"]: one for one in rows}
    old.save()


def new_works(place: Path, cells: Sequence[SweepCell], row: Row) -> dict[str, Callable[[], object]]:
    path, fresh = place / f"{SOURCE.stem}.sqlite", iter(range(10**9))

    def list_it() -> None:
        with StoredRows(path) as stored:
            stored.summary()

    def add() -> None:
        with RowFile(path, SOURCE.config) as file:
            key = f"new {next(fresh)}"
            assert not file.having([key])
            file.add([{**row, "key": key}])

    def resume() -> None:
        class Begins(Exception):
            pass

        def begins(done: int, total: int) -> None:
            assert done == total
            raise Begins

        try:
            run_cells(cells, place, engine="serial", progress=begins)
        except Begins:
            return

    return {"list": list_it, "add": add, "resume": resume, "rows": lambda: run_cells(cells, place, engine="serial")}


def old_works(place: Path, cells: Sequence[SweepCell], row: Row) -> dict[str, Callable[[], object]]:
    path, fresh = place / "old" / "rows.json", iter(range(10**9))

    def add() -> None:
        file, key = JsonRows(path), f"new {next(fresh)}"
        assert key not in file.rows
        file.rows[key] = {**row, "key": key}
        file.save()

    def resume() -> list[Row]:
        file = JsonRows(path)
        keys = [cell.key for cell in cells]
        assert not [key for key in keys if key not in file.rows]
        return [file.rows[key] for key in keys]

    return {"list": lambda: JsonRows(path).summary(), "add": add, "resume": resume, "rows": resume}


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def peak(work: Callable[[], object]) -> float:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def print_table(
    sizes: Sequence[int], found: dict[tuple[str, str], list[float]], show: Callable[[float], str], *, exponents: bool
) -> None:
    print(f"{'':>8} {'':>7} " + " ".join(f"{f'{size:,} cells':>14}" for size in sizes) + f" {'exponent':>9}")
    order = [*SECONDS, "rows"]
    for (side, name), values in sorted(found.items(), key=lambda item: order.index(item[0][1])):
        fitted = f"{exponent(sizes, values):>9.2f}" if exponents and len(sizes) > 1 else ""
        print(f"{name:>8} {side:>7} " + " ".join(f"{show(value):>14}" for value in values) + f" {fitted}")


def verdicts(sizes: Sequence[int], found: dict[tuple[str, str], list[float]]) -> None:
    print()
    for name, limit in LIMITS.items():
        fitted = exponent(sizes, found["after", name])
        print(f"{name}: exponent {fitted:.2f}, at most {limit}: {'yes' if fitted <= limit else 'NO'}")
    for name, limit in SECONDS.items():
        last = found["after", name][-1]
        print(f"{name} with {sizes[-1]:,} cells: {last:.3f} s, at most {limit} s: {'yes' if last <= limit else 'NO'}")


# ------------------------------------------------------------------------------------------------ runs


def of_runs(count: int, folder: Path) -> None:
    """Two folders with as many made-up runs each, of seven methods, in folders of their own and packed."""
    print(f"\n{count:,} runs, CPU seconds of a process, at most 3 s")
    os.fsync = lambda _: None  # type: ignore[assignment]  # only while the runs are made
    for kind in ("loose", "packed"):
        results = [made_up(number) for number in range(count)]
        (folder / kind / "runs").mkdir(parents=True)
        if kind == "packed":
            write_rows(folder / kind / "runs", results)
        for result in results if kind == "loose" else ():
            write_result(folder / kind / "runs" / result.run_id, result)
        for words in (
            ["cold", "compare", f"{folder / kind / 'runs'}"],
            ["cold", "table", "pmnist", "--runs", f"{folder / kind / 'runs'}"],
            ["cold", "study", "status", "--out", f"{folder / kind / 'runs'}"],
            ["coldtheory", "figures", "--out", f"{folder / kind}"],
        ):
            seconds = cpu_of(words)
            print(f"{kind:>8} {' '.join(words[:2]):<20} {seconds:>6.2f} {'yes' if seconds <= 3 else 'NO'}")


def made_up(number: int) -> Any:
    methods = ("finetune", "er", "agem", "der", "derpp", "ewc", "cold")
    config = identified(
        make_config({"dataset": "pmnist", "method": methods[number % 7], "seed": number // 7, "memory": 5000})
    )
    rng = np.random.default_rng(number)
    arrays = {"accuracy": np.tril(rng.uniform(0.5, 1.0, (10, 10))), "start": rng.uniform(0, 0.2, 10)}
    if methods[number % 7] == "cold":
        arrays |= {"queues": rng.uniform(0, 1, (11, 10))}
    timing = {"train_seconds": 1.0, "eval_seconds": 0.1, "cpu_seconds": 1.1}
    return make_result(config.run_id, config.as_dict(), arrays, timing, {}, {}, data="0123456789abcdef")


def cpu_of(words: Sequence[str]) -> float:
    program = f"from {words[0]}.cli import main; main()"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program, *words[1:]], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
