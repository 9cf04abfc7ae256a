"""CLS-ER: two slowly moving averages of the network, a plastic and a stable one, teach it what it knew."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..average import approach
from ..catalogue import METHODS
from ..layer_modes import frozen_statistics
from ..losses import Runs, joined, merged
from .base import Batch, Context
from .replay import Replay, cross_entropy


class CLSER(Replay, entry=METHODS["cls-er"]):
    """CE(B and M together) + strength * MSE(h(x'), z') on the same replay batch M.

    z' are the logits of the plastic or of the stable average, for each sample of the one that gives its label the
    larger probability. After a step each average moves with its own probability (`plastic_rate`, `stable_rate`):

        average <- a average + (1 - a) theta,   a = min(1 - 1/(step + 1), plastic_decay or stable_decay)

    The stable average is what is evaluated. Running statistics of BatchNorm are averaged like weights; the authors'
    code leaves them to the averages' own passes over replayed samples, of which there are none while the memory is
    empty.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.plastic, self.stable = (deepcopy(self.model).requires_grad_(False) for _ in range(2))
        self.steps = 0

    def loss(self, batch: Batch) -> Tensor:
        draw = self.sample(batch)
        if draw is None:
            return self.batch_losses(batch).mean()
        joint = self.joint_batch(batch, draw)
        x, n = self.context.training_inputs(joint.raw), len(batch.raw)
        logits = joined(self.passes(x, joint.runs, joint.sizes))
        past = self.joint_batch(None, draw)
        told = self._told(x[n:], merged(past.runs), past.y)
        there = torch.isfinite(told)  # a head may have fewer classes than the widest
        away = torch.where(there, logits[n:, : told.shape[1]].float() - told, 0.0)
        strength: float = self.options.strength
        return cross_entropy(logits, joint.y) + strength * away.square().sum() / there.sum()

    @torch.no_grad()
    def _told(self, x: Tensor, runs: Runs, y: Tensor) -> Tensor:
        """For each sample the logits of the average that is surer of its label."""
        plastic, stable = (self._teacher(network, x, runs) for network in (self.plastic, self.stable))
        sure = [functional.softmax(z, dim=1).gather(1, y.long()[:, None]) for z in (plastic, stable)]
        return torch.where(sure[1] > sure[0], stable, plastic)

    def _teacher(self, network: nn.Module, x: Tensor, runs: Runs) -> Tensor:
        network.train(self.model.training)
        with frozen_statistics(network):
            return joined(self.context.forward(network, x, runs)).float()

    def after_step(self, batch: Batch) -> None:
        super().after_step(batch)
        generator, options = self.context.streams.cpu("cls-er"), self.options
        slowest = 1.0 - 1.0 / (self.steps + 1)
        for network, rate, decay in (
            (self.plastic, options.plastic_rate, options.plastic_decay),
            (self.stable, options.stable_rate, options.stable_decay),
        ):
            if float(torch.rand((), generator=generator)) < rate:
                approach(network, self.model, min(slowest, decay))
        self.steps += 1

    def network_for_evaluation(self) -> nn.Module:
        return self.stable

    def state(self) -> dict[str, Any]:
        averages = {name: dict(getattr(self, name).state_dict()) for name in ("plastic", "stable")}
        return {**super().state(), **averages, "steps": self.steps}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.plastic.load_state_dict(state["plastic"])
        self.stable.load_state_dict(state["stable"])
        self.steps = int(state["steps"])
