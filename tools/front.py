"""Plasticity against forgetting, compared at equal forgetting: python tools/front.py [RUNS]

For every benchmark and every setting of a method: forgetting in nats, accuracy of newly learnt tasks, and ACC; of a
baseline also that accuracy minus COLD-distill's at the same forgetting. This is read off two lines, seed by seed: the
one through its values of V, where it trains on the whole memory as the baselines do, and the one through its requests,
where a fifth of the memory only measures. The 95 % interval (Student's t) is over seeds; a star marks one above 0.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from cold.catalogue import method_title
from cold.plots.data import RunsFoundOnce
from cold.plots.requested import requested_figures
from coldtheory.ground.statistics import paired

OURS = "cold-distill"
_LEAST = 3  # seeds for an interval


def main(folder: Path) -> None:
    figures = {figure.id: figure for figure in requested_figures(RunsFoundOnce(), kept=False)}
    rows = list(figures["plasticity_forgetting"].data[0].load(folder).table.rows())
    print("| benchmark | method | setting | forgetting | learnt % | ACC % | minus COLD-distill over V | on request |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for title in dict.fromkeys(row["title"] for row in rows):
        shown = [row for row in rows if row["title"] == title]
        ours = [row for row in shown if row["method"] == OURS]
        lines = [_lines([row for row in ours if row["requested"] == requested]) for requested in (0, 1)]
        cells: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for row in shown:
            cells[row["method"], row["setting"]].append(row)
        for (method, setting), found in cells.items():
            names = ("forgetting_loss", "learning_acc", "acc")
            forgotten, learnt, acc = (np.mean([row[name] for row in found]) for name in names)
            words = f"| {title} | {method_title(method)} | {setting} | {forgotten:.3f} | {learnt:.2f} | {acc:.2f} "
            compared = ["–", "–"] if method == OURS else [_compared(found, line) for line in lines]
            print(f"{words}| {' | '.join(compared)} |")


def _lines(rows: list[dict[str, Any]]) -> dict[int, np.ndarray]:
    """The points of COLD-distill for each seed, (n, 2), sorted by forgetting."""
    seeds = {row["seed"] for row in rows}
    points = {
        seed: [(row["forgetting_loss"], row["learning_acc"]) for row in rows if row["seed"] == seed] for seed in seeds
    }
    return {seed: np.array(sorted(found)) for seed, found in points.items()}


def _compared(rows: list[dict[str, Any]], lines: dict[int, np.ndarray]) -> str:
    """Nothing is extrapolated beyond the ends of a line: a seed for which that would be needed does not count."""
    ours: dict[int, float] = {}
    for row in rows:
        line = lines.get(row["seed"])
        if line is not None and line[0, 0] <= row["forgetting_loss"] <= line[-1, 0]:
            ours[row["seed"]] = float(np.interp(row["forgetting_loss"], line[:, 0], line[:, 1]))
    found = paired({row["seed"]: row["learning_acc"] for row in rows}, ours)
    if found is None or found.low is None or found.high is None or len(found.each) < _LEAST:
        return "beyond the line"
    return f"{found.mean:+.2f} [{found.low:+.2f}, {found.high:+.2f}]{' *' if found.low > 0 else ''}"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs"))
