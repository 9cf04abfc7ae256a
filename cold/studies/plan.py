"""Which runs of a study are on disk, and what the rest will cost in time and memory, before anything runs.

Time on this machine comes from steps that are made and timed, on noise of the right shape; GPU hours come from a
stated throughput.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from ..catalogue import benchmark, usual_scenario
from ..config import RunConfig
from ..grid import failures
from ..runs import by_run_id, find_runs, identified
from .passes import memory_samples, shape, size_of_pass, sizes, work
from .spec import Study, planned

THROUGHPUT = 5000.0  #: samples per second through ResNet-18, forward and backward: an assumption, not a measurement
_STEPS = 6
_TESTS = 64


@dataclass(frozen=True)
class Standing:
    """Runs of a study: finished (with the paths that name them), failed (with the error), and not there."""

    study: str
    profile: str
    finished: dict[str, Path]
    failed: dict[str, str]
    missing: tuple[str, ...]

    @property
    def runs(self) -> int:
        """The number of all runs."""
        return len(self.finished) + len(self.failed) + len(self.missing)

    def as_dict(self) -> dict[str, Any]:
        """The standing as plain values."""
        return {
            "study": self.study, "profile": self.profile, "runs": self.runs, "failed": self.failed,
            "finished": {run_id: str(folder) for run_id, folder in self.finished.items()},
            "missing": list(self.missing),
        }  # fmt: skip


def standings(chosen: Sequence[Study], profile: str, roots: Sequence[Path]) -> list[Standing]:
    """Of each study; the roots are looked through once."""
    stored = find_runs(*roots)
    broken = {run_id: why for root in roots for run_id, why in failures(root).items()}
    found = []
    for study in chosen:
        wanted = by_run_id(run.config for run in planned(study, profile))
        there = {run_id: stored.of(identified(config)) for run_id, config in wanted.items()}
        finished = {run_id: run.folder or Path(run_id) for run_id, run in there.items() if run is not None}
        failed = {run_id: broken[run_id] for run_id in wanted if run_id in broken and run_id not in finished}
        missing = tuple(run_id for run_id in wanted if run_id not in finished and run_id not in failed)
        found.append(Standing(study.id, profile, finished, failed, missing))
    return found


@dataclass(frozen=True)
class Estimate:
    """Of one study. Runs that an earlier study of the plan has, or that are finished, are not new."""

    study: str
    runs: int
    new: int
    passes: float  #: of training samples, those of memory and evaluation included, of the new runs
    core_hours: float | None = None  #: from measured steps
    gpu_hours: float | None = None  #: from a stated throughput
    memory_bytes: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The estimate as plain values."""
        return asdict(self)


def estimates(
    chosen: Sequence[Study], profile: str, *, finished: Collection[str] = (), throughput: float | None = None
) -> list[Estimate]:
    """One estimate per study: hours of one GPU from a stated throughput, or hours of one core from steps measured
    now."""
    seen = set(finished)
    found = []
    for study in chosen:
        runs = by_run_id(run.config for run in planned(study, profile))
        new = {run_id: config for run_id, config in runs.items() if run_id not in seen}
        seen |= set(new)
        passes = sum(work(config).units for config in new.values())
        if throughput is not None:
            units = sum(work(config).units * size_of_pass(config) for config in new.values())
            found.append(Estimate(study.id, len(runs), len(new), passes, gpu_hours=units / throughput / 3600))
        else:
            hours, memory = _measured(list(new.values()))
            found.append(Estimate(study.id, len(runs), len(new), passes, core_hours=hours, memory_bytes=memory))
    return found


def _measured(configs: Sequence[RunConfig]) -> tuple[float, int]:
    speeds: dict[str, Speed] = {}
    total = 0.0
    for config in configs:
        kind = kind_of(config).run_id
        if kind not in speeds:
            speeds[kind] = measure(config)
        total += seconds(config, speeds[kind])
    return total / 3600, max((speed.memory for speed in speeds.values()), default=0)


# ------------------------------------------------------------------------------------------------ measured steps


@dataclass(frozen=True)
class Speed:
    """Seconds of a step without memory and of one in the last task, and of evaluating a sample; bytes at the peak."""

    first: float
    last: float
    evaluate: float
    memory: int


def kind_of(config: RunConfig) -> RunConfig:
    """What of a configuration decides how long a step takes; the rest is put to one value."""
    return replace(config, seed=0, V=1.0, delta=0.0, lr=1e-4, epochs=1, limit_train=None, iid=False, diagnostics=False)


def seconds(config: RunConfig, speed: Speed) -> float:
    """Of one run on one core: steps grow evenly from those of the first task to those of the last."""
    job = work(config)
    rise = (speed.last - speed.first) / max(1, len(job.steps) - 1)
    inside = sum(steps * (speed.first + rise * t) for t, steps in enumerate(job.steps))
    return inside + job.forward * speed.evaluate + job.extra * speed.first / config.batch_size


def measure(config: RunConfig) -> Speed:
    """Two tasks of a few steps; in the second one the memory batch is as large as in the run's last task."""
    import torch  # noqa: PLC0415  (only where something is measured)

    from ..compute import peak_memory, pick_device  # noqa: PLC0415
    from ..data import from_tensors  # noqa: PLC0415
    from ..trainer import Trainer  # noqa: PLC0415

    form, classes = shape(config)
    tasks, _, _ = sizes(config)
    scenario: Any = config.scenario or usual_scenario(config.dataset, config.data_options)
    domain, count = scenario == "domain", _STEPS * config.batch_size
    whole = domain and benchmark(config.dataset).scenario == "domain"  # else a split with one narrow head
    width = max(2, classes if whole else classes // tasks)
    drawn = max(1, memory_samples(config, tasks - 1, config.memory // tasks))
    rng = torch.Generator().manual_seed(0)
    made = []
    for t in range(2):
        x = torch.randint(256, (max(count, drawn, _TESTS), *form), dtype=torch.uint8, generator=rng)
        y = torch.arange(len(x)) % width + (0 if domain else t * width)
        made.append((x, y, x[:_TESTS], y[:_TESTS]))
    noise = from_tensors(made, scenario=scenario, name=config.dataset)
    short = replace(config, tasks=2, memory=2 * drawn, memory_batch=drawn, epochs=1)
    # On a CPU, time that the process itself has had: other programs do not count.
    now = time.process_time if pick_device(config.device).type == "cpu" else time.perf_counter
    marks: list[float] = []

    def mark() -> bool:
        marks.append(now())
        return False

    trainer = Trainer(short, benchmark=noise, should_stop=mark)
    trainer.run()
    steps = [right - left for left, right in pairwise(marks)]
    half = trainer.steps_of_task[0]
    start = now()
    trainer.evaluate(trainer.model)
    return Speed(
        first=median(steps[: half - 1]),
        last=median(steps[half:]),  # without the step at which one task ends and the next begins
        evaluate=(now() - start) / (2 * _TESTS),
        memory=peak_memory(trainer.device),
    )
