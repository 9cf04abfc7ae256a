"""The extreme eigenvalues of a loss's Hessian by Lanczos iteration."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .derivatives import Loss, hessian_times

_SEED = 2024  # of the first direction: the same at every model, and no stream of the run


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


def _tridiagonal(diagonal: list[float], beside: list[float]) -> Tensor:
    middle = torch.diag(torch.tensor(diagonal, dtype=torch.float64))
    if not beside:
        return middle
    off = torch.tensor(beside, dtype=torch.float64)
    return middle + torch.diag(off, 1) + torch.diag(off, -1)
