"""ER-ACE: the batch does not push down classes that it does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..catalogue import METHODS
from .base import Batch, Context
from .replay import Replay, cross_entropy

_MASKED = -1e9


class ERACE(Replay, entry=METHODS["er-ace"]):
    """CE(B) with the logits of classes that were seen before but are not in B masked, plus CE(M) in full.

    Classes are those of the batch's head; with one head per task, few batches lack one. Classes not yet seen stay in.

    always : mask and replay in the first task too, which is the rule where task boundaries are not known; by default
    both begin with the second task. In a stream without task boundaries (`--windows`) this is always on
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.seen = torch.zeros(
            len(context.benchmark.head_widths), self.widest, dtype=torch.bool, device=context.device
        )

        self.always = self.options.always or self.config.windows is not None

    def loss(self, batch: Batch) -> Tensor:
        present = torch.zeros(self.widest, dtype=torch.bool, device=batch.y.device)
        present[batch.y] = True
        absent = self.seen[batch.head] & ~present
        self.seen[batch.head] |= present
        draw = self.sample(batch) if batch.task or self.always else None
        if draw is None:
            x = self.context.training_inputs(batch.raw)
            logits = self.context.forward(self.model, x, [(batch.head, len(batch.raw))])[0]
            return cross_entropy(self._masked(logits, absent, batch), batch.y)
        (now, y), past = self.logits(self.joint_batch(batch, draw))
        return cross_entropy(self._masked(now, absent, batch), y) + cross_entropy(*past)

    def _masked(self, logits: Tensor, absent: Tensor, batch: Batch) -> Tensor:
        if not (batch.task or self.always):
            return logits
        return logits.masked_fill(absent[: logits.shape[1]], _MASKED)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "seen": self.seen}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.seen = state["seen"].to(self.context.device)
