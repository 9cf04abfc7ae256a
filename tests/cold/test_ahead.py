"""What is drawn ahead is what would be drawn one by one, whatever comes in between."""

from __future__ import annotations

import pytest
import torch

from cold.ahead import Ahead
from cold.memory import Memory, TensorSamples
from cold.streams import Streams
from coldtheory.ground.errors import ColdError

ROWS, TASKS, SIZE = 3, 4, 24
Noted = list[list[int] | list[float]]


class OneByOne:
    """The same calls without a plan."""

    def __init__(self, memory: Memory, streams: Streams, per_task: bool) -> None:
        self.memory, self.streams, self.per_task = memory, streams, per_task

    def draw(self, count, past, *, at_most=False, shuffled=False):
        count = min(count, self.memory.ledger.room(past)) if at_most else count
        how = self.memory.draw_per_task if self.per_task else self.memory.draw_mixed
        draw = how(count, past, self.streams.cpu("replay"))
        if shuffled:
            order = torch.randperm(len(draw), generator=self.streams.cpu("replay")).tolist()
            return type(draw)(draw.slots, draw.tasks, draw.counts, draw.weight, draw.owner, order)
        return draw

    def observe(self, raw, y, task):
        return self.memory.observe(raw, y, task, self.streams.cpu("memory"))


def samples(task: int, n: int = 12) -> TensorSamples:
    return TensorSamples(100 * task + torch.arange(n).view(n, 1), torch.arange(n) % 2)


def life(one_by_one: bool, per_task: bool, stream: bool, seed: int) -> Noted:
    """A random life of a memory: draws of changing kinds, tasks that end, checkpoints, other users of the generators.

    What happens is decided by `chance`, which both ways to draw share; everything that is drawn is noted.
    """
    chance = torch.Generator().manual_seed(seed)

    def coin(odds: int) -> bool:
        return int(torch.randint(odds, (), generator=chance)) == 0

    streams = Streams(seed, torch.device("cpu"))
    memory = Memory(SIZE, TASKS, policy="reservoir" if stream else "uniform")
    source = OneByOne(memory, streams, per_task) if one_by_one else Ahead(memory, streams, per_task=per_task, period=2)
    noted: Noted = []
    for task in range(TASKS):
        draws = 1 + int(torch.randint(3, (), generator=chance))
        for step in range(40):
            past = task + stream
            usual = draws + (step % 2)
            for _ in range(usual if past and memory.seen else 0):
                count = 1 + int(torch.randint(3, (), generator=chance)) if coin(30) else 2
                draw = source.draw(count, past, at_most=stream, shuffled=coin(30))
                noted += [draw.slots.tolist(), draw.weight.tolist(), draw.owner.tolist(), draw.tasks, draw.counts]
                noted.append(draw.order or [])
            if stream:
                rows = 1 + int(torch.randint(ROWS, (), generator=chance)) if coin(20) else ROWS
                part = samples(task)
                slots, taken = source.observe(part.x[:rows] + 12 * step, part.y[:rows], task)
                noted += [slots.tolist(), taken.tolist(), memory.counts]
            if coin(15):  # a user of a generator from outside
                noted.append(torch.rand(2, generator=streams.cpu("replay")).tolist())
            if coin(15):  # a checkpoint, and a run that goes on from it
                state, held = streams.state(), memory.state()
                noted += [value.tolist() for value in state.values()]
                noted += [held["owner"].tolist(), [held["seen"]]]
                if coin(2):
                    memory.load(held)
                    streams.load(state)
        if not stream:
            memory.add_task(samples(task), task, streams.cpu("memory"))
    assert memory.raw is not None
    return [*noted, memory.raw[:, 0].tolist(), *(value.tolist() for value in streams.state().values())]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("per_task", "stream"), [(True, False), (False, False), (False, True)])
def test_any_life_is_that_of_one_draw_at_a_time(per_task, stream, seed):
    assert life(False, per_task, stream, seed) == life(True, per_task, stream, seed)


def test_blocks_grow_and_start_small_after_a_wrong_guess(monkeypatch):
    sizes: list[int] = []
    plain = Ahead._move
    monkeypatch.setattr(Ahead, "_move", lambda self: (sizes.append(len(self._plan)), plain(self)))
    streams, memory = Streams(0, torch.device("cpu")), Memory(SIZE, TASKS)
    memory.add_task(samples(0), 0, streams.cpu("memory"))
    ahead = Ahead(memory, streams, per_task=True)
    for _ in range(85):
        ahead.draw(2, 1)
    assert sizes == [1, 4, 16, 64]
    ahead.draw(2, 1)
    streams.cpu("replay")  # somebody else wants it
    ahead.draw(2, 1)
    assert sizes == [1, 4, 16, 64, 64, 1]


def test_an_error_comes_when_it_is_asked_for_and_not_before():
    """Of two tasks' samples in a reservoir fewer and fewer are of the first: a draw of it fails once there are none."""
    streams, memory = Streams(0, torch.device("cpu")), Memory(4, 2, policy="reservoir")
    ahead = Ahead(memory, streams, per_task=False)
    part = samples(0)
    ahead.observe(part.x[:4], part.y[:4], 0)
    while memory.counts[0]:
        assert len(ahead.draw(1, 1)) == 1
        ahead.observe(part.x[:4], part.y[:4], 1)
    assert memory.seen > 20  # it took more than a block's steps
    with pytest.raises(ColdError, match="larger than the memory of 0 samples"):
        ahead.draw(1, 1)


def test_only_a_reservoir_takes_samples_during_a_task():
    memory = Memory(4, 2)
    with pytest.raises(ColdError, match="only a reservoir"):
        Ahead(memory, Streams(0, torch.device("cpu")), per_task=False).observe(torch.zeros(1, 1), torch.zeros(1), 0)
