"""Layers that see more than one sample, or are random by themselves: what they mean for a forward pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


def shares_statistics(model: nn.Module) -> bool:
    """Whether a sample's output depends on the other samples of its batch (BatchNorm in training mode)."""
    return any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules())


def is_noisy(model: nn.Module) -> bool:
    """Whether the training forward is random by itself (dropout)."""
    return any(isinstance(module, nn.modules.dropout._DropoutNd) and module.p > 0 for module in model.modules())


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Within this block the model is in evaluation mode, with gradients, whatever the mode was before."""
    was_training = model.training
    model.eval()
    try:
        with torch.enable_grad():
            yield
    finally:
        model.train(was_training)


@contextmanager
def frozen_statistics(model: nn.Module) -> Iterator[None]:
    """Within this block training mode still uses batch statistics, but does not change the running ones."""
    tracking = [
        module
        for module in model.modules()
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.track_running_stats
    ]
    for module in tracking:
        module.track_running_stats = False
    try:
        yield
    finally:
        for module in tracking:
            module.track_running_stats = True
