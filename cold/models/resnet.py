"""ResNet-18 as used for CIFAR: a 3x3 stem of stride 1 and no max-pool (He et al. 2016; four stages of two blocks)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from .stack import Stack


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
