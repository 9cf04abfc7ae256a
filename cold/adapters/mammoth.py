"""COLD for Mammoth, which is not a package but a folder of programs: copy this one file into its folder `models`.

    cp "$(python -c 'import cold.adapters; print(cold.adapters.__path__[0])')/mammoth.py" models/cold.py
    python main.py --model cold --dataset seq-cifar10 --buffer_size 500 --minibatch_size 32 --V 20 --lr 0.03

`cold-continual[train]` must be installed in Mammoth's environment. `--buffer_size` is the memory M, shared equally by
the tasks so far; `--minibatch_size` the number of samples that a step draws from all of them together, as for Mammoth's
other replay methods (`--replay per-task`: from each of them).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any, ClassVar

import torch
from models.utils.continual_model import ContinualModel
from torch import nn
from torch.utils.data import Dataset
from utils.args import add_rehearsal_args
from utils.augmentations import apply_transform

from cold import dpp  # not the class: Mammoth looks for names in this file that are spelled like its own


class Cold(ContinualModel):  # type: ignore[misc]
    """Drift-plus-penalty: a queue per past task weighs its loss."""

    NAME = "cold"
    COMPATIBILITY: ClassVar[list[str]] = ["class-il", "domain-il", "task-il"]

    @staticmethod
    def get_parser(parser: ArgumentParser) -> ArgumentParser:
        """Add the options of this model to Mammoth's command line."""
        add_rehearsal_args(parser)
        parser.add_argument("--V", type=_number_or_auto, default="auto", help="Weight of the present task, or auto.")
        parser.add_argument("--constraint", default="loss", help="loss, or logits: that is COLD-distill.")
        parser.add_argument("--delta", type=float, default=0.0, help="Tolerance of the queues.")
        parser.add_argument("--reference", default=None, help="previous (the default), best or stored.")
        parser.add_argument("--controller", default="queue", help="queue, leaky, nupi, yu-neely or augmented.")
        parser.add_argument("--replay", default="mixed", help="What --minibatch_size counts: mixed or per-task.")
        return parser

    def __init__(
        self, backbone: nn.Module, loss: nn.Module, args: Namespace, transform: Any, dataset: Any = None
    ) -> None:
        super().__init__(backbone, loss, args, transform, dataset=dataset)
        self.dpp = dpp.COLD(
            V=args.V,
            delta=args.delta,
            constraint=args.constraint,
            memory=args.buffer_size,
            memory_batch=args.minibatch_size,
            reference=args.reference,
            controller=args.controller,
            replay=args.replay,
            prepare=self._transformed,
            augments=transform is not None,
            seed=args.seed or 0,
            device=self.device,
        )

    def begin_task(self, dataset: Any) -> None:
        """Begin a task with the training data of Mammoth's data set."""
        self.dpp.begin_task(self.net, _AsStored(dataset.train_loader.dataset))

    def observe(
        self, inputs: torch.Tensor, labels: torch.Tensor, not_aug_inputs: torch.Tensor, epoch: int | None = None
    ) -> float:
        """One training step on a batch; returns the loss."""
        self.opt.zero_grad()
        loss = self.dpp.loss(self.net, not_aug_inputs, labels)
        loss.backward()  # type: ignore[no-untyped-call]
        self.opt.step()
        return loss.item()

    def end_epoch(self, epoch: int, dataset: Any) -> None:
        """Move the queues if they move once per epoch."""
        self.dpp.end_epoch(self.net)

    def end_task(self, dataset: Any) -> None:
        """End the task: store samples of it."""
        self.dpp.end_task(self.net)

    def _transformed(self, raw: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Mammoth's own transform, applied to the batch and to replayed samples whenever they are drawn."""
        transformed: torch.Tensor = raw if self.transform is None else apply_transform(raw, self.transform)
        return transformed


def _number_or_auto(text: str) -> float | str:
    return text if text == "auto" else float(text)


class _AsStored(Dataset[Any]):
    """(not augmented sample, label) of Mammoth's triples (sample, label, not augmented sample)."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, i: int) -> tuple[Any, Any]:
        _, label, stored = self._dataset[i][:3]
        return stored, label
