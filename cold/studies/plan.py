"""Runs, time and memory of studies, before anything runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..config import RunConfig
from ..grid.cell import named
from .cells import planned
from .passes import size_of_pass, work
from .spec import Study

THROUGHPUT = 5000.0  #: samples a second through ResNet-18, forward and backward: an assumption, not a measurement


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
        return asdict(self)


def estimates(
    chosen: Sequence[Study], profile: str, *, finished: Collection[str] = (), throughput: float | None = None
) -> list[Estimate]:
    """An estimate a study: hours of one GPU from a stated throughput, or hours of one core from steps measured now."""
    seen = set(finished)
    found = []
    for study in chosen:
        runs = named(run.config for run in planned(study, profile))
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
    from .measure import Speed, kind_of, measure, seconds  # noqa: PLC0415  (torch)

    speeds: dict[str, Speed] = {}
    total = 0.0
    for config in configs:
        kind = kind_of(config).run_id
        if kind not in speeds:
            speeds[kind] = measure(config)
        total += seconds(config, speeds[kind])
    return total / 3600, max((speed.memory for speed in speeds.values()), default=0)
