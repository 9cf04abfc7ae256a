"""Plain replay: one mean cross-entropy over the batch and the memory batch."""

from __future__ import annotations

import torch
from torch import Tensor

from ..catalogue import METHODS
from .base import Batch
from .replay import Replay


class ER(Replay, entry=METHODS["er"]):
    """theta <- theta - eta grad CE(B u M). The memory batch is the one COLD draws: same samples, same random stream.

    With a replay weight w other than 1, memory samples count w times as much as those of the batch:
    (sum of losses over B + w * sum over M) / (b + w * m). It is the control for COLD: a weight of the past that
    does not adapt.
    """

    over_processes = True

    def loss(self, batch: Batch) -> Tensor:
        draw = self.sample(batch)
        if draw is None:
            return self.batch_losses(batch).mean()
        losses = self.losses_with_memory(batch, self.memory, draw)
        weight = self.options.replay_weight
        if weight == 1:
            return losses.mean()
        weights = losses.new_full((len(losses),), weight)
        weights[: len(batch.raw)] = 1.0
        return torch.dot(losses, weights / weights.sum())
