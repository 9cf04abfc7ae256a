"""A small convolutional backbone, for tests and synthetic images."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from .stack import Stack


def small_conv(input_shape: Sequence[int], width: int) -> tuple[nn.Module, int]:
    """Two 3x3 convolutions, each followed by a 2x2 mean, and a mean over what is left; no BatchNorm."""
    first, second = max(1, width // 4), max(2, width // 2)
    layers = Stack(
        nn.Conv2d(input_shape[0], first, 3, padding=1),
        nn.ReLU(),
        nn.AvgPool2d(2, ceil_mode=True),
        nn.Conv2d(first, second, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
    )
    return layers, 4 * second
