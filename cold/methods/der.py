"""Dark experience replay: the past as the logits that the network gave then, and (DER++) its labels too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ..layer_modes import frozen_statistics
from ..losses import joined, merged
from ..memory import Draw
from .base import Batch, Published, check_options
from .replay import ONLINE, Replay, cross_entropy


class DER(Replay):
    """CE(B) + alpha * MSE(h(x'), z'): z' are the logits of the training forward when x' was stored.

    With fill=task-end that forward is made when the task ends, over the stored samples in batches.
    """

    name = "der"
    title = "DER"
    paper = "Buzzega et al. 2020, Dark Experience for General Continual Learning"
    cost = "(b + m)*C + m*n_c"
    storage = "M*(p + n_c)"
    published: ClassVar[Published] = {
        "pmnist": {**ONLINE, "lr": 0.2, "batch_size": 128, "memory_batch": 128, "epochs": 1,
                   "options": {"fill": "stream", "alpha": 0.5}},
        "split-cifar10": {**ONLINE, "lr": 0.03, "batch_size": 32, "memory_batch": 32, "epochs": 50,
                          "options": {"fill": "stream", "alpha": 0.3}},
    }  # fmt: skip

    @dataclass(frozen=True)
    class Options(Replay.Options):
        alpha: float = 0.5

        def __post_init__(self) -> None:
            super().__post_init__()
            check_options(self, nonnegative=("alpha",))

    _batch_logits: Tensor | None = None

    def loss(self, batch: Batch) -> Tensor:
        draws = self.draws(batch)
        if not draws:
            logits = self.context.forward(
                self.model, self.context.training_inputs(batch.raw), [(batch.head, len(batch.raw))]
            )
            return self._present(logits[0], batch.y)
        (now, y), *replayed = self.logits(self.company(batch, *draws))
        return self._present(now, y) + self.past_loss(draws, replayed)

    def draws(self, batch: Batch) -> list[Draw]:
        """Independent replay batches; none while there is nothing to replay."""
        draw = self.sample(batch)
        return [] if draw is None else [draw]

    def past_loss(self, draws: list[Draw], replayed: list[tuple[Tensor, Tensor]]) -> Tensor:
        """What stands beside CE(B)."""
        alpha: float = self.options.alpha
        return alpha * self.distance(draws[0], replayed[0][0])

    def distance(self, draw: Draw, logits: Tensor, column: str = "logits") -> Tensor:
        """The mean of (h - z)^2 over all logits of all drawn samples; a narrow head has fewer of them."""
        width = logits.shape[1]
        if self.one_width:
            return (logits.float() - self.stored(column)[draw.slots]).square().mean()
        there = torch.arange(width, device=logits.device) < self.widths[draw.owner][:, None]
        away = torch.where(there, logits.float() - self.stored(column)[draw.slots, :width], 0.0)
        return away.square().sum() / there.sum()

    def stored(self, column: str = "logits") -> Tensor:
        return self.memory.column(column, self.widest)

    def _present(self, logits: Tensor, y: Tensor) -> Tensor:
        self._batch_logits = logits.detach()
        return cross_entropy(logits, y)

    @torch.no_grad()
    def kept(self, slots: Tensor, rows: Tensor | None) -> None:
        if rows is not None:
            assert self._batch_logits is not None
            self.keep_logits(slots, self._batch_logits[rows.to(self.context.device)])
            return
        assert self.memory.raw is not None
        with frozen_statistics(self.model):
            for part in torch.split(slots, self.config.batch_size):
                head = self.context.heads[int(self.memory.owner[part[0]])]
                x = self.context.training_inputs(self.memory.raw[part.to(self.context.device)])
                self.keep_logits(part, joined(self.context.forward(self.model, x, merged([(head, len(part))]))))

    def keep_logits(self, slots: Tensor, logits: Tensor) -> None:
        """All these samples are of one task; what its head lacks is never looked at."""
        self.stored()[slots.to(self.context.device), : logits.shape[1]] = logits.float()
