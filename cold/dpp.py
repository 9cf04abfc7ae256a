"""COLD as an object for your own training loop: queues, memory, and the drift-plus-penalty loss.

The objective on mini-batches, with t past tasks (eq. batchCOLD):

    V * mean loss on the batch + sum_{k<t} beta_k * (estimate of task k's mean memory loss)

**Current and reference loss are the same quantity.** The queue of task k adds up (present loss of the drawn memory
samples) - (reference loss of the same samples) - delta. Both losses must be measured alike, else the queue counts a
difference of modes and not forgetting. The present loss comes out of the training forward: batch statistics of
BatchNorm over the joint batch, augmented samples, each sample through its own task's head. So the reference losses are
measured, when a task starts, in forwards of the very same composition: batches of the new task joined with memory
samples as a step would draw them, training mode (running statistics frozen), the same augmentation, the same heads,
averaged over `reference_passes` passes over the memory. If the model then does not change, the expected increment
is exactly -delta. Without BatchNorm, dropout and augmentation a sample's loss does not depend on the other samples of
its batch, and one plain pass is exact.

**A past task whose queue is empty costs no backward pass** with `idle="skip"`: its samples are measured in a second
forward, without a graph. With `idle="auto"`, the default, this is done where it is cheaper, that is where such samples
are a fifth of the joint batch or more; fewer of them stay in the joint pass with weight 0. A model with BatchNorm
always keeps the joint pass in "auto": there all samples share the statistics of one forward, and taking some out
would change the others' outputs. So does a run on a GPU: which queues are empty would have to be read back at every
step, and waiting for that costs more than the split saves. `idle="joint"` never splits.

**COLD-distill** is `constraint="logits"`: the past is held to the answers that the network gave when each task ended
(`cold.constraints`), and V follows from the number of steps. With `gauge` a part of the memory is never trained on, and
measures what was really forgotten (`cold.gauge`); with `forget` or `forget_acc` one weight of all past tasks follows
that gauge until forgetting is what was asked for (`cold.forgetting`). In these forms the objective is divided by V:

    mean loss on the batch + sum_{k<t} (beta_k / V) * (estimate of task k's constraint)

so a learning rate means the same for every V.

**Your own forward pass.** `loss` calls the model itself. Where other code does that, as in a framework, `join`
gives the batch together with the memory samples of this step, and `objective` makes the loss of the logits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, Subset

from coldtheory.controllers import Controller
from coldtheory.ground.checks import kind_of, shown, whole
from coldtheory.ground.errors import ColdError
from coldtheory.ground.limits import demand_memory

from .ahead import Ahead
from .catalogue import LOGITS, constraint_of
from .config import AUTO, Idle, Policy, QueueUpdate, Replay, Weights, check_setting, queue_start_of
from .constraints import LogitDistance
from .forgetting import request_of
from .gauge import Gauge, RequestedWeight, Rows, gauge_share, without_gauge
from .history import History, Step
from .joint import Evaluate, Forward, Joined, JointPass, Losses, Prepare
from .losses import per_sample_losses
from .memory import Draw, Memory, Samples
from .objective import Objective, Value
from .past_weights import PastWeights
from .queues import VirtualQueues
from .references import compared, reference_of
from .samples import as_samples
from .streams import Streams
from .whole_memory import WholeMemory

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch.utils.data import DataLoader

Data: TypeAlias = "Tensor | Dataset[Any] | DataLoader[Any] | Samples"  # of one task


class Callback:
    """Called by `COLD` along the loop; override what is wanted.

    `begin_task` is called when the reference losses are measured, `step` at the end of `loss` (before the backward
    pass), and `end_task` when samples of the task are stored. In all of them `dpp.task` is the task's number, from 0.
    `resume_task` takes the place of `begin_task` when a loop goes on in the middle of a task.
    """

    def begin_task(self, dpp: COLD, model: nn.Module) -> None:
        """Called when a task has begun and its reference losses are measured."""

    def resume_task(self, dpp: COLD, model: nn.Module) -> None:
        """Called in place of `begin_task` when a loop goes on in the middle of a task."""

    def step(self, dpp: COLD, step: Step) -> None:
        """Called at the end of `loss`, before the backward pass."""

    def end_task(self, dpp: COLD, model: nn.Module) -> None:
        """Called when samples of the finished task are stored."""


class COLD:
    """Queues, memory and loss of one run.

    V, delta     : weight of the present task ("auto": 25 times the root of the number of steps of the task before, less
                   where classes come task after task to one head and stored samples are drawn more than twice);
                   tolerance of the queues
    tasks        : how many tasks will come at most (T); it need not be known
    memory       : M samples in all, floor(M/T) of each task (without T: of each of the t tasks so far, floor(M/t)); or
                   a `Memory`
    memory_batch : samples of each past task per step (replay="per-task"), or of all together ("mixed")
    constraint   : what past tasks are held to: their label "loss", or the "logits" that the network gave at their end
    queue_start  : where the queue of a task that has just ended starts: at "zero", at a number such as "0.4", or at the
                   "mean" of the others; None: the mean with constraint="logits", else zero
    gauge        : share of the memory that is never trained on and measures forgetting
    forget       : how much may be forgotten, on average over past tasks, in nats of loss on the gauge; `forget_acc`: in
                   accuracy, as 0.02 for two per cent. One weight that follows the gauge takes the place of the queues;
                   without `gauge`, a fifth of the memory becomes the gauge
    reference    : compare past tasks with the "previous" model, the "best" one, or the "stored" one at the task's end
    oracle       : how the best is found: "exact", "window:N" or "streaming"; given alone it means reference="best"
    controller   : how the weight of a past task follows from its constraint, as in "leaky:a=0.1"; None is the queue
    queue_update : when the queues move: at every step by the drawn samples, at the end of every epoch or task by all
                   memory samples, or never: then the weights of past tasks are constant
    heads        : the head of each task; `forward(model, x, runs)` gives one tensor of logits per piece of the batch.
                   Without them the model has one head and is called as `model(x)`.
    losses       : the loss of each sample from logits and labels; default: cross-entropy
    prepare      : from stored samples to the model's input, `prepare(raw, generator)`; `augments`: whether it is random
    evaluate     : the same as for a test, `evaluate(raw)`, for the gauge; by default as `prepare` does it
    history      : every n-th step goes into `history`; 0 means none
    callbacks    : objects that are notified of every step and task, see `Callback`, such as loggers and diagnostics

    Order of calls: `begin_task`, then `loss` for every batch (and `end_epoch`), then `end_task`. The data of a task are
    tensors, a Dataset, a DataLoader (its data set and `collate_fn` are used, not its order) or a part of a benchmark.

    `state` is all that must be kept to go on bit for bit, the random streams included. After `load` in the middle of a
    task `begin_task` goes on with that task.
    """

    def __init__(
        self,
        *,
        V: float | str = AUTO,
        delta: float = 0.0,
        tasks: int | None = None,
        memory: int | Memory,
        memory_batch: int = 1,
        weights: Weights = "sum",
        queue_update: QueueUpdate = "step",
        constraint: str = "loss",
        queue_start: str | None = None,
        gauge: float = 0.0,
        forget: float | None = None,
        forget_acc: float | None = None,
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
        evaluate: Evaluate | None = None,
        augments: bool = False,
        batch_size: int = 128,
        streams: Streams | None = None,
        seed: int = 0,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        history: int = 1,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        for setting, chosen in (("queue_update", queue_update), ("replay", replay), ("idle", idle)):
            check_setting(setting, chosen)
        held_to, wanted = constraint_of(constraint), request_of(forget, forget_acc)
        seed = whole("seed", seed, least=0)
        memory_batch, reference_passes, batch_size = (
            whole(name, given, least=1)
            for name, given in (
                ("memory_batch", memory_batch), ("reference_passes", reference_passes), ("batch_size", batch_size),
            )
        )  # fmt: skip
        tasks, heads = _tasks_and_heads(tasks, heads)
        self.device = _device(device)
        share = gauge_share(gauge, wanted)
        self.memory, measuring = without_gauge(memory, share, tasks, policy=policy, device=device, dtype=dtype)
        self.distance = LogitDistance(self.memory, shift=held_to.shift) if held_to.name == LOGITS else None
        self._own_streams = streams is None  # else their owner keeps them
        self._streams = streams or Streams(seed, self.device)
        self._through = JointPass(
            self.memory, self._streams, heads=heads or [], distance=self.distance, forward=forward, losses=losses,
            prepare=prepare, evaluate=evaluate, augments=augments,
        )  # fmt: skip
        answers = self._through.answers
        #: samples that only measure
        self.gauge = Gauge(measuring, tasks, answers, seed=self._streams.seed, device=device) if share else None
        self._aside: Samples | None = None  # those of the present task
        self.requested = None if wanted is None else RequestedWeight(wanted, self.device)
        room = tasks or 1
        self.queues = VirtualQueues(
            room, delta=delta, weights=weights, controller=controller, device=device, dtype=dtype
        )
        usual: float | str = "mean" if self.distance is not None else 0.0
        start = queue_start_of(queue_start)
        start = usual if start is None else start
        self._weights = PastWeights(self.queues, V, start=start, distance=self.distance, requested=self.requested)
        self.compares = compared(reference, oracle, by_logits=self.distance is not None)
        self.reference = reference_of(self.compares, oracle or "exact", self.memory)
        self.task = 0
        self.steps = 0  # of all tasks together
        self._task_steps = 0  # of the present task
        self._last_steps = 0  # of the task before
        self._model: nn.Module | None = None  # of the present task
        self.compared_with = torch.full((room, room), -1)  # [t, k]: whose loss task k is compared with during task t
        self.history, self.callbacks = History(history), _checked_callbacks(callbacks)
        self._tasks = tasks
        self._memory_batch, self._batch_size, self.queue_update = memory_batch, batch_size, queue_update
        self._per_task = replay == "per-task"
        self._ahead = Ahead(self.memory, self._streams, per_task=self._per_task)
        self._objective = Objective(self.memory, self._through, self._weights, queue_update=queue_update, idle=idle)
        self._whole = WholeMemory(
            self.memory, self._through, self._streams, memory_batch, self._per_task, batch_size, reference_passes
        )
        self._samples: Samples | None = None
        self._labelled = False
        self._begun = False  # the task was begun before `load`
        if tasks is not None:
            self._demand_batch(self.memory.per_task, tasks)

    # ------------------------------------------------------------------------------------------------ the three calls

    def begin_task(self, model: nn.Module, x: Data, y: Tensor | None = None, *, head: int | None = None) -> None:
        """Measure the reference losses; `x` are the new task's samples.

        y    : their labels, where `x` is a tensor; `end_task` asks for them if they are not given here
        head : the head of this task, where `heads` were not given for all tasks
        """
        kind_of("model", model, nn.Module, "call begin_task(model, x)")
        if self._samples is not None:
            raise ColdError(f"begin_task was called twice for task {self.task + 1}; call end_task(model, x, y) between")
        if self.gauge is not None and self._aside is None:
            raise ColdError(
                "a gauge needs samples that are not trained on; call x, y = dpp.set_aside(x, y) before begin_task"
            )
        samples, labelled = as_samples(x, y)
        if self._begun:
            self.resume_task(x, y, model=model)
            for callback in self.callbacks:
                callback.resume_task(self, model)
            return
        self._make_room(self.task + 1)
        if head is not None:
            self._through.heads[self.task] = whole("head", head, least=0)
        self._model = model
        self._last_steps, self._task_steps = self._task_steps, 0
        if self.task:
            if self._tasks is None:
                self._demand_batch(min(self.memory.counts[: self.task]), self.task)
            drawn = self._last_steps * self._drawn_per_step
            self._weights.begin_task(self.task, self._last_steps, drawn, sum(self.memory.counts[: self.task]))
        if self.task and self.distance is not None:
            self.compared_with[self.task, : self.task] = torch.arange(self.task)
        elif self.task:
            measure = partial(self._whole.losses, model, samples, self.task)
            chosen = self.reference.refresh(self.memory, self.task, model, measure)
            self.compared_with[self.task, : self.task] = chosen
            if self.queues.controller.looks != "never":
                self.queues.begin_task(self._whole.excess(model, samples, self.task))
        self._samples, self._labelled = samples, labelled
        try:
            for callback in self.callbacks:
                callback.begin_task(self, model)
        except Exception:
            self._samples = None  # the task may be begun again
            raise

    def set_aside(self, x: Any, y: Tensor | None = None) -> Any:
        """Before `begin_task` of a run with a gauge: what is left to train on, in the form in which it was given.

        Tensors give tensors, `x, y = dpp.set_aside(x, y)`; a Dataset gives a Subset of it.
        """
        samples, _ = as_samples(x, y)
        rows = self.rows_to_train(samples, self.task)
        if isinstance(x, Tensor):
            return x[rows.to(x.device)], None if y is None else y[rows.to(y.device)]
        if isinstance(x, Dataset):
            return Subset(x, rows.tolist())
        raise ColdError(f"set_aside takes tensors or a Dataset, got {shown(x)}; make the DataLoader from what it gives")

    def rows_to_train(self, samples: Samples, task: int) -> Tensor:
        """The rows of a task's samples that are not set aside for the gauge; all without one."""
        if self.gauge is None:
            return torch.arange(len(samples))
        aside, rest = self.gauge.choose(samples, task)
        if task == self.task:
            self._aside = Rows(samples, aside)
        return rest

    def loss(self, model: nn.Module, raw: Tensor, y: Tensor) -> Tensor:
        """The objective on one batch of the present task; with queue_update="step" the queues move too."""
        return self._noted(self._objective.of_batch(model, raw, y, self.task, self._next_draw(y)))

    def join(self, raw: Tensor, y: Tensor) -> Joined:
        """The batch, and behind it the memory samples of this step, prepared for a forward that is not made here."""
        joined = self._through.with_memory(raw, y, self.task, self._next_draw(y))
        return replace(joined, x=self._through.prepared(joined.x, "augment"))

    def objective(self, joined: Joined, logits: Tensor | Sequence[Tensor]) -> Tensor:
        """The objective from the logits of all joined samples; one tensor, or one per piece of `joined.runs`."""
        pieces = [logits] if isinstance(logits, Tensor) else list(logits)
        return self._noted(self._objective.of_losses(joined, self._through.values(joined, pieces), self.task))

    def end_epoch(self, model: nn.Module) -> None:
        """Move the queues if they move once per epoch; otherwise nothing happens."""
        if self.queue_update == "epoch":
            self._update_on_all(model)

    def end_task(self, model: nn.Module, x: Data | None = None, y: Tensor | None = None) -> None:
        """Move the queues if this is when they move, and store samples of the finished task.

        The data may be left out if `begin_task` was given them with their labels.
        """
        if self._samples is None:
            raise ColdError(f"end_task() was called before begin_task(model, x){self._where()}")
        samples, labelled = (self._samples, self._labelled) if x is None else as_samples(x, y)
        if not labelled:
            raise ColdError("end_task(model, x, y) needs the labels y, here or in begin_task(model, x, y)")
        if self.queue_update == "task":
            self._update_on_all(model)
        self._keep(model, samples)
        for callback in self.callbacks:
            callback.end_task(self, model)
        self.task += 1
        self._samples, self._labelled = None, False

    @property
    def busy(self) -> bool:
        """Whether a task has begun and not ended; after `load` not before `begin_task` or `resume_task`."""
        return self._samples is not None

    @property
    def samples(self) -> Samples:
        """Those of the present task."""
        if self._samples is None:
            raise ColdError("no task has begun; call begin_task(model, x) first")
        return self._samples

    @property
    def labelled(self) -> bool:
        """Whether the labels of the present task are known."""
        return self._labelled

    @property
    def draws_all(self) -> bool:
        """Whether every step draws the whole memory, so no loss on it is an estimate."""
        return self._per_task and self._memory_batch == max(self.memory.counts)

    def sample_losses(self, model: nn.Module, raw: Tensor, y: Tensor, task: int) -> Tensor:
        """The loss of each sample of one task, (n,), in the mode that the model is in; draws from no stream."""
        return self._through.of_task(model, raw, y, task)

    def plot(self, path: Path | str | None = None) -> Figure:
        """A picture of the queues and of the present task's loss over the steps; with a path it is saved, too."""
        return self.history.draw(path)

    @property
    def past_weights(self) -> Tensor:
        """The weights of the past tasks in the objective, (past,)."""
        return self._weights.of(self.task)

    @property
    def starts_at_zero(self) -> bool:
        """Whether the queue of a task that has just ended is empty, as in the paper."""
        return self._weights.starts_at_zero

    @property
    def V(self) -> float:
        """The weight of the present task; it changes from task to task where it follows from the number of steps."""
        return self._weights.V

    @property
    def augments(self) -> bool:
        """Whether the samples that the model is given are random."""
        return self._through.augments

    def measured(self) -> dict[str, Tensor]:
        """What the gauge has measured so far, as tables by name, tasks by tasks; empty without a gauge.

        gauge_loss, gauge_accuracy : of task k (column) after task t (row), NaN where k > t
        requested_weight           : of the past at the end of each task from the second on
        """
        if self.gauge is None:
            return {}
        found = self.gauge.measured()
        if self.requested is not None:
            found["requested_weight"] = torch.stack([torch.zeros_like(self.requested.weight), *self.requested.ends])
        return found

    # ------------------------------------------------------------------------------------------------ one step

    def _next_draw(self, y: Tensor) -> Draw | None:
        """The memory samples of this step, whose batch has the labels y; None during the first task."""
        if self._samples is None:
            raise ColdError(f"loss() was called before begin_task(model, x){self._where()}")
        self._task_steps += 1
        if self.distance is not None:
            self.distance.see(y)
        if not self.task:
            return None
        if self.gauge is not None and self._model is not None:
            batch = self._batch_size + self._drawn_per_step
            self._weights.look(
                self.gauge, self._model, past=self.task, step=self._task_steps, steps=self._last_steps, batch=batch
            )
        # of all past tasks together fewer where the memory holds fewer
        return self._ahead.draw(self._memory_batch, self.task, at_most=not self._per_task)

    def _where(self) -> str:
        return f" of task {self.task + 1}" if self.task else ""

    def _noted(self, value: Value) -> Tensor:
        """The objective; for the history and the callbacks the rest."""
        self.steps += 1
        if self.callbacks or self.history.wants(self.steps):
            Q, n = self.queues.Q[: self.task].clone(), len(value.present)
            objective, present = value.objective.detach(), value.present.mean()
            step = Step(self.steps, self.task, objective, present, n, Q, value.beta, value.excess)
            if self.history.wants(self.steps):
                self.history.note(step)
            for callback in self.callbacks:
                callback.step(self, step)
        return value.objective

    @property
    def _drawn_per_step(self) -> int:
        """How many memory samples a step asks for."""
        return self._memory_batch * (self.task if self._per_task else 1)

    # ------------------------------------------------------------------------------------------------ task boundaries

    def _keep(self, model: nn.Module, samples: Samples) -> None:
        """Samples of the finished task for the memory and for the gauge, and what they are held to from now on."""
        slots = self.memory.add_task(samples, self.task, self._streams.cpu("memory"))
        if self.distance is not None:
            self._through.store_answers(model, slots, self.task, self._batch_size)
        if self.gauge is not None:
            assert self._aside is not None
            self.gauge.end_task(model, self._aside, self._through.heads[self.task])
            self._aside = None
        if self.gauge is not None and self.requested is not None and self.task:
            self.requested.end_task(*self.gauge.lost())

    def _update_on_all(self, model: nn.Module) -> None:
        if self.task:
            if self._samples is None:
                raise ColdError(f"end_epoch() was called before begin_task(model, x){self._where()}")
            self.queues.update(self._whole.excess(model, self._samples, self.task))

    # ------------------------------------------------------------------------------------------------ keeping

    def _make_room(self, tasks: int) -> None:
        """For so many tasks, where their number was not said."""
        if self._tasks is not None:
            if tasks > self._tasks:
                raise ColdError(f"begin_task was called for task {tasks}, tasks is {self._tasks}; give tasks={tasks}")
            return
        self.memory.grow(tasks)
        self.queues.grow(tasks)
        more = tasks - len(self.compared_with)
        if more > 0:
            self.compared_with = nn.functional.pad(self.compared_with, (0, more, 0, more), value=-1)
        self._through.heads += [0] * (tasks - len(self._through.heads))

    def _demand_batch(self, kept: int, tasks: int) -> None:
        """Raises if a memory that keeps so many samples of each task has too few for a memory batch."""
        if self._per_task and self.memory.policy == "uniform" and self._memory_batch > kept:
            raise ColdError(
                f"a memory batch of {self._memory_batch} is larger than the {kept} samples that a memory of "
                f"{self.memory.size} keeps of each of {tasks} tasks; take a smaller memory batch or a larger memory"
            )

    def state(self) -> dict[str, Any]:
        """All that must be kept to go on bit for bit, as tensors and plain values."""
        kept = {
            "task": self.task,
            "queues": self.queues.state(),
            "memory": self.memory.state(),
            "reference": self.reference.state(),
            "compared_with": self.compared_with.clone(),
            "steps": self.steps,
            "begun": self._samples is not None or self._begun,
            "heads": list(self._through.heads),
            "history": self.history.state(),
            **self._weights.state(),
            "task_steps": [self._task_steps, self._last_steps],
            "parts": {name: part.state() for name, part in self._parts()},
        }
        if self._own_streams:
            kept |= {"seed": self._streams.seed, "streams": self._streams.state()}
        return kept

    def load(self, state: Mapping[str, Any]) -> None:
        """Checkpoints of older versions lack what a user's own loop needs: steps, heads, history and streams."""
        self.task = int(state["task"])
        if self._tasks is None:
            self._make_room(len(state["queues"]["Q"]))
        self.queues.load(state["queues"])
        self.memory.load(state["memory"])
        self.reference.load(state["reference"])
        self.compared_with = state["compared_with"].clone()
        self.steps = int(state.get("steps", 0))
        self._through.heads = list(state.get("heads", self._through.heads))
        self.history.load(state.get("history", {"blocks": []}))
        self._weights.load(dict(state))
        self._task_steps, self._last_steps = state.get("task_steps", (0, 0))
        for name, part in self._parts():
            part.load(state["parts"][name])
        self._samples, self._begun = None, bool(state.get("begun", False))
        if self._own_streams and "streams" in state:
            self._streams.seed = int(state["seed"])
            self._streams.load(state["streams"])

    state_dict, load_state_dict = state, load  # as torch calls them

    def _parts(self) -> Iterator[tuple[str, LogitDistance | Gauge | RequestedWeight]]:
        """The parts that only some forms of COLD have, by name."""
        parts = (("distance", self.distance), ("gauge", self.gauge), ("requested", self.requested))
        yield from ((name, part) for name, part in parts if part is not None)

    def resume_task(self, x: Data, y: Tensor | None = None, *, model: nn.Module | None = None) -> None:
        """After `load` in the middle of a task: which samples the task has, and which model looks at the gauge."""
        self._samples, self._labelled = as_samples(x, y)
        self._model = model
        self._begun = False


def _tasks_and_heads(tasks: int | None, heads: Sequence[int] | None) -> tuple[int | None, Sequence[int] | None]:
    """Both, checked; where one is not given, it follows from the other."""
    if heads is not None:
        if not isinstance(heads, Sequence):
            raise ColdError(f"heads must be a list of whole numbers, one per task, got {shown(heads)}")
        heads = [whole("heads", head, least=0) for head in heads]
        tasks = len(heads) if tasks is None else tasks
    if tasks is not None:
        tasks = whole("tasks", tasks, least=1)
        demand_memory(8 * tasks**2, f"a table of {tasks} tasks by {tasks}")
        heads = [0] * tasks if heads is None else heads
        if len(heads) < tasks:
            raise ColdError(f"heads has {len(heads)} entries for {tasks} tasks; give one per task")
    return tasks, heads


def _checked_callbacks(callbacks: Sequence[Callback]) -> list[Callback]:
    if not isinstance(callbacks, Sequence) or not all(isinstance(one, Callback) for one in callbacks):
        raise ColdError(f"callbacks must be a list of cold.Callback objects, got {shown(callbacks)}")
    return list(callbacks)


def _device(name: torch.device | str) -> torch.device:
    try:
        return torch.device(name)
    except (RuntimeError, TypeError, ValueError, OverflowError):
        raise ColdError(f"device must be cpu, cuda or cuda:N, got {shown(name)}") from None
