"""Value, gradient and Hessian-vector product of a loss over many samples, a piece of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from ..losses import per_sample_losses

_PIECE = 2048
Inputs = Callable[[Tensor], Tensor]


class Loss(Protocol):
    """A loss of a model's present weights."""

    def pieces(self) -> Iterator[Tensor]:
        """Scalars with a graph, whose sum is the loss."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """The mean cross-entropy of stored samples through one head, in the mode the model is in."""

    model: nn.Module
    raw: Callable[[Tensor], Tensor]  #: rows -> samples as stored
    y: Tensor
    head: int
    inputs: Inputs  #: samples as stored -> the model's input

    def __len__(self) -> int:
        return len(self.y)

    def pieces(self) -> Iterator[Tensor]:
        for rows in torch.split(torch.arange(len(self), device=self.y.device), _PIECE):
            logits: list[Tensor] = self.model(self.inputs(self.raw(rows)), [(self.head, len(rows))])
            yield per_sample_losses(logits, self.y[rows]).sum() / len(self)

    def thinned(self, count: int) -> Sampled:
        """The same loss of at most `count` of the samples, evenly spaced."""
        if count >= len(self):
            return self
        chosen = torch.linspace(0, len(self) - 1, count, device=self.y.device).round().long()
        return Sampled(self.model, lambda rows: self.raw(chosen[rows]), self.y[chosen], self.head, self.inputs)


@torch.no_grad()
def value(loss: Loss) -> float:
    return sum(float(piece) for piece in loss.pieces())


def gradient(loss: Loss, weights: Sequence[Tensor]) -> tuple[float, Tensor]:
    """The loss and its gradient, one vector in double precision; weights without a part in the loss count as 0."""
    total, flat = 0.0, torch.zeros(_size(weights), dtype=torch.float64, device=weights[0].device)
    for piece in loss.pieces():
        total += float(piece.detach())
        flat += joined(torch.autograd.grad(piece, weights, allow_unused=True, materialize_grads=True))
    return total, flat


def hessian_times(loss: Loss, weights: Sequence[Tensor], vector: Tensor) -> Tensor:
    """The Hessian times a vector in double precision, by a second backward pass."""
    sizes = [w.numel() for w in weights]
    parts = [part.view_as(w).to(w.dtype) for part, w in zip(torch.split(vector, sizes), weights, strict=True)]
    product = torch.zeros_like(vector)
    for piece in loss.pieces():
        slopes = torch.autograd.grad(piece, weights, create_graph=True, allow_unused=True, materialize_grads=True)
        along = torch.stack([(slope * part).sum() for slope, part in zip(slopes, parts, strict=True)]).sum()
        if along.requires_grad:  # else the loss is linear
            product += joined(torch.autograd.grad(along, weights, allow_unused=True, materialize_grads=True))
    return product


def joined(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat([part.detach().flatten().double() for part in parts])


def _size(weights: Sequence[Tensor]) -> int:
    return sum(w.numel() for w in weights)
