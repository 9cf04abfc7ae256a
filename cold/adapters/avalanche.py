"""COLD as a plug-in of Avalanche's strategies, on its benchmarks and with its loggers.

    plugin = ColdPlugin(V=20.0, delta=0.0, memory=500, memory_batch=4, reference="best", controller="leaky:a=0.1")
    evaluator = EvaluationPlugin(accuracy_metrics(stream=True), QueueMetric(plugin), loggers=[InteractiveLogger()])
    strategy = Naive(model, optimizer, plugins=[plugin], evaluator=evaluator)
    for experience in benchmark.train_stream:
        strategy.train(experience)

`ColdPlugin(constraint="logits", memory=500)` is COLD-distill, and `forget=0.1` requests forgetting: the samples of its
gauge are taken out of each experience before Avalanche trains on it.

Each experience is a task; how many will come need not be known. Before the forward pass the plug-in puts the memory
samples of the step behind the batch, each with the task label of its experience, so a multi-head model answers with the
right head; before the backward pass it replaces the loss by the drift-plus-penalty objective. Metrics and other
plug-ins then see the batch of the present experience alone. Plug-ins that add to the loss come after this one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from coldtheory.ground.errors import ColdError

from ..dpp import COLD
from ..joint import Joined
from ..losses import Runs
from ..samples import as_samples
from . import MissingExtra

try:
    from avalanche.core import SupervisedPlugin
    from avalanche.evaluation import PluginMetric
    from avalanche.evaluation.metric_results import MetricValue
    from avalanche.models.utils import is_multi_task_module
except ImportError:
    raise MissingExtra("avalanche") from None
except RuntimeError as error:  # torchvision's operators
    raise ColdError(
        f"Avalanche cannot be loaded ({error}); install the torchvision that belongs to your torch"
    ) from None


class ColdPlugin(SupervisedPlugin):  # type: ignore[misc,unused-ignore]
    """The drift-plus-penalty objective in place of a strategy's loss; takes the settings of `cold.COLD`."""

    supports_distributed = False

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        for name in ("forward", "heads", "idle", "device"):
            if name in settings:
                raise ColdError(f"{name} is not a setting of the plug-in: Avalanche's strategy decides it")
        self._settings = settings
        self._dpp: COLD | None = None
        self._joined: Joined | None = None
        self._batch: list[Tensor] = []
        COLD(**settings)  # a mistake is reported here, not when training starts

    @property
    def dpp(self) -> COLD:
        """Queues, memory and history; available from the start of the first experience."""
        if self._dpp is None:
            raise ColdError("the plug-in has no queues yet; call strategy.train(experience) first")
        return self._dpp

    def after_train_dataset_adaptation(self, strategy: Any, **_: Any) -> None:
        """Samples of the gauge leave the experience before its loader is made."""
        if self._dpp is None:
            forward = _by_task if is_multi_task_module(strategy.model) else _plain
            common = {"batch_size": strategy.train_mb_size, "forward": forward, "device": strategy.device}
            self._dpp = COLD(**(common | self._settings))
        if self._dpp.gauge is not None:
            samples = as_samples(strategy.adapted_dataset)[0]
            rows = self._dpp.rows_to_train(samples, self._dpp.task)
            strategy.adapted_dataset = strategy.adapted_dataset.subset(rows.tolist())

    def before_training_exp(self, strategy: Any, **_: Any) -> None:
        """Begin a task with the samples of the experience."""
        labels = set(getattr(strategy.experience, "task_labels", [0]))
        if len(labels) != 1:
            raise ColdError(f"an experience must be of one task, this one is of {len(labels)}; split it by task label")
        self.dpp.begin_task(strategy.model, strategy.adapted_dataset, head=labels.pop())

    def before_forward(self, strategy: Any, **_: Any) -> None:
        """Put the memory samples of the step behind the batch."""
        self._batch = list(strategy.mbatch)
        self._joined = joined = self.dpp.join(strategy.mb_x, strategy.mb_y)
        strategy.mbatch = [joined.x, joined.y, *self._batch[2:-1], _task_labels(joined.runs, joined.x.device)]

    def before_backward(self, strategy: Any, **_: Any) -> None:
        """Replace the loss by the objective, and take the memory samples out of the batch again."""
        assert self._joined is not None
        strategy.loss = self.dpp.objective(self._joined, strategy.mb_output)
        strategy.mb_output, strategy.mbatch = strategy.mb_output[: self._joined.present], self._batch

    def after_training_epoch(self, strategy: Any, **_: Any) -> None:
        """Move the queues if they move once per epoch."""
        self.dpp.end_epoch(strategy.model)

    def after_training_exp(self, strategy: Any, **_: Any) -> None:
        """End the task: store samples of the experience."""
        self.dpp.end_task(strategy.model)


class QueueMetric(PluginMetric):  # type: ignore[misc,type-arg,unused-ignore]
    """The queues of the past experiences after each training iteration, for Avalanche's loggers."""

    def __init__(self, plugin: ColdPlugin) -> None:
        super().__init__()
        self._plugin = plugin

    def result(self) -> list[float]:
        """The queues of the past experiences."""
        queues: list[float] = self._plugin.dpp.queues.Q[: self._plugin.dpp.task].tolist()
        return queues

    def reset(self) -> None:
        """Nothing to reset: the queues belong to the plug-in."""

    def after_training_iteration(self, strategy: Any) -> list[Any]:
        """One metric value per queue, for the loggers."""
        at = strategy.clock.train_iterations
        return [MetricValue(self, f"Queue/Exp{k:03d}", Q, at) for k, Q in enumerate(self.result())]

    def __str__(self) -> str:
        return "Queue"


def _task_labels(runs: Runs, device: torch.device) -> Tensor:
    return torch.cat([torch.full((count,), label, device=device) for label, count in runs])


def _by_task(model: nn.Module, x: Tensor, runs: Runs) -> list[Tensor]:
    return [model(x, _task_labels(runs, x.device))]


def _plain(model: nn.Module, x: Tensor, runs: Runs) -> list[Tensor]:
    return [model(x)]
