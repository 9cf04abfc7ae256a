"""Plain replay: one mean cross-entropy over the batch and the memory batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from .base import Batch, Published, check_options
from .replay import ONLINE, Replay


class ER(Replay):
    """theta <- theta - eta grad CE(B u M). The memory batch is the one COLD draws: same samples, same random stream.

    With a replay weight w other than 1, memory samples count w times as much as those of the batch:
    (sum of losses over B + w * sum over M) / (b + w * m). It is the control for COLD: a weight of the past that
    does not adapt.
    """

    name = "er"
    title = "ER"
    paper = "Chaudhry et al. 2019, On Tiny Episodic Memories in Continual Learning"
    over_processes = True
    published: ClassVar[Published] = {
        "pmnist": {**ONLINE, "lr": 0.2, "batch_size": 128, "memory_batch": 128, "epochs": 1},
        "split-cifar10": {**ONLINE, "lr": 0.1, "batch_size": 32, "memory_batch": 32, "epochs": 50},
        "split-cifar100": {**ONLINE, "lr": 0.1, "batch_size": 32, "memory_batch": 32},
    }

    @dataclass(frozen=True)
    class Options(Replay.Options):
        replay_weight: float = 1.0

        def __post_init__(self) -> None:
            super().__post_init__()
            check_options(self, nonnegative=("replay_weight",))

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
