"""What the trainer computes with: the data, device and optimiser of a run, and test accuracies."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import nn

from coldtheory.ground.errors import ColdError

from .config import RunConfig
from .data import Benchmark, Part, Task, load_benchmark
from .losses import per_sample_losses
from .methods.base import Context

_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
EVAL_BATCH = 2048
EVAL_BATCH_CPU = 128  # pieces above 32 MiB come as fresh pages from the system, in each layer: half the time on a CPU
_MALLOC = (("MALLOC_MMAP_THRESHOLD_", -3, 32 << 20), ("MALLOC_TRIM_THRESHOLD_", -1, 512 << 20))  # glibc: malloc.h


def load_data(config: RunConfig, root: Path | None) -> Benchmark:
    """The benchmark that the settings of a run name."""
    names = ("tasks", "seed", "limit_train", "limit_test", "validation", "iid", "augment", "scenario")
    for name in config.data_options:
        if name in ("root", "name", *names):
            raise ColdError(f"{name} is not an option of the data: it is a setting of the run")
    return load_benchmark(
        config.dataset, root=root, **{name: getattr(config, name) for name in names}, **config.data_options
    )


def pick_device(name: str) -> torch.device:
    """The torch device of that name; "auto" is CUDA where it is available. Raises `ColdError` if it cannot be used."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.ones(1, device=device).item()  # a number comes back, which it does not from every device
    except Exception as error:  # a driver that is absent or broken may fail in any way
        words = (str(error).splitlines() or [type(error).__name__])[0]
        raise ColdError(f"device {name!r} cannot be used here: {words}; take cpu or auto") from None
    return device


def keep_freed_memory() -> bool:
    """Let the C library keep what was freed for the next allocation, instead of giving it back to the system.

    A step on a CPU frees all its activations and asks for the same sizes again. By default glibc returns such large
    pieces, and the system then has to clear and map every page of them anew, in each layer of each step. No number
    changes, and a process holds no more memory than it had at its peak. What users have set themselves, in the
    environment variables of glibc, stays. False where the C library is another one.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return all(name in os.environ or mallopt(option, size) == 1 for name, option, size in _MALLOC)


@contextmanager
def repeatable(wanted: bool) -> Iterator[None]:
    """Where wanted, torch uses only kernels that give the same bits every time, and products in full single precision.

    This costs time on a GPU, and an operation without such a kernel is a `ColdError`. On a CPU with a fixed number of
    threads results repeat anyway. The settings are torch's own, for the whole process; those from before come back.
    """
    if not wanted:
        yield
        return
    workspace = os.environ.get(_WORKSPACE)
    os.environ[_WORKSPACE] = workspace or ":4096:8"  # read when cuBLAS makes its first product
    before = (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled())
    precision, cudnn = torch.get_float32_matmul_precision(), torch.backends.cudnn
    flags = (cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32)
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("highest")  # no TF32
    cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32 = True, False, False
    try:
        yield
    except RuntimeError as error:
        if "deterministic" not in str(error):
            raise
        raise ColdError(f"--deterministic: {str(error).partition(',')[0]}; leave --deterministic out") from None
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.set_float32_matmul_precision(precision)
        cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32 = flags
        if workspace is None:
            os.environ.pop(_WORKSPACE, None)


def peak_memory(device: torch.device) -> int:
    """The largest memory the process has used so far: of the GPU, or of the main memory."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def make_optimizer(config: RunConfig, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """Adam, or SGD with momentum, in a form that updates all tensors at once."""
    chosen = list(parameters)
    if config.optimizer == "adam":
        fused = all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in chosen)
        return torch.optim.Adam(chosen, lr=config.lr, weight_decay=config.weight_decay, fused=fused)
    # not fused: torch's fused SGD fails when a head gets its first gradient later than the others
    return torch.optim.SGD(
        chosen, lr=config.lr, momentum=config.momentum, weight_decay=config.weight_decay, foreach=True
    )


def accuracies(context: Context, benchmark: Benchmark, model: nn.Module, seen: int) -> dict[str, list[float]]:
    """The share of right answers on each task of a benchmark, through the task's own head, and the loss: (T,) by name.

    accuracy       : among all outputs of the head
    loss           : the mean cross-entropy over all outputs of the head, in nats
    accuracy_seen  : class-incremental only, among the classes of the first `seen` tasks
    accuracy_task  : class-incremental only, among the classes of the sample's own task (task-incremental, masked)
    """
    names, others = ["loss", "accuracy"], None  # others: [view, task] -> outputs that cannot be the answer
    if benchmark.scenario == "class":
        names += ["accuracy_seen", "accuracy_task"]
        own = torch.zeros(len(benchmark.tasks), benchmark.head_widths[0], dtype=torch.bool)
        for mask, task in zip(own, benchmark.tasks, strict=True):
            mask[list(range(len(mask)) if task.outputs is None else task.outputs)] = True
        among = own[:seen].any(0) if seen else own.any(0)
        others = torch.stack([among.expand_as(own), own]).logical_not().to(context.device)
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        sums = torch.stack(
            [
                _answered(context, model, task, None if others is None else others[:, t])
                for t, task in enumerate(benchmark.tasks)
            ],
            dim=1,
        )
    model.train(was_training)
    sizes = [len(evaluated_part(task, context.config.evaluate_on)) for task in benchmark.tasks]
    shares = np.asarray(sums.cpu().numpy() / np.array(sizes), dtype=np.float64)
    return dict(zip(names, shares.tolist(), strict=True))


def evaluated_part(task: Task, name: str) -> Part:
    """The test or validation samples of a task; raises `ColdError` if there are none."""
    part = task.test if name == "test" else task.validation
    if part is None or len(part) == 0:
        raise ColdError(f"task {task.name} has no {name} samples")
    return part


def _answered(context: Context, model: nn.Module, task: Task, others: torch.Tensor | None) -> torch.Tensor:
    """The sum of losses and the numbers of right answers, (1 + views,) on the device: no wait before all are done."""
    part = evaluated_part(task, context.config.evaluate_on)
    sums = torch.zeros(2 if others is None else 2 + len(others), dtype=torch.float64, device=context.device)
    size = context.config.eval_batch or (EVAL_BATCH if context.device.type != "cpu" else EVAL_BATCH_CPU)
    for rows in torch.split(torch.arange(len(part), device=context.device), size):
        logits, y = context.forward(model, context.inputs(part.raw(rows)), [(task.head, len(rows))])[0], part.y[rows]
        answers = logits.argmax(1)[None]
        if others is not None:
            answers = torch.cat([answers, logits.masked_fill(others[:, None], -torch.inf).argmax(2)])
        sums[0] += per_sample_losses([logits], y).sum()
        sums[1:] += (answers == y).sum(1)
    return sums
