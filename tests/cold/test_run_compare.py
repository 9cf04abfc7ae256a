"""Groups of runs, and where COLD and COLD-ORACLE part."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from cold.compare import grouped, partings
from cold.config import RunConfig
from cold.runs import Result


def result(method: str, queues: np.ndarray | None = None, compared: np.ndarray | None = None, **settings) -> Result:
    config = RunConfig(method=method, **settings)
    named = {"queues": queues, "compared_with": compared}
    arrays = {name: value for name, value in named.items() if value is not None}
    numbers = {"acc": 1.0, "forgetting": 0.0}
    return Result(run_id=config.run_id, config=config.as_dict(), metrics=numbers, arrays=arrays)


def test_a_setting_that_a_method_does_not_use_neither_splits_nor_labels_its_runs():
    groups = grouped(
        [result("er", delta=0.0), result("er", delta=2.0, seed=1), result("cold", delta=0.0), result("cold", delta=2.0)]
    )
    assert [(group.label, len(group.results)) for group in groups] == [
        ("er", 2), ("cold delta=0", 1), ("cold delta=2", 1),
    ]  # fmt: skip


def test_options_label_runs():
    groups = grouped([result("er", options={"replay_weight": 3.0}), result("er")])
    assert [group.label for group in groups] == ["er replay_weight=3", "er"]


def test_runs_from_different_data_are_no_seeds_of_one_another():
    given = [replace(result("er", seed=seed), data=data) for seed, data in enumerate(("aa", "bb", None, "bb"))]
    groups = grouped([*given, result("cold")])
    assert [(group.label, group.seeds) for group in groups] == [
        ("er data=bb", [1, 2, 3]), ("er data=aa", [0]), ("cold", [0]),
    ]  # fmt: skip


def test_where_the_queues_part():
    """Three tasks; in task 3 the first model is the better one for task 1."""
    plain = np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0], [2, 1, 0]], dtype=float)
    best = plain.copy()
    best[3, 0] = 2.5
    newest = np.array([[-1, -1, -1], [0, -1, -1], [1, 1, -1]])
    older = newest.copy()
    older[2, 0] = 0
    (parting,) = partings([result("cold", plain, newest), result("cold-oracle", best, older)])
    assert (parting.equal_until, parting.tasks, parting.older, parting.comparisons) == (2, 3, 1, 3)
    (same,) = partings([result("cold", plain, newest), result("cold-oracle", plain, newest)])
    assert (same.equal_until, same.older) == (3, 0)
    assert partings([result("cold", plain, newest, seed=1), result("cold-oracle", plain, newest)]) == []
