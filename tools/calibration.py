"""Requested against delivered forgetting, from the runs of the studies `forget` and `weight`.

python tools/calibration.py [RUNS]
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from cold.plots.data import RunsFoundOnce
from cold.plots.requested import requested_figures
from cold.runs import find_runs, identified
from cold.studies import find_study, planned
from coldtheory.ground.statistics import t_interval


def main(folder: Path) -> None:
    """Print both tables."""
    print_requests(folder)
    print()
    print_lowest_requests(folder)


def print_requests(folder: Path) -> None:
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


def print_lowest_requests(folder: Path) -> None:
    """The accuracy of the lowest request of each benchmark beside that of every constant weight with the same gauge."""
    stored = find_runs(folder)
    cells: dict[tuple[str, str], dict[object, dict[int, float]]] = {}
    for study in ("forget", "weight"):
        for one in planned(find_study(study), "cpu"):
            run = stored.of(identified(one.config))
            if run is not None and run.metrics["acc"] is not None:
                values = cells.setdefault((study, one.config.dataset), {}).setdefault(one.value, {})
                values[one.seed] = run.metrics["acc"]
    print("| benchmark | constant weight | ACC % | lowest request minus it |")
    print("| --- | --- | --- | --- |")
    for (study, dataset), values in cells.items():
        if study == "forget":
            continue
        requests = cells["forget", dataset]
        lowest = requests[min(requests)]
        for weight, accuracies in values.items():
            gaps = [lowest[seed] - accuracy for seed, accuracy in accuracies.items() if seed in lowest]
            low, high = t_interval(gaps)
            mean = np.mean(list(accuracies.values()))
            print(f"| {dataset} | {weight} | {mean:.2f} | {np.mean(gaps):+.2f} [{low:+.2f}, {high:+.2f}] |")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs"))
