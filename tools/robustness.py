"""Accuracy at 1/4, 1 and 4 times a method's main parameter: python tools/robustness.py robust|corners [RUNS]

From the runs of the study of that name, means over seeds. 1 is the default (V by rule); "worst" is how far the worst of
the three lies below the best one, and "default" how far the default does, in points of ACC.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from cold.catalogue import benchmark_title, method_title
from cold.plots.select import settings
from cold.runs import Result, find_runs
from cold.studies import find_study, planned

SHOWN = ("tasks", "limit_train", "epochs", "batch_size", "memory")


def main(study: str, folder: Path) -> None:
    wanted = {settings(run.config.as_dict()) for run in planned(find_study(study), "cpu")}
    cells: dict[tuple[str, str], dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for run in find_runs(folder).values():
        if settings(run.config) in wanted:
            size = " | ".join(str(run.config[name]) for name in SHOWN)
            place = f"{benchmark_title(run.dataset)} | {size} | {method_title(run.config['method'])}"
            cells[place, run.config["method"]][_parameter(run)].append(run)
    print("| benchmark | tasks | images | epochs | batch | memory | method | 1/4 | 1 | 4 | worst | default |")
    print("| --- " * 6 + "| --- " + "| ---: " * 5 + "|")
    for (place, _), by_value in sorted(cells.items(), key=lambda item: _order(item[0][0])):
        found = {name: float(np.mean([run.metrics["acc"] for run in runs])) for name, runs in by_value.items()}
        few, once, many = _in_order(found)
        best = max(few, once, many)
        numbers = (few, once, many, min(few, once, many) - best, once - best)
        print(f"| {place} | " + " | ".join(f"{value:.2f}" for value in numbers) + " |")


def _parameter(run: Result) -> str:
    options = {k: v for k, v in (run.config.get("options") or {}).items() if k != "same_draw"}
    return json.dumps(options or run.config["V"])


def _in_order(found: dict[str, float]) -> tuple[float, float, float]:
    """ACC at a quarter, once and four times; "auto" is once."""
    values = {name: json.loads(name) for name in found}
    numbers = {n: next(iter(v.values())) if isinstance(v, dict) else v for n, v in values.items() if v != "auto"}
    names = sorted(numbers, key=lambda name: numbers[name])
    if len(found) != 3:
        return (float("nan"),) * 3
    once = next((name for name, value in values.items() if value == "auto"), None)
    few, middle, many = (names[0], once, names[1]) if once is not None else names
    return found[few], found[middle], found[many]


def _order(place: str) -> list[tuple[int, float, str]]:
    """A sort key: numbers by size, words alphabetically."""
    return [(0, float(part), "") if part.isdigit() else (1, 0.0, part) for part in place.split(" | ")]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else "runs"))
