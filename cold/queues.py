"""Virtual queues: the arithmetic of eq. `queue_update` on the device, one number per past task.

The same arithmetic as `coldtheory`, held together by a parity test. Tasks count from 0 here, so that after t
finished tasks the queues of tasks 0..t-1 are alive, and the one of task t-1 starts at 0:

    Q_k <- max(Q_k + d_k, 0),   d_k = (present loss on task k's memory) - (reference loss on it) - delta
    beta_k = Q_k ("sum", eq. batchCOLD of the main text) or Q_k / t ("mean", the appendix), t the number of past tasks
"""

from __future__ import annotations

import torch
from torch import Tensor

from coldtheory.ground.checks import number, whole
from coldtheory.ground.limits import demand_memory

from .config import Weights, check_setting


def queue_weights(Q: Tensor, weights: Weights) -> Tensor:
    """beta_k of the past tasks' losses in the objective, (past,).

    >>> queue_weights(torch.tensor([1.0, 3.0]), "mean")
    tensor([0.5000, 1.5000])
    """
    return Q / max(len(Q), 1) if weights == "mean" else Q


def moved(Q: Tensor, excess: Tensor, delta: float) -> Tensor:
    """The queues after one update, (past,); `excess` is present minus reference loss.

    >>> moved(torch.tensor([0.0, 1.0]), torch.tensor([0.5, -3.0]), delta=0.25)
    tensor([0.2500, 0.0000])
    """
    return (Q + (excess - delta)).clamp_min(0.0)


class VirtualQueues:
    """The queues of a run of at most `tasks` tasks; all of them live in one tensor on the device."""

    def __init__(
        self,
        tasks: int,
        *,
        delta: float,
        weights: Weights = "sum",
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        check_setting("weights", weights)
        self.delta = number("delta", delta, least=0)
        tasks = whole("tasks", tasks, least=1)
        demand_memory(8 * tasks, f"the queues of {tasks} tasks")
        self.weights: Weights = weights
        self.Q = torch.zeros(tasks, device=device, dtype=dtype)  # (T,)

    def beta(self, past: int) -> Tensor:
        """Weights of the first `past` tasks in the objective, (past,)."""
        return queue_weights(self.Q[:past], self.weights)

    def update(self, excess: Tensor) -> None:
        """Move the queues of the first len(excess) tasks."""
        self.Q[: len(excess)] = moved(self.Q[: len(excess)], excess, self.delta)

    def state(self) -> dict[str, Tensor]:
        return {"Q": self.Q.clone()}

    def load(self, state: dict[str, Tensor]) -> None:
        self.Q.copy_(state["Q"])
