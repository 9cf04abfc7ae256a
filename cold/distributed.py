"""One run over several processes: `torchrun --nproc-per-node 2 -m cold run ...`.

Every process holds the whole run: data, memory, queues, random streams, results. Only the network's forward and
backward passes are shared. A batch (of the present task, joined with memory samples) is the same in all processes; each
passes its part of the rows through the network, the logits of all rows are gathered, and every process computes
the same losses and moves the same queues: bit by bit where all processes have the same kernels, as on one machine or
on machines of one kind. On the way back each process has the gradient of its own rows;
DistributedDataParallel averages over processes, and the logits' gradient is first scaled by their number, so the
average is the gradient of the whole batch. `--batch-size` is thus the batch of a step, however many processes work on
it, and the result is that of one process up to rounding. Adam can make that rounding large: its first step is lr g/(|g|
+ 1e-8), so a weight whose gradient is as small as 1e-8 takes a step that depends on the gradient's last digits.

A method declares that it supports this (`over_processes`) if all its gradients come from the one backward pass of a
step; a method that computes gradients otherwise would see only those of its own rows.

NCCL on GPUs, gloo elsewhere. The first process writes checkpoints and results; on several machines the folder of
runs must be one that all of them see.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from coldtheory.ground.errors import ColdError

from .layer_modes import shares_statistics
from .losses import Runs, cut


@dataclass(frozen=True)
class Group:
    """The processes of one run; a single one by default."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes and prints."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait until all processes have arrived."""
        if self.size > 1:
            dist.barrier()

    def agreed(self, wish: Callable[[], bool]) -> Callable[[], bool]:
        """The same answer in all processes: whether any of them wishes so. All must ask equally often."""
        if self.size == 1:
            return wish

        def any_wish() -> bool:
            flag = torch.tensor(int(wish()), device=_device())
            dist.all_reduce(flag, op=dist.ReduceOp.MAX)
            return bool(flag)

        return any_wish


@contextmanager
def joined(device: str = "auto") -> Iterator[Group]:
    """The group that torchrun has started this process in; without torchrun a group of one."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1 or "MASTER_ADDR" not in os.environ:
        yield Group()
        return
    on_gpus = device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
    if on_gpus:
        local = int(os.environ.get("LOCAL_RANK", "0"))
        if local >= torch.cuda.device_count():
            raise ColdError(
                f"process {local + 1} of this machine has no GPU of its own, there are {torch.cuda.device_count()}; "
                "start fewer with --nproc-per-node, or use --device cpu"
            )
        torch.cuda.set_device(local)  # what "cuda" means from here on
    dist.init_process_group("nccl" if on_gpus else "gloo")
    try:
        yield Group(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()


class SharedForward:
    """The model's forward with the rows of a batch dealt to the processes; called like the model itself."""

    def __init__(self, model: nn.Module, group: Group, widths: Sequence[int]) -> None:
        if shares_statistics(model):
            if next(model.parameters()).device.type != "cuda":
                raise ColdError("BatchNorm over several processes needs GPUs (SyncBatchNorm); take --nproc-per-node 1")
            nn.SyncBatchNorm.convert_sync_batchnorm(model)  # type: ignore[no-untyped-call]  # in place
        self.group, self.widths = group, list(widths)
        # Heads of other tasks take no part in a step: their gradients must stay None, as in one process.
        self.network = DistributedDataParallel(model, find_unused_parameters=len(widths) > 1)

    def __call__(self, x: Tensor, runs: Runs) -> list[Tensor]:
        """Logits of all rows, one tensor per run."""
        network = self.network if torch.is_grad_enabled() else self.network.module
        if len(x) < self.group.size:  # too few to deal: every process takes them all
            alike: list[Tensor] = network(x, runs)
            return alike
        low, high = (len(x) * rank // self.group.size for rank in (self.group.rank, self.group.rank + 1))
        pieces = network(x[low:high], cut(runs, low, high))
        widest = max(self.widths[head] for head, _ in runs)
        own = torch.cat([nn.functional.pad(piece, (0, widest - piece.shape[1])) for piece in pieces])
        whole = _Gather.apply(own, len(x), self.group)  # type: ignore[no-untyped-call]
        counts = [count for _, count in runs]
        return [rows[:, : self.widths[head]] for rows, (head, _) in zip(torch.split(whole, counts), runs, strict=True)]


class _Gather(torch.autograd.Function):
    """Rows of all processes, in order; backwards, each process's own rows, times the number of processes."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, rows: int, group: Group) -> Tensor:
        ends = [rows * rank // group.size for rank in range(group.size + 1)]
        sizes = [end - start for start, end in pairwise(ends)]
        ctx.where, ctx.size = (ends[group.rank], ends[group.rank + 1]), group.size
        padded = own.new_zeros(max(sizes), *own.shape[1:])
        padded[: len(own)] = own
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        low, high = ctx.where
        return gradient[low:high] * ctx.size, None, None


def _device() -> torch.device:
    return torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")
