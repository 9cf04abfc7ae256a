"""Benchmarks: tasks of images that stay bytes in memory until they are on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldtheory.ground.lazy import load_when_asked

if TYPE_CHECKING:
    from .augment import Transform
    from .benchmark import Benchmark, Part, Task
    from .load import load_benchmark
    from .own import from_tensors
else:  # what is in the data folder is listed without torch
    __getattr__ = load_when_asked(
        __name__,
        {
            "augment": ("Transform",),
            "benchmark": ("Benchmark", "Part", "Task"),
            "load": ("load_benchmark",),
            "own": ("from_tensors",),
        },
    )

__all__ = ["Benchmark", "Part", "Task", "Transform", "from_tensors", "load_benchmark"]
