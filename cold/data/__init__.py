"""Benchmarks: tasks of images that stay bytes in memory until they are on the device."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .augment import Transform
    from .benchmark import Benchmark, Part, Task
    from .load import load_benchmark
    from .own import from_tensors

__all__ = ["Benchmark", "Part", "Task", "Transform", "from_tensors", "load_benchmark"]

_HOME = {
    "Benchmark": "benchmark", "Part": "benchmark", "Task": "benchmark", "Transform": "augment", "from_tensors": "own",
    "load_benchmark": "load",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Loaded when asked for: what is in the data folder is listed without torch."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
