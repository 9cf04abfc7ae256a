"""What a store of many cells costs: to list it, to add a cell, to resume a sweep; many writers; many finished runs.

    git worktree add ../before 2872e66              # the version that wrote one JSON file anew at every save
    python benchmarks/store.py --before ../before   # 100 to 100,000 cells, 100 writers, 5,000 runs: some minutes
    python benchmarks/store.py --cells 100 1000 --writers 0 --runs 0

"after" is this version, "before" the one of the given folder, in a Python of its own. Each measurement is made in a
process of its own, forked when everything is imported: seconds of CPU, the median of several, and the growth of the
process's memory. Exponents p of cost ~ cells^p are fitted through all sizes.

list      what `coldtheory results ls` asks of a file
add       open the file, look for one cell, add it, close
resume    open the file with all cells of the sweep and find those that are missing: what comes before the first job
rows      the same with all rows in memory at the end, as `run_cells` returns them
writers   processes that all open one file at once and add a cell each; what is counted is the cells that are stored

Each command on finished runs is a process of its own, with the start of Python and all imports.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
SEEDS = 100
LIMITS = {"list": 1.1, "add": 0.1}  # of the exponents
SECONDS = {"list": 0.5, "add": 0.5, "resume": 0.5}  # with the most cells
RUN_SECONDS = 3.0  # of a command on finished runs
Found = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a folder with an earlier version, to compare with")
    parser.add_argument("--cells", type=int, nargs="+", default=[100, 1000, 10_000, 100_000])
    parser.add_argument("--writers", type=int, default=100, help="0: none")
    parser.add_argument("--runs", type=int, default=5000, help="finished runs, loose and packed; 0: none")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path, help="also write the numbers to this file, as JSON")
    parser.add_argument("--only-cells-of", type=Path, help=argparse.SUPPRESS)  # how one side is measured
    options = parser.parse_args()
    if options.only_cells_of is not None:
        sys.path.insert(0, str(options.only_cells_of.resolve()))
        print(json.dumps(of_cells(sorted(options.cells), options.writers, options.repeat)))
        return
    record: Found = {"cores": os.cpu_count(), "cells": sorted(options.cells), "writers": options.writers}
    for side, folder in (("before", options.before), ("after", ROOT)):
        if folder is not None:
            record[side] = in_another_process(folder, options)
    print_cells(record)
    if options.runs:
        sys.path.insert(0, str(ROOT))
        record["runs"] = of_runs(options.runs, options.before)
    if options.out is not None:
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def in_another_process(folder: Path, options: argparse.Namespace) -> Found:
    words = ["--cells", *options.cells, "--writers", options.writers, "--repeat", options.repeat]
    command = [sys.executable, __file__, "--only-cells-of", folder, *words]
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True)
    found: Found = json.loads(done.stdout)
    return found


# ------------------------------------------------------------------------------------------------ cells of one version


def of_cells(sizes: Sequence[int], writers: int, repeat: int) -> Found:
    """Measures the version that is first on the path; the functions that are called here have the same names in
    both."""
    try:
        from coldtheory.ground.provenance import provenance  # noqa: PLC0415
    except ModuleNotFoundError:
        from coldtheory.provenance import provenance  # type: ignore[import-not-found,no-redef]  # noqa: PLC0415
    found: Found = {"provenance": provenance(), "seconds": {}, "megabytes": {}}
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            for name, work in works(Path(folder) / str(size), size).items():
                costs = [cost(work) for _ in range(repeat)]
                found["seconds"].setdefault(name, []).append(median(seconds for seconds, _ in costs))
                found["megabytes"].setdefault(name, []).append(median(megabytes for _, megabytes in costs))
        if writers:
            found["stored"], found["left"] = of_writers(Path(folder) / "writers", writers)
    return found


def works(folder: Path, size: int) -> dict[str, Callable[[], object]]:
    """Makes a file of that many cells, all with the measured values of one run; returns what is done with it."""
    from coldtheory.cli.results import _entry  # noqa: PLC0415
    from coldtheory.sources import Source  # noqa: PLC0415
    from coldtheory.store import RowFile, row_files  # noqa: PLC0415
    from coldtheory.sweep import grid, run_cells  # noqa: PLC0415

    source = Source("high", {"T": 20, "d": 4})
    (row,) = run_cells(grid(source, "V", [5.0], 1), folder / "one", engine="serial")
    cells = grid(source, "V", [float(v) for v in range(1, size // SEEDS + 1)], SEEDS)
    (path,) = row_files(folder / "one")
    path = folder / path.name
    with RowFile(path, source.config) as file:
        file.add([{**row, "key": cell.key, "V": cell.numbers.V, "seed": cell.seed} for cell in cells])

    def add(number: int) -> None:
        with RowFile(path, source.config) as file:
            key = f"new {number}"
            assert not (file.having([key]) if hasattr(file, "having") else key in file)
            file.add([{**row, "key": key}])

    def resume() -> None:
        class Begins(Exception):
            pass

        def begins(done: int, total: int) -> None:
            assert done == total
            raise Begins

        with suppress(Begins):
            run_cells(cells, folder, engine="serial", progress=begins)

    return {
        "list": lambda: _entry(path),
        "add": lambda: add(os.getpid()),  # a process of its own, thus another cell each time
        "resume": resume,
        "rows": lambda: run_cells(cells, folder, engine="serial"),
    }


def cost(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of CPU and megabytes of memory beyond the start, in a forked process."""
    here, there = multiprocessing.Pipe(duplex=False)

    def measured() -> None:
        memory, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        work()
        seconds = time.process_time() - start
        there.send((seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024))

    process = multiprocessing.get_context("fork").Process(target=measured)
    process.start()
    there.close()
    found: tuple[float, float] = here.recv()
    process.join()
    return found


def of_writers(folder: Path, count: int) -> tuple[int, list[str]]:
    """How many cells are stored when that many processes add one each at the same time, and the files that are left
    behind."""
    from coldtheory.sources import Source  # noqa: PLC0415
    from coldtheory.store import RowFile, read_rows, row_files  # noqa: PLC0415
    from coldtheory.sweep import grid, run_cells  # noqa: PLC0415

    source = Source("high", {"T": 20, "d": 4})
    (row,) = run_cells(grid(source, "V", [5.0], 1), folder, engine="serial")
    (path,) = row_files(folder)
    context = multiprocessing.get_context("fork")
    together = context.Barrier(count)

    def write(number: int) -> None:
        together.wait()
        with suppress(ValueError), RowFile(path, source.config) as file:  # an earlier version refuses all but one
            file.add([{**row, "key": f"writer {number}"}])

    processes = [context.Process(target=write, args=(number,)) for number in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    stored = {row["key"] for row in read_rows(path)["rows"]}
    return len(stored) - 1, sorted(set(os.listdir(folder)) - {path.name})


# ------------------------------------------------------------------------------------------------ what is printed


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    import numpy as np  # noqa: PLC0415

    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def print_cells(record: Found) -> None:
    sizes, sides = record["cells"], [side for side in ("before", "after") if side in record]
    titles = {"seconds": f"CPU seconds on {record['cores']} cores", "megabytes": "memory beyond the start, MB"}
    for kind, title in titles.items():
        heads = " ".join(f"{f'{size:,} cells':>14}" for size in sizes)
        print(f"{title}\n{'':>8} {'':>7} {heads} {'exponent' if kind == 'seconds' else '':>9}")
        for name in record["after"][kind]:
            for side in sides:
                values = record[side][kind][name]
                line = f"{name:>8} {side:>7} " + " ".join(f"{value:>14.4f}" for value in values)
                if kind == "seconds" and len(sizes) > 1:
                    fitted = exponent(sizes, values)
                    record[side].setdefault("exponents", {})[name] = fitted
                    line += f" {fitted:>9.2f}"
                print(line)
        print()
    after = record["after"]
    for name, limit in LIMITS.items() if len(sizes) > 1 else ():
        fitted = after["exponents"][name]
        print(f"{name}: exponent {fitted:.2f}, at most {limit}: {'yes' if fitted <= limit else 'NO'}")
    for name, limit in SECONDS.items():
        last = after["seconds"][name][-1]
        print(f"{name} with {sizes[-1]:,} cells: {last:.3f} s, at most {limit} s: {'yes' if last <= limit else 'NO'}")
    for side in sides if record["writers"] else ():
        one = record[side]
        left = ", ".join(one["left"]) or "nothing"
        print(f"{record['writers']} writers at once, {side}: {one['stored']} cells are stored; left behind: {left}")


# ------------------------------------------------------------------------------------------------ runs


def of_runs(count: int, before: Path | None) -> Found:
    """Two folders with that many made-up runs of seven methods each: one folder per run, and packed.

    An earlier version knows the first kind.
    """
    from cold.runs import write_result  # noqa: PLC0415
    from cold.runs.packed import write_rows  # noqa: PLC0415

    print(f"\n{count:,} runs, CPU seconds of a process, at most {RUN_SECONDS:g} s")
    found: Found = {"count": count}
    with tempfile.TemporaryDirectory() as name:
        loose, packed = Path(name) / "loose", Path(name) / "packed"
        (packed / "runs").mkdir(parents=True)
        results = [made_up(number) for number in range(count)]
        real, os.fsync = os.fsync, lambda _: None  # only while the runs are made
        write_rows(packed / "runs", results)
        for result in results:
            write_result(loose / "runs" / result.run_id, result)
        os.fsync = real
        for side, package, folder in (("before", before, loose), ("after", ROOT, loose), ("after", ROOT, packed)):
            for words in (
                ["cold", "compare", f"{folder / 'runs'}"],
                ["cold", "table", "pmnist", "--runs", f"{folder / 'runs'}"],
                ["cold", "study", "status", "--out", f"{folder / 'runs'}"],
                ["coldtheory", "figures", "--out", f"{folder}"],
            ):
                if package is None:
                    continue
                seconds = median(cpu_of(words, package) for _ in range(3))
                command = " ".join(words[: 3 if words[1] == "study" else 2])
                found.setdefault(f"{side}, {folder.name}", {})[command] = seconds
                verdict = "" if side == "before" else "yes" if seconds <= RUN_SECONDS else "NO"
                print(f"{side:>7} {folder.name:>7} {command:<20} {seconds:>6.2f} {verdict}", flush=True)
    return found


def made_up(number: int) -> Any:
    import numpy as np  # noqa: PLC0415

    from cold.config import make_config  # noqa: PLC0415
    from cold.runs import identified, make_result  # noqa: PLC0415

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


def cpu_of(words: Sequence[str], package: Path) -> float:
    program = f"import sys; sys.path.insert(0, {str(package.resolve())!r}); from {words[0]}.cli import main; main()"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program, *words[1:]], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
