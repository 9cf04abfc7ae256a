"""A running average of a network's weights, which is evaluated in place of the network that trains.

After every step, theta being the network's weights,

    average <- a average + (1 - a) theta,   a = min(1 - 1/(step + 1), decay)

so that the average is the plain mean at first, and later looks back over some 1/(1 - decay) steps. Training does not
see it. Where a stream is short and its steps are noisy, as with small batches in one or two epochs, the average may be
much more accurate than the last weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import nn


class RunningAverage:
    """The average of a model from now on; running statistics of BatchNorm are averaged like weights."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.network = deepcopy(model).requires_grad_(False)
        self.decay, self.steps = decay, 0

    def follow(self, model: nn.Module) -> None:
        """After a step of the model."""
        approach(self.network, model, min(1.0 - 1.0 / (self.steps + 1), self.decay))
        self.steps += 1

    def state(self) -> dict[str, Any]:
        """What must be kept to go on bit for bit."""
        return {"network": self.network.state_dict(), "steps": self.steps}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self.network.load_state_dict(state["network"])
        self.steps = int(state["steps"])


@torch.no_grad()
def approach(average: nn.Module, model: nn.Module, decay: float) -> None:
    """average <- decay * average + (1 - decay) * model, for all weights and statistics; counters are copied."""
    for ours, theirs in zip(average.state_dict().values(), model.state_dict().values(), strict=True):
        if ours.is_floating_point():
            ours.lerp_(theirs, 1.0 - decay)
        else:
            ours.copy_(theirs)
