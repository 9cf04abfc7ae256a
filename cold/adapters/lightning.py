"""COLD in Lightning: the callback begins and ends tasks, and its state is part of Lightning's checkpoints.

    class Classifier(lightning.LightningModule):
        def training_step(self, batch, i):
            return dpp.loss(self, *batch)
        ...

    dpp = cold.COLD(V=20.0, delta=0.0, memory=60, memory_batch=5)
    for loader in loaders:                                       # one task after the other
        lightning.Trainer(max_epochs=5, callbacks=[ColdCallback(dpp)]).fit(model, loader)

Each `fit` is one task. `fit(..., ckpt_path=...)` goes on in the middle of it.
"""

from __future__ import annotations

from typing import Any

from ..dpp import COLD
from . import MissingExtra

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError:
    raise MissingExtra("lightning") from None


class ColdCallback(Callback):  # type: ignore[misc,unused-ignore]
    """Tells `COLD` when a task begins and ends."""

    def __init__(self, dpp: COLD) -> None:
        self.dpp = dpp

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        """Begin a task with the training data of this fit."""
        self.dpp.begin_task(module, trainer.train_dataloader)

    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Move the queues if they move once per epoch."""
        self.dpp.end_epoch(module)

    def on_train_end(self, trainer: Trainer, module: LightningModule) -> None:
        """End the task: store samples of it."""
        self.dpp.end_task(module)

    def state_dict(self) -> dict[str, Any]:
        """The state of `COLD`, for Lightning's checkpoint."""
        return self.dpp.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of `COLD` from Lightning's checkpoint."""
        self.dpp.load_state_dict(state)
