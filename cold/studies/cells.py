"""From a study and a profile to the runs it needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from coldtheory.ground.errors import ColdError

from ..config import RunConfig, make_config, read_config
from ..presets import preset_settings
from .spec import BASES, HERE, PER_TASK, Grid, Study


@dataclass(frozen=True)
class Planned:
    """One run of a study, and the place it has there."""

    config: RunConfig
    grid: int
    method: str
    value: Any
    seed: int


def planned(study: Study, profile: str) -> list[Planned]:
    """The runs of a study, seeds outermost: a study that is stopped early has whole curves of the first seeds."""
    found = [
        Planned(config(grid, profile, method, value, seed), number, method, value, seed)
        for number, grid in enumerate(study.grids_of(profile))
        for seed in grid.seeds
        for method, value in _places(grid)
    ]
    return sorted(found, key=lambda run: run.seed)


def config(grid: Grid, profile: str, method: str, value: Any, seed: int) -> RunConfig:
    """Printed column, the profile's reductions, the grid's settings, the method's own, the value: a later one wins."""
    layers: list[dict[str, Any]] = [
        _printed(grid, method),
        dict(reductions(profile).get(grid.dataset, {})),
        dict(grid.settings),
        dict(grid.of.get(method, {})),
        {"dataset": grid.dataset, "method": method, "profile": profile, "seed": seed},
    ]
    if grid.field == PER_TASK:
        tasks = make_config(*layers).tasks
        if tasks is None:
            raise ColdError(f"{PER_TASK} on {grid.dataset} needs the number of tasks; set tasks in its settings")
        layers.append({"memory": tasks * value})
    elif grid.field != "method":
        layers.append({grid.field: value})
    return make_config(*layers)


def _printed(grid: Grid, method: str) -> dict[str, Any]:
    """The paper's column for (dataset, memory); nothing where the grid names no column."""
    return {} if grid.memory is None else preset_settings("paper", grid.dataset, method, grid.memory)


def _places(grid: Grid) -> Iterator[tuple[str, Any]]:
    for method in grid.methods:
        yield from ((method, value) for value in (grid.values if grid.field != "method" else (method,)))


@lru_cache(maxsize=4)
def reductions(profile: str) -> dict[str, dict[str, Any]]:
    """Settings of a profile by dataset; none for `paper`."""
    found: dict[str, dict[str, Any]] = read_config(HERE / BASES).get(profile, {})
    return found
