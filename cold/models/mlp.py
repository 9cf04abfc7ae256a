"""Fully connected backbones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from .stack import Stack


def mlp(input_shape: Sequence[int], hidden: Sequence[int]) -> tuple[nn.Module, int]:
    """Linear layers with ReLU, and the number of features: `hidden` (256,) is the paper's net for Split-MNIST,
    (256, 256) that for Permuted-MNIST; the last layer of the paper's nets is the head."""
    layers: list[nn.Module] = [nn.Flatten()]
    sizes = [math.prod(input_shape), *hidden]
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return Stack(*layers), sizes[-1]
