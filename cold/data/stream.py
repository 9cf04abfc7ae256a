"""The stream that a method is trained on, where it is not simply one task after the other.

`blur`     soft boundaries: a share of each task's training samples, drawn at random, is dealt to the other tasks in
           turn. The method still sees as many tasks, one after the other.
`windows`  no boundaries: the samples of all tasks in their order, shuffled within each task, are cut into windows of
           equal length, wherever that is. Windows are all that a method sees of the stream, in the order of the stream;
           with one window it sees no boundary at all. COLD keeps one queue per window: a window that has passed is to
           it what a past task is elsewhere.

Accuracies are always those on the tasks' own test samples. Both need one head for all tasks. What is drawn depends on
the seed and the name of the benchmark alone.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from coldtheory.ground.errors import ColdError
from coldtheory.ground.limits import demand_memory

from ..streams import stream
from .benchmark import Benchmark, Part, Task


def stream_of(benchmark: Benchmark, *, blur: float = 0.0, windows: int | None = None, seed: int = 0) -> Benchmark:
    """Return what a method sees of a benchmark: its tasks, perhaps with blurred boundaries, or windows instead."""
    if not blur and windows is None:
        return benchmark
    if len(benchmark.head_widths) > 1:
        raise ColdError(
            "a stream with blurred or hidden boundaries needs one head for all tasks; use --scenario class or domain"
        )
    parts = _in_one_pool([task.train for task in benchmark.tasks])
    if blur:
        if len(parts) == 1:
            raise ColdError("a benchmark of one task has no boundaries to blur; leave out --blur")
        parts = _blurred(parts, blur, seed, benchmark.name)
    if windows is None:
        return replace(
            benchmark, tasks=tuple(replace(task, train=part) for task, part in zip(benchmark.tasks, parts, strict=True))
        )
    total = sum(map(len, parts))
    if windows > total:
        raise ColdError(f"{windows} windows are more than the {total} training samples; use fewer")
    rows = [
        (part, stream(seed, benchmark.name, "stream order", t).permutation(len(part))) for t, part in enumerate(parts)
    ]
    index, y = (torch.cat([column(part)[torch.from_numpy(order)] for part, order in rows]) for column in (_index, _y))
    ends = [total * w // windows for w in range(windows + 1)]
    last = benchmark.tasks[-1]
    made = [
        Task(f"window {w + 1}", 0, Part(parts[0].pool, index[low:high], y[low:high]), last.test, None, last.classes)
        for w, (low, high) in enumerate(pairwise(ends))
    ]
    return replace(benchmark, tasks=tuple(made))


def tasks_ended(benchmark: Benchmark, windows: int | None) -> list[int]:
    """Return how many tasks have ended at the end of each window, or of each task without windows.

    >>> from cold.data import load_benchmark
    >>> tasks_ended(load_benchmark("synthetic", tasks=2), 3)
    [0, 1, 2]
    """
    if windows is None:
        return list(range(1, len(benchmark.tasks) + 1))
    ends = np.cumsum([len(task.train) for task in benchmark.tasks])
    return [int((ends <= int(ends[-1]) * w // windows).sum()) for w in range(1, windows + 1)]


def _index(part: Part) -> Tensor:
    return part.index


def _y(part: Part) -> Tensor:
    return part.y


def _in_one_pool(parts: list[Part]) -> list[Part]:
    """Return the same samples as rows of one pool; nothing is copied if the tasks already share one."""
    if all(part.pool is parts[0].pool and not part.moved for part in parts):
        return parts
    size = sum(len(part) * part.pool[:1].numel() * part.pool.element_size() for part in parts)
    demand_memory(size, "one pool for the samples of all tasks", "use a smaller --limit-train")
    pool = torch.cat([part.raw() for part in parts])
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    return [
        Part(pool, torch.arange(low, high), part.y) for part, (low, high) in zip(parts, pairwise(starts), strict=True)
    ]


def _blurred(parts: list[Part], share: float, seed: int, name: str) -> list[Part]:
    """Task t gives a share of its rows to the other tasks, one after the other in turn."""
    kept: list[list[tuple[Tensor, Tensor]]] = [[] for _ in parts]
    for t, part in enumerate(parts):
        order = torch.from_numpy(stream(seed, name, "blur", t).permutation(len(part)))
        given, stays = order[: round(share * len(part))], order[round(share * len(part)) :].sort().values
        kept[t].insert(0, (part.index[stays], part.y[stays]))
        others = [k for k in range(len(parts)) if k != t]
        for i, k in enumerate(others):
            rows = given[i :: len(others)]
            kept[k].append((part.index[rows], part.y[rows]))
    made = [Part(parts[0].pool, *(torch.cat(column) for column in zip(*pieces, strict=True))) for pieces in kept]
    for t, part in enumerate(made):
        if len(part) == 0:
            raise ColdError(f"--blur {share:g} leaves no training sample to task {t + 1}; use a smaller share")
    return made
