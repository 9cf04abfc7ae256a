"""What a method is: hooks into one training loop that all methods share.

A method is one short file with one class. It declares its paper and its own hyper-parameters (`Options`, with
defaults; the user sets them with `--option name=value`), and overrides what differs from fine-tuning:

    loss(batch)          the objective on a batch; enough for most methods
    adjust_gradients()   after the backward pass, before the optimiser's step (projections)
    step(batch)          the whole update, for methods with another shape of step
    begin_task, end_epoch, end_task, network_for_evaluation, state, load

Classes are found by `find_method`; nothing has to be registered. A method of one's own is a file anywhere:
`--method path/to/file.py`, or `path/to/file.py:Class` where the file holds several.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from coldtheory.ground.errors import ColdError, unknown_name

from ..config import RunConfig
from ..data import Benchmark, Part
from ..losses import Runs, merged, per_sample_losses
from ..memory import Draw, Memory
from ..streams import Streams

Published = Mapping[str, Mapping[str, Any]]


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

    @cached_property
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
        dtype = torch.get_default_dtype()
        return Memory(config.memory, len(self.benchmark.tasks), policy=policy, device=self.device, dtype=dtype)

    def backward(self, loss: Tensor) -> None:
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()  # type: ignore[no-untyped-call]

    def unscale(self) -> None:
        """Gradients in their own size again, for a method that changes them; `update` knows that it was done."""
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)

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
    paper: ClassVar[str] = ""  #: authors, year, title
    settings: ClassVar[tuple[str, ...]] = ("task", "domain", "class")  #: kinds of streams it was made for
    #: operations a batch and numbers stored beside the model, in the letters of the paper's complexity table: batch b,
    #: memory batch m, past tasks t, weights d, a sample's pass C and size p, memory M, classes n_c, data N
    cost: ClassVar[str] = "b*C"
    storage: ClassVar[str] = "0"
    published: ClassVar[Published] = {}  #: benchmark -> settings of the method's own paper
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
    return (
        torch.cat([batch.raw, memory.raw.index_select(0, draw.slots)]),
        torch.cat([batch.y, memory.y[draw.slots]]),
        runs,
    )


def find_method(name: str) -> type[Method]:
    """The class of a method by its name, or by its file: FILE.py or FILE.py:Class."""
    path, _, chosen = name.partition(".py:") if ".py:" in name else (name, "", "")
    if chosen or name.endswith(".py"):
        return _from_file(Path(f"{path}.py" if chosen else path).expanduser(), chosen)
    known = {method.name: method for method in all_methods()}
    if name not in known:
        raise unknown_name("method", name, known)
    return known[name]


def all_methods() -> Iterator[type[Method]]:
    """Every method of this package, by file name."""
    import cold.methods as package  # noqa: PLC0415  (this module is part of it)

    for info in pkgutil.iter_modules(package.__path__):
        yield from _methods_in(importlib.import_module(f"{package.__name__}.{info.name}"))


def _methods_in(module: ModuleType) -> Iterator[type[Method]]:
    for value in vars(module).values():
        if not (isinstance(value, type) and issubclass(value, Method)):
            continue
        if value.name and value.__module__ == module.__name__:
            yield value


def _from_file(path: Path, chosen: str) -> type[Method]:
    module_name = f"cold_method_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ColdError(f"no method file {path}; give the path of a Python file with a class derived from Method")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses look their module up by name
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ColdError(f"cannot load the method file {path}: {type(error).__name__}: {error}") from None
    found = {method.__name__: method for method in _methods_in(module)}
    if chosen and chosen not in found:
        raise unknown_name(f"method in {path}", chosen, found)
    if not chosen and len(found) != 1:
        held = ", ".join(found) or "none"
        raise ColdError(
            f"{path} must hold one class derived from Method with a name, it holds {held}; name one: :Class"
        )
    return found[chosen] if chosen else next(iter(found.values()))


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


def check_options(options: Any, *, positive: tuple[str, ...] = (), nonnegative: tuple[str, ...] = ()) -> None:
    """Options that must be > 0, and those that must be >= 0."""
    for name in (*positive, *nonnegative):
        value = getattr(options, name)
        if value < 0 or (name in positive and value == 0):
            raise ColdError(f"option {name} must be {'>' if name in positive else '>='} 0, got {value}")


def check_choice(options: Any, name: str, known: tuple[str, ...]) -> None:
    if getattr(options, name) not in known:
        raise unknown_name(f"value of option {name}", getattr(options, name), known)
