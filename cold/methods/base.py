"""What a method is: hooks into one training loop that all methods share.

A method is one short file with one class, which overrides what differs from fine-tuning:

    loss(batch)          the objective on a batch; enough for most methods
    adjust_gradients()   after the backward pass, before the optimiser's step (projections)
    step(batch)          the whole update, for methods with another shape of step
    begin_task, end_epoch, end_task, network_for_evaluation, state, load

What a method of this package is called, takes and costs stands in its entry of `cold.catalogue`, which its class names
(`class ER(Replay, entry=ER)`). A method of your own is a file anywhere (`--method path/to/file.py`, or
`path/to/file.py:Class` where the file holds several), and its class declares the same things itself: at least a
`name`, and hyper-parameters as a dataclass `Options` with defaults, which the user sets with `--option name=value`.
Classes are found by `find_method`; nothing has to be registered.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from coldtheory.ground.errors import ColdError, unknown_name

from ..ahead import Ahead
from ..catalogue.methods import TASK_FREE, MethodEntry, NoOptions, Published, check_choice, check_options
from ..config import RunConfig
from ..data import Benchmark, Part
from ..losses import Runs, in_passes, merged, per_sample_losses
from ..memory import Draw, Memory
from ..streams import Streams

__all__ = [
    "Batch", "Context", "Method", "Published", "all_methods", "check_choice", "check_options", "find_method",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Batch:
    """Samples of the present task, as stored."""

    raw: Tensor
    y: Tensor
    task: int
    head: int


@dataclass(eq=False)
class Context:
    """What the trainer provides to a method."""

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
        """Stored samples as the model's input for a training step, augmented if the benchmark augments."""
        return self.inputs(raw, self.streams.device("augment"))

    def forward(self, model: nn.Module, x: Tensor, runs: Runs) -> list[Tensor]:
        """One pass, one tensor of logits per piece of the batch; in reduced precision where the run asks for it."""
        network = self.shared if self.shared is not None and model is self.model else model
        if self.config.amp == "off":
            logits: list[Tensor] = network(x, runs)
            return logits
        dtype = torch.bfloat16 if self.config.amp == "bf16" else torch.float16
        with torch.autocast(self.device.type, dtype=dtype):
            logits = network(x, runs)
        return logits

    def new_memory(self) -> Memory:
        """An empty memory of the size and policy that the settings ask for."""
        config = self.config
        policy: Any = config.memory_policy
        dtype = torch.get_default_dtype()
        return Memory(config.memory, len(self.benchmark.tasks), policy=policy, device=self.device, dtype=dtype)

    def backward(self, loss: Tensor) -> None:
        """The backward pass, with the loss scaled where the run has reduced precision."""
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()  # type: ignore[no-untyped-call]

    def unscale(self) -> None:
        """Undo the scaling of the gradients, for a method that changes them; `update` takes this into account."""
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)

    def update(self) -> None:
        """The optimiser's step."""
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()


class Method:
    """Fine-tuning, and the base class of all other methods. `MethodEntry` explains the declarations."""

    name: ClassVar[str] = MethodEntry.name
    title: ClassVar[str] = MethodEntry.title
    paper: ClassVar[str] = MethodEntry.paper
    settings: ClassVar[tuple[str, ...]] = MethodEntry.settings
    cost: ClassVar[str] = MethodEntry.cost
    storage: ClassVar[str] = MethodEntry.storage
    published: ClassVar[Published] = {}
    published_by: ClassVar[str] = MethodEntry.published_by
    uses_memory: ClassVar[bool] = MethodEntry.uses_memory
    has_queues: ClassVar[bool] = MethodEntry.has_queues
    Options: ClassVar[type[Any]] = NoOptions
    over_processes: ClassVar[bool] = False  #: see `cold.distributed`; not inherited
    period: int = 1  #: after how many steps as many draws are made again, see `cold.ahead`

    def __init_subclass__(cls, entry: MethodEntry | None = None, **more: Any) -> None:
        """With an entry of the catalogue, all declarations are the entry's; without one, those in the class's body."""
        super().__init_subclass__(**more)
        if entry is not None:
            cls.name, cls.title, cls.paper, cls.settings = entry.name, entry.title, entry.paper, entry.settings
            cls.cost, cls.storage = entry.cost, entry.storage
            cls.published, cls.published_by = entry.published, entry.published_by
            cls.uses_memory, cls.has_queues, cls.Options = entry.uses_memory, entry.has_queues, entry.options

    @classmethod
    def as_entry(cls) -> MethodEntry:
        """What the class declares, as the catalogue would hold it."""
        names = ("name", "title", "paper", "settings", "cost", "storage", "published", "published_by", "uses_memory",
                 "has_queues")  # fmt: skip
        return MethodEntry(**{name: getattr(cls, name) for name in names}, options=cls.Options)

    def __init__(self, context: Context) -> None:
        self.context = context
        self.config = context.config
        self.model = context.model
        self.options: Any = _options(type(self), context.config.options)
        self.task = 0
        self._ahead: dict[Memory, Ahead] = {}

    # ---------------------------------------------------------------------------------------------- to override

    def set_aside(self, task: int, train: Part) -> Part:
        """The samples of a task that are trained on; the method uses the others as it sees fit."""
        return train

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

    def end_epoch(self, task: int, epoch: int) -> None:
        """After the last step of an epoch."""

    def end_task(self, task: int, train: Part) -> None:
        """After the last step of a task: store samples, measure importances."""

    def resume_task(self, task: int, train: Part) -> None:
        """In place of `begin_task` when a run goes on in the middle of a task, after `load`."""

    def network_for_evaluation(self) -> nn.Module:
        """The network that is tested."""
        return self.model

    def queues(self) -> Tensor | None:
        """The virtual queues, (T,), if the method has some."""
        return None

    def past_weights(self) -> Tensor | None:
        """The weights of the past tasks in the objective, (past,), if the method has some."""
        return None

    def arrays(self) -> dict[str, Tensor]:
        """Further arrays for the results."""
        return {}

    def state(self) -> dict[str, Any]:
        """Everything that must survive a kill beside model, optimiser and random streams: tensors and JSON."""
        return {}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""

    # ---------------------------------------------------------------------------------------------- to use

    def losses(self, raw: Tensor, y: Tensor, runs: Runs) -> Tensor:
        """The cross-entropy of each sample, (n,), in a training forward."""
        x = self.context.training_inputs(raw)
        return per_sample_losses(self.context.forward(self.model, x, merged(runs)), y)

    def passes(self, x: Tensor, runs: Runs, sizes: Sequence[int]) -> list[Tensor]:
        """Logits of a batch and what was drawn to go with it (`sizes` counts the rows of each), piece by piece.

        One pass for all, in which BatchNorm takes its statistics over all of them together; or one for each, as
        `--forward` says. Several methods' authors differ in this, and with BatchNorm it moves results.
        """
        if self.config.forward == "joint" or len(sizes) == 1:
            return self.context.forward(self.model, x, merged(runs))
        parts = in_passes(x, runs, sizes)
        return [logits for part, own in parts for logits in self.context.forward(self.model, part, own)]

    def batch_losses(self, batch: Batch) -> Tensor:
        """The cross-entropy of each sample of the batch, (n,), in a training forward."""
        return self.losses(batch.raw, batch.y, [(batch.head, len(batch.raw))])

    def losses_with_memory(self, batch: Batch, memory: Memory, draw: Draw) -> Tensor:
        """Losses of the batch, then of the drawn memory samples through their own heads; see `passes`."""
        assert memory.raw is not None
        heads = self.context.heads
        runs = [(batch.head, len(batch.raw)), *((heads[k], n) for k, n in zip(draw.tasks, draw.counts, strict=True))]
        x = self.context.training_inputs(torch.cat([batch.raw, memory.raw.index_select(0, draw.slots)]))
        logits = self.passes(x, runs, [len(batch.raw), len(draw)])
        return per_sample_losses(logits, torch.cat([batch.y, memory.y[draw.slots]]))

    def draw(
        self, memory: Memory, past: int, count: int | None = None, *, at_most: bool = False, shuffled: bool = False
    ) -> Draw:
        """A replay batch, as `--replay` and `--memory-batch` say.

        at_most  : a smaller one where the memory holds fewer samples, instead of an error
        shuffled : with a random order of its samples
        """
        count = self.config.memory_batch if count is None else count
        return self.ahead(memory).draw(count, past, at_most=at_most, shuffled=shuffled)

    def ahead(self, memory: Memory) -> Ahead:
        """Where the steps' draws from this memory come from."""
        if memory not in self._ahead:
            per_task = self.config.replay == "per-task"
            self._ahead[memory] = Ahead(memory, self.context.streams, per_task=per_task, period=self.period)
        return self._ahead[memory]


def check_scenario(method: type[Method], config: RunConfig, scenario: str) -> None:
    """Raises if the method's rule does not fit the stream that the settings ask for."""
    wanted = scenario if config.windows is None else TASK_FREE
    if wanted not in method.settings:
        raise ColdError(f"{config.method} does not learn {wanted} streams, only {', '.join(method.settings)}")
    if config.windows is None:
        return
    if (
        "fill" in {option.name for option in dataclasses.fields(method.Options)}
        and config.options.get("fill") != "stream"
    ):
        raise ColdError(
            f"{config.method} would have to know where tasks end; with --windows give --option fill=stream "
            "--memory-policy reservoir --replay mixed"
        )
    if config.windows == 1 and method.has_queues:
        raise ColdError(f"{config.method} keeps one queue per window that has passed; take --windows 2 or more")


def evaluates_its_own(method: type[Method]) -> bool:
    """Whether a method tests another network than the one that trains."""
    return method.network_for_evaluation is not Method.network_for_evaluation


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
