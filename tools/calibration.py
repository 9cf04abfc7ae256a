"""Requested against delivered forgetting, from the runs of the study `forget`: python tools/calibration.py [RUNS]"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from cold.plots.data import RunsFoundOnce
from cold.plots.requested import requested_figures


def main(folder: Path) -> None:
    """One line per benchmark and request: means over seeds, and whether the mean is within 0.02 nats or a fifth."""
    figures = {figure.id: figure for figure in requested_figures(RunsFoundOnce(), kept=False)}
    cells = defaultdict(list)
    for row in figures["requested_forgetting"].data[0].load(folder).table.rows():
        cells[row["title"], row["requested"]].append(row)
    print("| benchmark | requested | delivered | by the gauge | worst task | ACC % | within | out of reach |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for (title, requested), rows in cells.items():
        means = [np.mean([row[name] for row in rows]) for name in ("delivered", "gauge", "worst", "acc")]
        within = abs(means[0] - requested) <= max(0.02, 0.2 * requested)
        unmet = sum(bool(np.isfinite(row["smallest"])) for row in rows)
        words = f"{means[0]:.3f} | {means[1]:.3f} | {means[2]:.2f} | {means[3]:.2f} | {'yes' if within else 'no'}"
        print(f"| {title} | {requested:g} | {words} | {unmet} of {len(rows)} |")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs"))
