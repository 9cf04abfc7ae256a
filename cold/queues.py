"""Virtual queues, or another controller in their place: what is kept of every past task, on the device.

The arithmetic is that of `coldtheory.controllers`; a parity test compares it with the simulator. Tasks count from 0
here, so after t finished tasks the queues of tasks 0..t-1 exist, and that of task t-1 starts at 0:

    Q_k <- max(Q_k + d_k, 0),   d_k = (present loss on task k's memory) - (reference loss on it) - delta
    beta_k = Q_k ("sum", eq. batchCOLD of the main text) or Q_k / t ("mean", the appendix), t the number of past tasks

Another controller has its own rule for Q_k, and for the weight that takes the place of Q_k in beta_k. Some look at the
constraint d_k for that weight: `yu-neely` at the model of the queues' last move, `augmented` at every iterate.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from coldtheory.controllers import Controller, controller_of
from coldtheory.ground.checks import number, whole
from coldtheory.ground.limits import demand_memory

from .config import Weights, check_setting


def maximum(values: Tensor, least: Tensor | float) -> Tensor:
    """Entry by entry; NaN stays."""
    return values.clamp(min=least)


class VirtualQueues:
    """The queues of a run of at most `tasks` tasks; all of them live in one tensor on the device.

    `excess` is always present minus reference loss, one number per past task, (past,).
    """

    def __init__(
        self,
        tasks: int,
        *,
        delta: float,
        weights: Weights = "sum",
        controller: Controller | str | None = None,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        check_setting("weights", weights)
        self.delta = number("delta", delta, least=0)
        tasks = whole("tasks", tasks, least=1)
        demand_memory(8 * tasks, f"the queues of {tasks} tasks")
        self.weights: Weights = weights
        self.controller = controller_of(controller)
        nothing = torch.zeros(tasks, device=device, dtype=dtype)
        self.kept: list[Tensor] = list(self.controller.start(nothing, maximum))  # each (T,)
        self.before = nothing  # the excess when the queues moved last, or when the task began, (T,)

    @property
    def Q(self) -> Tensor:
        """The queues, or what another controller keeps first, (T,)."""
        return self.kept[0]

    def grow(self, tasks: int) -> None:
        """Make room for this many tasks, if there is less."""
        more = self.before.new_zeros(max(tasks - len(self.before), 0))
        started = self.controller.start(more, maximum)
        self.kept = [torch.cat([kept, first]) for kept, first in zip(self.kept, started, strict=True)]
        self.before = torch.cat([self.before, more])

    def begin_task(self, excess: Tensor) -> None:
        """The last of the tasks joins the past ones."""
        past = len(excess)
        self.before[:past] = excess
        for kept, first in zip(self.kept, self.controller.start(excess[-1:] - self.delta, maximum), strict=True):
            kept[past - 1 : past] = first

    def beta(self, past: int, excess: Tensor | None = None) -> Tensor:
        """Weights of the first `past` tasks in the objective, (past,), without `excess` with that of the last move.

        >>> queues = VirtualQueues(2, delta=0.0, weights="mean")
        >>> queues.update(torch.tensor([1.0, 3.0]))
        >>> queues.beta(2)
        tensor([0.5000, 1.5000])
        """
        weight = self.Q[:past]
        if self.controller.looks != "never":
            g = (self.before[:past] if excess is None else excess) - self.delta
            weight = self.controller.weight(self._state(past), g, maximum)
        return weight / max(past, 1) if self.weights == "mean" else weight

    def update(self, excess: Tensor) -> None:
        """Move the queues of the first len(excess) tasks.

        >>> queues = VirtualQueues(2, delta=0.25)
        >>> queues.Q[:] = torch.tensor([0.0, 1.0])
        >>> queues.update(torch.tensor([0.5, -3.0]))
        >>> queues.Q
        tensor([0.2500, 0.0000])
        """
        past = len(excess)
        for kept, moved in zip(
            self.kept, self.controller.update(self._state(past), excess - self.delta, maximum), strict=True
        ):
            kept[:past] = moved
        if self.controller.looks != "never":
            self.before[:past] = excess

    def _state(self, past: int) -> tuple[Tensor, ...]:
        return tuple(kept[:past] for kept in self.kept)

    def state(self) -> dict[str, Any]:
        """Everything that the controller keeps, for a checkpoint."""
        return {"Q": self.Q.clone(), "more": [kept.clone() for kept in self.kept[1:]], "before": self.before.clone()}

    def load(self, state: dict[str, Any]) -> None:
        """Checkpoints of older versions have Q alone, which is all that the plain queue keeps."""
        for kept, stored in zip(self.kept, [state["Q"], *state.get("more", ())], strict=True):
            kept.copy_(stored)
        if "before" in state:
            self.before.copy_(state["before"])
