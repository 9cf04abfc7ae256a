"""The drift-plus-penalty objective of one step, and the moves of the queues that come with it.

With one forward for all samples, or, where a past task's queue is empty, with a graph for the others only: see `idle`
of `cold.COLD` and the explanation in `cold.dpp`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .config import Idle, QueueUpdate
from .joint import Joined, JointPass
from .layer_modes import frozen_statistics, shares_statistics
from .memory import Draw, Memory, sums_by_task
from .past_weights import PastWeights

_WORTH = 0.2  # share of idle samples from which a second forward is cheaper than their backward pass


@dataclass(frozen=True, eq=False)
class Value:
    """The objective of one step, with its graph, and what went into it."""

    objective: Tensor
    present: Tensor  #: losses of the batch of the present task, (n,), without a graph
    beta: Tensor  #: the weights of the past tasks, (past,)
    excess: Tensor | None = None  #: present minus reference loss of each past task, (past,), where it was measured


class Objective:
    """How the losses of a step become one number; the settings are those of `cold.COLD`."""

    def __init__(
        self, memory: Memory, through: JointPass, weights: PastWeights, *, queue_update: QueueUpdate, idle: Idle
    ) -> None:
        self._memory, self._through, self._weights = memory, through, weights
        self._queue_update, self._idle = queue_update, idle

    def of_batch(self, model: nn.Module, raw: Tensor, y: Tensor, task: int, draw: Draw | None) -> Value:
        """Of a batch of a task and the drawn memory samples; the model is called here."""
        if draw is not None and not self._looks_at_step:
            beta = self._weights.of(task)
            alive = self._alive(model, beta, draw, len(raw))
            if alive is not None:
                return self._split(model, raw, y, task, draw, beta, alive)
        joined = self._through.with_memory(raw, y, task, draw)
        return self.of_losses(joined, self._through.losses(model, joined), task)

    def of_losses(self, joined: Joined, losses: Tensor, task: int) -> Value:
        """The queues move by the losses of this step, behind the weights that it uses. Where the weights need the
        constraints at the present model, queues that move at every step do so first, by the model that the last step
        has led to."""
        n, draw, present = joined.present, joined.draw, self._weights.present
        if draw is None:
            return Value(present * losses.mean(), losses.detach(), self._weights.queues.Q[:0])
        quiet = losses.detach()
        measured = self._needs_measure or self._looks_at_step
        excess = self._excess(draw, quiet[n:], task) if measured else None
        if self._looks_at_step:
            if excess is not None and self._needs_measure:
                self._weights.queues.update(excess)
            beta = self._weights.of(task, excess)
            weight = beta[draw.owner] * draw.weight
        else:
            beta = self._weights.of(task)
            weight = beta[draw.owner] * draw.weight
            if excess is not None:
                self._weights.queues.update(excess)
        objective = torch.dot(losses, torch.cat([weight.new_full((n,), present / n), weight]))
        return Value(objective, quiet[:n], beta, excess)

    def _split(
        self, model: nn.Module, raw: Tensor, y: Tensor, task: int, draw: Draw, beta: Tensor, alive: list[bool]
    ) -> Value:
        """A graph for the batch and the tasks with Q_k > 0 only; the others are measured without one, if at all."""
        through, n = self._through, len(raw)
        lively, idle = _kept(draw, alive), _kept(draw, [not a for a in alive])
        weight = _rows(beta[draw.owner] * draw.weight, draw, alive)
        batch = through.with_memory(raw, y, task, lively)
        excess = None
        if not self._needs_measure:  # samples without a weight are not needed at all
            losses = through.losses(model, batch)
        elif shares_statistics(model):
            with torch.no_grad():
                replayed = through.losses(model, through.with_memory(raw, y, task, draw))[n:]
            with frozen_statistics(model):
                losses = through.losses(model, batch)
            excess = self._excess(draw, replayed, task)
        else:
            with torch.no_grad():
                quiet = through.losses(model, through.memory_only(idle))
            losses = through.losses(model, batch)
            measured = {True: torch.split(losses.detach()[n:], lively.counts), False: torch.split(quiet, idle.counts)}
            pieces = {kind: iter(parts) for kind, parts in measured.items()}
            excess = self._excess(draw, torch.cat([next(pieces[alive[k]]) for k in draw.tasks]), task)
        if excess is not None:
            self._weights.queues.update(excess)
        objective = torch.dot(losses, torch.cat([weight.new_full((n,), self._weights.present / n), weight]))
        return Value(objective, losses.detach()[:n], beta, excess)

    def _alive(self, model: nn.Module, beta: Tensor, draw: Draw, n: int) -> list[bool] | None:
        """Which past tasks have a weight; None: all of them, or one joint forward is wanted or cheaper."""
        auto = self._idle == "auto"
        if self._idle == "joint" or (auto and (beta.device.type != "cpu" or shares_statistics(model))):
            return None
        # samples that need not be measured cost nothing to leave out
        enough = _WORTH * (n + len(draw)) if auto and self._needs_measure else 1
        if len(draw) < enough:
            return None
        alive: list[bool] = (beta > 0).tolist()
        idle = sum(count for k, count in zip(draw.tasks, draw.counts, strict=True) if not alive[k])
        return alive if idle >= enough else None

    @property
    def _needs_measure(self) -> bool:
        return self._queue_update == "step" and self._weights.requested is None

    @property
    def _looks_at_step(self) -> bool:
        """Whether the weights need the constraints at the model of this very step."""
        looks = self._weights.queues.controller.looks
        return looks == "always" or (looks == "before" and self._needs_measure)

    def _excess(self, draw: Draw, losses: Tensor, task: int) -> Tensor:
        """Mean over the drawn samples of each past task of present minus reference loss, (past,)."""
        excess = draw.weight * (losses.to(self._memory.reference.dtype) - self._memory.reference[draw.slots])
        return sums_by_task(excess, draw.owner, task)


def _kept(draw: Draw, tasks: list[bool]) -> Draw:
    """The samples of some tasks, still grouped."""
    kept = [(task, count) for task, count in zip(draw.tasks, draw.counts, strict=True) if tasks[task]]
    slots, weight, owner = (_rows(column, draw, tasks) for column in (draw.slots, draw.weight, draw.owner))
    return Draw(slots, [task for task, _ in kept], [count for _, count in kept], weight, owner)


def _rows(column: Tensor, draw: Draw, tasks: list[bool]) -> Tensor:
    """The rows of some tasks; their number is known, so nothing has to be read back from a GPU, as it would with a
    mask."""
    parts = zip(draw.tasks, torch.split(column, draw.counts), strict=True)
    return torch.cat([part for task, part in parts if tasks[task]] or [column[:0]])
