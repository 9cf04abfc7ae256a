"""Benchmarks: tasks of images that stay bytes in memory until they are on the device."""

from .augment import Transform
from .benchmark import Benchmark, Part, Task
from .load import load_benchmark
from .own import from_tensors

__all__ = ["Benchmark", "Part", "Task", "Transform", "from_tensors", "load_benchmark"]
