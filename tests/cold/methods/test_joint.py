"""Joint training: batches of all tasks, gathered at once where tasks share their images."""

from __future__ import annotations

import pytest
import torch

from tests.cold.methods.method_cases import BENCHMARKS, trainer


@pytest.mark.parametrize("kind", BENCHMARKS)
def test_a_batch_holds_the_tasks_own_samples(kind):
    made = trainer("joint", BENCHMARKS[kind]())
    rule, tasks = made.method, made.benchmark.tasks
    assert (rule.pool is None) == (kind in ("two widths", "class-incremental"))  # there each task has its own tensors
    places = torch.tensor([0, 3, len(tasks[0].train) - 1, len(tasks[0].train), len(tasks[0].train) + 4])
    raw, y, runs = rule._gather(*rule._placed(places[None]))
    assert runs == [(tasks[0].head, 3), (tasks[1].head, 2)]
    rows = (torch.tensor([0, 3, len(tasks[0].train) - 1]), torch.tensor([0, 4]))
    for name, found in (("raw", raw), ("y", y)):
        expected = [
            task.train.raw(chosen) if name == "raw" else task.train.y[chosen]
            for task, chosen in zip(tasks, rows, strict=False)
        ]
        assert torch.equal(found, torch.cat(expected))


def test_every_sample_once_a_pass():
    made = trainer("joint", BENCHMARKS["permuted"]())
    total = sum(len(task.train) for task in made.benchmark.tasks)
    drawn = torch.cat([made.method._next(7).places for _ in range(total // 7)])
    assert len(set(drawn.tolist())) == len(drawn) == total // 7 * 7
