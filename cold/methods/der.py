"""Dark experience replay: the past as the logits that the network gave then, and (DER++) its labels too."""

from __future__ import annotations

import torch
from torch import Tensor

from ..catalogue import METHODS
from ..layer_modes import frozen_statistics
from ..losses import joined, merged
from ..memory import Draw
from .base import Batch
from .replay import Replay, cross_entropy


class DER(Replay, entry=METHODS["der"]):
    """CE(B) + alpha * MSE(h(x'), z'): z' are the logits of the training forward when x' was stored.

    With fill=task-end that forward is made when the task ends, over the stored samples in batches.
    """

    _batch_logits: Tensor | None = None

    def loss(self, batch: Batch) -> Tensor:
        draws = self.draws(batch)
        if not draws:
            logits = self.context.forward(
                self.model, self.context.training_inputs(batch.raw), [(batch.head, len(batch.raw))]
            )
            return self._present(logits[0], batch.y)
        (now, y), *replayed = self.logits(self.joint_batch(batch, *draws))
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
        """The stored logits of all slots, (M, widest head)."""
        return self.memory.column(column, self.widest)

    def _present(self, logits: Tensor, y: Tensor) -> Tensor:
        self._batch_logits = logits.detach()
        return cross_entropy(logits, y)

    @torch.no_grad()
    def kept(self, slots: Tensor, rows: Tensor | None) -> None:
        if rows is not None:
            assert self._batch_logits is not None
            self.keep_logits(slots, self._batch_logits[rows])
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


class DERpp(DER, entry=METHODS["derpp"]):
    """CE(B) + alpha * MSE(h(x'), z') + beta * CE(h(x''), y''), x' and x'' independent draws.

    same_draw takes x'' = x': as many replayed samples per step as the other methods, for comparisons on equal terms.
    """

    def draws(self, batch: Batch) -> list[Draw]:
        drawn = (self.sample(batch) for _ in range(1 if self.options.same_draw else 2))
        return [draw for draw in drawn if draw is not None]

    def past_loss(self, draws: list[Draw], replayed: list[tuple[Tensor, Tensor]]) -> Tensor:
        beta: float = self.options.beta
        return super().past_loss(draws, replayed) + beta * cross_entropy(*replayed[-1])
