"""GDumb: keep a balanced memory, and train a new network on it when asked."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..catalogue import METHODS
from ..data import Part
from ..losses import joined, merged
from .base import Batch, Context
from .replay import Replay, cross_entropy


class GreedyBalance:
    """A memory whose classes stay as equal as they can be, whatever the stream: which class each of `size` slots holds.

    A sample is taken if its class is new or has less than size / (number of classes) slots; in a full
    memory it then takes a random slot of the largest class.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.slots: dict[int, list[int]] = {}  # class -> its slots

    def offer(self, classes: Sequence[int], generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """A stream of samples by their classes; (slots written, which of the samples each of them holds now)."""
        held = sum(map(len, self.slots.values()))
        written: dict[int, int] = {}
        for place, kind in enumerate(classes):
            own = self.slots.get(kind)
            if own is not None and len(own) * len(self.slots) >= self.size:
                continue
            if held < self.size:
                slot, held = held, held + 1
            else:
                largest = max(self.slots.values(), key=len)
                slot = largest.pop(int(torch.randint(len(largest), (), generator=generator)))
            self.slots.setdefault(kind, []).append(slot)
            written[slot] = place
        return torch.tensor(list(written), dtype=torch.int64), torch.tensor(list(written.values()), dtype=torch.int64)

    def state(self) -> dict[str, Any]:
        """The slots of each class, for a checkpoint."""
        return {"slots": {kind: list(own) for kind, own in self.slots.items()}}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self.slots = {int(kind): list(own) for kind, own in state["slots"].items()}


class GDumb(Replay, entry=METHODS["gdumb"]):
    """The stream trains nothing. At each evaluation a new network is trained on the memory alone: SGD, momentum 0.9,
    weight decay 1e-6, batches of 16, gradient norm at most 10, a learning rate of `pass_lr`.

    passes     : over the memory (the paper: 256, for MNIST 128)
    cutmix     : probability of mixing a batch's images with others of the same task; grey images are never mixed
    balance    : what counts as a class: "task-class" a label of a task, "class" an output of a head (in a permuted
                 benchmark the second keeps the first task only: its classes fill the memory and no new ones come). In a
                 class-incremental stream or one without boundaries it is always the second
    final_only : train for the last evaluation alone; what stands before is an untrained network
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.classes = GreedyBalance(self.config.memory)
        # labels alone tell classes apart in a class-incremental stream, and where tasks are not known
        known = self.config.windows is None and context.benchmark.scenario != "class"
        self.by_class = self.options.balance == "class" or not known
        self.done = 0  # finished tasks
        self.trained: tuple[int, nn.Module] | None = None  # after how many tasks, and the network

    def step(self, batch: Batch) -> Tensor:
        return torch.zeros((), device=self.context.device)

    def end_task(self, task: int, train: Part) -> None:
        """One pass of the task's samples through the sampler, in random order."""
        generator = self.context.streams.cpu("memory")
        order = torch.randperm(len(train), generator=generator)
        group = self.context.heads[task] if self.by_class else task
        labels = train.y.cpu()[order].tolist()
        slots, places = self.classes.offer([group * self.widest + label for label in labels], generator)
        rows = order[places].to(train.y.device)
        self.memory.put(slots, train.raw(rows), train.y[rows], task)
        self.done = task + 1

    def network_for_evaluation(self) -> nn.Module:
        last = self.done == len(self.context.benchmark.tasks)
        if not self.done or (self.options.final_only and not last):
            return self.model
        if self.trained is None or self.trained[0] != self.done:
            self.trained = (self.done, self._train(copy.deepcopy(self.model)))
        return self.trained[1]

    def _train(self, network: nn.Module) -> nn.Module:
        generator, options = self.context.streams.cpu("gdumb"), self.options
        optimizer = torch.optim.SGD(network.parameters(), lr=options.max_lr, momentum=0.9, weight_decay=1e-6)
        network.train()
        for number in range(options.passes):
            optimizer.param_groups[0]["lr"] = pass_lr(number, options.max_lr, options.min_lr)
            draws = self.memory.chunks(16, self.done, per_task=False, generator=generator)
            chances = draw_chances([len(draw) for draw in draws], generator, self.context.device)
            for draw, chance in zip(draws, chances, strict=True):
                drawn = self.joint_batch(None, draw)
                x = self.context.training_inputs(drawn.raw)
                x, other, share = cutmix(x, draw.owner, options.cutmix, chance)
                logits = joined(self.context.forward(network, x, merged(drawn.runs)))
                loss = cross_entropy(logits, drawn.y)
                if share < 1:
                    loss = share * loss + (1 - share) * cross_entropy(logits, drawn.y[other])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]  # its own optimiser: no scaling
                nn.utils.clip_grad_norm_(network.parameters(), 10.0)
                optimizer.step()
        return network

    def state(self) -> dict[str, Any]:
        kept = None if self.trained is None else {"after": self.trained[0], "network": self.trained[1].state_dict()}
        return {**super().state(), "classes": self.classes.state(), "done": self.done, "trained": kept}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.classes.load(state["classes"])
        self.done = int(state["done"])
        if state["trained"] is not None:
            network = copy.deepcopy(self.model)
            network.load_state_dict(state["trained"]["network"])
            self.trained = (int(state["trained"]["after"]), network)


def pass_lr(number: int, max_lr: float, min_lr: float) -> float:
    """A tenth of the full rate in pass 0, then cosine cycles of 1, 2, 4, 8, ... passes that start at the full rate.

    >>> [round(pass_lr(n, 1.0, 0.0), 2) for n in range(8)]
    [0.1, 1.0, 1.0, 0.5, 1.0, 0.85, 0.5, 0.15]
    """
    if number < 2:
        return max_lr * (0.1 if number == 0 else 1.0)
    length = 2 ** (number.bit_length() - 1)
    return min_lr + (max_lr - min_lr) * (1 + math.cos(math.pi * (number - length) / length)) / 2


@dataclass(frozen=True, eq=False)
class Chance:
    """What is random in the mixing of one batch, all uniform in [0, 1)."""

    mix: float  #: it is mixed if this is below the probability
    left: float  #: 1 - the area of the box
    middle: tuple[float, float]  #: of the box
    keys: Tensor  #: (n,) on the device; their order within a task says who is mixed with whom


def draw_chances(sizes: Sequence[int], generator: torch.Generator, device: torch.device | str) -> list[Chance]:
    """For batches of these sizes; all keys come to the device in one copy."""
    numbers: list[list[float]] = []
    keys = []
    for size in sizes:
        numbers.append(torch.rand(4, generator=generator, dtype=torch.float64).tolist())
        keys.append(torch.rand(size, generator=generator, dtype=torch.float64))
    there = torch.split(torch.cat(keys).to(device), list(sizes))
    return [Chance(a, b, (y, x), own) for (a, b, y, x), own in zip(numbers, there, strict=True)]


def cutmix(x: Tensor, owner: Tensor, probability: float, chance: Chance) -> tuple[Tensor, Tensor, float]:
    """A box of every image is taken from another image, and the loss from both labels.

    Gives the mixed images, which others they were mixed with, and the share of their own that is left (1: not mixed).
    `owner` (n,), ascending: the task of each sample; images are mixed within a task, whose head answers for both.
    Grey images are left alone. One box for all, of an area uniform in [0, 1] before it is cut at the edges.
    """
    if x.dim() != 4 or x.shape[1] == 1 or chance.mix >= probability:
        return x, torch.arange(len(owner), device=owner.device), 1.0
    # the samples are ordered by task, so sorting by (task + random) shuffles within tasks
    other = (owner + chance.keys).argsort()
    half = math.sqrt(1 - chance.left) / 2
    rows, columns = (
        slice(max(0, int((at - half) * size)), min(size, int((at + half) * size)))
        for at, size in zip(chance.middle, x.shape[2:], strict=True)
    )
    mixed = x.clone()
    mixed[:, :, rows, columns] = x[other][:, :, rows, columns]
    area = (rows.stop - rows.start) * (columns.stop - columns.start)
    return mixed, other, 1 - area / (x.shape[2] * x.shape[3])
