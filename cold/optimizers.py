"""Optimisers by name, in their fused form where there is one."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from .config import RunConfig


def make_optimizer(config: RunConfig, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """Adam, or SGD with momentum."""
    chosen = list(parameters)
    fused = all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in chosen)
    if config.optimizer == "adam":
        return torch.optim.Adam(chosen, lr=config.lr, weight_decay=config.weight_decay, fused=fused)
    return torch.optim.SGD(
        chosen, lr=config.lr, momentum=config.momentum, weight_decay=config.weight_decay, fused=fused
    )
