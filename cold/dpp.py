"""COLD as an object for anyone's own training loop: queues, memory, and the drift-plus-penalty loss.

The objective on mini-batches, with t past tasks (eq. batchCOLD):

    V * mean loss on the batch + sum_{k<t} beta_k * (estimate of task k's mean memory loss)

**Current and reference loss are the same quantity.** The queue of task k adds up (present loss of the drawn memory
samples) - (reference loss of the same samples) - delta. Both losses must be measured alike, else the queue counts a
difference of modes and not forgetting. The present loss comes out of the training forward: batch statistics of
BatchNorm over the joint batch, augmented samples, each sample through its own task's head. So the reference losses are
measured, when a task starts, in forwards of the very same composition: batches of the new task joined with memory
samples as a step would draw them, training mode (running statistics frozen), the same augmentation, the same heads,
averaged over `reference_passes` passes over the memory. If the model then does not change, the expected increment
is exactly -delta. Without BatchNorm, dropout and augmentation a sample's loss does not depend on its company, and one
plain pass is exact.

**A past task whose queue is empty costs no backward pass** with `idle="skip"`: its samples are measured in a second
forward, without a graph. With `idle="auto"`, the default, this is done where it is cheaper, that is where such samples
are a fifth of the joint batch or more; fewer of them stay in the joint pass with weight 0. A model with BatchNorm
always keeps the joint pass in "auto": there all samples share the statistics of one forward, and taking some out
would change the others' outputs. So does a run on a GPU: which queues are empty would have to be read back at every
step, and to wait for that costs more than the split saves. `idle="joint"` never splits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from coldtheory.controllers import Controller
from coldtheory.ground.checks import number, shown, whole
from coldtheory.ground.errors import ColdError
from coldtheory.ground.limits import demand_memory

from .ahead import Ahead
from .config import Idle, Policy, QueueUpdate, Replay, Weights, check_setting
from .layer_modes import frozen_statistics, is_noisy, shares_statistics
from .losses import Runs, merged, per_sample_losses
from .memory import Draw, Memory, Samples, TensorSamples, sums_by_task
from .queues import VirtualQueues
from .references import State, reference_of
from .streams import Streams

Forward = Callable[[nn.Module, Tensor, Runs], list[Tensor]]
Losses = Callable[[Sequence[Tensor], Tensor], Tensor]
Prepare = Callable[[Tensor, torch.Generator], Tensor]
_WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)  # types of labels
_EVALUATION_BATCH = 1024
_WORTH = 0.2  # share of idle samples from which a second forward is cheaper than their backward pass


class COLD:
    """Queues, memory and loss of one run.

    V, delta     : weight of the present task; tolerance of the queues
    tasks        : how many tasks will come at most (T)
    memory       : M samples in all, floor(M/T) of each task; or a `Memory`
    memory_batch : samples of each past task per step (replay="per-task"), or of all together ("mixed")
    reference    : compare past tasks with the "previous" model, the "best" one, or the "stored" one at the task's end
    oracle       : how the best is found: "exact", "window:N" or "streaming"; given alone it means reference="best"
    controller   : how the weight of a past task follows from its constraint, as in "leaky:a=0.1"; None is the queue
    queue_update : when the queues move: at every step by the drawn samples, or at the end of every epoch or task by all
                   memory samples
    heads        : the head of each task; `forward(model, x, runs)` gives one tensor of logits per piece of the batch.
                   Without them the model has one head and is called as `model(x)`.
    losses       : the loss of each sample from logits and labels; default: cross-entropy
    prepare      : from stored samples to the model's input, `prepare(raw, generator)`; `augments`: whether it is random

    Order of calls: `begin_task`, then `loss` for every batch (and `end_epoch`), then `end_task`.
    """

    def __init__(
        self,
        *,
        V: float,
        delta: float,
        tasks: int,
        memory: int | Memory,
        memory_batch: int = 1,
        weights: Weights = "sum",
        queue_update: QueueUpdate = "step",
        reference: str | None = None,
        oracle: str | None = None,
        controller: Controller | str | None = None,
        replay: Replay = "per-task",
        policy: Policy = "uniform",
        idle: Idle = "auto",
        reference_passes: int = 2,
        heads: Sequence[int] | None = None,
        forward: Forward | None = None,
        losses: Losses = per_sample_losses,
        prepare: Prepare | None = None,
        augments: bool = False,
        batch_size: int = 128,
        streams: Streams | None = None,
        seed: int = 0,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        for setting, chosen in (("queue_update", queue_update), ("replay", replay), ("idle", idle)):
            check_setting(setting, chosen)
        if oracle is not None and not isinstance(oracle, str):
            raise ColdError(f"oracle must be exact, streaming or window:N, got {shown(oracle)}")
        V, tasks, seed = number("V", V, above=0), whole("tasks", tasks, least=1), whole("seed", seed, least=0)
        memory_batch, reference_passes, batch_size = (
            whole(name, given, least=1)
            for name, given in (
                ("memory_batch", memory_batch), ("reference_passes", reference_passes), ("batch_size", batch_size),
            )
        )  # fmt: skip
        demand_memory(8 * tasks**2, f"a table of {tasks} tasks by {tasks}")
        self.device = _device(device)
        self.V = V
        self.memory = (
            memory if isinstance(memory, Memory) else Memory(memory, tasks, policy=policy, device=device, dtype=dtype)
        )
        if self.memory.tasks < tasks:
            raise ColdError(f"memory is for {self.memory.tasks} tasks, tasks is {tasks}; give a memory for all of them")
        self.queues = VirtualQueues(
            tasks, delta=delta, weights=weights, controller=controller, device=device, dtype=dtype
        )
        compared = reference or ("previous" if oracle is None else "best")
        self.reference = reference_of(compared, oracle or "exact", self.memory)
        self.task = 0
        self.compared_with = torch.full((tasks, tasks), -1)  # [t, k]: whose loss task k is compared with during task t
        self._memory_batch, self._queue_update = memory_batch, queue_update
        self._per_task, self._idle = replay == "per-task", idle
        self._passes = reference_passes
        if heads is not None and not isinstance(heads, Sequence):
            raise ColdError(f"heads must be a list of whole numbers, one per task, got {shown(heads)}")
        self._heads = [0] * tasks if heads is None else [whole("heads", head, least=0) for head in heads]
        if len(self._heads) < tasks:
            raise ColdError(f"heads has {len(self._heads)} entries for {tasks} tasks; give one per task")
        self._forward = forward or _call
        self._loss_of = losses
        self._prepare = prepare or _identity
        self._augments = augments
        self._batch_size = batch_size
        self._streams = streams or Streams(seed, self.device)
        self._ahead = Ahead(self.memory, self._streams, per_task=self._per_task)
        self._samples: Samples | None = None
        if self._per_task and self.memory.policy == "uniform" and memory_batch > self.memory.per_task:
            raise ColdError(
                f"a memory batch of {memory_batch} is larger than the {self.memory.per_task} samples that a memory of "
                f"{self.memory.size} keeps of each of {tasks} tasks; take a smaller memory batch or a larger memory"
            )

    # ------------------------------------------------------------------------------------------------ the three calls

    def begin_task(self, model: nn.Module, x: Tensor | Samples) -> None:
        """Measure the reference losses; `x` are the new task's samples."""
        if self.task >= len(self._heads):
            raise ColdError(f"begin_task was called for task {self.task + 1}, tasks is {len(self._heads)}")
        self._samples = _samples(x, None)
        if self.task:
            chosen = self.reference.refresh(self.memory, self.task, model, lambda w: self._measured(model, w))
            self.compared_with[self.task, : self.task] = chosen
            if self.queues.controller.looks != "never":
                self.queues.begin_task(self._excess_on_all(model))

    def loss(self, model: nn.Module, raw: Tensor, y: Tensor) -> Tensor:
        """The objective on one batch of the present task; with queue_update="step" the queues move too."""
        if self._samples is None:
            raise ColdError("loss() was called before begin_task(model, x)")
        if not self.task:
            return self.V * self._losses(model, raw, y, [(self._heads[0], len(raw))]).mean()
        draw = self._ahead.draw(self._memory_batch, self.task)
        if self._looks_at_step:
            return self._looking(model, raw, y, draw)
        beta = self.queues.beta(self.task)
        weight = beta[draw.owner] * draw.weight
        alive = self._alive(model, beta, draw, len(raw))
        if alive is None:
            return self._joint(model, raw, y, draw, weight)
        return self._split(model, raw, y, draw, weight, alive)

    def end_epoch(self, model: nn.Module) -> None:
        if self._queue_update == "epoch":
            self._update_on_all(model)

    def end_task(self, model: nn.Module, x: Tensor | Samples, y: Tensor | None = None) -> None:
        """Move the queues if this is when they move, and store samples of the finished task."""
        if self._samples is None:
            raise ColdError("end_task() was called before begin_task(model, x)")
        samples = _samples(x, _required(y) if isinstance(x, Tensor) else None)
        if self._queue_update == "task":
            self._update_on_all(model)
        self.memory.add_task(samples, self.task, self._streams.cpu("memory"))
        self.task += 1
        self._samples = None

    # ------------------------------------------------------------------------------------------------ one step

    def _joint(self, model: nn.Module, raw: Tensor, y: Tensor, draw: Draw, weight: Tensor) -> Tensor:
        """One forward on batch and memory batch together."""
        n = len(raw)
        losses = self._losses(model, *self._with_memory(raw, y, draw))
        if self._needs_measure:
            self._move(draw, losses.detach()[n:])
        return torch.dot(losses, torch.cat([weight.new_full((n,), self.V / n), weight]))

    def _looking(self, model: nn.Module, raw: Tensor, y: Tensor, draw: Draw) -> Tensor:
        """The same, where weights need the constraints at the present model; queues that move at every step do so
        first, by the model that the last step has led to."""
        n = len(raw)
        losses = self._losses(model, *self._with_memory(raw, y, draw))
        excess = self._excess(draw, losses.detach()[n:])
        if self._needs_measure:
            self.queues.update(excess)
        weight = self.queues.beta(self.task, excess)[draw.owner] * draw.weight
        return torch.dot(losses, torch.cat([weight.new_full((n,), self.V / n), weight]))

    def _split(self, model: nn.Module, raw: Tensor, y: Tensor, draw: Draw, weight: Tensor, alive: list[bool]) -> Tensor:
        """A graph for the batch and the tasks with Q_k > 0 only; the others are measured without one, if at all."""
        n = len(raw)
        lively, idle = _kept(draw, alive), _kept(draw, [not a for a in alive])
        weight = _rows(weight, draw, alive)
        if not self._needs_measure:  # samples without a weight are not needed at all
            return self._joint(model, raw, y, lively, weight)
        if shares_statistics(model):
            with torch.no_grad():
                replayed = self._losses(model, *self._with_memory(raw, y, draw))[n:]
            with frozen_statistics(model):
                losses = self._losses(model, *self._with_memory(raw, y, lively))
        else:
            with torch.no_grad():
                quiet = self._losses(model, *self._memory_only(idle))
            losses = self._losses(model, *self._with_memory(raw, y, lively))
            measured = {True: torch.split(losses.detach()[n:], lively.counts), False: torch.split(quiet, idle.counts)}
            pieces = {kind: iter(parts) for kind, parts in measured.items()}
            replayed = torch.cat([next(pieces[alive[task]]) for task in draw.tasks])
        self._move(draw, replayed)
        return torch.dot(losses, torch.cat([weight.new_full((n,), self.V / n), weight]))

    def _alive(self, model: nn.Module, beta: Tensor, draw: Draw, n: int) -> list[bool] | None:
        """Which past tasks have a weight; None: all of them, or one joint forward is wanted or cheaper."""
        auto = self._idle == "auto"
        if self._idle == "joint" or (auto and (self.device.type != "cpu" or shares_statistics(model))):
            return None
        # samples that need not be measured cost nothing to leave out
        enough = _WORTH * (n + len(draw)) if auto and self._needs_measure else 1
        if len(draw) < enough:
            return None
        alive: list[bool] = (beta > 0).tolist()
        idle = sum(count for k, count in zip(draw.tasks, draw.counts, strict=True) if not alive[k])
        return alive if idle >= enough else None

    @property
    def _needs_measure(self) -> bool:
        return self._queue_update == "step"

    @property
    def _looks_at_step(self) -> bool:
        """Whether the weights need the constraints at the model of this very step."""
        looks = self.queues.controller.looks
        return looks == "always" or (looks == "before" and self._needs_measure)

    def _move(self, draw: Draw, losses: Tensor) -> None:
        self.queues.update(self._excess(draw, losses))

    def _excess(self, draw: Draw, losses: Tensor) -> Tensor:
        """Mean over the drawn samples of each past task of present minus reference loss, (past,)."""
        excess = draw.weight * (losses.to(self.memory.reference.dtype) - self.memory.reference[draw.slots])
        return sums_by_task(excess, draw.owner, self.task)

    def _with_memory(self, raw: Tensor, y: Tensor, draw: Draw) -> tuple[Tensor, Tensor, Runs]:
        stored, labels, runs = self._memory_only(draw)
        return torch.cat([raw, stored]), torch.cat([y, labels]), [(self._heads[self.task], len(raw)), *runs]

    def _memory_only(self, draw: Draw) -> tuple[Tensor, Tensor, Runs]:
        assert self.memory.raw is not None
        runs = [(self._heads[k], count) for k, count in zip(draw.tasks, draw.counts, strict=True)]
        return self.memory.raw.index_select(0, draw.slots), self.memory.y[draw.slots], runs

    def _losses(self, model: nn.Module, raw: Tensor, y: Tensor, runs: Runs, *, stream: str = "augment") -> Tensor:
        x = self._prepare(raw, self._streams.device(stream))
        return self._loss_of(self._forward(model, x, merged(runs)), y)

    # ------------------------------------------------------------------------------------------------ whole memory

    def _update_on_all(self, model: nn.Module) -> None:
        if self.task:
            self.queues.update(self._excess_on_all(model))

    def _excess_on_all(self, model: nn.Module) -> Tensor:
        slots = self.memory.everything(self.task)
        excess = self._measured(model, None) - self.memory.reference[slots.to(self.device)]
        return self.memory.task_means(slots, excess, self.task)

    @torch.no_grad()
    def _measured(self, model: nn.Module, weights: State | None) -> Tensor:
        """The loss of every memory sample under a model, as a training step of this task would measure it."""
        placed = {} if weights is None else {name: value.to(self.device) for name, value in weights.items()}
        called = model if weights is None else _Replaced(model, placed)
        total = torch.zeros(self.memory.size, device=self.device, dtype=self.memory.reference.dtype)
        count = torch.zeros_like(total)
        depends = shares_statistics(model) or is_noisy(model) or self._augments
        was_training = model.training
        model.train(depends)
        with frozen_statistics(model):
            for draw, company in self._passes_over_memory() if depends else self._plain_pass():
                if company is None:
                    losses = self._losses(called, *self._memory_only(draw), stream="reference")
                else:
                    no_labels = torch.zeros(len(company), dtype=torch.int64, device=self.device)
                    batch = self._with_memory(company, no_labels, draw)
                    losses = self._losses(called, *batch, stream="reference")[len(company) :]
                # no slot is twice in a draw: one number per place and call, so that a GPU's order does not matter
                total.index_add_(0, draw.slots, losses.to(total.dtype))
                count.index_add_(0, draw.slots, torch.ones_like(losses, dtype=total.dtype))
        model.train(was_training)
        slots = self.memory.everything(self.task).to(self.device)
        return total[slots] / count[slots]

    def _plain_pass(self) -> Iterator[tuple[Draw, None]]:
        for draw in self.memory.pieces(_EVALUATION_BATCH, self.task):
            yield draw, None

    def _passes_over_memory(self) -> Iterator[tuple[Draw, Tensor]]:
        """Batches of the composition of a training step, each memory sample at least once per pass."""
        assert self._samples is not None
        generator = self._streams.cpu("reference")
        b = min(self._batch_size, len(self._samples))
        for _ in range(self._passes):
            for draw in self.memory.chunks(self._memory_batch, self.task, per_task=self._per_task, generator=generator):
                rows = torch.randperm(len(self._samples), generator=generator)[:b]
                yield draw, self._samples.raw(rows.to(self.device))

    # ------------------------------------------------------------------------------------------------ keeping

    def state(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "queues": self.queues.state(),
            "memory": self.memory.state(),
            "reference": self.reference.state(),
            "compared_with": self.compared_with,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        self.task = int(state["task"])
        self.queues.load(state["queues"])
        self.memory.load(state["memory"])
        self.reference.load(state["reference"])
        self.compared_with = state["compared_with"]

    def resume_task(self, x: Tensor | Samples) -> None:
        """After `load` in the middle of a task: which samples the task has."""
        self._samples = _samples(x, None)


class _Replaced(nn.Module):
    """A model called with other weights; its own stay as they are."""

    def __init__(self, model: nn.Module, weights: State) -> None:
        super().__init__()
        self._model = [model]  # not a submodule
        self._weights = weights

    def forward(self, *args: Any) -> Any:
        return functional_call(self._model[0], self._weights, args)


def _kept(draw: Draw, tasks: list[bool]) -> Draw:
    """The samples of some tasks, still grouped."""
    kept = [(task, count) for task, count in zip(draw.tasks, draw.counts, strict=True) if tasks[task]]
    slots, weight, owner = (_rows(column, draw, tasks) for column in (draw.slots, draw.weight, draw.owner))
    return Draw(slots, [task for task, _ in kept], [count for _, count in kept], weight, owner)


def _rows(column: Tensor, draw: Draw, tasks: list[bool]) -> Tensor:
    """The rows of some tasks; how many there are is known, so that a GPU need not be asked as with a mask."""
    parts = zip(draw.tasks, torch.split(column, draw.counts), strict=True)
    return torch.cat([part for task, part in parts if tasks[task]] or [column[:0]])


def _call(model: nn.Module, x: Tensor, runs: Runs) -> list[Tensor]:
    try:
        return [model(x)]
    except torch.OutOfMemoryError:
        raise
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ColdError(f"the model does not take x of shape {tuple(x.shape)} and type {x.dtype}: {reason}") from error


def _identity(raw: Tensor, generator: torch.Generator) -> Tensor:
    return raw


def _required(y: Tensor | None) -> Tensor:
    if y is None:
        raise ColdError("end_task(model, x, y) needs the labels y")
    if not isinstance(y, Tensor) or y.dim() != 1 or y.dtype not in _WHOLE:
        raise ColdError(f"y must be a tensor of whole numbers (n,), got {shown(y)}")
    if len(y) and int(y.min()) < 0:
        raise ColdError(f"y holds the label {int(y.min())}; labels count from 0")
    return y


def _samples(x: Tensor | Samples, y: Tensor | None) -> Samples:
    """The samples of a task; a plain tensor must come with as many labels, or without any."""
    if not isinstance(x, Tensor):
        if not all(hasattr(x, name) for name in ("y", "raw", "__len__")):
            raise ColdError(f"x must be a tensor (n, ...) or a part of a benchmark, got {shown(x)}")
        return x
    if x.dim() == 0 or len(x) == 0:
        raise ColdError(f"x must be a tensor of one sample or more, (n, ...), got {tuple(x.shape)}")
    if y is not None and len(y) != len(x):
        raise ColdError(f"x has {len(x)} samples and y {len(y)} labels")
    return TensorSamples(x, torch.zeros(len(x)) if y is None else y)


def _device(name: torch.device | str) -> torch.device:
    try:
        return torch.device(name)
    except (RuntimeError, TypeError, ValueError, OverflowError):
        raise ColdError(f"device must be cpu, cuda or cuda:N, got {shown(name)}") from None
