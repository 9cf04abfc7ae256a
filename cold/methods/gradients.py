"""Gradients as lists of tensors, None where a weight takes no part (the heads of other tasks).

A weight without a gradient must keep `grad = None`: a zero would let momentum, Adam and weight decay move it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

Gradient = list[Tensor | None]


def weights_of(model: nn.Module) -> list[nn.Parameter]:
    """The parameters of a model that are trained."""
    return [p for p in model.parameters() if p.requires_grad]


def gradient(loss: Tensor, weights: Sequence[Tensor]) -> Gradient:
    """The gradient of a loss with respect to these weights; None for a weight without a part in it."""
    return list(torch.autograd.grad(loss, weights, allow_unused=True))


def present(weights: Sequence[Tensor]) -> Gradient:
    """What the last backward pass left."""
    return [w.grad for w in weights]


def dot(left: Gradient, right: Gradient) -> Tensor:
    """The inner product, a scalar on the device."""
    pairs = [(a, b) for a, b in zip(left, right, strict=True) if a is not None and b is not None]
    if not pairs:
        return next(part for part in (*left, *right) if part is not None).new_zeros(())
    return torch.stack([torch.dot(a.flatten(), b.flatten()) for a, b in pairs]).sum()


def combined(a: float | Tensor, left: Gradient, b: float | Tensor, right: Gradient) -> Gradient:
    """a * left + b * right in the place of both, which must not be used again; a None counts as 0, two stay None."""

    def scaled(x: Tensor | None, factor: float | Tensor) -> Tensor | None:
        return x if x is None or (isinstance(factor, float) and factor == 1) else x.mul_(factor)

    def both(x: Tensor | None, y: Tensor | None) -> Tensor | None:
        x, y = scaled(x, a), scaled(y, b)
        return x if y is None else y if x is None else y.add_(x)

    return [both(x, y) for x, y in zip(left, right, strict=True)]


def assign(weights: Sequence[Tensor], gradient: Gradient) -> None:
    """Write a gradient into the weights' `grad`, from which the optimiser takes it."""
    for weight, part in zip(weights, gradient, strict=True):
        weight.grad = part


def flat(gradient: Gradient, weights: Sequence[Tensor]) -> Tensor:
    """One vector, zeros for None."""
    return torch.cat(
        [(torch.zeros_like(w) if g is None else g).flatten() for g, w in zip(gradient, weights, strict=True)]
    )


def shaped(vector: Tensor, weights: Sequence[Tensor], like: Sequence[Gradient]) -> Gradient:
    """The vector as a gradient; None where all gradients in `like` are None."""
    parts = torch.split(vector, [w.numel() for w in weights])
    used = [any(part is not None for part in column) for column in zip(*like, strict=True)]
    return [p.view_as(w) if u else None for p, w, u in zip(parts, weights, used, strict=True)]
