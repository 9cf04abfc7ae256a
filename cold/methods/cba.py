"""CBA: an adaptor takes up the bias towards new classes during training and is left out at test time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..losses import joined, merged
from ..memory import Draw
from .adaptor import Adaptors, check_heads, heads_only, virtual_step
from .base import Batch, Context, Published, check_choice, check_options
from .derpp import DERpp
from .replay import ONLINE, Company, apart, cross_entropy


class CBA(DERpp):
    """Adapted logits a = h + omega(softmax(h)), omega an MLP C -> 256 -> C; one for all heads of the same width C.

    Inner, every step: the replay loss of `base` with adapted logits, omega's part a constant.
        er     CE(a(B)) + CE(a(M))
        der++  CE(a(B)) + alpha MSE(a(x'), stored a) + beta CE(a(x''), y'')
    Outer, before every fifth step from the second task on: one virtual SGD step of the heads on the inner loss, as a
    function of omega; then Adam on omega for CE of the un-adapted logits on a fresh memory batch
    (der++: + MSE to the stored un-adapted logits on another).
    """

    name = "cba"
    title = "CBA"
    paper = "Wang et al. 2023, CBA: Improving Online Continual Learning via Continual Bias Adaptor"
    cost = "(b + m)*C + (b + 2*m)*C/15"
    storage = "M*p + n_c*512"
    published: ClassVar[Published] = {
        name: {**ONLINE, "lr": 0.03, "batch_size": 32, "epochs": 1, "memory_batch": 32,
               "options": {"fill": "stream", "adaptor_lr": rate}}
        for name, rate in (("split-cifar10", 1e-3), ("split-cifar100", 1e-2), ("split-tinyimagenet", 1e-2))
    }  # fmt: skip

    @dataclass(frozen=True)
    class Options(DERpp.Options):
        base: str = "er"
        adaptor_lr: float = 1e-3
        every: int = 5
        alpha: float = 0.2
        beta: float = 0.5

        def __post_init__(self) -> None:
            super().__post_init__()
            check_choice(self, "base", ("er", "der++"))
            check_options(self, positive=("adaptor_lr", "every"))

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        check_heads(context.model)
        self.distils = self.options.base == "der++"
        self.adaptors = Adaptors(context.benchmark.head_widths, context.streams.cpu("adaptor")).to(context.device)
        self.outer = torch.optim.Adam(self.adaptors.parameters(), lr=self.options.adaptor_lr)
        self.steps = 0  # since the second task began

    def loss(self, batch: Batch) -> Tensor:
        draws = self.draws(batch)
        company = self.company(batch, *draws)
        x, runs = self.context.training_inputs(company.raw), merged(company.runs)
        if draws and batch.task:
            if self.steps % self.options.every == 0:
                self._learn_adaptor(batch, x, company, draws)
            self.steps += 1
        logits = self.context.forward(self.model, x, runs)
        with torch.no_grad():
            bias = self.adaptors(logits)
        self._batch_logits = joined(logits)[: len(batch.raw)].detach()
        return self.inner_loss([h + shift for h, shift in zip(logits, bias, strict=True)], company, draws)

    def draws(self, batch: Batch) -> list[Draw]:
        return super().draws(batch) if self.distils else [d for d in (self.sample(batch),) if d is not None]

    def inner_loss(self, adapted: list[Tensor], company: Company, draws: list[Draw]) -> Tensor:
        (now, y), *replayed = apart(adapted, company)
        loss = cross_entropy(now, y)
        if not draws:
            return loss
        if self.distils:
            return loss + self.past_loss(draws, replayed)
        return loss + cross_entropy(*replayed[0])

    def _learn_adaptor(self, batch: Batch, x: Tensor, company: Company, draws: list[Draw]) -> None:
        logits = heads_only(self.model, {}, x, company.runs)
        adapted = [h + shift for h, shift in zip(logits, self.adaptors(logits), strict=True)]
        moved = virtual_step(self.model, self.inner_loss(adapted, company, draws), self.config.lr)
        fresh = [draw for draw in (self.sample(batch) for _ in range(1 + self.distils)) if draw is not None]
        company = self.company(None, *fresh)
        x = self.context.training_inputs(company.raw)
        later = apart(heads_only(self.model, moved, x, company.runs), company)
        loss = cross_entropy(*later[0])
        if self.distils:
            loss = loss + self.distance(fresh[1], later[1][0], "plain logits")
        self.adaptors.learn(loss, self.outer)

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
