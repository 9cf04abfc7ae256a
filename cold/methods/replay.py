"""What replay methods share: one memory, one sampler, one forward over the batch and what was drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from coldtheory.ground.errors import ColdError

from ..catalogue import REPLAY
from ..data import Part
from ..losses import Runs, joined, per_sample_losses
from ..memory import Draw
from .base import Batch, Context, Method


@dataclass(frozen=True, eq=False)
class JointBatch:
    """A batch and the samples drawn to go with it, one below the other; `sizes` counts the rows of each."""

    raw: Tensor
    y: Tensor
    runs: Runs
    sizes: list[int]


class Replay(Method, entry=REPLAY):
    """The memory, drawing from it and filling it. It has no name: it is a base class, not a method."""

    replays_present: ClassVar[bool] = True  #: whether samples of the present task are drawn, where the memory has some

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.memory = context.new_memory()
        self.streaming = self.options.fill == "stream"
        if self.streaming and (self.config.memory_policy != "reservoir" or self.config.replay != "mixed"):
            raise ColdError("fill=stream needs --memory-policy reservoir and --replay mixed")
        widths = context.benchmark.head_widths
        self.widest, self.one_width = max(widths), len(set(widths)) == 1
        self.widths = torch.tensor([widths[head] for head in context.heads], device=context.device)  # of each task

    # ---------------------------------------------------------------------------------------------- drawing

    def sample(self, batch: Batch, *, shuffled: bool = False) -> Draw | None:
        """A replay batch, or None while there is nothing to replay.

        Of all past tasks together it is smaller as long as the memory holds fewer samples of them.
        """
        past = batch.task + (1 if self.streaming and self.replays_present else 0)
        if not past or not self.memory.seen or (past == batch.task and not self.memory.ledger.room(past)):
            return None
        return self.draw(self.memory, past, at_most=self.config.replay == "mixed", shuffled=shuffled)

    def joint_batch(self, batch: Batch | None, *draws: Draw) -> JointBatch:
        """The batch (if any) and the drawn samples, in this order, each through its own task's head."""
        heads, stored = self.context.heads, self.memory.raw
        raw, y, runs = ([], [], []) if batch is None else ([batch.raw], [batch.y], [(batch.head, len(batch.raw))])
        for draw in draws:
            assert stored is not None
            raw.append(stored.index_select(0, draw.slots))
            y.append(self.memory.y[draw.slots])
            runs += [(heads[k], n) for k, n in zip(draw.tasks, draw.counts, strict=True)]
        sizes = [len(part) for part in y]
        if len(y) == 1:
            return JointBatch(raw[0], y[0], runs, sizes)
        return JointBatch(torch.cat(raw), torch.cat(y), runs, sizes)

    company = joint_batch  #: its name in earlier versions, for methods of the user's own

    def logits(self, joint: JointBatch) -> list[tuple[Tensor, Tensor]]:
        """(logits, labels) of the batch and of each draw, see `passes`; -inf where a head has no such class."""
        x = self.context.training_inputs(joint.raw)
        return apart(self.passes(x, joint.runs, joint.sizes), joint)

    def memory_loss(self, draw: Draw) -> Tensor:
        """The mean cross-entropy of drawn samples alone."""
        drawn = self.joint_batch(None, draw)
        return self.losses(drawn.raw, drawn.y, drawn.runs).mean()

    # ---------------------------------------------------------------------------------------------- keeping

    def step(self, batch: Batch) -> Tensor:
        loss = super().step(batch)
        self.after_step(batch)
        return loss

    def after_step(self, batch: Batch) -> None:
        """After an update: pass the batch through the reservoir, where the memory is filled along the stream."""
        if self.streaming:
            self.kept(*self.ahead(self.memory).observe(batch.raw, batch.y, batch.task))

    def end_task(self, task: int, train: Part) -> None:
        if not self.streaming:
            self.kept(self.memory.add_task(train, task, self.context.streams.cpu("memory")), None)

    def kept(self, slots: Tensor, rows: Tensor | None) -> None:
        """Slots that were just written: with rows of the step's batch, or (None) with samples of a finished task.

        Those of a step are on the device, those of a finished task on the CPU.
        """

    def state(self) -> dict[str, Any]:
        return {"memory": self.memory.state()}

    def load(self, state: Mapping[str, Any]) -> None:
        self.memory.load(state["memory"])


def apart(logits: Sequence[Tensor], joint: JointBatch) -> list[tuple[Tensor, Tensor]]:
    """Logits of runs as (logits, labels) of the batch and of each draw."""
    return list(zip(torch.split(joined(logits), joint.sizes), torch.split(joint.y, joint.sizes), strict=True))


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """The mean cross-entropy."""
    return per_sample_losses([logits], y).mean()
