"""Networks: a backbone, and its heads, all made up front and chosen by task identity.

Backbones are fully connected, or a small convolutional one for tests and synthetic images, or ResNet-18 as used for
CIFAR: a 3x3 stem of stride 1 and no max-pool (He et al. 2016; four stages of two blocks). A function that makes one
also returns its number of features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from torch import Tensor, nn
from torch.nn import functional


class HeadedModel(nn.Module):
    """`backbone` maps a batch to features (n, f); head h maps features to logits (n, width of h)."""

    def __init__(self, backbone: nn.Module, heads: Sequence[nn.Module]) -> None:
        super().__init__()
        self.backbone = backbone
        self.heads = nn.ModuleList(heads)

    def forward(self, x: Tensor, runs: Sequence[tuple[int, int]]) -> list[Tensor]:
        """Logits of consecutive pieces of the batch: one tensor (count, width) per run (head, count).

        One pass through the backbone, and one through a head for neighbouring runs that share it. A head that
        no run names takes no part, so its gradient stays None and no optimiser moves it.
        """
        features = self.backbone(x)
        if len(runs) == 1 and runs[0][1] == len(x):
            return [self.heads[runs[0][0]](features)]
        logits: list[Tensor] = []
        start = 0
        for head, group in groupby(runs, key=lambda run: run[0]):
            counts = [count for _, count in group]
            stop = start + sum(counts)
            logits.extend(self.heads[head](features[start:stop]).split(counts))
            start = stop
        if start != len(x):
            raise ValueError(f"the runs cover {start} samples of a batch of {len(x)}")
        return logits


class Stack(nn.Sequential):
    """An `nn.Sequential` whose forward is defined here: when a module compiles itself, torch does not look into its own
    one, and compiles the layers separately (a ResNet's blocks) or not at all (Linear layers)."""

    def forward(self, x: Tensor) -> Tensor:
        for layer in self:
            x = layer(x)
        return x


def mlp(input_shape: Sequence[int], hidden: Sequence[int]) -> tuple[nn.Module, int]:
    """Linear layers with ReLU, and the number of features: `hidden` (256,) is the paper's net for Split-MNIST,
    (256, 256) that for Permuted-MNIST; the last layer of the paper's nets is the head."""
    layers: list[nn.Module] = [nn.Flatten()]
    sizes = [math.prod(input_shape), *hidden]
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return Stack(*layers), sizes[-1]


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


class _Block(nn.Module):
    """Two 3x3 convolutions and a shortcut, a 1x1 convolution where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            projection = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.norm1(self.conv1(x)), inplace=True)
        return functional.relu(self.norm2(self.conv2(y)) + self.shortcut(x), inplace=True)


def resnet18(input_shape: Sequence[int], width: int) -> tuple[nn.Module, int]:
    """The backbone and its number of features, 8 * width. Width 64 is the standard net, 20 the slim one."""
    layers: list[nn.Module] = [
        nn.Conv2d(input_shape[0], width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
    ]
    inputs = width
    for stage in range(4):
        outputs = width * 2**stage
        layers += [_Block(inputs, outputs, 1 if stage == 0 else 2), _Block(outputs, outputs, 1)]
        inputs = outputs
    backbone = Stack(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    for module in backbone.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return backbone, inputs
