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

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.data import Dataset, Subset

from coldtheory.controllers import Controller
from coldtheory.ground.checks import kind_of, number, shown, whole
from coldtheory.ground.errors import ColdError
from coldtheory.ground.limits import demand_memory

from .ahead import Ahead
from .catalogue import LOGITS, constraint_of
from .config import AUTO, GAUGE, Idle, Policy, QueueUpdate, Replay, Weights, check_setting, gauge_size, queue_start_of
from .constraints import LogitDistance
from .forgetting import CEILING, looks_of, request_of
from .gauge import Gauge, RequestedWeight, Rows
from .history import History, Step
from .layer_modes import frozen_statistics, is_noisy, shares_statistics
from .losses import Runs, merged, per_sample_losses
from .losses import joined as joined_logits
from .memory import Draw, Memory, Samples, sums_by_task
from .queues import VirtualQueues
from .references import State, reference_of
from .samples import as_samples
from .streams import Streams

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch.utils.data import DataLoader

Forward = Callable[[nn.Module, Tensor, Runs], list[Tensor]]
Losses = Callable[[Sequence[Tensor], Tensor], Tensor]
Evaluate = Callable[[Tensor], Tensor]
Prepare = Callable[[Tensor, torch.Generator], Tensor]
Data: TypeAlias = "Tensor | Dataset[Any] | DataLoader[Any] | Samples"  # of one task
_EVALUATION_BATCH = 1024
_V_PER_ROOT_STEP = 25.0  # V="auto" is this times the root of the steps of a task
_FRESH_DRAWS = 2.0  # so often a stored sample may be drawn during a task before it is as good as known by heart
_WORTH = 0.2  # share of idle samples from which a second forward is cheaper than their backward pass


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


@dataclass(frozen=True, eq=False)
class Joined:
    """A batch of the present task, and behind it the memory samples of the same step."""

    x: Tensor  #: as stored, or ready for the model where `join` made it
    y: Tensor
    runs: Runs  #: consecutive pieces: (head, number of samples)
    present: int  #: how many samples are of the present task
    draw: Draw | None = None  #: the others; None during the first task


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
        self._auto = V == AUTO
        self.V: float = _V_PER_ROOT_STEP if V == AUTO else number("V", V, above=0)  #: the weight of the present task
        self._normalised = self._auto or held_to.name == LOGITS or wanted is not None
        share = number("gauge", gauge, least=0, most=0.9) or (GAUGE if wanted else 0.0)
        self.memory, measuring = _replay_memory(memory, share, tasks, policy=policy, device=device, dtype=dtype)
        self.distance = LogitDistance(self.memory, shift=held_to.shift) if held_to.name == LOGITS else None
        self._own_streams = streams is None  # else their owner keeps them
        self._streams = streams or Streams(seed, self.device)
        self._evaluate = evaluate
        #: samples that only measure
        self.gauge = Gauge(measuring, tasks, self._answers, seed=self._streams.seed, device=device) if share else None
        self._aside: Samples | None = None  # those of the present task
        self.requested = None if wanted is None else RequestedWeight(wanted, self.device)
        room = tasks or 1
        self.queues = VirtualQueues(
            room, delta=delta, weights=weights, controller=controller, device=device, dtype=dtype
        )
        usual: float | str = "mean" if self.distance is not None else 0.0
        start = queue_start_of(queue_start)
        self._start = usual if start is None else start  # of a new queue
        compared = _compared(reference, oracle, self.distance)
        self.compares = compared
        self.reference = reference_of(compared, oracle or "exact", self.memory)
        self.task = 0
        self.steps = 0  # of all tasks together
        self._task_steps = 0  # of the present task
        self._last_steps = 0  # of the task before
        self._model: nn.Module | None = None  # of the present task
        self.compared_with = torch.full((room, room), -1)  # [t, k]: whose loss task k is compared with during task t
        self.history, self.callbacks = History(history), _checked_callbacks(callbacks)
        self._tasks = tasks
        self._memory_batch, self.queue_update = memory_batch, queue_update
        self._per_task, self._idle = replay == "per-task", idle
        self._passes = reference_passes
        self._heads: list[int] = list(heads or [])
        self._forward = forward or _call
        self._loss_of = losses
        self._prepare = prepare or _identity
        self.augments = augments
        self._batch_size = batch_size
        self._ahead = Ahead(self.memory, self._streams, per_task=self._per_task)
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
            self._heads[self.task] = whole("head", head, least=0)
        self._model = model
        self._last_steps, self._task_steps = self._task_steps, 0
        if self.task:
            if self._tasks is None:
                self._demand_batch(min(self.memory.counts[: self.task]), self.task)
            self._weigh_past()
        if self.task and self.distance is not None:
            self.compared_with[self.task, : self.task] = torch.arange(self.task)
        elif self.task:
            measure = partial(self._measured, model, samples)
            chosen = self.reference.refresh(self.memory, self.task, model, measure)
            self.compared_with[self.task, : self.task] = chosen
            if self.queues.controller.looks != "never":
                self.queues.begin_task(self._excess_on_all(model, samples))
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
        draw = self._next_draw(y)
        if draw is None or self._looks_at_step:
            return self._joint(model, raw, y, draw)
        beta = self.past_weights
        alive = self._alive(model, beta, draw, len(raw))
        if alive is None:
            return self._joint(model, raw, y, draw)
        return self._split(model, raw, y, draw, beta, alive)

    def join(self, raw: Tensor, y: Tensor) -> Joined:
        """The batch, and behind it the memory samples of this step, prepared for a forward that is not made here."""
        joined = self._with_memory(raw, y, self._next_draw(y))
        return replace(joined, x=self._prepare(joined.x, self._streams.device("augment")))

    def objective(self, joined: Joined, logits: Tensor | Sequence[Tensor]) -> Tensor:
        """The objective from the logits of all joined samples; one tensor, or one per piece of `joined.runs`."""
        return self._objective(joined, self._values(joined, [logits] if isinstance(logits, Tensor) else list(logits)))

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
        x = self._prepare(raw, torch.Generator(self.device).manual_seed(0))
        return self._loss_of(self._forward(model, x, [(self._heads[task], len(raw))]), y)

    def plot(self, path: Path | str | None = None) -> Figure:
        """A picture of the queues and of the present task's loss over the steps; with a path it is saved, too."""
        return self.history.draw(path)

    @property
    def past_weights(self) -> Tensor:
        """The weights of the past tasks in the objective, (past,)."""
        return self._weights()

    @property
    def starts_at_zero(self) -> bool:
        """Whether the queue of a task that has just ended is empty, as in the paper."""
        return self._start == 0.0 and self.requested is None

    def measured(self) -> dict[str, Tensor]:
        """What the gauge has measured so far, as tables by name, tasks by tasks; empty without a gauge.

        gauge_loss, gauge_accuracy : of task k (column) after task t (row), NaN where k > t
        requested_weight           : of the past at the end of each task from the second on
        """
        if self.gauge is None:
            return {}
        found = {"gauge_loss": _lower(self.gauge.losses), "gauge_accuracy": _lower(self.gauge.accuracies)}
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
        self._look_at_gauge()
        # of all past tasks together fewer where the memory holds fewer
        return self._ahead.draw(self._memory_batch, self.task, at_most=not self._per_task)

    def _where(self) -> str:
        return f" of task {self.task + 1}" if self.task else ""

    def _joint(self, model: nn.Module, raw: Tensor, y: Tensor, draw: Draw | None) -> Tensor:
        """One forward on batch and memory batch together."""
        joined = self._with_memory(raw, y, draw)
        return self._objective(joined, self._losses(model, joined))

    def _objective(self, joined: Joined, losses: Tensor) -> Tensor:
        """The queues move by the losses of this step, behind the weights that it uses. Where the weights need the
        constraints at the present model, queues that move at every step do so first, by the model that the last step
        has led to."""
        n, draw, present = joined.present, joined.draw, self._scale[0]
        if draw is None:
            objective = present * losses.mean()
            return self._noted(objective, losses, n, self.queues.Q[:0], None)
        measured = self._needs_measure or self._looks_at_step
        excess = self._excess(draw, losses.detach()[n:]) if measured else None
        if self._looks_at_step:
            if excess is not None and self._needs_measure:
                self.queues.update(excess)
            beta = self._weights(excess)
            weight = beta[draw.owner] * draw.weight
        else:
            beta = self._weights()
            weight = beta[draw.owner] * draw.weight
            if excess is not None:
                self.queues.update(excess)
        objective = torch.dot(losses, torch.cat([weight.new_full((n,), present / n), weight]))
        return self._noted(objective, losses, n, beta, excess)

    def _noted(self, objective: Tensor, losses: Tensor, n: int, beta: Tensor, excess: Tensor | None) -> Tensor:
        """For the history and the callbacks."""
        self.steps += 1
        if self.callbacks or self.history.wants(self.steps):
            present, Q = losses.detach()[:n].mean(), self.queues.Q[: self.task].clone()
            step = Step(self.steps, self.task, objective.detach(), present, n, Q, beta, excess)
            if self.history.wants(self.steps):
                self.history.note(step)
            for callback in self.callbacks:
                callback.step(self, step)
        return objective

    def _split(self, model: nn.Module, raw: Tensor, y: Tensor, draw: Draw, beta: Tensor, alive: list[bool]) -> Tensor:
        """A graph for the batch and the tasks with Q_k > 0 only; the others are measured without one, if at all."""
        n, present = len(raw), self._scale[0]
        lively, idle = _kept(draw, alive), _kept(draw, [not a for a in alive])
        weight = _rows(beta[draw.owner] * draw.weight, draw, alive)
        excess = None
        if not self._needs_measure:  # samples without a weight are not needed at all
            losses = self._losses(model, self._with_memory(raw, y, lively))
        elif shares_statistics(model):
            with torch.no_grad():
                replayed = self._losses(model, self._with_memory(raw, y, draw))[n:]
            with frozen_statistics(model):
                losses = self._losses(model, self._with_memory(raw, y, lively))
            excess = self._excess(draw, replayed)
        else:
            with torch.no_grad():
                quiet = self._losses(model, self._memory_only(idle))
            losses = self._losses(model, self._with_memory(raw, y, lively))
            measured = {True: torch.split(losses.detach()[n:], lively.counts), False: torch.split(quiet, idle.counts)}
            pieces = {kind: iter(parts) for kind, parts in measured.items()}
            excess = self._excess(draw, torch.cat([next(pieces[alive[task]]) for task in draw.tasks]))
        if excess is not None:
            self.queues.update(excess)
        objective = torch.dot(losses, torch.cat([weight.new_full((n,), present / n), weight]))
        return self._noted(objective, losses, n, beta, excess)

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
        return self.queue_update == "step" and self.requested is None

    @property
    def _scale(self) -> tuple[float, float]:
        """The weight of the present task, and the factor of those of past tasks."""
        return (1.0, 1.0 / self.V) if self._normalised else (self.V, 1.0)

    def _weights(self, excess: Tensor | None = None) -> Tensor:
        """The weights of the past tasks in the objective, (past,); of distances, with V="auto", none exceeds a ceiling.

        Where training is short, the logits of a task are small when it ends and its distance is large; its queue would
        grow until nothing new is learnt. With classes that come one after the other there is no ceiling.
        """
        beta = self.queues.beta(self.task, excess) * self._scale[1]
        by_rule = self._auto and self.requested is None and self.distance is not None
        return beta.clamp(max=CEILING) if by_rule and not self._classes_come else beta

    @property
    def _looks_at_step(self) -> bool:
        """Whether the weights need the constraints at the model of this very step."""
        looks = self.queues.controller.looks
        return looks == "always" or (looks == "before" and self._needs_measure)

    def _excess(self, draw: Draw, losses: Tensor) -> Tensor:
        """Mean over the drawn samples of each past task of present minus reference loss, (past,)."""
        excess = draw.weight * (losses.to(self.memory.reference.dtype) - self.memory.reference[draw.slots])
        return sums_by_task(excess, draw.owner, self.task)

    def _with_memory(self, raw: Tensor, y: Tensor, draw: Draw | None) -> Joined:
        present = [(self._heads[self.task], len(raw))]
        if draw is None:
            return Joined(raw, y, present, len(raw))
        stored = self._memory_only(draw)
        return Joined(torch.cat([raw, stored.x]), torch.cat([y, stored.y]), [*present, *stored.runs], len(raw), draw)

    def _memory_only(self, draw: Draw) -> Joined:
        assert self.memory.raw is not None
        runs = [(self._heads[k], count) for k, count in zip(draw.tasks, draw.counts, strict=True)]
        return Joined(self.memory.raw.index_select(0, draw.slots), self.memory.y[draw.slots], runs, 0, draw)

    def _losses(self, model: nn.Module, joined: Joined, *, stream: str = "augment") -> Tensor:
        x = self._prepare(joined.x, self._streams.device(stream))
        return self._values(joined, self._forward(model, x, merged(joined.runs)))

    def _values(self, joined: Joined, logits: list[Tensor]) -> Tensor:
        """The loss of each sample of the present task, then what each memory sample is held to."""
        if self.distance is None or joined.draw is None:
            return self._loss_of(logits, joined.y)
        n, all_logits = joined.present, joined_logits(logits)
        past = self.distance.values(all_logits[n:], joined.draw)
        return torch.cat([self._loss_of([all_logits[:n]], joined.y[:n]), past]) if n else past

    # ------------------------------------------------------------------------------------------------ task boundaries

    def _weigh_past(self) -> None:
        """Before the first step of a task: its V, and the queue of the task that has just become a past one."""
        if self.requested is not None:
            self.V = 1.0
            self.queues.Q[: self.task] = self.requested.weight
            return
        if self._auto:
            self.V = _V_PER_ROOT_STEP * math.sqrt(max(self._last_steps, 1)) * self._share_of_fresh_draws()
        if isinstance(self._start, float):
            if self._start:
                self.queues.Q[self.task - 1] = self._start
        elif self.task > 1:
            self.queues.Q[self.task - 1] = self.queues.Q[: self.task - 1].mean()

    @property
    def _classes_come(self) -> bool:
        """Whether classes come task after task to one head; known where past tasks are held to their logits."""
        return self.distance is not None and self.distance.grows

    def _share_of_fresh_draws(self) -> float:
        """A factor of V="auto" where classes come task after task to one head, else 1.

        A sample that is drawn again and again is learnt by heart, and its distance no longer tells how much of the task
        is forgotten. The queue then rises too slowly, which costs most where old classes compete with new ones.
        """
        if not self._classes_come:
            return 1.0
        drawn = self._last_steps * self._memory_batch * (self.task if self._per_task else 1)
        return min(1.0, _FRESH_DRAWS * sum(self.memory.counts[: self.task]) / max(drawn, 1))

    def _look_at_gauge(self) -> None:
        """Now and then the requested forgetting is compared with the gauge, and the weight of the past moves."""
        if self.requested is None or self.gauge is None:
            return
        assert self._model is not None
        replayed = self._memory_batch * (self.task if self._per_task else 1)
        every, samples = looks_of(self._last_steps, self._batch_size + replayed, self.task)
        if self._task_steps % every == 0:
            progress = min(1.0, self._task_steps / max(self._last_steps, 1))
            lost = self.gauge.forgetting(self._model, samples)
            looks = max(1, self._last_steps // every)
            self.requested.move(*lost, progress, looks, new_classes=self._classes_come)
            self.queues.Q[: self.task] = self.requested.weight

    def _keep(self, model: nn.Module, samples: Samples) -> None:
        """Samples of the finished task for the memory and for the gauge, and what they are held to from now on."""
        head = self._heads[self.task]
        slots = self.memory.add_task(samples, self.task, self._streams.cpu("memory"))
        if self.distance is not None:
            self.distance.end_task(head)
            self._store_answers(model, slots, head)
        if self.gauge is not None:
            assert self._aside is not None
            self.gauge.end_task(model, self._aside, head)
            self._aside = None
        if self.gauge is not None and self.requested is not None and self.task:
            self.requested.end_task(*self.gauge.lost())

    @torch.no_grad()
    def _store_answers(self, model: nn.Module, slots: Tensor, head: int) -> None:
        """The logits of samples that were just stored, in a forward like that of a training step."""
        assert self.distance is not None
        assert self.memory.raw is not None
        was_training = model.training
        model.train(shares_statistics(model) or self.augments)
        with frozen_statistics(model):
            logits = []
            for part in torch.split(slots.to(self.device), self._batch_size):
                x = self._prepare(self.memory.raw.index_select(0, part), self._streams.device("reference"))
                logits.append(joined_logits(self._forward(model, x, [(head, len(part))])))
        model.train(was_training)
        self.distance.store(slots.to(self.device), head, torch.cat(logits))

    def _answers(self, model: nn.Module, raw: Tensor, runs: Runs) -> list[Tensor]:
        """Logits as for a test: the gauge's view of the model."""
        if self._evaluate is not None:
            x = self._evaluate(raw)
        else:
            x = self._prepare(raw, torch.Generator(self.device).manual_seed(0))
        return self._forward(model, x, merged(runs))

    # ------------------------------------------------------------------------------------------------ whole memory

    def _update_on_all(self, model: nn.Module) -> None:
        if self.task:
            if self._samples is None:
                raise ColdError(f"end_epoch() was called before begin_task(model, x){self._where()}")
            self.queues.update(self._excess_on_all(model, self._samples))

    def _excess_on_all(self, model: nn.Module, samples: Samples) -> Tensor:
        slots = self.memory.everything(self.task)
        excess = self._measured(model, samples, None) - self.memory.reference[slots.to(self.device)]
        return self.memory.task_means(slots, excess, self.task)

    @torch.no_grad()
    def _measured(self, model: nn.Module, samples: Samples, weights: State | None) -> Tensor:
        """The loss of every memory sample under a model, as a training step of this task would measure it."""
        placed = {} if weights is None else {name: value.to(self.device) for name, value in weights.items()}
        called = model if weights is None else _Replaced(model, placed)
        total = torch.zeros(self.memory.size, device=self.device, dtype=self.memory.reference.dtype)
        count = torch.zeros_like(total)
        depends = shares_statistics(model) or is_noisy(model) or self.augments
        was_training = model.training
        model.train(depends)
        with frozen_statistics(model):
            for draw, company in self._passes_over_memory(samples) if depends else self._plain_pass():
                if company is None:
                    losses = self._losses(called, self._memory_only(draw), stream="reference")
                else:
                    no_labels = torch.zeros(len(company), dtype=torch.int64, device=self.device)
                    batch = self._with_memory(company, no_labels, draw)
                    losses = self._losses(called, batch, stream="reference")[len(company) :]
                # no slot is twice in a draw: one number per place and call, so that a GPU's order does not matter
                total.index_add_(0, draw.slots, losses.to(total.dtype))
                count.index_add_(0, draw.slots, torch.ones_like(losses, dtype=total.dtype))
        model.train(was_training)
        slots = self.memory.everything(self.task).to(self.device)
        return total[slots] / count[slots]

    def _plain_pass(self) -> Iterator[tuple[Draw, None]]:
        for draw in self.memory.pieces(_EVALUATION_BATCH, self.task):
            yield draw, None

    def _passes_over_memory(self, samples: Samples) -> Iterator[tuple[Draw, Tensor]]:
        """Batches of the composition of a training step, each memory sample at least once per pass."""
        generator = self._streams.cpu("reference")
        b = min(self._batch_size, len(samples))
        for _ in range(self._passes):
            for draw in self.memory.chunks(self._memory_batch, self.task, per_task=self._per_task, generator=generator):
                rows = torch.randperm(len(samples), generator=generator)[:b]
                yield draw, samples.raw(rows.to(self.device)).to(self.device)

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
        self._heads += [0] * (tasks - len(self._heads))

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
            "heads": list(self._heads),
            "history": self.history.state(),
            "V": self.V,
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
        self._heads = list(state.get("heads", self._heads))
        self.history.load(state.get("history", {"blocks": []}))
        self.V = float(state.get("V", self.V))
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


class _Replaced(nn.Module):
    """A model called with other weights; its own stay as they are."""

    def __init__(self, model: nn.Module, weights: State) -> None:
        super().__init__()
        self._model = [model]  # not a submodule
        self._weights = weights

    def forward(self, *args: Any) -> Any:
        return functional_call(self._model[0], self._weights, args)


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


def _replay_memory(given: int | Memory, gauge: float, tasks: int | None, **place: Any) -> tuple[Memory, int]:
    """The memory to replay from, and how many samples a gauge takes away from it."""
    if not isinstance(given, Memory):
        size = whole("memory", given, least=0)
        return Memory(size - gauge_size(size, gauge), tasks, **place), gauge_size(size, gauge)
    if gauge:
        raise ColdError("with a gauge give the size of the memory: COLD makes the gauge a part of it")
    if tasks is not None and given.tasks < tasks:
        raise ColdError(f"memory is for {given.tasks} tasks, tasks is {tasks}; give a memory for all of them")
    return given, 0


def _compared(reference: str | None, oracle: str | None, distance: LogitDistance | None) -> str:
    """Which model past tasks are compared with."""
    if oracle is not None and not isinstance(oracle, str):
        raise ColdError(f"oracle must be exact, streaming or window:N, got {shown(oracle)}")
    if distance is None:
        return reference or ("previous" if oracle is None else "best")
    if reference not in (None, "stored") or oracle is not None:
        raise ColdError('constraint="logits" compares with the stored answers; leave reference and oracle out')
    return "stored"


def _checked_callbacks(callbacks: Sequence[Callback]) -> list[Callback]:
    if not isinstance(callbacks, Sequence) or not all(isinstance(one, Callback) for one in callbacks):
        raise ColdError(f"callbacks must be a list of cold.Callback objects, got {shown(callbacks)}")
    return list(callbacks)


def _kept(draw: Draw, tasks: list[bool]) -> Draw:
    """The samples of some tasks, still grouped."""
    kept = [(task, count) for task, count in zip(draw.tasks, draw.counts, strict=True) if tasks[task]]
    slots, weight, owner = (_rows(column, draw, tasks) for column in (draw.slots, draw.weight, draw.owner))
    return Draw(slots, [task for task, _ in kept], [count for _, count in kept], weight, owner)


def _rows(column: Tensor, draw: Draw, tasks: list[bool]) -> Tensor:
    """The rows of some tasks; their number is known, so nothing has to be read back from a GPU, as it would with a
    mask."""
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


def _lower(rows: Sequence[Tensor]) -> Tensor:
    """Rows of growing length as one table; NaN fills it up."""
    table = torch.full((len(rows), len(rows)), torch.nan)
    for t, row in enumerate(rows):
        table[t, : len(row)] = row
    return table


def _identity(raw: Tensor, generator: torch.Generator) -> Tensor:
    return raw


def _device(name: torch.device | str) -> torch.device:
    try:
        return torch.device(name)
    except (RuntimeError, TypeError, ValueError, OverflowError):
        raise ColdError(f"device must be cpu, cuda or cuda:N, got {shown(name)}") from None
