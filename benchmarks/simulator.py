"""The simulator's speed, side by side: python benchmarks/simulator.py

1,000 runs of the paper's size (50 seeds x 20 V, T = 150, d = 25, 3 GD steps, previous reference, mean
weights) by four programs that compute the same arrays, one thread each, taking turns in rounds:

    batched     coldtheory.simulate, all runs at once
    per run     numpy, one run at a time, vectorised over the past tasks k
    C strict    plain loops, gcc -O3 -march=native
    C fast-math the same with -ffast-math

then the cost against T and d with fitted exponents, peak memory, and both cores. Ratios are the result:
milliseconds are those of the machine at hand.
"""

from __future__ import annotations

import argparse
import ctypes
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from coldtheory import make_tasks, simulate
from coldtheory.paper import TOY

ETA, DELTA, STEPS = TOY.eta, TOY.delta, TOY.steps
NAMES = ("grad_sq_before", "grad_sq_after", "Qbar", "Delta", "alpha", "lyapunov", "cross")
Result = dict[str, np.ndarray]


def batched(optima: np.ndarray, V: np.ndarray) -> Result:
    run = simulate(optima, V=V, eta=ETA, delta=DELTA, steps=STEPS)
    return {"w": run.w, **{name: getattr(run, name) for name in NAMES}} | {"lyapunov": run.lyapunov[..., 1:]}


def per_run(optima: np.ndarray, V: np.ndarray) -> Result:
    """The loop as one would write it from the paper, vectorised over k."""
    S, T, d = optima.shape
    out: Result = {"w": np.zeros((S, len(V), T + 1, d)), **{n: np.zeros((S, len(V), T)) for n in NAMES}}
    for s in range(S):
        a = optima[s]
        for p, v in enumerate(V):
            one = {name: array[s, p] for name, array in out.items()}
            x, Q = np.zeros(d), np.zeros(T)
            for t in range(T):
                past, n = a[:t], max(t, 1)
                q = Q[:t]
                beta = q / n
                before = 0.5 * ((x - past) ** 2).sum(axis=1)
                one["grad_sq_before"][t] = ((x - a[t]) ** 2).sum()
                y = x
                for _ in range(STEPS):
                    y = y - ETA * (v * (y - a[t]) + beta @ (y - past))
                x = y
                one["grad_sq_after"][t] = ((x - a[t]) ** 2).sum()
                d_k = 0.5 * ((x - past) ** 2).sum(axis=1) - before - DELTA
                one["Qbar"][t] = q.sum() / n
                one["alpha"][t] = v + beta.sum()
                one["Delta"][t] = (d_k**2).sum() / (2 * n)
                one["cross"][t] = q @ d_k
                Q[:t] = np.maximum(q + d_k, 0.0)
                one["lyapunov"][t] = (Q[:t] ** 2).sum() / (2 * n)
                one["w"][t + 1] = x
    return out


def compiled(*flags: str) -> Callable[[np.ndarray, np.ndarray], Result]:
    """The C loops as a Python function."""
    library = Path(tempfile.mkdtemp()) / "cold_runs.so"
    source = Path(__file__).with_name("cold_runs.c")
    gcc = ["gcc", "-O3", "-march=native", *flags, "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(gcc, check=True)
    call = ctypes.CDLL(str(library)).cold_runs
    double, pointer = ctypes.c_double, np.ctypeslib.ndpointer(dtype=np.float64, flags="C")
    long = ctypes.c_long
    call.argtypes = [long, long, long, long, pointer, pointer, double, double, long] + [pointer] * 6
    call.restype = None

    def run(optima: np.ndarray, V: np.ndarray) -> Result:
        S, T, d = optima.shape
        lead = (S, len(V))
        w, series = np.empty((*lead, T + 1, d)), np.empty((len(NAMES), *lead, T))
        scratch = [np.empty(size) for size in (d, d, d, T)]
        call(S * len(V), len(V), T, d, optima, V, ETA, DELTA, STEPS, *scratch, w, series)
        return {"w": w, **dict(zip(NAMES, series, strict=True))}

    return run


def cpu_seconds(function: Callable[..., Any], *args: Any) -> float:
    """Measured in CPU time, so that other programs on the machine count less."""
    start = time.process_time()
    function(*args)
    return time.process_time() - start


def largest_difference(left: Result, right: Result) -> float:
    return max(float(np.abs(left[n] - right[n]).max() / np.abs(right[n]).max()) for n in ("w", *NAMES))


def side_by_side(console: Console, seeds: int, rounds: int) -> None:
    optima = make_tasks("high", seeds=range(seeds)).phi.optima
    V = np.geomspace(10, 1000, 20)
    few = optima[: max(1, seeds // 25)]  # the slow program runs on a part; its time is per run
    programs = {"batched": (batched, optima), "per run": (per_run, few)}
    if shutil.which("gcc"):
        programs |= {"C strict": (compiled(), optima), "C fast-math": (compiled("-ffast-math"), optima)}
    else:
        console.print("[yellow]left out: the C loops (no gcc on this machine)[/]")
    reference = batched(optima, V)
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, (program, data) in programs.items():
            times[name].append(1e3 * cpu_seconds(program, data, V) / (len(data) * len(V)))
    table = Table(title=f"{seeds * len(V):,} runs, T = 150, d = 25, one thread (median of {rounds} rounds)")
    for column in ("program", "ms per run", "time / batched", "largest difference"):
        table.add_column(column, justify="left" if column == "program" else "right")
    ours = np.array(times["batched"])
    for name, (program, data) in programs.items():
        ratio = float(np.median(np.array(times[name]) / ours))
        same = {key: array[: len(data)] for key, array in reference.items()}
        gap = largest_difference(same, program(data, V))
        table.add_row(name, f"{np.median(times[name]):.3f}", f"{ratio:.2f}", f"{gap:.1e}")
    console.print(table)


def scaling(console: Console) -> None:
    table = Table(title="Cost of one run among 8 (one stream, 8 V)")
    for column in ("size", "ms per run", "local exponent"):
        table.add_column(column, justify="right")
    V = np.geomspace(10, 1000, 8)
    for axis, values in (("T", [150, 500, 1500, 5000, 10_000]), ("d", [10, 25, 100, 400])):
        last: tuple[int, float] | None = None
        costs = []
        for value in values:
            optima = make_tasks("high", seeds=0, **{axis: value}).phi.optima
            cost = 1e3 * cpu_seconds(lambda data=optima: simulate(data, V=V)) / len(V)
            slope = "" if last is None else f"{np.log(cost / last[1]) / np.log(value / last[0]):.2f}"
            table.add_row(f"{axis} = {value:,}", f"{cost:.2f}", slope)
            last = (value, cost)
            costs.append(cost)
        fitted = np.polyfit(np.log(values[-3:]), np.log(costs[-3:]), 1)[0]
        table.add_row(f"fit, last 3 {axis}", "", f"{fitted:.2f}", end_section=True)
    console.print(table)


def both_cores(console: Console, seeds: int) -> None:
    optima = make_tasks("high", seeds=range(seeds)).phi.optima
    V = np.geomspace(10, 1000, 20)
    halves = np.array_split(optima, 2)
    with Parallel(n_jobs=2) as pool:
        pool(delayed(len)(half) for half in halves)  # the workers start before the clock does
        start = time.perf_counter()
        for half in halves:
            _summary(half, V)
        alone = time.perf_counter() - start
        start = time.perf_counter()
        pool(delayed(_summary)(half, V) for half in halves)
        together = time.perf_counter() - start
    console.print(f"both cores: {alone / together:.2f} times as fast as one, summaries brought home included")


def _summary(optima: np.ndarray, V: np.ndarray) -> np.ndarray:
    run = simulate(optima, V=V)
    return np.stack([run.avg_grad_sq_before, run.avg_grad_sq_after, run.avg_Qbar])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="4 seeds, 1 round, no scaling: a smoke test")
    options = parser.parse_args()
    console = Console()
    if options.quick:
        side_by_side(console, 4, 1)
        return
    side_by_side(console, options.seeds, options.rounds)
    both_cores(console, 4 * options.seeds)
    scaling(console)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    console.print(f"peak memory of this process, T = 10,000 included: {peak:.0f} MiB")


if __name__ == "__main__":
    main()
