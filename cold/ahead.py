"""What training steps will take from the memory, worked out on the CPU for many steps and moved to the device at once.

A step needs slots of samples to replay and, where the memory is filled along the stream, places for its own samples.
Which they are depends on two random streams and on the memory's ledger, never on a sample or a weight. So they can be
known before the step, and one copy brings those of many steps to the device, where a copy per step would make a GPU
wait each time.

What the next steps will ask for is a guess: the same as the last ones did. The guess does not influence any result.
What is asked for is compared with what was guessed, and where they differ, or where other code needs the generator, it
is reset to the state it would have if nothing had been drawn ahead. A checkpoint thus looks as if nothing had been
drawn ahead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import cycle, repeat

import torch
from torch import Tensor

from coldtheory.ground.errors import ColdError

from .memory import Draw, Ledger, Memory
from .streams import Streams

_STEPS = 64  # of one block at most
_SLOTS = 2**17  # of one block at most, some megabytes
_REPLAY, _MEMORY = "replay", "memory"  # the names of the two streams


@dataclass(frozen=True)
class _Wish:
    """What a step asks for: a replay batch, or places in the reservoir."""

    places: bool
    count: int  #: samples to draw (of each task or in all, as `--replay` says), or samples that want a place
    task: int  #: the number of past tasks to draw from, or the task of those samples
    at_most: bool = False  #: fewer where the memory holds fewer
    shuffled: bool = False


@dataclass(frozen=True, eq=False)
class _Places:
    """Slots that get samples, and which rows of the batch they get."""

    slots: Tensor
    rows: Tensor


@dataclass(frozen=True, eq=False)
class _Planned:
    wish: _Wish
    what: Draw | _Places
    ledger: Ledger  #: of the memory after it


class Ahead:
    """Draws from one memory and places in it, in the order and with the numbers of one draw at a time.

    per_task : whether a draw takes its samples from each task, or from all together
    period   : after how many steps a method makes as many draws again; it matters where samples come in at every step
    """

    def __init__(self, memory: Memory, streams: Streams, *, per_task: bool, period: int = 1) -> None:
        self.memory = memory
        self._streams, self._per_task = streams, per_task
        self._plan: list[_Planned] = []
        self._at = 0  # how many of them were taken
        self._ledger = memory.ledger  # that of the memory now, if no other code wrote to it
        self._generators: dict[str, torch.Generator] = {}
        self._before: dict[str, Tensor] = {}  # their states at the start of the plan
        self._first = memory.ledger  # the ledger then
        self._steps = 1  # of the next block
        # what the last steps asked for
        self._draws: deque[int] = deque(maxlen=period)  # draws of each of them
        self._drawn = 0  # draws of the present step
        self._last_draw: _Wish | None = None
        self._last_places: _Wish | None = None

    def draw(self, count: int, past: int, *, at_most: bool = False, shuffled: bool = False) -> Draw:
        """A replay batch of the first `past` tasks; `at_most`: smaller where there are not as many samples."""
        wish = _Wish(False, count, past, at_most, shuffled)
        self._last_draw = wish
        drawn = self._next(wish).what
        self._drawn += 1
        assert isinstance(drawn, Draw)
        return drawn

    def observe(self, raw: Tensor, y: Tensor, task: int) -> tuple[Tensor, Tensor]:
        """Pass a batch through the reservoir; (slots written, rows of the batch written), both on the device."""
        self.memory.check_stream()
        wish = _Wish(True, len(raw), task)
        self._last_places = wish
        found = self._next(wish)
        self._draws.append(self._drawn)
        self._drawn = 0
        places = found.what
        assert isinstance(places, _Places)
        self.memory.write(places.slots, raw[places.rows], y[places.rows], found.ledger)
        return places.slots, places.rows

    def give_back(self) -> None:
        """The generators as after the last thing that was taken; the rest of the plan is dropped."""
        if self._at < len(self._plan):
            for name, state in self._before.items():
                self._generators[name].set_state(state)
            ledger = self._first
            for planned in self._plan[: self._at]:
                _, ledger = self._perform(planned.wish, ledger)
            self._steps = 1
        self._plan, self._at = [], 0

    # ------------------------------------------------------------------------------------------------ planning

    def _next(self, wish: _Wish) -> _Planned:
        if self._at == len(self._plan) or self._plan[self._at].wish != wish or self.memory.ledger is not self._ledger:
            self._make_plan(wish)
        planned = self._plan[self._at]
        self._at += 1
        self._ledger = planned.ledger
        return planned

    def _make_plan(self, wish: _Wish) -> None:
        self.give_back()
        wishes = list(self._expected(wish))
        names = [name for name, used in ((_REPLAY, False), (_MEMORY, True)) if any(w.places == used for w in wishes)]
        self._generators = {name: self._streams.cpu(name) for name in names}
        self._before = {name: generator.get_state() for name, generator in self._generators.items()}
        self._first = ledger = self.memory.ledger
        slots = 0
        for expected in wishes:
            try:
                what, ledger = self._perform(expected, ledger)
            except ColdError:  # more samples than there are: an error only if it is really asked for
                if not self._plan:
                    raise
                break
            self._plan.append(_Planned(expected, what, ledger))
            slots += len(what.slots)
            if slots > _SLOTS:
                break
        self._move()
        for name in names:
            self._streams.lend(name, self.give_back)
        self._steps = min(4 * self._steps, _STEPS)  # small blocks first, since the guess may be wrong

    def _expected(self, wish: _Wish) -> Iterator[_Wish]:
        """This wish, and those that follow if the next steps ask for what the last ones did."""
        yield wish
        draw, places = self._last_draw, self._last_places
        if places is None:  # nothing comes in during a task: one draw is like the other
            yield from repeat(wish, self._steps - 1)
            return
        draws = deque(self._draws, self._draws.maxlen)
        if wish.places:
            draws.append(self._drawn)
        pattern = cycle(draws)  # begin with the step that is one period ago
        if not wish.places:
            yield from repeat(wish, next(pattern) - self._drawn - 1)
            yield places
        for _ in range(self._steps - 1):
            yield from repeat(draw or wish, next(pattern))
            yield places

    def _perform(self, wish: _Wish, ledger: Ledger) -> tuple[Draw | _Places, Ledger]:
        """On the CPU; the ledger after it."""
        if wish.places:
            slots, rows = ledger.reservoir(wish.count, self._generators[_MEMORY])
            return _Places(slots, rows), ledger.after(slots, wish.task, ledger.seen + wish.count)
        generator = self._generators[_REPLAY]
        count = min(wish.count, ledger.room(wish.task)) if wish.at_most else wish.count
        draw = (ledger.draw_per_task if self._per_task else ledger.draw_mixed)(count, wish.task, generator)
        if wish.shuffled:
            order: list[int] = torch.randperm(len(draw), generator=generator).tolist()
            draw = replace(draw, order=order)
        return draw, ledger

    def _move(self) -> None:
        """The plan's tensors to the device, packed into one."""
        device, dtype = self.memory.device, self.memory.reference.dtype
        if device.type == "cpu":
            for i, planned in enumerate(self._plan):
                if isinstance(planned.what, Draw):
                    self._plan[i] = replace(planned, what=self.memory.placed(planned.what))
            return
        plans = [planned.what for planned in self._plan]
        numbers = [t for w in plans for t in ((w.slots, w.owner) if isinstance(w, Draw) else (w.slots, w.rows))]
        weights = [w.weight.double() for w in plans if isinstance(w, Draw)]
        packed = torch.cat([*numbers, *(weight.view(torch.int64) for weight in weights)])
        if device.type == "cuda":
            packed = packed.pin_memory()  # so that nothing waits for the copy
        there = packed.to(device, non_blocking=True)
        whole = sum(map(len, numbers))
        moved = iter(torch.split(there[:whole], [len(t) for t in numbers]))
        weighed = iter(torch.split(there[whole:].view(torch.float64).to(dtype), [len(t) for t in weights]))
        for i, what in enumerate(plans):
            slots, other = next(moved), next(moved)
            found = (
                replace(what, slots=slots, owner=other, weight=next(weighed))
                if isinstance(what, Draw)
                else _Places(slots, other)
            )
            self._plan[i] = replace(self._plan[i], what=found)
