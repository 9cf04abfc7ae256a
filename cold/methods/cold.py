"""COLD with any reference and controller: the drift-plus-penalty objective of `cold.dpp` in the training loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..catalogue import METHODS
from ..data import Part
from ..dpp import COLD
from ..losses import Runs, in_passes
from .base import Batch, Context, Method

_AS_IN_CONFIG = (
    "V", "delta", "memory", "memory_batch", "weights", "queue_update", "queue_start", "gauge", "forget", "forget_acc",
    "controller", "replay", "idle", "reference_passes", "batch_size",
)  # fmt: skip


class Cold(Method, entry=METHODS["cold"]):
    """Past tasks are compared with the model with which the present task started, or as `--reference` says."""

    over_processes = True
    usual: ClassVar[str] = "previous"
    held_to: ClassVar[str] = METHODS["cold"].constraint  #: also of a class of your own that is derived from this one
    _present = 0  # samples of the present task in a forward, those of the memory follow

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        config: Any = context.config
        self.reference: str = config.reference or self.usual
        self.dpp = COLD(
            tasks=len(context.benchmark.tasks),
            policy=config.memory_policy,
            constraint=config.constraint or self.held_to,
            reference=self.reference,
            oracle=config.oracle if self.reference == "best" else None,
            heads=context.heads,
            forward=context.forward if config.forward == "joint" else self._separately,
            prepare=context.inputs,
            evaluate=context.inputs,
            augments=context.benchmark.transform.augments,
            streams=context.streams,
            device=context.device,
            dtype=torch.get_default_dtype(),
            history=0,  # the trainer has a record of its own
            **{name: getattr(config, name) for name in _AS_IN_CONFIG},
        )

    def _separately(self, model: nn.Module, x: Tensor, runs: Runs) -> list[Tensor]:
        """A pass for the samples of the present task, which stand first, and one for those of the memory."""
        parts = in_passes(x, runs, [self._present, len(x) - self._present] if 0 < self._present < len(x) else [len(x)])
        return [logits for part, own in parts for logits in self.context.forward(model, part, own)]

    def set_aside(self, task: int, train: Part) -> Part:
        """Without the samples of the gauge."""
        if self.dpp.gauge is None:
            return train
        rows = self.dpp.rows_to_train(train, task).to(train.index.device)
        return replace(train, index=train.index[rows], y=train.y[rows])

    def begin_task(self, task: int, train: Part) -> None:
        self._present = min(self.config.batch_size, len(train))
        self.dpp.begin_task(self.model, train)

    def resume_task(self, task: int, train: Part) -> None:
        self.dpp.resume_task(train, model=self.model)

    def loss(self, batch: Batch) -> Tensor:
        self._present = len(batch.raw)
        return self.dpp.loss(self.model, batch.raw, batch.y)

    def end_epoch(self, task: int, epoch: int) -> None:
        self._present = min(self.config.batch_size, len(self.context.benchmark.tasks[task].train))
        self.dpp.end_epoch(self.model)

    def end_task(self, task: int, train: Part) -> None:
        self._present = min(self.config.batch_size, len(train))
        self.dpp.end_task(self.model, train)

    def queues(self) -> Tensor:
        return self.dpp.queues.Q

    def past_weights(self) -> Tensor:
        return self.dpp.past_weights

    def arrays(self) -> dict[str, Tensor]:
        return {"compared_with": self.dpp.compared_with, **self.dpp.measured()}

    def state(self) -> dict[str, Any]:
        return {"dpp": self.dpp.state()}

    def load(self, state: Mapping[str, Any]) -> None:
        self.dpp.load(state["dpp"])


class ColdOracle(Cold, entry=METHODS["cold-oracle"]):
    """Past tasks are compared with the best past model on their memory."""

    over_processes = True
    usual = "best"


class ColdDistill(Cold, entry=METHODS["cold-distill"]):
    """Past tasks are held to the answers that the network gave when they ended; V follows from the number of steps."""

    over_processes = True
    usual = "stored"
    held_to = METHODS["cold-distill"].constraint
