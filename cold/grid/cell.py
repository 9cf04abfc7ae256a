"""What a worker gets and what it gives back: plain data that any engine can send."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from coldtheory.ground.errors import ColdError

from ..catalogue import BENCHMARKS
from ..config import RunConfig

State = Literal["done", "reused", "failed", "busy"]


@dataclass(frozen=True)
class Cell:
    """One run to make."""

    config: RunConfig
    run_id: str
    out: Path
    data_root: Path | None = None
    threads: int | None = None  #: of torch and BLAS, unless the config says it
    gpu: float | None = None  #: the share of a GPU that the cell may take; None: no GPU is assigned
    weights: bool = True  #: keep the trained weights beside the result
    send_back: bool = False  #: the result's files come back with the outcome, for a driver on another disk

    @property
    def folder(self) -> Path:
        return self.out / self.run_id


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: finished now, finished before, failed, or at work in another program."""

    run_id: str
    state: State
    error: str = ""  #: one line
    traceback: str = ""
    lasting: bool = True  #: whether a failure is the cell's own, and not that of a full disk
    files: Mapping[str, bytes] = field(default_factory=dict)


def named(configs: Iterable[RunConfig]) -> dict[str, RunConfig]:
    """The configurations by run id, each once."""
    return {_identity(config).run_id: config for config in configs}


def _identity(config: RunConfig) -> RunConfig:
    """The configuration as the trainer stores it: with the number of tasks, and a folder by its name."""
    if config.dataset.startswith("folder:"):
        if config.tasks is None:
            raise ColdError(f"a grid on {config.dataset} needs the number of tasks; set tasks")
        source = Path(config.dataset.removeprefix("folder:")).expanduser()
        return replace(config, dataset=f"folder:{source.name}")
    if config.tasks is not None:
        return config
    entry = BENCHMARKS.get(config.dataset)
    if entry is not None and entry.data:
        return replace(config, tasks=entry.tasks)
    from ..data.load import load_benchmark  # noqa: PLC0415  (torch)

    return replace(config, tasks=len(load_benchmark(config.dataset, seed=config.seed, **config.data_options).tasks))
