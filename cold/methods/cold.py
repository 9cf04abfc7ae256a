"""COLD with any reference and controller: the drift-plus-penalty objective of `cold.dpp` in the training loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..catalogue import METHODS
from ..data import Part
from ..dpp import COLD
from .base import Batch, Context, Method


class Cold(Method, entry=METHODS["cold"]):
    """Past tasks are compared with the model with which the present task started, or as `--reference` says."""

    over_processes = True
    usual: ClassVar[str] = "previous"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        config: Any = context.config
        self.reference: str = config.reference or self.usual
        self.dpp = COLD(
            V=config.V,
            delta=config.delta,
            tasks=len(context.benchmark.tasks),
            memory=context.new_memory(),
            memory_batch=config.memory_batch,
            weights=config.weights,
            queue_update=config.queue_update,
            reference=self.reference,
            oracle=config.oracle,
            controller=config.controller,
            replay=config.replay,
            idle=config.idle,
            reference_passes=config.reference_passes,
            heads=context.heads,
            forward=context.forward,
            prepare=context.inputs,
            augments=context.benchmark.transform.augments,
            batch_size=config.batch_size,
            streams=context.streams,
            device=context.device,
            dtype=torch.get_default_dtype(),
            history=0,  # the trainer has a record of its own
        )

    def begin_task(self, task: int, train: Part) -> None:
        self.dpp.begin_task(self.model, train)

    def resume_task(self, task: int, train: Part) -> None:
        self.dpp.resume_task(train)

    def loss(self, batch: Batch) -> Tensor:
        return self.dpp.loss(self.model, batch.raw, batch.y)

    def end_epoch(self, task: int, epoch: int) -> None:
        self.dpp.end_epoch(self.model)

    def end_task(self, task: int, train: Part) -> None:
        self.dpp.end_task(self.model, train)

    def queues(self) -> Tensor:
        return self.dpp.queues.Q

    def past_weights(self) -> Tensor:
        return self.dpp.queues.beta(self.dpp.task)

    def arrays(self) -> dict[str, Tensor]:
        return {"compared_with": self.dpp.compared_with}

    def state(self) -> dict[str, Any]:
        return {"dpp": self.dpp.state()}

    def load(self, state: Mapping[str, Any]) -> None:
        self.dpp.load(state["dpp"])


class ColdOracle(Cold, entry=METHODS["cold-oracle"]):
    """Past tasks are compared with the best past model on their memory."""

    over_processes = True
    usual = "best"
