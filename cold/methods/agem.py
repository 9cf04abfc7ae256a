"""A-GEM: no step that raises the loss of a memory batch, to first order."""

from __future__ import annotations

from torch import Tensor

from ..catalogue import METHODS
from ..memory import Draw
from .base import Batch, Context
from .gradients import Gradient, assign, combined, dot, gradient, present, weights_of
from .replay import Replay


class AGEM(Replay, entry=METHODS["agem"]):
    """g = grad CE(B), r = grad CE(M). If g.r < 0 step along g - (g.r / r.r) r, else along g.

    M is drawn from all past tasks together in the paper: `--replay mixed --memory-batch 256`. The present task takes no
    part in it, also where its samples are in the memory already (fill=stream).
    """

    replays_present = False

    _draw: Draw | None = None

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.weights = weights_of(self.model)

    def loss(self, batch: Batch) -> Tensor:
        self._draw = self.sample(batch)
        return self.batch_losses(batch).mean()

    def adjust_gradients(self) -> None:
        if self._draw is None:
            return
        self.context.unscale()
        weights = self.weights
        reference = gradient(self.memory_loss(self._draw), weights)
        assign(weights, projected(present(weights), reference))


def projected(g: Gradient, r: Gradient) -> Gradient:
    """The nearest vector to g whose inner product with r is not negative, in the place of r."""
    product = dot(g, r)
    if product >= 0:
        return g
    return combined(1.0, g, -product / dot(r, r), r)
