"""The diagonal of the Fisher information from per-sample gradients, in batches and exact.

    F = (1/N) sum_n w_n (grad log p(y_n | x_n))^2    with the true labels; w_n = p(y_n | x_n), or 1 (empirical Fisher)

For a Linear layer with inputs x_n and output slopes s_n a sample's gradient is s_n x_n^T, so the sum of squares is (w
s^2)^T (x^2): two products of matrices per batch, and no gradient per sample. Other networks go through `torch.func`.
The network is in evaluation mode: a sample's gradient is then its own.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap
from torch.nn import functional

from ..data import Part

_BATCH = 512
_NUMBERS = 2**25  # of per-sample gradients at a time, in the general form
Squares = dict[str, Tensor]


def diagonal_fisher(
    model: nn.Module, samples: Part, head: int, inputs: Callable[[Tensor], Tensor], *, weighted: bool = True
) -> list[Tensor]:
    """F, one tensor per parameter of the model; zeros for other heads."""
    was_training = model.training
    model.eval()
    total = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    linear = _linear_layers(model)
    size = sum(p.numel() for p in model.parameters())
    batch = _BATCH if linear else max(1, min(_BATCH, _NUMBERS // size))
    for rows in torch.split(torch.arange(len(samples), device=samples.y.device), batch):
        x, y = inputs(samples.raw(rows)), samples.y[rows]
        squares = _layerwise(model, linear, x, y, head, weighted) if linear else None
        for name, value in (squares or _general(model, x, y, head, weighted)).items():
            total[name] += value
    model.train(was_training)
    return [value / len(samples) for value in total.values()]


def _linear_layers(model: nn.Module) -> dict[nn.Module, str]:
    """The Linear layers by name, if no parameter is elsewhere."""
    layers: dict[nn.Module, str] = {
        module: name for name, module in model.named_modules() if isinstance(module, nn.Linear)
    }
    held = sum(p.numel() for layer in layers for p in layer.parameters(recurse=False))
    return layers if held == sum(p.numel() for p in model.parameters()) else {}


def _layerwise(
    model: nn.Module, layers: dict[nn.Module, str], x: Tensor, y: Tensor, head: int, weighted: bool
) -> Squares | None:
    """Sums of squares of Linear layers; None if one is used twice, or on more than one row per sample."""
    seen: list[tuple[nn.Module, Tensor, Tensor]] = []

    def note(layer: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> None:
        seen.append((layer, arguments[0].detach(), output))

    hooks = [layer.register_forward_hook(note) for layer in layers]
    try:
        with torch.enable_grad():
            likelihood = _log_likelihood(model(x, [(head, len(x))])[0], y)
    finally:
        for hook in hooks:
            hook.remove()
    if len({layer for layer, _, _ in seen}) < len(seen) or any(inputs.dim() != 2 for _, inputs, _ in seen):
        return None
    slopes = torch.autograd.grad(likelihood.sum(), [output for _, _, output in seen])
    weight = likelihood.detach().exp()[:, None] if weighted else torch.ones_like(likelihood.detach())[:, None]
    squares: Squares = {}
    for (layer, inputs, _), slope in zip(seen, slopes, strict=True):
        square = weight * slope.square()
        squares[f"{layers[layer]}.weight"] = square.T @ inputs.square()
        if layer.bias is not None:
            squares[f"{layers[layer]}.bias"] = square.sum(0)
    return squares


def _general(model: nn.Module, x: Tensor, y: Tensor, head: int, weighted: bool) -> Squares:
    """The same sums for any network, from a gradient per sample."""

    def likelihood(weights: dict[str, Tensor], sample: Tensor, label: Tensor) -> Tensor:
        logits = functional_call(model, weights, (sample[None], [(head, 1)]))[0]
        return _log_likelihood(logits, label[None])[0]

    weights = {name: p.detach() for name, p in model.named_parameters()}
    slopes, values = vmap(grad_and_value(likelihood), in_dims=(None, 0, 0))(weights, x, y)
    weight = values.exp() if weighted else torch.ones_like(values)
    return {name: torch.tensordot(weight, slope.square(), dims=1) for name, slope in slopes.items()}


def _log_likelihood(logits: Tensor, y: Tensor) -> Tensor:
    return -functional.cross_entropy(logits, y, reduction="none")
