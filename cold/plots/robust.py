"""How much a method's main parameter matters: its runs at 1/4, 1 and 4 times the default, as rows of one table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ..catalogue import benchmark_title
from ..config import AUTO
from ..runs import Result

FACTORS = (0.25, 1.0, 4.0)
SIZE = ("tasks", "limit_train", "epochs", "batch_size", "memory")  #: what tells the places of a study apart


def robust_rows(runs: Sequence[Result]) -> list[dict[str, Any]]:
    """One row per run; places and methods that lack one of the three values are left out."""
    places: dict[tuple[Any, ...], list[Result]] = defaultdict(list)
    for run in runs:
        places[(run.dataset, *(run.config[name] for name in SIZE), run.config["method"])].append(run)
    rows = []
    for place, found in sorted(places.items(), key=lambda item: tuple(map(_order, item[0]))):
        factors = _factors([_parameter(run.config) for run in found])
        if factors is None:
            continue
        about = dict(zip(("dataset", *SIZE, "method"), place, strict=True)) | {"title": benchmark_title(place[0])}
        rows += [
            {**about, "factor": factors[_parameter(run.config)], "seed": run.config["seed"], "acc": run.metrics["acc"]}
            for run in found
        ]
    return rows


def _parameter(config: Mapping[str, Any]) -> float | str:
    """The method's option, or V; AUTO where V follows from the number of steps."""
    options = {name: value for name, value in (config.get("options") or {}).items() if name != "same_draw"}
    value = next(iter(options.values())) if options else config["V"]
    return AUTO if value == AUTO else float(value)


def _factors(values: Sequence[float | str]) -> dict[float | str, float] | None:
    """What each value is to the default: the one by rule, or the middle one."""
    numbers: list[float | str] = sorted({value for value in values if not isinstance(value, str)})
    if AUTO in values:
        numbers.insert(1, AUTO)
    return dict(zip(numbers, FACTORS, strict=True)) if len(numbers) == len(FACTORS) else None


def _order(part: object) -> tuple[bool, float, str]:
    return (False, float(part), "") if isinstance(part, int | float) else (True, 0.0, str(part))
