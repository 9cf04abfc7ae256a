"""Derivatives of a loss over many samples, a piece of them at a time: value, gradient, extreme curvatures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from ..losses import per_sample_losses

_PIECE = 2048
_SEED = 2024  # of the first direction: the same at every model, and no stream of the run
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
    """The loss as a number: the sum of its pieces."""
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


def extreme_curvatures(
    loss: Loss, weights: Sequence[Tensor], *, rtol: float = 0.05, iterations: int = 40
) -> tuple[float, float]:
    """The smallest and the largest eigenvalue of the Hessian; the one of larger magnitude to a per cent or so.

    Lanczos from a random direction, every new direction made orthogonal to all former ones (twice, so that
    rounding leaves nothing). Ritz values lie inside the spectrum: both numbers err inwards. The iteration ends when the
    leading one has a residual of at most rtol times itself, or after `iterations` products; an eigenvalue is then
    within rtol, and the error is of second order in the residual where the others keep away.

    >>> class Bowl:
    ...     def __init__(self, w):
    ...         self.w = w
    ...     def pieces(self):
    ...         yield 0.5 * (torch.tensor([1.0, 4.0, 9.0]) * self.w.square()).sum()
    >>> w = torch.ones(3, requires_grad=True)
    >>> [round(c, 6) for c in extreme_curvatures(Bowl(w), [w], rtol=1e-9)]
    [1.0, 9.0]
    """
    size = sum(w.numel() for w in weights)
    device = weights[0].device
    direction = torch.randn(size, dtype=torch.float64, generator=torch.Generator().manual_seed(_SEED)).to(device)
    basis = torch.zeros(min(iterations, size), size, dtype=torch.float64, device=device)
    diagonal: list[float] = []
    beside: list[float] = []
    low = high = 0.0
    direction /= direction.norm()
    for i in range(len(basis)):
        basis[i] = direction
        image = hessian_times(loss, weights, direction)
        diagonal.append(float(image @ direction))
        for _ in range(2):
            image -= basis[: i + 1].T @ (basis[: i + 1] @ image)
        rest = float(image.norm())
        ritz, vectors = torch.linalg.eigh(_tridiagonal(diagonal, beside))
        low, high = float(ritz[0]), float(ritz[-1])
        leading = 0 if -low > high else -1
        size_of_it = max(abs(low), abs(high))
        if rest * abs(float(vectors[-1, leading])) <= rtol * size_of_it or rest <= 1e-14 * size_of_it:
            break
        beside.append(rest)
        direction = image / rest
    return low, high


def joined(parts: Sequence[Tensor]) -> Tensor:
    """Several tensors as one flat vector in double precision, without a graph."""
    return torch.cat([part.detach().flatten().double() for part in parts])


def _size(weights: Sequence[Tensor]) -> int:
    return sum(w.numel() for w in weights)


def _tridiagonal(diagonal: list[float], beside: list[float]) -> Tensor:
    middle = torch.diag(torch.tensor(diagonal, dtype=torch.float64))
    if not beside:
        return middle
    off = torch.tensor(beside, dtype=torch.float64)
    return middle + torch.diag(off, 1) + torch.diag(off, -1)
