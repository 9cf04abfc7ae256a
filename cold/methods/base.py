"""What a method is: hooks into one training loop that all methods share.

A method is one short file with one class. It declares its paper and its own hyper-parameters (`Options`, with
defaults; the user sets them with `--option name=value`), and overrides what differs from fine-tuning:

    loss(batch)          the objective on a batch; enough for most methods
    adjust_gradients()   after the backward pass, before the optimiser's step (projections)
    step(batch)          the whole update, for methods with another shape of step
    begin_task, end_epoch, end_task, network_for_evaluation, state, load

Classes are found by `find_method`; nothing has to be registered.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from coldtheory.errors import ColdError, unknown_name

from ..config import RunConfig
from ..data import Benchmark, Part
from ..losses import Runs, merged, per_sample_losses
from ..memory import Draw, Memory
from ..streams import Streams


@dataclass(frozen=True, eq=False)
class Batch:
    """Samples of the present task, as stored."""

    raw: Tensor
    y: Tensor
    task: int
    head: int


@dataclass(eq=False)
class Context:
    """What the trainer lends a method."""

    config: RunConfig
    benchmark: Benchmark
    model: nn.Module
    optimizer: torch.optim.Optimizer
    device: torch.device
    streams: Streams
    scaler: torch.amp.GradScaler | None = None
    shared: Callable[[Tensor, Runs], list[Tensor]] | None = None  #: the model's forward over several processes

    @property
    def heads(self) -> list[int]:
        """The head of each task."""
        return [task.head for task in self.benchmark.tasks]

    def inputs(self, raw: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Stored samples as the model's input; with a generator augmented, if the benchmark augments."""
        x = self.benchmark.transform(raw, generator=generator)
        return x.contiguous(memory_format=torch.channels_last) if self.config.channels_last and x.dim() == 4 else x

    def training_inputs(self, raw: Tensor) -> Tensor:
        return self.inputs(raw, self.streams.device("augment"))

    def forward(self, model: nn.Module, x: Tensor, runs: Runs) -> list[Tensor]:
        """One pass, one tensor of logits a piece of the batch; in reduced precision where the run asks for it."""
        network = self.shared if self.shared is not None and model is self.model else model
        if self.config.amp == "off":
            logits: list[Tensor] = network(x, runs)
            return logits
        dtype = torch.bfloat16 if self.config.amp == "bf16" else torch.float16
        with torch.autocast(self.device.type, dtype=dtype):
            logits = network(x, runs)
        return logits

    def new_memory(self) -> Memory:
        config = self.config
        policy: Any = config.memory_policy
        return Memory(config.memory, len(self.benchmark.tasks), policy=policy, device=self.device)

    def backward(self, loss: Tensor) -> None:
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()  # type: ignore[no-untyped-call]

    def update(self) -> None:
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()


class Method:
    """Fine-tuning, and the ground on which the others stand."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""  #: as tables print it
    paper: ClassVar[str] = ""  #: authors, year, venue
    uses_memory: ClassVar[bool] = False
    over_processes: ClassVar[bool] = False  #: see `cold.distributed`; not inherited

    @dataclass(frozen=True)
    class Options:
        """The method's own hyper-parameters."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.config = context.config
        self.model = context.model
        self.options: Any = _options(type(self), context.config.options)
        self.task = 0

    # ---------------------------------------------------------------------------------------------- to override

    def begin_task(self, task: int, train: Part) -> None:
        """Before the first step of a task."""

    def loss(self, batch: Batch) -> Tensor:
        """The objective on a batch, a scalar with a graph."""
        return self.batch_losses(batch).mean()

    def adjust_gradients(self) -> None:
        """Change the gradients before the optimiser uses them."""

    def step(self, batch: Batch) -> Tensor:
        """One update; the loss as a detached scalar."""
        self.context.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(batch)
        self.context.backward(loss)
        self.adjust_gradients()
        self.context.update()
        return loss.detach()

    def end_epoch(self, task: int, epoch: int) -> None: ...

    def end_task(self, task: int, train: Part) -> None:
        """After the last step of a task: store samples, measure importances."""

    def resume_task(self, task: int, train: Part) -> None:
        """In place of `begin_task` when a run goes on in the middle of a task, after `load`."""

    def network_for_evaluation(self) -> nn.Module:
        return self.model

    def queues(self) -> Tensor | None:
        """The virtual queues, (T,), if the method has some."""
        return None

    def arrays(self) -> dict[str, Tensor]:
        """Further arrays for the results."""
        return {}

    def state(self) -> dict[str, Any]:
        """Everything that must survive a kill beside model, optimiser and random streams: tensors and JSON."""
        return {}

    def load(self, state: Mapping[str, Any]) -> None: ...

    # ---------------------------------------------------------------------------------------------- to use

    def losses(self, raw: Tensor, y: Tensor, runs: Runs) -> Tensor:
        """The cross-entropy of each sample, (n,), in a training forward."""
        x = self.context.training_inputs(raw)
        return per_sample_losses(self.context.forward(self.model, x, merged(runs)), y)

    def batch_losses(self, batch: Batch) -> Tensor:
        return self.losses(batch.raw, batch.y, [(batch.head, len(batch.raw))])

    def losses_with_memory(self, batch: Batch, memory: Memory, draw: Draw) -> Tensor:
        """Losses of the batch, then of the drawn memory samples through their own heads: one forward."""
        raw, y, runs = with_memory(batch, memory, draw, self.context.heads)
        return self.losses(raw, y, runs)

    def draw(self, memory: Memory, past: int, count: int | None = None) -> Draw:
        """A replay batch, as `--replay` and `--memory-batch` say."""
        count = self.config.memory_batch if count is None else count
        generator = self.context.streams.cpu("replay")
        if self.config.replay == "per-task":
            return memory.draw_per_task(count, past, generator)
        return memory.draw_mixed(count, past, generator)


def with_memory(batch: Batch, memory: Memory, draw: Draw, heads: list[int]) -> tuple[Tensor, Tensor, Runs]:
    """Samples, labels and pieces of a joint batch."""
    assert memory.raw is not None
    runs = [(batch.head, len(batch.raw)), *((heads[k], n) for k, n in zip(draw.tasks, draw.counts, strict=True))]
    return torch.cat([batch.raw, memory.raw[draw.slots]]), torch.cat([batch.y, memory.y[draw.slots]]), runs


def find_method(name: str) -> type[Method]:
    """The class of a method by its name."""
    known = {method.name: method for method in all_methods()}
    if name not in known:
        raise unknown_name("method", name, known)
    return known[name]


def all_methods() -> Iterator[type[Method]]:
    """Every method of this package, by file name."""
    import cold.methods as package  # noqa: PLC0415  (this module is part of it)

    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for value in vars(module).values():
            if not (isinstance(value, type) and issubclass(value, Method)):
                continue
            if value.name and value.__module__ == module.__name__:
                yield value


def _options(method: type[Method], given: Mapping[str, Any]) -> Any:
    fields = {f.name: f for f in dataclasses.fields(method.Options)}
    for name, value in given.items():
        if not fields:
            raise ColdError(f"{method.name} has no options of its own, got {name}")
        if name not in fields:
            raise unknown_name(f"option of {method.name}", name, fields)
        default = fields[name].default
        if isinstance(default, int | float) and (
            isinstance(value, str) or isinstance(value, bool) != isinstance(default, bool)
        ):
            raise ColdError(f"option {name} of {method.name} is a number such as {default}, got {value!r}")
    return method.Options(**given)
