"""Accuracy at 1/4, 1 and 4 times a method's main parameter: python tools/robustness.py robust|corners [RUNS]

From the runs of the study of that name, means over seeds. 1 is the default (V by rule); "worst" is how far the worst of
the three lies below the best one, and "default" how far the default does, in points of ACC.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from cold.catalogue import method_title
from cold.plots.robust import FACTORS, SIZE, robust_rows
from cold.plots.select import settings
from cold.runs import find_runs, identified
from cold.studies import find_study, planned


def main(study: str, folder: Path) -> None:
    """One line per place and method."""
    wanted = {settings(identified(run.config).as_dict()) for run in planned(find_study(study), "cpu")}
    runs = [run for run in find_runs(folder).values() if settings(run.config) in wanted]
    cells: dict[tuple[Any, ...], dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in robust_rows(runs):
        place = (row["title"], *(row[name] for name in SIZE), method_title(row["method"]))
        cells[place][row["factor"]].append(row["acc"])
    print("| benchmark | tasks | images | epochs | batch | memory | method | 1/4 | 1 | 4 | worst | default |")
    print("| --- " * 7 + "| ---: " * 5 + "|")
    for place, found in cells.items():
        means = [float(np.mean(found[factor])) for factor in FACTORS]
        numbers = (*means, min(means) - max(means), means[1] - max(means))
        print(f"| {' | '.join(map(str, place))} | " + " | ".join(f"{value:.2f}" for value in numbers) + " |")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else "runs"))
