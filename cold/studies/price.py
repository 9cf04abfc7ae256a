"""What the runs of a study cost in time of one core, from what finished runs took; nothing is measured here.

The time of a run is taken to be its work (`cold.studies.passes`, in passes of one sample) times the seconds that a pass
took in finished runs of the same profile on the same dataset. Where there are none, profiles.toml says what a pass took
in the trials that shaped the profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coldtheory.ground.errors import ColdError

from ..runs import Result, by_run_id, find_runs, identified, stored_config
from .passes import work
from .spec import BASES, HERE, Study, planned, read_bases


@dataclass(frozen=True)
class Price:
    """Of one study on one dataset; runs that an earlier line has are not counted again.

    spent    core-minutes of finished runs
    to_come  core-minutes of the others; None if nothing is known of this dataset
    """

    study: str
    dataset: str
    runs: int
    finished: int
    spent: float
    to_come: float | None

    @property
    def each(self) -> float | None:
        """Core-minutes per run that is missing."""
        missing = self.runs - self.finished
        return None if self.to_come is None or not missing else self.to_come / missing

    def as_dict(self) -> dict[str, Any]:
        """The price as plain values, with the core-minutes per missing run."""
        return {**asdict(self), "each": self.each}


def prices(chosen: Sequence[Study], profile: str, roots: Sequence[Path]) -> list[Price]:
    """A line for each study and dataset, in order; the roots are looked through once."""
    stored = find_runs(*roots)
    rates = {**declared_rates(profile), **seconds_per_pass(stored.values(), profile)}
    seen: set[str] = set()
    found = []
    for study in chosen:
        for dataset in dict.fromkeys(grid.dataset for grid in study.grids_of(profile)):
            wanted = by_run_id(run.config for run in planned(study.on(dataset), profile))
            new = {run_id: config for run_id, config in wanted.items() if run_id not in seen}
            seen |= set(new)
            there = {run_id: stored.of(identified(config)) for run_id, config in new.items()}
            missing = [config for run_id, config in new.items() if there[run_id] is None]
            spent = sum(run.seconds or 0.0 for run in there.values() if run is not None)
            rate = rates.get(dataset)
            to_come = None if rate is None and missing else sum(work(c).units for c in missing) * (rate or 0.0) / 60
            found.append(Price(study.id, dataset, len(new), len(new) - len(missing), spent / 60, to_come))
    return found


def seconds_per_pass(runs: Iterable[Result], profile: str) -> dict[str, float]:
    """By dataset: core-seconds of finished runs of a profile over their passes."""
    seconds: dict[str, float] = {}
    passes: dict[str, float] = {}
    for run in runs:
        if run.config.get("profile") != profile or run.seconds is None:
            continue
        try:
            units = work(stored_config(run)).units
        except ColdError:  # a dataset of unknown size
            continue
        name = str(run.config["dataset"])
        seconds[name] = seconds.get(name, 0.0) + run.seconds
        passes[name] = passes.get(name, 0.0) + units
    return {name: total / passes[name] for name, total in seconds.items() if passes[name]}


def declared_rates(profile: str) -> Mapping[str, float]:
    """What profiles.toml says that a pass takes, by dataset."""
    told = read_bases().get("seconds_per_pass", {}).get(profile, {})
    try:
        return {str(name): float(value) for name, value in told.items()}
    except (AttributeError, TypeError, ValueError):
        raise ColdError(f"{HERE.name}/{BASES} does not follow its schema at seconds_per_pass") from None
