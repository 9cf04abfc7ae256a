"""What each method's gradients cost when they are written by hand: gather rows, forward, backward, optimiser step, all
on prepared floats.

No memory, no conversion of pixels, no bookkeeping: in every step the same number of fresh samples goes through a plain
`nn.Module`, as in a loop that one would write for this one purpose. The arithmetic of a rule that is not a pass through
the network (projections, queues, masks, stored logits) is left out here, so it counts against the method; EWC's
penalty, a gradient, is included.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from cold.trainer import Trainer

Step = Callable[[], None]


@dataclass(eq=False)
class Bench:
    """A plain copy of the trainer's network, ready samples of one head, and how many of them go into each pass."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    x: Tensor
    y: Tensor
    sizes: dict[str, int]

    def loss(self, name: str) -> Tensor:
        rows = torch.randint(len(self.x), (self.sizes[name],))
        return functional.cross_entropy(self.model(self.x[rows]), self.y[rows])

    def descend(self, name: str) -> None:
        """One ordinary training step on these samples."""
        self.optimizer.zero_grad()
        self.loss(name).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()


def bench(trainer: Trainer) -> Bench:
    """b: the batch; m: the memory batch; bm, bmm: the batch with one or two of them; g: all memory of a task, for GEM;
    s: the 16 samples of a step of GDumb."""
    config, task = trainer.config, trainer.benchmark.tasks[trainer.position.task]
    whole: Any = trainer.model
    model = nn.Sequential(copy.deepcopy(whole.backbone), copy.deepcopy(whole.heads[task.head]))
    b, m = config.batch_size, config.memory_batch
    sizes = {"b": b, "m": m, "bm": b + m, "bmm": b + 2 * m, "g": config.memory // len(trainer.benchmark.tasks), "s": 16}
    optimizer = type(trainer.context.optimizer)(model.parameters(), **_settings(trainer))
    return Bench(model, optimizer, trainer.context.inputs(task.train.raw()), task.train.y, sizes)


def _settings(trainer: Trainer) -> dict[str, Any]:
    """Options of the optimiser: its speed is that of its fused or foreach form."""
    config = trainer.config
    if config.optimizer == "adam":
        return {"lr": config.lr, "fused": True}
    return {"lr": config.lr, "momentum": config.momentum, "foreach": True}


def plain(name: str) -> Callable[[Bench], Step]:
    """One pass over the named samples."""
    return lambda bench: lambda: bench.descend(name)


def two_gradients(bench: Bench) -> Step:
    """One pass on the batch and a separate one on the memory batch."""
    weights = list(bench.model.parameters())

    def step() -> None:
        bench.optimizer.zero_grad()
        bench.loss("b").backward()  # type: ignore[no-untyped-call]
        torch.autograd.grad(bench.loss("m"), weights)
        bench.optimizer.step()

    return step


def with_penalty(bench: Bench) -> Step:
    """The gradient of a quadratic is added to that of the batch."""
    weights = list(bench.model.parameters())
    centre, curvature = ([torch.rand_like(w) for w in weights] for _ in range(2))

    def step() -> None:
        bench.optimizer.zero_grad()
        bench.loss("b").backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            away = torch._foreach_sub(weights, centre)
            torch._foreach_addcmul_([w.grad for w in weights], curvature, away, value=1e-3)
        bench.optimizer.step()

    return step


def inner_steps(count: int, name: str) -> Callable[[Bench], Step]:
    """MER with mini-batches: some steps, after each of which the weights go a part of the way."""

    def make(bench: Bench) -> Step:
        weights = list(bench.model.parameters())

        def step() -> None:
            for _ in range(count):
                before = [w.detach().clone() for w in weights]
                bench.descend(name)
                with torch.no_grad():
                    torch._foreach_lerp_(before, weights, 0.03)
                    torch._foreach_copy_(weights, before)

        return step

    return make


def memory_training(bench: Bench) -> Step:
    """A step of GDumb: 16 samples, SGD with momentum, the gradient's norm at most 10."""
    optimizer = torch.optim.SGD(bench.model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-6)

    def step() -> None:
        optimizer.zero_grad()
        bench.loss("s").backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(bench.model.parameters(), 10.0)
        optimizer.step()

    return step


def past_gradients(count: int) -> Callable[[Bench], Step]:
    """GEM: the batch, and the memory of each past task."""

    def make(bench: Bench) -> Step:
        weights = list(bench.model.parameters())

        def step() -> None:
            bench.optimizer.zero_grad()
            bench.loss("b").backward()  # type: ignore[no-untyped-call]
            for _ in range(count):
                torch.autograd.grad(bench.loss("g"), weights)
            bench.optimizer.step()

        return step

    return make


def unlearn_first(bench: Bench) -> Step:
    """REFRESH: a gradient on the batch, then a step of DER++."""
    weights = list(bench.model.parameters())

    def step() -> None:
        torch.autograd.grad(bench.loss("b"), weights)
        bench.descend("bmm")

    return step
