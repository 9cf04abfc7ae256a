"""One forward pass for the batch of the present task and the memory samples that go with it.

Each sample goes through its own task's head. What comes out is one number per sample: its label loss if it is of the
present task, and for a memory sample what it is held to, its label loss or the distance of `cold.constraints`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

from coldtheory.ground.errors import ColdError

from .constraints import LogitDistance
from .layer_modes import frozen_statistics, shares_statistics
from .losses import Runs, merged
from .losses import joined as joined_logits
from .memory import Draw, Memory
from .streams import Streams

Forward: TypeAlias = Callable[[nn.Module, Tensor, Runs], list[Tensor]]
Losses: TypeAlias = Callable[[Sequence[Tensor], Tensor], Tensor]
Evaluate: TypeAlias = Callable[[Tensor], Tensor]
Prepare: TypeAlias = Callable[[Tensor, torch.Generator], Tensor]


@dataclass(frozen=True, eq=False)
class Joined:
    """A batch of the present task, and behind it the memory samples of the same step."""

    x: Tensor  #: as stored, or ready for the model where `COLD.join` made it
    y: Tensor
    runs: Runs  #: consecutive pieces: (head, number of samples)
    present: int  #: how many samples are of the present task
    draw: Draw | None = None  #: the others; None during the first task


class JointPass:
    """How samples of several tasks go through the model together; the settings are those of `cold.COLD`.

    heads : the head of each task; it grows where the number of tasks was not given
    """

    def __init__(
        self,
        memory: Memory,
        streams: Streams,
        *,
        heads: Sequence[int],
        distance: LogitDistance | None,
        forward: Forward | None,
        losses: Losses,
        prepare: Prepare | None,
        evaluate: Evaluate | None,
        augments: bool,
    ) -> None:
        self.heads, self.augments, self.distance = list(heads), augments, distance
        self._memory, self._streams = memory, streams
        self._forward, self._loss_of = forward or _call, losses
        self._prepare, self._evaluate = prepare or _as_stored, evaluate

    def with_memory(self, raw: Tensor, y: Tensor, task: int, draw: Draw | None) -> Joined:
        """A batch of a task, and behind it the drawn samples."""
        present = [(self.heads[task], len(raw))]
        if draw is None:
            return Joined(raw, y, present, len(raw))
        stored = self.memory_only(draw)
        return Joined(torch.cat([raw, stored.x]), torch.cat([y, stored.y]), [*present, *stored.runs], len(raw), draw)

    def memory_only(self, draw: Draw) -> Joined:
        """The drawn samples alone."""
        assert self._memory.raw is not None
        runs = [(self.heads[k], count) for k, count in zip(draw.tasks, draw.counts, strict=True)]
        return Joined(self._memory.raw.index_select(0, draw.slots), self._memory.y[draw.slots], runs, 0, draw)

    def losses(self, model: nn.Module, joined: Joined, *, stream: str = "augment") -> Tensor:
        """One number per sample, (n,), from a forward of the model; `stream`: whose randomness augments samples."""
        return self.values(joined, self._forward(model, self.prepared(joined.x, stream), merged(joined.runs)))

    def values(self, joined: Joined, logits: list[Tensor]) -> Tensor:
        """The loss of each sample of the present task, then what each memory sample is held to, (n,)."""
        if self.distance is None or joined.draw is None:
            return self._loss_of(logits, joined.y)
        n = joined.present
        if not n:
            return self.distance.values(joined_logits(logits), joined.draw)
        present, past = torch.split(joined_logits(logits), [n, len(joined.draw)])
        return torch.cat([self._loss_of([present], joined.y[:n]), self.distance.values(past, joined.draw)])

    def prepared(self, raw: Tensor, stream: str) -> Tensor:
        """Stored samples as the model takes them in training."""
        return self._prepare(raw, self._streams.device(stream))

    def of_task(self, model: nn.Module, raw: Tensor, y: Tensor, task: int) -> Tensor:
        """The label loss of each sample of one task, (n,), in the mode that the model is in; draws from no stream."""
        return self._loss_of(self._forward(model, self._unrandomly(raw), [(self.heads[task], len(raw))]), y)

    def answers(self, model: nn.Module, raw: Tensor, runs: Runs) -> list[Tensor]:
        """Logits as for a test: the gauge's view of the model."""
        x = self._unrandomly(raw) if self._evaluate is None else self._evaluate(raw)
        return self._forward(model, x, merged(runs))

    @torch.no_grad()
    def store_answers(self, model: nn.Module, slots: Tensor, task: int, batch_size: int) -> None:
        """The logits of samples of a task that were just stored, in forwards like that of a training step."""
        assert self.distance is not None
        assert self._memory.raw is not None
        head = self.heads[task]
        self.distance.end_task(head)
        there = slots.to(self._memory.device)
        was_training = model.training
        model.train(shares_statistics(model) or self.augments)
        with frozen_statistics(model):
            logits = []
            for part in torch.split(there, batch_size):
                x = self.prepared(self._memory.raw.index_select(0, part), "reference")
                logits.append(joined_logits(self._forward(model, x, [(head, len(part))])))
        model.train(was_training)
        self.distance.store(there, head, torch.cat(logits))

    def _unrandomly(self, raw: Tensor) -> Tensor:
        return self._prepare(raw, torch.Generator(self._memory.device).manual_seed(0))


def _call(model: nn.Module, x: Tensor, runs: Runs) -> list[Tensor]:
    try:
        return [model(x)]
    except torch.OutOfMemoryError:
        raise
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ColdError(f"the model does not take x of shape {tuple(x.shape)} and type {x.dtype}: {reason}") from error


def _as_stored(raw: Tensor, generator: torch.Generator) -> Tensor:
    return raw
