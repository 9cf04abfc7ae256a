"""Which early result ranks settings as the whole run does? From stored tuning runs, without training:

    python benchmarks/tuning_resource.py

Two resources that a search may save are compared, on the tuning runs behind the tables of Permuted-MNIST:

    tasks   the same run after k of its 20 tasks: accuracy over the tasks seen by then
    images  another run with the same settings on 10,000 in place of 60,000 images per task, after all 20 tasks

A group is all settings that were tried for one method at one size. For each group it prints Kendall's tau between the
early and the final accuracies; and the loss in final accuracy, in points, if only the half (or the third) that leads
early had gone on to the end. For images, groups are the settings that were tried at both sizes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable

import numpy as np
from scipy.stats import kendalltau

from cold.runs import Result, default_roots
from cold.tables.comparison import choose
from cold.tables.stored import RunsOnHand
from cold.tables.terms import benchmark
from cold.tables.wanted import tuning_run

SIZES = ("pmnist", "pmnist-10k", "adaptivity")
LOOKS = (2, 3, 5, 7, 10)
Group = list[tuple[float, float]]  # early and final accuracy of each of the settings


def groups(name: str, stored: RunsOnHand) -> dict[str, dict[str, Result]]:
    """The tuning runs of each method of a table, by their settings."""
    terms = benchmark(name, "equal")
    found: dict[str, dict[str, Result]] = {}
    for row in terms.rows:
        if row.tuning is None or row.absent:
            continue
        for settings, _ in choose(terms, row, stored).tried:
            run = stored.get(tuning_run(terms, row, settings))
            assert run is not None
            found.setdefault(row.key, {})[json.dumps(settings, sort_keys=True)] = run
    return found


def after_tasks(stored: RunsOnHand, k: int) -> list[Group]:
    """Every group after k tasks; the wider search of `adaptivity` stands for that of the same method at 10,000."""
    by_size = {name: groups(name, stored) for name in SIZES}
    wider = by_size["adaptivity"].keys()
    kept = [
        runs
        for name, found in by_size.items()
        for key, runs in found.items()
        if name != "pmnist-10k" or key not in wider
    ]
    return [
        [(run.over_tasks("acc")[k - 1], run.over_tasks("acc")[-1]) for run in runs.values()]
        for runs in kept
        if len(runs) > 1
    ]


def with_fewer_images(stored: RunsOnHand) -> list[Group]:
    """Settings that were tried at both sizes."""
    large, small = groups("pmnist", stored), groups("pmnist-10k", stored)
    found = []
    for method in large.keys() & small.keys():
        both = sorted(large[method].keys() & small[method].keys())
        if len(both) > 1:
            pairs = [(small[method][one], large[method][one]) for one in both]
            found.append([(early.over_tasks("acc")[-1], late.over_tasks("acc")[-1]) for early, late in pairs])
    return found


def at_both_sizes(stored: RunsOnHand, k: int) -> list[Group]:
    """The same settings as in `with_fewer_images`, after k tasks of the larger runs."""
    large, small = groups("pmnist", stored), groups("pmnist-10k", stored)
    found = []
    for method in large.keys() & small.keys():
        both = sorted(large[method].keys() & small[method].keys())
        if len(both) > 1:
            runs = [large[method][one] for one in both]
            found.append([(run.over_tasks("acc")[k - 1], run.over_tasks("acc")[-1]) for run in runs])
    return found


def row(name: str, found: Iterable[Group]) -> str:
    taus, halves, thirds = [], [], []
    for group in found:
        early, final = np.array(group).T
        order = np.argsort(-early, kind="stable")
        taus.append(kendalltau(early, final).statistic)
        halves.append(final.max() - final[order[: max(1, len(order) // 2)]].max())
        thirds.append(final.max() - final[order[: max(1, len(order) // 3)]].max())
    told = f"{np.mean(taus):8.2f} {np.mean(halves):10.2f} {max(halves):8.2f} {np.mean(thirds):11.2f} {max(thirds):8.2f}"
    return f"{name:34} {len(taus):6} {told}"


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    stored = RunsOnHand(default_roots())
    print(f"{'looked at':34} {'groups':>6} {'tau':>8} {'half kept':>10} {'worst':>8} {'third kept':>11} {'worst':>8}")
    for k in LOOKS:
        print(row(f"after {k} of 20 tasks", after_tasks(stored, k)))
    print("the settings that were tried at both sizes, for 60,000 images:")
    for k in (5, 10):
        print(row(f"after {k} of 20 tasks", at_both_sizes(stored, k)))
    print(row("10,000 images, after 20 tasks", with_fewer_images(stored)))


if __name__ == "__main__":
    main()
