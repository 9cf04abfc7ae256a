"""Parts of CBA: the adaptor, and a differentiable step of the heads alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from coldtheory.ground.errors import ColdError

from ..layer_modes import frozen_statistics
from ..losses import Runs, merged
from .gradients import assign, gradient

_HIDDEN = 256
Weights = dict[str, Tensor]


class Adaptors(nn.Module):
    """omega: C -> 256 -> C on softmax(h), one network for all heads of width C; Xavier weights, zero bias.

    Made without a look at global random state.
    """

    def __init__(self, widths: Sequence[int], generator: torch.Generator) -> None:
        super().__init__()
        self.of_width = nn.ModuleDict()
        for width in sorted(set(widths)):
            layers = [
                nn.Linear(a, b, device="meta").to_empty(device="cpu") for a, b in ((width, _HIDDEN), (_HIDDEN, width))
            ]
            for layer in layers:
                nn.init.xavier_normal_(layer.weight, generator=generator)
                nn.init.zeros_(layer.bias)
            self.of_width[str(width)] = nn.Sequential(layers[0], nn.ReLU(), layers[1])

    def forward(self, logits: Sequence[Tensor]) -> list[Tensor]:
        """What is added to the logits, run by run; the logits themselves count as constants."""
        return [self._of(h) for h in logits]

    def _of(self, h: Tensor) -> Tensor:
        layers: Any = self.of_width[str(h.shape[1])]
        shift: Tensor = layers(functional.softmax(h.detach().to(layers[0].weight.dtype), dim=1))
        return shift

    def learn(self, loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
        """One step of the optimiser down a loss that depends on more than these weights."""
        weights = list(self.parameters())
        assign(weights, gradient(loss, weights))
        optimizer.step()


def check_heads(model: nn.Module) -> None:
    """A virtual step of the heads needs heads that are layers of their own."""
    parts: Any = model
    if not all(isinstance(head, nn.Linear) for head in parts.heads):
        raise ColdError("cba needs heads of its own to adapt: give a module of features, without a last layer")


def heads_only(model: nn.Module, moved: Weights, x: Tensor, runs: Runs) -> list[Tensor]:
    """Logits, run by run, with a graph for the heads alone; `moved` stands in for some of their weights."""
    parts: Any = model
    pieces = merged(runs)
    with torch.no_grad(), frozen_statistics(model):
        features = parts.backbone(x)
    logits = []
    for (head, _), part in zip(pieces, features.split([count for _, count in pieces]), strict=True):
        own = {name: moved.get(f"{head}.{name}", p) for name, p in parts.heads[head].named_parameters()}
        logits.append(functional_call(parts.heads[head], own, (part,)))
    return logits


def virtual_step(model: nn.Module, loss: Tensor, lr: float) -> Weights:
    """Weights of the heads after one SGD step on the loss, as functions of whatever else the loss depends on."""
    parts: Any = model
    weights = dict(parts.heads.named_parameters())
    slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=True, allow_unused=True)
    return {
        name: weight.detach() - lr * slope
        for (name, weight), slope in zip(weights.items(), slopes, strict=True)
        if slope is not None
    }
