"""Optimisers by name, in a form that updates all tensors at once."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from .config import RunConfig


def make_optimizer(config: RunConfig, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """Adam, or SGD with momentum."""
    chosen = list(parameters)
    if config.optimizer == "adam":
        fused = all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in chosen)
        return torch.optim.Adam(chosen, lr=config.lr, weight_decay=config.weight_decay, fused=fused)
    # not fused: torch's fused SGD fails when a head gets its first gradient later than the others
    return torch.optim.SGD(
        chosen, lr=config.lr, momentum=config.momentum, weight_decay=config.weight_decay, foreach=True
    )
