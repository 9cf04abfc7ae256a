"""DER++: dark experience replay with the labels of the past beside its logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..memory import Draw
from .base import Batch, Published, check_options
from .der import DER
from .replay import ONLINE, cross_entropy


class DERpp(DER):
    """CE(B) + alpha * MSE(h(x'), z') + beta * CE(h(x''), y''), x' and x'' independent draws.

    same_draw takes x'' = x': as many replayed samples a step as the other methods, for comparisons on equal terms.
    """

    name = "derpp"
    title = "DER++"
    cost = "(b + 2*m)*C + m*n_c"
    published: ClassVar[Published] = {
        "pmnist": {**ONLINE, "lr": 0.2, "batch_size": 128, "memory_batch": 128, "epochs": 1,
                   "options": {"fill": "stream", "alpha": 0.5, "beta": 1.0}},
        "split-cifar10": {**ONLINE, "lr": 0.03, "batch_size": 32, "memory_batch": 32, "epochs": 50,
                          "options": {"fill": "stream", "alpha": 0.1, "beta": 1.0}},
    }  # fmt: skip

    @dataclass(frozen=True)
    class Options(DER.Options):
        beta: float = 1.0
        same_draw: bool = False

        def __post_init__(self) -> None:
            super().__post_init__()
            check_options(self, nonnegative=("beta",))

    def draws(self, batch: Batch) -> list[Draw]:
        drawn = (self.sample(batch) for _ in range(1 if self.options.same_draw else 2))
        return [draw for draw in drawn if draw is not None]

    def past_loss(self, draws: list[Draw], replayed: list[tuple[Tensor, Tensor]]) -> Tensor:
        beta: float = self.options.beta
        return super().past_loss(draws, replayed) + beta * cross_entropy(*replayed[-1])
