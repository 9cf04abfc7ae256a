"""GEM: no step that raises the memory loss of any past task, to first order."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import nnls
from torch import Tensor

from ..catalogue import METHODS
from ..memory import Draw, Ledger
from .base import Batch
from .gradients import assign, flat, gradient, present, shaped, weights_of
from .replay import Replay

_RIDGE = 1e-3


class GEM(Replay, entry=METHODS["gem"]):
    """g = grad CE(B), g_k = gradient on task k's memory. If some g.g_k < 0, step along g + G^T v with

        v = argmin 1/2 v^T (G G^T + 1e-3 I) v + (G g)^T v   over v >= margin,   rows of G: the g_k.

    samples : memory samples per step, of each past task or (`--replay mixed`) in all; 0: all there are, as in the paper
    """

    _past = 0
    _whole: tuple[Ledger, int, list[Draw]] | None = None  # the memory's samples by task, as long as they stay

    def loss(self, batch: Batch) -> Tensor:
        self._past = min(batch.task, self.memory.past)  # the present task is not a constraint
        return self.batch_losses(batch).mean()

    def adjust_gradients(self) -> None:
        if not self._past:
            return
        self.context.unscale()
        weights = weights_of(self.model)
        own = present(weights)
        past = [gradient(self.memory_loss(draw), weights) for draw in self._draws()]
        g, rows = flat(own, weights), torch.stack([flat(part, weights) for part in past])
        if bool((rows @ g < 0).any()):
            assign(weights, shaped(projected(g, rows, self.options.margin), weights, [own, *past]))

    def _draws(self) -> list[Draw]:
        """One draw per past task with samples."""
        if self.options.samples:
            return by_task(self.draw(self.memory, self._past, self.options.samples))
        ledger = self.memory.ledger
        if self._whole is None or self._whole[:2] != (ledger, self._past):
            pieces = self.memory.pieces(self.memory.size, self._past)
            self._whole = (ledger, self._past, [part for draw in pieces for part in by_task(draw)])
        return self._whole[2]


def by_task(draw: Draw) -> list[Draw]:
    """One draw per task."""
    parts = zip(*(torch.split(column, draw.counts) for column in (draw.slots, draw.weight, draw.owner)), strict=True)
    return [
        Draw(slots, [task], [len(slots)], weight, owner)
        for task, (slots, weight, owner) in zip(draw.tasks, parts, strict=True)
    ]


def projected(g: Tensor, rows: Tensor, margin: float) -> Tensor:
    """g (d,) moved by a combination of the rows (t, d), see `GEM`."""
    wide = rows.double()
    products = torch.cat([wide @ wide.T, (wide @ g.double())[:, None]], dim=1).cpu().numpy()  # one wait for both
    weights = cone_weights(products[:, :-1], products[:, -1], margin)
    return g + rows.T @ torch.from_numpy(weights).to(rows)


def cone_weights(gram: NDArray[np.float64], slopes: NDArray[np.float64], margin: float) -> NDArray[np.float64]:
    """argmin 1/2 v^T P v + slopes^T v over v >= margin, P = gram + 1e-3 I, as non-negative least squares.

    With P = R^T R and v = margin + u this is min |R u + R^-T (slopes + P margin)| over u >= 0.
    """
    form = gram + _RIDGE * np.eye(len(gram))
    root = np.linalg.cholesky(form)  # R^T
    target = -np.linalg.solve(root, slopes + form.sum(axis=1) * margin)
    return np.asarray(margin + nnls(root.T, target)[0], dtype=np.float64)
