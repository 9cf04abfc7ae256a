"""How long a run will take here: some of its steps are made, on noise of the right shape, and timed."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from ..catalogue import benchmark
from ..config import RunConfig
from .passes import memory_samples, shape, sizes, work

_STEPS = 6
_TESTS = 64


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
    domain, count = benchmark(config.dataset).scenario == "domain", _STEPS * config.batch_size
    width = max(2, classes if domain else classes // tasks)
    drawn = max(1, memory_samples(config, tasks - 1, config.memory // tasks))
    rng = torch.Generator().manual_seed(0)
    made = []
    for t in range(2):
        x = torch.randint(256, (max(count, drawn, _TESTS), *form), dtype=torch.uint8, generator=rng)
        y = torch.arange(len(x)) % width + (0 if domain else t * width)
        made.append((x, y, x[:_TESTS], y[:_TESTS]))
    noise = from_tensors(made, scenario="domain" if domain else "task", name=config.dataset)
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
        last=median(steps[half:]),  # without the one that has a task's end and beginning in it
        evaluate=(now() - start) / (2 * _TESTS),
        memory=peak_memory(trainer.device),
    )
