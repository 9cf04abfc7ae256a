"""The replay memory: what it keeps, and that draws are uniform, distinct and unbiased."""

from __future__ import annotations

import pytest
import torch

from cold.memory import Memory, TensorSamples
from coldtheory.ground.errors import ColdError


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def samples(n: int, task: int) -> TensorSamples:
    """Sample i of task t is the number 1000 t + i."""
    return TensorSamples((1000 * task + torch.arange(n)).view(n, 1), torch.arange(n) % 3)


def filled(size: int = 12, tasks: int = 4, n: int = 10, past: int = 3) -> Memory:
    memory = Memory(size, tasks)
    for t in range(past):
        memory.add_task(samples(n, t), t, generator(t))
    return memory


def test_uniform_keeps_floor_m_over_t_different_samples_of_each_task():
    memory = filled(size=15)
    assert (memory.per_task, memory.counts, len(memory), memory.past) == (3, [3, 3, 3, 0], 9, 3)
    kept = memory.raw[memory.everything(3)][:, 0]
    assert (kept // 1000).tolist() == [0] * 3 + [1] * 3 + [2] * 3
    assert len(set(kept.tolist())) == 9
    assert torch.equal(memory.y[memory.everything(3)], kept % 1000 % 3)


def test_uniform_choice_is_uniform():
    """Each of 10 samples is kept with probability 3/10; 2000 draws, 5 standard deviations."""
    count = torch.zeros(10)
    for seed in range(2000):
        memory = Memory(3, 1)
        memory.add_task(samples(10, 0), 0, generator(seed))
        count[memory.raw[:, 0]] += 1
    assert (count - 600).abs().max() < 5 * (2000 * 0.3 * 0.7) ** 0.5


@pytest.mark.parametrize("by_batch", [True, False])
def test_reservoir_gives_every_sample_the_same_chance(by_batch):
    count = torch.zeros(30)
    for seed in range(500):
        memory, g = Memory(6, 3, policy="reservoir"), generator(seed)
        for t in range(3):
            x, y = torch.arange(10 * t, 10 * t + 10).view(10, 1), torch.zeros(10, dtype=torch.int64)
            if by_batch:
                memory.observe(x[:7], y[:7], t, g)
                memory.observe(x[7:], y[7:], t, g)
            else:
                memory.add_task(TensorSamples(x, y), t, g)
        assert len(memory) == 6
        assert memory.seen == 30
        assert torch.equal(memory.raw[:, 0] // 10, memory.owner)
        count[memory.raw[:, 0]] += 1
    assert (count - 100).abs().max() < 5 * (500 * 0.2 * 0.8) ** 0.5


@pytest.mark.parametrize("count", [1, 2, 3])
def test_per_task_draws_are_distinct_grouped_and_uniform(count):
    memory, g = filled(size=20, n=5), generator()
    seen = torch.zeros(20)
    for _ in range(1500):
        draw = memory.draw_per_task(count, 3, g)
        assert draw.tasks == [0, 1, 2]
        assert draw.counts == [count] * 3
        assert draw.owner.tolist() == [k for k in range(3) for _ in range(count)]
        assert len(set(draw.slots.tolist())) == 3 * count
        seen[draw.slots] += 1
    p = count / 5
    assert (seen[memory.everything(3)] - 1500 * p).abs().max() < 5 * (1500 * p * (1 - p)) ** 0.5


@pytest.mark.parametrize("count", [2, 9])
def test_mixed_draws_estimate_every_tasks_mean_without_bias(count):
    """Unequal shares of the memory; the weighted sum over a task's drawn samples has the task's mean as expectation."""
    memory, g = Memory(40, 4, policy="reservoir"), generator(3)
    for t, n in enumerate([8, 20, 12]):
        memory.add_task(TensorSamples(torch.rand(n, 1, generator=g), torch.zeros(n, dtype=torch.int64)), t, g)
    values = memory.raw[:, 0]
    truth = memory.task_means(memory.everything(3), values[memory.everything(3)], 3)
    draws = []
    for _ in range(1500):
        draw = memory.draw_mixed(count, 3, g)
        assert len(set(draw.slots.tolist())) == count
        assert draw.owner.tolist() == [k for k, c in zip(draw.tasks, draw.counts, strict=True) for _ in range(c)]
        draws.append(torch.zeros(3).index_add_(0, draw.owner, draw.weight * values[draw.slots]))
    found = torch.stack(draws)
    assert ((found.mean(0) - truth).abs() < 5 * found.std(0) / 1500**0.5).all()


@pytest.mark.parametrize("per_task", [True, False])
def test_chunks_cover_the_memory_in_steps_composition(per_task):
    memory = filled(size=20, n=5)
    chunks = memory.chunks(2, 3, per_task=per_task, generator=generator())
    slots = torch.cat([chunk.slots for chunk in chunks])
    assert set(slots.tolist()) == set(memory.everything(3).tolist())
    if per_task:
        assert all(chunk.counts == [2, 2, 2] for chunk in chunks)
    else:
        assert len(slots) == 15


def test_state_comes_back():
    memory = filled()
    memory.column("logits", 2)[3] = 1.0
    memory.reference[2] = 0.5
    other = Memory(12, 4)
    other.load(memory.state())
    assert torch.equal(other.raw, memory.raw)
    assert torch.equal(other.extra["logits"], memory.extra["logits"])
    assert torch.equal(other.draw_per_task(2, 3, generator()).slots, memory.draw_per_task(2, 3, generator()).slots)


def test_too_small_memories_and_too_large_batches():
    with pytest.raises(ColdError, match="take M >= T"):
        Memory(3, 4)
    with pytest.raises(ColdError, match="memory batch of 4 is larger than the 3 samples"):
        filled().draw_per_task(4, 3, generator())
    with pytest.raises(ColdError, match="memory batch of 10 is larger than the memory of 9"):
        filled().draw_mixed(10, 3, generator())
    with pytest.raises(ColdError, match="only a reservoir"):
        filled().observe(torch.zeros(1, 1), torch.zeros(1, dtype=torch.int64), 3, generator())


@pytest.mark.parametrize(("size", "per_chunk"), [(40, 7), (40, 16), (12, 50)])
def test_batches_made_at_once_are_those_made_one_by_one(size, per_chunk):
    memory = filled(size=size, n=30)
    shuffled = memory.everything(3)[torch.randperm(len(memory), generator=generator(5))]
    draws = memory.chunks(per_chunk, 3, per_task=False, generator=generator(5))
    parts = torch.split(shuffled, per_chunk)
    for draw, one in zip(draws, map(memory._grouped, parts), strict=True):
        assert torch.equal(draw.slots, one.slots)
        assert torch.equal(draw.owner, one.owner)
        assert torch.equal(draw.weight, one.weight)
        assert (draw.tasks, draw.counts) == (one.tasks, one.counts)
