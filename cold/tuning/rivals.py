"""Two choices of settings against each other: the same benchmark, the same fresh seeds, paired differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coldtheory.ground.errors import ColdError
from coldtheory.ground.statistics import Difference, paired

from ..config import RunConfig
from ..presets import build_config
from ..runs import identified, read_result
from ..tables.terms import Settings, layered
from .settings_file import Chosen

if TYPE_CHECKING:
    from ..grid import Engine, Event


@dataclass(frozen=True)
class Side:
    """One of the two: its settings, and the accuracy in per cent and the run of each seed."""

    settings: Settings
    acc: Mapping[int, float]
    runs: tuple[str, ...]


@dataclass(frozen=True)
class Rivals:
    """Both sides, and the first minus the second, paired over seeds."""

    first: Side
    second: Side
    difference: Difference


def compare_settings(
    first: Chosen,
    second: Chosen,
    seeds: Sequence[int],
    out: Path,
    *,
    engine: Engine,
    limit_test: int | None = None,
    data_root: Path | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Rivals:
    """Run what both chose on the benchmark and size of the first, on test data.

    Of the second, only what it chose counts (learning rate, main parameter), so settings that were chosen for another
    size can be compared with those for this one. Runs that are there are not made again.

    seeds      : different from those of the tuning runs
    limit_test : test images per task, of both; None: as the first has it
    """
    from ..grid import fill  # noqa: PLC0415  (joblib and more)

    used = {first.origin.seed, second.origin.seed} & set(seeds)
    if used:
        raise ColdError(f"seed {min(used)} has chosen the settings: a comparison on it would be biased; leave it out")
    if first.config.method != second.config.method:
        raise ColdError(
            f"these are settings of two methods, {first.config.method} and {second.config.method}; compare their runs "
            "with cold compare"
        )
    base = layered(first.settings, {} if limit_test is None else {"limit_test": limit_test})
    flags = [base, layered(base, second.origin.chosen)]
    configs = [[build_config(None, {**one, "seed": seed, "threads": 1}) for seed in seeds] for one in flags]
    report = fill(
        [config for side in configs for config in side], out, engine=engine, data_root=data_root, weights=False,
        on_event=on_event,
    )  # fmt: skip
    if not report.complete:
        wrong = {**report.failed, **dict.fromkeys(report.busy, "another program runs it now")}
        run_id, line = next(iter(wrong.items()))
        raise ColdError(f"{run_id}: {line}")
    sides = [_side(one, side, report.folders) for one, side in zip(flags, configs, strict=True)]
    difference = paired(sides[0].acc, sides[1].acc)
    assert difference is not None
    return Rivals(sides[0], sides[1], difference)


def _side(settings: Settings, configs: Sequence[RunConfig], folders: Mapping[str, Path]) -> Side:
    results = {config.seed: read_result(folders[identified(config).run_id]) for config in configs}
    acc = {seed: float(result.metrics["acc"] or 0.0) for seed, result in results.items()}
    return Side(settings, acc, tuple(result.run_id for result in results.values()))
