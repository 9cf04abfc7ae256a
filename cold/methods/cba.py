"""CBA: an adaptor takes up the bias towards new classes during training and is left out at test time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from coldtheory.ground.errors import ColdError

from ..catalogue import METHODS
from ..layer_modes import frozen_statistics
from ..losses import Runs, joined, merged
from ..memory import Draw
from .base import Batch, Context
from .der import DERpp
from .gradients import assign, gradient
from .replay import JointBatch, apart, cross_entropy

_HIDDEN = 256
Weights = dict[str, Tensor]


class Adaptors(nn.Module):
    """omega: C -> 256 -> C on softmax(h), one network for all heads of width C; Xavier weights, zero bias.

    Built without touching the global random state.
    """

    def __init__(self, widths: Sequence[int], generator: torch.Generator) -> None:
        super().__init__()
        self.of_width = nn.ModuleDict()
        for width in sorted(set(widths)):
            layers = [
                nn.Linear(a, b, device="meta").to_empty(device="cpu") for a, b in ((width, _HIDDEN), (_HIDDEN, width))
            ]
            for layer in layers:
                nn.init.xavier_normal_(layer.weight, generator=generator)
                nn.init.zeros_(layer.bias)
            self.of_width[str(width)] = nn.Sequential(layers[0], nn.ReLU(), layers[1])

    def forward(self, logits: Sequence[Tensor]) -> list[Tensor]:
        """What is added to the logits, run by run; the logits themselves count as constants."""
        return [self._of(h) for h in logits]

    def _of(self, h: Tensor) -> Tensor:
        layers: Any = self.of_width[str(h.shape[1])]
        shift: Tensor = layers(functional.softmax(h.detach().to(layers[0].weight.dtype), dim=1))
        return shift

    def learn(self, loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
        """One step of the optimiser down a loss that depends on more than these weights."""
        weights = list(self.parameters())
        assign(weights, gradient(loss, weights))
        optimizer.step()


class CBA(DERpp, entry=METHODS["cba"]):
    """Adapted logits a = h + omega(softmax(h)), omega an MLP C -> 256 -> C; one for all heads of the same width C.

    Inner, every step: the replay loss of `base` with adapted logits, omega's part a constant.
        er     CE(a(B)) + CE(a(M))
        der++  CE(a(B)) + alpha MSE(a(x'), stored a) + beta CE(a(x''), y'')
    Outer, from task 2 on, before every fifth step of an epoch: one virtual SGD step of the heads on the inner loss, as
    a function of omega; then Adam on omega for CE of plain logits on new memory samples (der++: + MSE to stored ones).
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        check_heads(context.model)
        self.distils = self.options.base == "der++"
        self.adaptors = Adaptors(context.benchmark.head_widths, context.streams.cpu("adaptor")).to(context.device)
        self.outer = torch.optim.Adam(self.adaptors.parameters(), lr=self.options.adaptor_lr)
        self.steps = 0  # of the present epoch, from the second task on
        self.period = self.options.every

    def loss(self, batch: Batch) -> Tensor:
        draws = self.draws(batch)
        joint = self.joint_batch(batch, *draws)
        x = self.context.training_inputs(joint.raw)
        if draws and batch.task:
            if self.steps % self.options.every == 0:
                self._learn_adaptor(batch, x, joint, draws)
            self.steps += 1
        logits = self.passes(x, joint.runs, joint.sizes)
        with torch.no_grad():
            bias = self.adaptors(logits)
        self._batch_logits = joined(logits)[: len(batch.raw)].detach()
        return self.inner_loss([h + shift for h, shift in zip(logits, bias, strict=True)], joint, draws)

    def draws(self, batch: Batch) -> list[Draw]:
        return super().draws(batch) if self.distils else [d for d in (self.sample(batch),) if d is not None]

    def inner_loss(self, adapted: list[Tensor], joint: JointBatch, draws: list[Draw]) -> Tensor:
        """The replay loss of `base` on adapted logits."""
        (now, y), *replayed = apart(adapted, joint)
        loss = cross_entropy(now, y)
        if not draws:
            return loss
        if self.distils:
            return loss + self.past_loss(draws, replayed)
        return loss + cross_entropy(*replayed[0])

    def _learn_adaptor(self, batch: Batch, x: Tensor, joint: JointBatch, draws: list[Draw]) -> None:
        logits = self._heads_only({}, x, joint)
        adapted = [h + shift for h, shift in zip(logits, self.adaptors(logits), strict=True)]
        moved = virtual_step(self.model, self.inner_loss(adapted, joint, draws), self.config.lr)
        fresh = [draw for draw in (self.sample(batch) for _ in range(1 + self.distils)) if draw is not None]
        again = self.joint_batch(None, *fresh)
        x = self.context.training_inputs(again.raw)
        later = apart(self._heads_only(moved, x, again), again)
        loss = cross_entropy(*later[0])
        if self.distils:
            loss = loss + self.distance(fresh[1], later[1][0], "plain logits")
        self.adaptors.learn(loss, self.outer)

    def _heads_only(self, moved: Weights, x: Tensor, joint: JointBatch) -> list[Tensor]:
        sizes = [len(x)] if self.config.forward == "joint" else joint.sizes
        return heads_only(self.model, moved, torch.split(x, sizes), joint.runs)

    def end_epoch(self, task: int, epoch: int) -> None:
        self.steps = 0

    def kept(self, slots: Tensor, rows: Tensor | None) -> None:
        if self.distils:
            super().kept(slots, rows)

    def keep_logits(self, slots: Tensor, logits: Tensor) -> None:
        """Adapted for the inner loss, plain for the outer one."""
        there, width = slots.to(self.context.device), logits.shape[1]
        self.stored("plain logits")[there, :width] = logits.float()
        super().keep_logits(slots, logits + self.adaptors([logits])[0])

    def state(self) -> dict[str, Any]:
        return {**super().state(), "adaptors": self.adaptors.state_dict(), "outer": self.outer.state_dict(),
                "steps": self.steps}  # fmt: skip

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.adaptors.load_state_dict(state["adaptors"])
        self.outer.load_state_dict(state["outer"])
        self.steps = int(state["steps"])


def check_heads(model: nn.Module) -> None:
    """A virtual step of the heads needs heads that are layers of their own."""
    parts: Any = model
    if not all(isinstance(head, nn.Linear) for head in parts.heads):
        raise ColdError("cba needs heads of its own to adapt: give a module of features, without a last layer")


def heads_only(model: nn.Module, moved: Weights, parts: Sequence[Tensor], runs: Runs) -> list[Tensor]:
    """Logits, run by run, with a graph for the heads alone; `moved` stands in for some of their weights. Each of the
    parts goes through the network below the heads by itself."""
    layers: Any = model
    pieces = merged(runs)
    with torch.no_grad(), frozen_statistics(model):
        features = torch.cat([layers.backbone(part) for part in parts])
    logits = []
    for (head, _), part in zip(pieces, torch.split(features, [count for _, count in pieces]), strict=True):
        own = {name: moved.get(f"{head}.{name}", p) for name, p in layers.heads[head].named_parameters()}
        logits.append(functional_call(layers.heads[head], own, (part,)))
    return logits


def virtual_step(model: nn.Module, loss: Tensor, lr: float) -> Weights:
    """Weights of the heads after one SGD step on the loss, as functions of whatever else the loss depends on."""
    parts: Any = model
    weights = dict(parts.heads.named_parameters())
    slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=True, allow_unused=True)
    return {
        name: weight.detach() - lr * slope
        for (name, weight), slope in zip(weights.items(), slopes, strict=True)
        if slope is not None
    }
