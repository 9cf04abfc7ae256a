"""STAR on DER++: the outputs on past samples must also survive the worst small change of the weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional

from ..catalogue import METHODS
from ..layer_modes import frozen_statistics
from ..losses import Runs, joined, merged
from ..memory import Draw
from .base import Batch
from .der import DERpp
from .gradients import gradient

_TINY = 1e-20  # keeps a division by a norm of 0 finite
Weights = dict[str, Tensor]


class Star(DERpp, entry=METHODS["star"]):
    """The loss of DER++ plus strength * KL(p || softmax h) at perturbed weights, on a replay batch of its own.

        p      softmax h at the present weights; only samples that the network gets right count, and nothing is added
               while these are fewer than two
        start  theta + noise |theta| N(0, I) for each matrix theta
        then   start + radius |theta| g / |g|, where g is the gradient of KL(p || softmax h) at the start

    The perturbation counts as a constant, and vectors (biases, BatchNorm) are not perturbed. KL has its minimum 0 at
    the present weights, where its gradient is 0, so the noise is what gives g a direction. The authors' code takes a
    noise of 1e-20, which single precision rounds away: there g consists of rounding errors. The default here is small
    but large enough to have an effect, so g is the curvature times the noise, as the rule intends.
    """

    def loss(self, batch: Batch) -> Tensor:
        loss = super().loss(batch)
        draw = self.sample(batch)
        strength: float = self.options.strength
        return loss if draw is None else loss + strength * self.worst_divergence(draw)

    def worst_divergence(self, draw: Draw) -> Tensor:
        """The mean KL over the samples that the network gets right, at the perturbed weights."""
        drawn = self.joint_batch(None, draw)
        x, runs = self.context.training_inputs(drawn.raw), merged(drawn.runs)
        matrices = {name: w for name, w in self.model.named_parameters() if w.dim() > 1 and w.requires_grad}
        with frozen_statistics(self.model):
            with torch.no_grad():
                p = functional.softmax(self._logits({}, x, runs), dim=1)
                right = (p.argmax(dim=1) == drawn.y).to(p.dtype)
                share = right * (right.sum() >= 2) / right.sum().clamp(min=1.0)
                noise = {name: self._noise(weight) for name, weight in matrices.items()}
            start = {name: (weight.detach() + noise[name]).requires_grad_() for name, weight in matrices.items()}
            slopes = gradient(self._divergence(start, x, runs, p, share), list(start.values()))
            moved = {}
            for (name, weight), slope in zip(matrices.items(), slopes, strict=True):
                if slope is not None:
                    length = self.options.radius * weight.detach().norm() / (slope.norm() + _TINY)
                    moved[name] = weight + (noise[name] + length * slope)
            return self._divergence(moved, x, runs, p, share)

    def _noise(self, weight: Tensor) -> Tensor:
        generator = self.context.streams.device("star")
        normal = torch.randn(weight.shape, generator=generator, device=weight.device, dtype=weight.dtype)
        size: float = self.options.noise
        noise: Tensor = normal * (size * weight.norm())
        return noise

    def _divergence(self, weights: Weights, x: Tensor, runs: Runs, p: Tensor, share: Tensor) -> Tensor:
        log_q = functional.log_softmax(self._logits(weights, x, runs), dim=1)
        log_q = torch.where(p > 0, log_q, 0.0)  # a class that a head lacks has p = 0 and log q = -inf
        return (functional.kl_div(log_q, p, reduction="none").sum(dim=1) * share).sum()

    def _logits(self, weights: Weights, x: Tensor, runs: Runs) -> Tensor:
        """The logits of the network with some of its weights replaced."""

        def network(x: Tensor, runs: Runs) -> Any:
            return functional_call(self.model, weights, (x, runs))

        replaced: Any = network
        logits = joined(self.context.forward(replaced, x, runs))
        return logits if logits.dtype == torch.float64 else logits.float()
