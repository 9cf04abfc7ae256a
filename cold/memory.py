"""The replay memory: M raw samples in all, their labels, tasks and reference losses.

Two ways to fill it. "uniform" (the paper's): floor(M/T) samples of each task, uniformly without replacement, chosen
when the task ends. "reservoir": every sample that was ever seen has the same chance to be in the memory.
Where T is not known in advance, "uniform" keeps floor(M/t) samples of each of the t tasks so far: when a task ends, the
others give up samples, chosen uniformly.
Two ways to draw from it: `draw_per_task` takes a number of samples of each past task, `draw_mixed` a number in all.
Samples are kept as they came (uint8 images), so augmentation and normalisation happen on every draw. Which slots are
drawn is decided on the CPU, from a generator of the caller; the samples themselves live on the device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from coldtheory.ground.checks import whole
from coldtheory.ground.errors import ColdError
from coldtheory.ground.limits import demand_memory

from .config import Policy, check_setting

_SLOT_BYTES = 32  # per sample: label, task, reference loss and place


class Samples(Protocol):
    """Data of one task, gathered by rows (`cold.data.Part` is one).

    One that reads its samples from somewhere may also have `pick(rows)`, which gives samples and labels together.
    """

    @property
    def y(self) -> Tensor:
        """The labels, (n,)."""

    def __len__(self) -> int: ...
    def raw(self, rows: Tensor | None = None) -> Tensor:
        """Samples as stored, of some rows or of all."""


@dataclass(frozen=True, eq=False)
class TensorSamples:
    """Tensors as `Samples`."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.x)

    def raw(self, rows: Tensor | None = None) -> Tensor:
        """Samples as stored, of some rows or of all."""
        return self.x if rows is None else self.x[rows]


@dataclass(frozen=True, eq=False)
class Draw:
    """Slots of one replay batch, grouped by task in ascending order.

    tasks, counts : which tasks were drawn and how many samples of each, known to the program without a look at the
                    device
    weight        : (n,) on the device, such that sum(weight * loss) over a task's samples estimates its mean loss
                    without bias
    order         : a random order of the samples, where one was asked for
    """

    slots: Tensor
    tasks: list[int]
    counts: list[int]
    weight: Tensor
    owner: Tensor  #: task of each sample, (n,) on the device
    order: list[int] | None = None

    def __len__(self) -> int:
        return len(self.slots)


@dataclass(frozen=True, eq=False)
class Ledger:
    """Which slot holds a sample of which task, on the CPU. It never changes: a memory that does gets a new one.

    Slots are chosen here, from a generator of the caller, without a look at the samples. A draw of a ledger has its
    tensors on the CPU.
    """

    owner: Tensor  #: the task of each slot, (M,); -1: empty
    tasks: int
    seen: int = 0  #: samples that were ever offered

    def after(self, slots: Tensor, task: int, seen: int) -> Ledger:
        """With samples of a task in some slots."""
        owner = self.owner.clone()
        owner[slots] = task
        return Ledger(owner, self.tasks, seen)

    @cached_property
    def order(self) -> Tensor:
        """The occupied slots grouped by task, for draws without a loop over tasks."""
        occupied = (self.owner >= 0).nonzero()[:, 0]
        return occupied[self.owner[occupied].argsort(stable=True)]

    @cached_property
    def sizes(self) -> Tensor:
        """Samples of each task, (T,)."""
        return torch.bincount(self.owner[self.order], minlength=self.tasks)

    @cached_property
    def counts(self) -> list[int]:
        """Samples of each task, as a list."""
        counts: list[int] = self.sizes.tolist()
        return counts

    @cached_property
    def starts(self) -> Tensor:
        """Where each task begins in `order`, (T,)."""
        return self.sizes.cumsum(0) - self.sizes

    @cached_property
    def _owner_of_place(self) -> np.ndarray:
        return self.owner[self.order].numpy()

    # ------------------------------------------------------------------------------------------------ filling

    def reservoir(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Of `count` further samples: (slots to be written, which of the samples each of them gets).

        Sample number n goes to slot n while there is room, then to slot r uniform in 0..n if r < M.
        """
        size = len(self.owner)
        number = self.seen + torch.arange(count)
        uniform = torch.rand(count, generator=generator, dtype=torch.float64)
        slot = torch.where(number < size, number, (uniform * (number + 1)).long())
        rows = (slot < size).nonzero()[:, 0]
        # of two samples for one slot the later one stays
        last = torch.full((size,), -1).scatter_reduce(0, slot[rows], rows, "amax")
        slots = (last >= 0).nonzero()[:, 0]
        return slots, last[slots]

    # ------------------------------------------------------------------------------------------------ drawing

    def draw_per_task(self, count: int, past: int, generator: torch.Generator) -> Draw:
        """`count` different samples of each of the first `past` tasks: slots task by task."""
        sizes, starts = self.sizes[:past], self.starts[:past]
        short = min(self.counts[:past], default=count)
        if count > short:
            raise ColdError(
                f"a memory batch of {count} is larger than the {short} samples that the memory holds of a task; "
                "take a smaller --memory-batch or a larger --memory"
            )
        if count == 1:
            place = (torch.rand(past, 1, generator=generator, dtype=torch.float64) * sizes[:, None]).long()
        else:
            keys = torch.rand(past, int(sizes.max()), generator=generator)
            beyond = torch.arange(keys.shape[1]) >= sizes[:, None]
            place = keys.masked_fill_(beyond, -1.0).topk(count, dim=1).indices
        slots = self.order[(starts[:, None] + place).flatten()]
        weight = torch.full((len(slots),), 1.0 / count, dtype=torch.float64)
        return Draw(slots, list(range(past)), [count] * past, weight, self.owner[slots])

    def draw_mixed(self, count: int, past: int, generator: torch.Generator) -> Draw:
        """`count` different samples of all past tasks together, uniformly."""
        room = self.room(past)
        if count > room:
            raise ColdError(f"a memory batch of {count} is larger than the memory of {room} samples; take at most that")
        if 4 * count > room:
            place = torch.randperm(room, generator=generator)[:count].numpy()
        else:  # few of many: draw a little more than needed and drop repetitions
            place = _distinct(count, room, generator)
        place.sort()
        # for so few numbers the cost is that of the calls, and numpy's take a third of the time of torch's
        owner = self._owner_of_place[place]
        drawn = np.bincount(owner).tolist()
        tasks = [task for task, n in enumerate(drawn) if n]
        weights = np.float32(room) / (count * self.sizes).clamp_min(1).numpy().astype(np.float32)
        slots = self.order[torch.from_numpy(place)]
        counts = [drawn[k] for k in tasks]
        return Draw(slots, tasks, counts, torch.from_numpy(weights[owner]), torch.from_numpy(owner))

    def room(self, past: int) -> int:
        """Samples of the first `past` tasks together."""
        return sum(self.counts[:past])


class Memory:
    """At most `size` samples of at most `tasks` tasks; without `tasks` of as many as `grow` says."""

    def __init__(
        self,
        size: int,
        tasks: int | None = None,
        *,
        policy: Policy = "uniform",
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        check_setting("memory_policy", policy)
        self.grows = tasks is None
        tasks, size = 1 if tasks is None else whole("tasks", tasks, least=1), whole("memory", size, least=0)
        demand_memory(_SLOT_BYTES * size, f"a memory of {size} samples, without the samples themselves,")
        _demand_room(size, tasks)
        self.size, self.tasks = size, tasks
        self.policy: Policy = policy
        self.device = torch.device(device)
        self.ledger = Ledger(torch.full((size,), -1), tasks)
        self.raw: Tensor | None = None  # (M, ...) as the data come
        self.y = torch.zeros(size, dtype=torch.int64, device=device)
        self.reference = torch.zeros(size, device=device, dtype=dtype)  # each sample's loss under its reference model
        self.extra: dict[str, Tensor] = {}  # further numbers per sample, such as stored logits: (M, ...)

    def __len__(self) -> int:
        return int(self.ledger.order.numel())

    @property
    def owner(self) -> Tensor:
        """The task of each slot, (M,) on the CPU; -1: empty."""
        return self.ledger.owner

    @property
    def seen(self) -> int:
        """Samples that were ever offered."""
        return self.ledger.seen

    @property
    def counts(self) -> list[int]:
        """Samples of each task, (T,)."""
        return self.ledger.counts

    @property
    def past(self) -> int:
        """1 + the last task with samples: the number of past tasks at a task's start."""
        return max((k + 1 for k, count in enumerate(self.counts) if count), default=0)

    @property
    def per_task(self) -> int:
        """Samples of each task, if the policy is "uniform"."""
        return self.size // self.tasks

    def grow(self, tasks: int) -> None:
        """Room for so many tasks; those that are there give up samples when the next one comes in."""
        if tasks > self.tasks:
            _demand_room(self.size, tasks)
            self.tasks = tasks
            self.ledger = replace(self.ledger, tasks=tasks)

    def column(self, name: str, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """A further tensor with one entry per slot, (M, *shape), made when first asked for, saved with the memory."""
        if name not in self.extra:
            self.extra[name] = torch.zeros(self.size, *shape, dtype=dtype, device=self.device)
        return self.extra[name]

    # ------------------------------------------------------------------------------------------------ filling

    def add_task(self, samples: Samples, task: int, generator: torch.Generator) -> Tensor:
        """Take samples of a finished task in, by the memory's policy; the slots that were written."""
        if self.policy == "reservoir":
            order = torch.randperm(len(samples), generator=generator)
            slots, rows = self.ledger.reservoir(len(samples), generator)
            rows = order[rows]
        else:
            rows = torch.randperm(len(samples), generator=generator)[: self.per_task]
            slots = (
                self._made_free(len(rows), generator) if self.grows else task * self.per_task + torch.arange(len(rows))
            )
        ledger = self.ledger.after(slots, task, self.seen + len(samples))
        self.write(slots, *picked(samples, rows), ledger)
        return slots

    def _made_free(self, count: int, generator: torch.Generator) -> Tensor:
        """Free slots for samples of a new task; tasks that hold more than their share now give up the rest of it."""
        owner = self.owner.clone()
        for task in range(self.tasks):
            held = (owner == task).nonzero()[:, 0]
            if len(held) > self.per_task:
                owner[held[torch.randperm(len(held), generator=generator)[self.per_task :]]] = -1
        self.ledger = Ledger(owner, self.tasks, self.seen)
        return (owner < 0).nonzero()[:count, 0]

    def observe(self, raw: Tensor, y: Tensor, task: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Pass a batch through the reservoir, with the same distribution as sample by sample; (slots written, rows of
        the batch written)."""
        self.check_stream()
        slots, rows = self.ledger.reservoir(len(raw), generator)
        there = rows.to(raw.device)
        self.write(slots, raw[there], y[there], self.ledger.after(slots, task, self.seen + len(raw)))
        return slots, rows

    def check_stream(self) -> None:
        """Raises unless samples may come in during a task."""
        if self.policy != "reservoir":
            raise ColdError("only a reservoir memory takes samples during a task; use the reservoir policy")

    def put(self, slots: Tensor, raw: Tensor, y: Tensor, task: int) -> None:
        """Write samples of one task into given slots, for a method with its own policy."""
        self.write(slots, raw, y, self.ledger.after(slots, task, self.seen + len(slots)))

    def write(self, slots: Tensor, raw: Tensor, y: Tensor, ledger: Ledger) -> None:
        """Samples into slots, on either device; `ledger` says whose they are then."""
        if self.raw is None:
            self.raw = torch.zeros((self.size, *raw.shape[1:]), dtype=raw.dtype, device=self.device)
        there = slots.to(self.device)
        self.raw[there] = raw.to(self.device)
        self.y[there] = y.to(self.device)
        self.ledger = ledger

    # ------------------------------------------------------------------------------------------------ drawing

    def draw_per_task(self, count: int, past: int, generator: torch.Generator) -> Draw:
        """`count` different samples of each of the first `past` tasks: slots task by task."""
        return self.placed(self.ledger.draw_per_task(count, past, generator))

    def draw_mixed(self, count: int, past: int, generator: torch.Generator) -> Draw:
        """`count` different samples of all past tasks together, uniformly."""
        return self.placed(self.ledger.draw_mixed(count, past, generator))

    def chunks(self, per_chunk: int, past: int, *, per_task: bool, generator: torch.Generator) -> list[Draw]:
        """All samples of the past tasks once, in random order, in batches of the composition of a training step."""
        order = self.ledger.order
        if not per_task:
            shuffled = order[torch.randperm(self.ledger.room(past), generator=generator)]
            return self._batches(shuffled, per_chunk)
        keys = torch.rand(len(order), generator=generator)
        by_task = [
            order[start : start + size][keys[start : start + size].argsort()]
            for start, size in zip(self.ledger.starts[:past].tolist(), self.counts[:past], strict=True)
        ]
        rounds = max((len(slots) + per_chunk - 1) // per_chunk for slots in by_task)
        return [self._grouped(torch.cat([s.roll(-i * per_chunk)[:per_chunk] for s in by_task])) for i in range(rounds)]

    def pieces(self, size: int, past: int) -> list[Draw]:
        """All samples of the past tasks once, task by task, in batches of `size`."""
        return [self._grouped(part) for part in torch.split(self.everything(past), size)]

    def everything(self, past: int) -> Tensor:
        """All slots of the first `past` tasks, task by task, on the CPU."""
        return self.ledger.order[: self.ledger.room(past)]

    def task_means(self, slots: Tensor, values: Tensor, past: int) -> Tensor:
        """Mean over each past task's samples, (past,); 0 for a task with none."""
        owner = self.owner[slots]
        total = sums_by_task(values, owner.to(values.device), past)
        return total / torch.bincount(owner, minlength=past).clamp_min(1).to(values.device)

    def _batches(self, slots: Tensor, size: int) -> list[Draw]:
        """Consecutive batches, each grouped by task; what `_grouped` does for one is done for all at once."""
        number = torch.arange(len(slots)).div(size, rounding_mode="floor")
        place = number * self.tasks + self.owner[slots]
        slots = slots[place.argsort(stable=True)]
        batches = -(-len(slots) // size)
        counts = torch.bincount(place, minlength=batches * self.tasks).view(batches, self.tasks).tolist()
        owner, ones = self.owner[slots].to(self.device), self.reference.new_ones(min(size, len(slots)))
        found = []
        parts = zip(torch.split(slots.to(self.device), size), torch.split(owner, size), counts, strict=True)
        for part, own, drawn in parts:
            tasks = [task for task, n in enumerate(drawn) if n]
            found.append(Draw(part, tasks, [drawn[task] for task in tasks], ones[: len(part)], own))
        return found

    def _grouped(self, slots: Tensor) -> Draw:
        slots = slots[self.owner[slots].argsort(stable=True)]
        owner = self.owner[slots]
        tasks, counts = torch.unique_consecutive(owner, return_counts=True)
        return self.placed(Draw(slots, tasks.tolist(), counts.tolist(), torch.ones(len(slots)), owner))

    def placed(self, draw: Draw) -> Draw:
        """A ledger's draw on the memory's device."""
        weight = draw.weight.to(self.device, self.reference.dtype)
        return replace(draw, slots=draw.slots.to(self.device), weight=weight, owner=draw.owner.to(self.device))

    # ------------------------------------------------------------------------------------------------ keeping

    def state(self) -> dict[str, Any]:
        """Everything that the memory holds, for a checkpoint."""
        return {
            "seen": self.seen,
            "raw": None if self.raw is None else self.raw.clone(),  # what is kept does not change with the memory
            "y": self.y.clone(),
            "owner": self.owner,
            "reference": self.reference.clone(),
            "extra": {name: value.clone() for name, value in self.extra.items()},
        }

    def load(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        self.ledger = Ledger(state["owner"].cpu(), self.tasks, int(state["seen"]))
        self.raw = None if state["raw"] is None else state["raw"].to(self.device, copy=True)
        self.y = state["y"].to(self.device, copy=True)
        self.reference = state["reference"].to(self.device, copy=True)
        self.extra = {name: value.to(self.device, copy=True) for name, value in state["extra"].items()}


def picked(samples: Samples, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Samples and labels of some rows."""
    pick = getattr(samples, "pick", None)
    if pick is not None:
        found: tuple[Tensor, Tensor] = pick(rows)
        return found
    rows = rows.to(samples.y.device)
    return samples.raw(rows), samples.y[rows]


def _demand_room(size: int, tasks: int) -> None:
    if size < tasks:
        raise ColdError(f"a memory of M = {size} holds less than one sample of each of {tasks} tasks; take M >= T")


def sums_by_task(values: Tensor, owner: Tensor, tasks: int) -> Tensor:
    """The sum of each task's values, (tasks,); `owner` says whose each value is.

    On the CPU the values are added one by one, in their order. A GPU would add them in an order that differs from call
    to call; there each task's sum is a reduction of its own.

    >>> sums_by_task(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 2, 2]), 3)
    tensor([1., 0., 6.])
    """
    if values.device.type == "cpu":
        return values.new_zeros(tasks).index_add_(0, owner, values)
    return torch.where(owner == torch.arange(tasks, device=owner.device)[:, None], values, 0.0).sum(1)


def _distinct(count: int, room: int, generator: torch.Generator) -> np.ndarray:
    """`count` different numbers below `room`, every set equally likely (the first distinct ones of a long draw)."""
    drawn = torch.randint(room, (count + 8,), generator=generator)
    while True:
        different = list(dict.fromkeys(drawn.tolist()))  # in the order of the draw
        if len(different) >= count:
            return np.array(different[:count])
        drawn = torch.cat([drawn, torch.randint(room, (count,), generator=generator)])
