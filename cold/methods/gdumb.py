"""GDumb: keep a balanced memory, and train a new network on it when asked."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..data import Part
from ..losses import joined, merged
from .balance import GreedyBalance
from .base import Batch, Context, Published, check_choice, check_options
from .cutmix import cutmix
from .replay import Replay, cross_entropy
from .restarts import pass_lr


class GDumb(Replay):
    """The stream trains nothing. At each evaluation a new network is trained on the memory alone: SGD, momentum 0.9,
    weight decay 1e-6, batches of 16, gradient norm at most 10, a learning rate of `pass_lr`.

    passes     : over the memory (the paper: 256, for MNIST 128)
    cutmix     : probability of mixing a batch's images with others of the same task; grey images are never mixed
    balance    : what counts as a class: "task-class" a label of a task, "class" an output of a head (in a permuted
                 benchmark the second keeps the first task only: its classes fill the memory and no new ones come)
    final_only : train for the last evaluation alone; what stands before is an untrained network
    """

    name = "gdumb"
    title = "GDumb"
    paper = "Prabhu et al. 2020, GDumb: A Simple Approach that Questions Our Progress in Continual Learning"
    settings = ("task", "class")
    cost = "0; M*C*passes at an evaluation"
    storage = "M*p"
    published: ClassVar[Published] = {
        "pmnist": {"options": {"passes": 128}},
        "split-mnist": {"options": {"passes": 128}},
    }

    @dataclass(frozen=True)
    class Options:
        passes: int = 256
        max_lr: float = 0.05
        min_lr: float = 5e-4
        cutmix: float = 0.5
        balance: str = "task-class"
        final_only: bool = False
        fill = "task-end"  # no choice: the sampler sees each task once

        def __post_init__(self) -> None:
            check_options(self, positive=("passes", "max_lr"), nonnegative=("min_lr", "cutmix"))
            check_choice(self, "balance", ("task-class", "class"))

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.classes = GreedyBalance(self.config.memory)
        self.done = 0  # finished tasks
        self.trained: tuple[int, nn.Module] | None = None  # after how many tasks, and the network

    def step(self, batch: Batch) -> Tensor:
        return torch.zeros((), device=self.context.device)

    def end_task(self, task: int, train: Part) -> None:
        """One pass of the task's samples through the sampler, in random order."""
        generator = self.context.streams.cpu("memory")
        order = torch.randperm(len(train), generator=generator)
        group = task if self.options.balance == "task-class" else self.context.heads[task]
        labels = train.y.cpu()[order].tolist()
        slots, places = self.classes.offer([group * self.widest + label for label in labels], generator)
        rows = order[places].to(train.y.device)
        self.memory.put(slots, train.raw(rows), train.y[rows], task)
        self.done = task + 1

    def network_for_evaluation(self) -> nn.Module:
        last = self.done == len(self.context.benchmark.tasks)
        if not self.done or (self.options.final_only and not last):
            return self.model
        if self.trained is None or self.trained[0] != self.done:
            self.trained = (self.done, self._train(copy.deepcopy(self.model)))
        return self.trained[1]

    def _train(self, network: nn.Module) -> nn.Module:
        generator, options = self.context.streams.cpu("gdumb"), self.options
        optimizer = torch.optim.SGD(network.parameters(), lr=options.max_lr, momentum=0.9, weight_decay=1e-6)
        network.train()
        for number in range(options.passes):
            optimizer.param_groups[0]["lr"] = pass_lr(number, options.max_lr, options.min_lr)
            for draw in self.memory.chunks(16, self.done, per_task=False, generator=generator):
                company = self.company(None, draw)
                x = self.context.training_inputs(company.raw)
                x, other, share = cutmix(x, draw.owner, options.cutmix, generator)
                logits = joined(self.context.forward(network, x, merged(company.runs)))
                loss = cross_entropy(logits, company.y)
                if share < 1:
                    loss = share * loss + (1 - share) * cross_entropy(logits, company.y[other])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]  # its own optimiser: no scaling
                nn.utils.clip_grad_norm_(network.parameters(), 10.0)
                optimizer.step()
        return network

    def state(self) -> dict[str, Any]:
        kept = None if self.trained is None else {"after": self.trained[0], "network": self.trained[1].state_dict()}
        return {**super().state(), "classes": self.classes.state(), "done": self.done, "trained": kept}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.classes.load(state["classes"])
        self.done = int(state["done"])
        if state["trained"] is not None:
            network = copy.deepcopy(self.model)
            network.load_state_dict(state["trained"]["network"])
            self.trained = (int(state["trained"]["after"]), network)
