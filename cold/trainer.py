"""The training loop that all methods share, with evaluation after every task, checkpoints and resume.

Data are tensors on the device; an epoch is a permutation of rows, a batch a gather. Nothing in the loop waits for
the device but a look at the losses and queues of the last fifty steps. docs/speed.md says what methods wait for.

On one machine's CPU, with the same number of threads, a run gives the same bits every time, whether in one piece or
stopped and resumed. Machines with other kernels agree up to rounding, which training amplifies.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from coldtheory.ground.checks import kind_of, number
from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically

from .average import RunningAverage
from .checkpoint import Unusable, checkpoints, load_latest, remove_checkpoints, save_checkpoint
from .compute import accuracies, keep_freed_memory, load_data, make_optimizer, peak_memory, pick_device, repeatable
from .config import RunConfig, check_memory
from .data import Benchmark, Part
from .data.stream import stream_of, tasks_ended
from .diagnostics import Watch
from .distributed import Group, SharedForward
from .kernels import kernels
from .methods.base import Batch, Context, check_scenario, evaluates_its_own, find_method
from .models import build_model, model_bytes
from .record import Position, Progress, Record
from .runs import MODEL, OtherData, Result, comparable, identified, make_result, same_data, write_result
from .streams import Streams

_LOOK_EVERY = 50
_QUEUE_POINTS = 1000
# A checkpoint may have the right checksum and wrong content: what then goes wrong, sooner or later.
_OF_FOREIGN_STATE = (
    ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError, AssertionError,
)  # fmt: skip
_PARTS = ("config", "model", "optimizer", "method", "streams", "position", "record")  # of a checkpoint, each a dict


class Stopped(Exception):
    """The run was asked to stop, or has come as far as it was to come; its state is saved."""


class Trainer:
    """One run. `benchmark` and `module` replace the named dataset and network where users bring their own.

    out              : checkpoints and results go to the folder <out>/<run id>; None keeps everything in memory
    checkpoint_every : minutes between checkpoints inside a task; there is one at each task boundary anyway
    should_stop      : asked at every step (by several processes together: every fifty steps and after each epoch); when
                       true the run saves its state and raises `Stopped`
    group            : the processes that share this run, see `cold.distributed`; the first one writes
    """

    def __init__(
        self,
        config: RunConfig,
        *,
        benchmark: Benchmark | None = None,
        module: nn.Module | None = None,
        data_root: Path | None = None,
        out: Path | None = None,
        checkpoint_every: float = 10.0,
        on_progress: Callable[[Progress], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        group: Group | None = None,
    ) -> None:
        kind_of("config", config, RunConfig, "make one with cold.make_config({...})")
        if benchmark is not None:
            kind_of("benchmark", benchmark, Benchmark, "make one with cold.data.from_tensors")
        self.group = group or Group()
        self._every = number("checkpoint_every", checkpoint_every, least=0) * 60
        self._on_progress, self._should_stop = on_progress, self.group.agreed(should_stop)
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        self.device = pick_device(config.device)
        if self.device.type == "cpu":
            keep_freed_memory()
        loaded = benchmark if benchmark is not None else load_data(config, data_root)
        self.benchmark = loaded.to(self.device)
        name = config.dataset if benchmark is None else benchmark.name
        if benchmark is not None:  # whose scenario it is, whatever the settings say
            config = replace(config, dataset=name, scenario="class" if benchmark.scenario == "class" else None)
        self.config = identified(replace(config, dataset=name), len(self.benchmark.tasks))
        self.folder = None if out is None else out / self.config.run_id
        #: what the method sees: the tasks, or windows in their place
        self.stream = stream_of(self.benchmark, blur=config.blur, windows=config.windows, seed=config.seed)
        self._ended = tasks_ended(self.benchmark, config.windows)  # after each task of the stream
        method = find_method(config.method)
        check_scenario(method, self.config, self.benchmark.scenario)
        note = check_memory(self.config, len(self.stream.tasks)) if method.uses_memory else None
        if note and self.group.leads:
            print(f"note: {note}", file=sys.stderr)
        self.model = model = self._network(config, module)
        scaler = torch.amp.GradScaler(self.device.type) if config.amp == "fp16" else None
        self.context = Context(
            self.config,
            self.stream,
            model,
            make_optimizer(config, model.parameters()),
            self.device,
            Streams(config.seed, self.device),
            scaler,
        )
        if self.group.size > 1:
            if not vars(method).get("over_processes", False):
                raise ColdError(f"{config.method} cannot run over several processes; start it without torchrun")
            self.context.shared = SharedForward(model, self.group, self.benchmark.head_widths)
        self.average = self._average(evaluates_its_own(method))
        self.method = method(self.context)
        self.position, self.record = Position(), Record()
        self._losses = torch.zeros(_LOOK_EVERY, device=self.device)
        self._pending = 0
        self._pending_queues: list[torch.Tensor] = []
        self._last_loss = math.nan
        self._resumed_at: int | None = None
        self._present: tuple[int, Part] | None = None
        trained = (self.method.set_aside(t, task.train) for t, task in enumerate(self.stream.tasks))
        self._sizes = [len(part) for part in trained]  # samples of each task that are trained on
        steps = [config.epochs * math.ceil(size / config.batch_size) for size in self._sizes]
        self.steps_of_task, self.steps = steps, sum(steps)
        self.watch = Watch(self.context, self.method, steps) if config.diagnostics else None
        self._queue_every = max(1, self.steps // _QUEUE_POINTS)
        self._last_save = time.monotonic()
        self._mark, self._cpu_mark = time.perf_counter(), time.process_time()

    def _network(self, config: RunConfig, module: nn.Module | None) -> nn.Module:
        chosen: dict[str, Any] = {"width": config.width, "seed": config.seed, "name": config.model, "init": config.init}
        model = build_model(self.benchmark, module=module, **chosen).to(self.device)
        if config.channels_last:
            model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if config.compile:
            model.backbone.compile()
        return model.train()

    def _average(self, has_its_own: bool) -> RunningAverage | None:
        if not self.config.average:
            return None
        if has_its_own:
            raise ColdError(f"{self.config.method} evaluates a network of its own; leave --average out")
        return RunningAverage(self.model, self.config.average)

    # ------------------------------------------------------------------------------------------------ running

    @property
    def resumed(self) -> bool:
        """Whether the run went on from a checkpoint."""
        return self._resumed_at is not None

    @property
    def evaluated(self) -> nn.Module:
        """The network that is tested and kept."""
        return self.method.network_for_evaluation() if self.average is None else self.average.network

    @property
    def data(self) -> str | None:
        """The fingerprint of the data; None for a benchmark that was put together by hand without one."""
        return self.benchmark.fingerprint or None

    def check_data(self, what: str, stored: str | None) -> None:
        """Raises if `what` was made from data other than this run's; says so on stderr if that is not recorded."""
        if not same_data(stored, self.data):
            raise OtherData(what, stored, self.data)
        if stored is None and self.group.leads:
            print(f"note: {what} does not record its data; they are taken to be this run's", file=sys.stderr)

    def run(self, *, resume: bool = False, until: int | None = None) -> Result:
        """Train to the end; with `resume` from the last checkpoint in the folder, if there is one.

        until : stop between two tasks as soon as so many are evaluated, by `Stopped`; a later call goes on
        """
        with repeatable(self.config.deterministic):
            return self._run(resume=resume, until=until)

    def _run(self, *, resume: bool, until: int | None) -> Result:
        if resume and self.folder is not None:
            self._resume()
            self.group.wait()
        self._mark, self._cpu_mark = time.perf_counter(), time.process_time()
        try:
            if not self.record.start:
                self.record.start = self._evaluate()
                self.record.queues.append(self._queues())
            while self.position.task < len(self.stream.tasks):
                if until is not None and len(self.record.accuracy) >= until:
                    raise Stopped
                self._run_task()
            return self._finish()
        except _OF_FOREIGN_STATE as error:
            if not self.resumed or isinstance(error, ColdError | torch.OutOfMemoryError):
                raise
            reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            raise Unusable(f"the run cannot go on from the checkpoint in {self.folder} ({reason})") from error

    def _run_task(self) -> None:
        at = self.position
        train = self.training_part()
        if at.epoch == 0 and at.order is None:
            if self.config.reset_optimizer and at.task:
                self.context.optimizer = make_optimizer(self.config, self.model.parameters())
            self.method.begin_task(at.task, train)
            if self.watch is not None:
                self._measure(self.watch.begin_task, at.task)
        else:
            self.method.resume_task(at.task, train)
        while at.epoch < self.config.epochs:
            self.train_epoch()
            self.method.end_epoch(at.task, at.epoch)
            at.epoch, at.step, at.order = at.epoch + 1, 0, None
            self._look()
            self._save_when_due()
            if self.group.size > 1:  # an epoch may be too short for that
                self._stop_if_asked()
        self.method.end_task(at.task, train)
        if self.watch is not None:
            self._measure(self.watch.end_task, at.task)
        self._clock("train_seconds")
        while len(self.record.accuracy) < self._ended[at.task]:
            self.record.accuracy.append(self._evaluate())
        self.record.queues.append(self._queues())
        at.task, at.epoch = at.task + 1, 0
        self._report()
        self._save()

    def train_epoch(self) -> None:
        """The rest of the present epoch of the present task."""
        at, b = self.position, self.config.batch_size
        part, head, number = self.training_part(), self.stream.tasks[at.task].head, at.task
        y = part.y
        if at.order is None:  # windows have the order of the stream
            shuffled = self.config.windows is None
            chance = self.context.streams.cpu("order")
            at.order = torch.randperm(len(part), generator=chance) if shuffled else torch.arange(len(part))
        order = at.order.to(self.device)
        step, watch, average, alone = self.method.step, self.watch, self.average, self.group.size == 1
        for start in range(at.step * b, len(part), b):
            rows = order[start : start + b]
            self._losses[self._pending] = step(Batch(part.raw(rows), y[rows], number, head))
            if average is not None:
                average.follow(self.model)
            self._pending += 1
            at.step += 1
            at.total += 1
            if at.total % self._queue_every == 0:
                self._note_queues()
            if watch is not None and at.total in watch.totals:
                self._measure(watch.during_task, number, at.total)
            if self._pending == _LOOK_EVERY:
                self._look()
                self._save_when_due()
            if alone or self._pending == 0:  # agreeing with the other processes means waiting for them
                self._stop_if_asked()

    def training_part(self) -> Part:
        """The present task's training samples; pixels that move are put in place once per task, not in every step."""
        number = self.position.task
        if self._present is None or self._present[0] != number:
            part = self.stream.tasks[number].train
            if part.moved:
                part = Part(part.raw(), torch.arange(len(part), device=self.device), part.y)
            self._present = (number, self.method.set_aside(number, part))
        return self._present[1]

    def _stop_if_asked(self) -> None:
        if self._should_stop():
            self._look()
            self._save()
            raise Stopped

    def _save_when_due(self) -> None:
        if time.monotonic() - self._last_save >= self._every:
            self._save()

    def _note_queues(self) -> None:
        """The queues of this step for the record; they stay on the device until the next look."""
        queues = self.method.queues()
        if queues is not None:
            self._pending_queues.append(queues.clone())
            self.record.queue_steps_at.append(self.position.total)

    def _look(self) -> None:
        """Check that the losses of the last steps are finite, and move the queues that were noted into the record."""
        losses = self._losses[: self._pending].tolist()
        if self._pending_queues:
            self.record.queue_steps += torch.stack(self._pending_queues).tolist()
            self._pending_queues.clear()
        for i, loss in enumerate(losses):
            if not math.isfinite(loss):
                at = self.position
                step = at.total - self._pending + i + 1 - sum(self.steps_of_task[: at.task])
                raise ColdError(
                    f"the loss is {loss} at step {step} of task {at.task + 1} (of {len(self.stream.tasks)}); "
                    f"{self._last_good()}; take a smaller --lr or --V"
                )
        if losses:
            self._last_loss = losses[-1]
        self._pending = 0
        self._report()

    def _last_good(self) -> str:
        kept = [] if self.folder is None else checkpoints(self.folder)
        return f"the last good checkpoint stays: {kept[0]}" if kept else "no checkpoint was written before"

    def _report(self) -> None:
        if self._on_progress is not None:
            at, rows = self.position, self.record.accuracy
            acc = float(np.mean(rows[-1][: len(rows)]) * 100) if rows else None
            last, weights = rows[-1] if rows else [], self.method.past_weights()
            self._on_progress(
                Progress(
                    at.task, len(self.stream.tasks), at.epoch, at.total, self.steps, self._last_loss, acc,
                    evaluated=len(rows), accuracy=last, queues=self._queues()[: at.task],
                    weights=[] if weights is None else weights.tolist(),
                )
            )  # fmt: skip

    # ------------------------------------------------------------------------------------------------ measuring

    def _evaluate(self) -> list[float]:
        self._clock("train_seconds")
        seen = len(self.record.accuracy) + 1 if self.record.start else 0
        found = accuracies(self.context, self.benchmark, self.evaluated, seen)
        if self.record.start:
            self.record.loss.append(found["loss"])
        for name in found.keys() - {"accuracy", "loss"}:
            self.record.views.setdefault(name, []).append(found[name])
        self._clock("eval_seconds")
        return found["accuracy"]

    def evaluate(self, model: nn.Module) -> list[float]:
        """Accuracy on each task among all outputs of its head, (T,)."""
        return accuracies(self.context, self.benchmark, model, len(self.benchmark.tasks))["accuracy"]

    def _measure(self, measure: Callable[..., None], *where: int) -> None:
        self._clock("train_seconds")
        measure(*where)
        self._clock("eval_seconds")

    def _queues(self) -> list[float]:
        queues = self.method.queues()
        return [] if queues is None else queues.tolist()

    def _clock(self, name: str) -> None:
        now, cpu = time.perf_counter(), time.process_time()
        setattr(self.record, name, getattr(self.record, name) + now - self._mark)
        self.record.cpu_seconds += cpu - self._cpu_mark
        self._mark, self._cpu_mark = now, cpu

    def _finish(self) -> Result:
        record, tasks = self.record, len(self.stream.tasks)
        arrays: dict[str, Any] = {"accuracy": np.array(record.accuracy), "start": np.array(record.start)}
        if len(record.loss) == len(record.accuracy):  # not of a run that an older version began
            arrays["loss"] = np.array(record.loss)
        for name, rows in sorted(record.views.items()):
            arrays[name], arrays[name.replace("accuracy", "start")] = np.array(rows[1:]), np.array(rows[0])
        if self.method.queues() is not None:
            arrays["queues"] = np.array(record.queues)
            arrays["queue_steps"] = np.array(record.queue_steps).reshape(-1, tasks)
            arrays["queue_steps_at"] = np.array(record.queue_steps_at, dtype=np.int64)
        arrays.update({name: value.cpu().numpy() for name, value in self.method.arrays().items()})
        diagnostics: dict[str, Any] = {}
        if self.watch is not None:
            diagnostics, measured = self.watch.finish()
            arrays.update(measured)
        timing = {
            "train_seconds": record.train_seconds,
            "eval_seconds": record.eval_seconds,
            "cpu_seconds": record.cpu_seconds,
            "steps": self.position.total,
            "steps_per_second": self.position.total / max(record.train_seconds, 1e-9),
            "peak_memory_bytes": peak_memory(self.device),
            "device": str(self.device),
            "threads": torch.get_num_threads(),
            "processes": self.group.size,
        }
        result = make_result(
            self.config.run_id,
            self.config.as_dict(),
            arrays,
            timing,
            {"torch": torch.__version__},
            diagnostics,
            data=self.data,
            more={
                "kernels": kernels(self.device),
                "data": {"source": self.benchmark.source, "about": self.benchmark.about},
            },
        )
        if self.folder is not None and self.group.leads:
            write_atomically(self.folder / MODEL, model_bytes(self.evaluated))
            write_result(self.folder, result)
            remove_checkpoints(self.folder)
        return result

    # ------------------------------------------------------------------------------------------------ checkpoints

    def _save(self) -> None:
        self._clock("train_seconds")
        self._last_save = time.monotonic()
        if self.folder is None:
            return
        if not torch.stack([torch.isfinite(p).all() for p in self.model.parameters()]).all():
            at = self.position
            raise ColdError(
                f"a weight is not finite after step {at.total} (task {at.task + 1}); {self._last_good()}; "
                "take a smaller --lr or --V"
            )
        if self.group.leads:
            save_checkpoint(self.folder, self.position.total, self.state())
        self._clock("eval_seconds")

    def state(self) -> dict[str, Any]:
        """Everything that a run needs to go on as if nothing had happened."""
        scaler = self.context.scaler
        return {
            "config": self.config.as_dict(),
            "data": self.data,
            "model": self.model.state_dict(),
            "optimizer": self.context.optimizer.state_dict(),
            "scaler": None if scaler is None else scaler.state_dict(),
            "method": self.method.state(),
            "streams": self.context.streams.state(),
            "position": dict(vars(self.position)),
            "record": dict(vars(self.record)),
            "watch": None if self.watch is None else self.watch.state(),
            "average": None if self.average is None else self.average.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Restore model, optimiser, method, random streams, position and record from a checkpoint."""
        self.model.load_state_dict(state["model"])
        self.context.optimizer.load_state_dict(state["optimizer"])
        if self.context.scaler is not None:
            self.context.scaler.load_state_dict(state["scaler"])
        self.method.load(state["method"])
        self.context.streams.load(state["streams"])
        self.position = Position(**state["position"])
        self.record = Record(**state["record"])
        if self.watch is not None:
            self.watch.load(state["watch"])
        if self.average is not None:
            self.average.load(state["average"])

    def _resume(self) -> None:
        assert self.folder is not None
        found = load_latest(self.folder)
        if found is None:
            return
        state, problems = found
        for line in problems:
            print(f"note: {line}; going on from the checkpoint before", file=sys.stderr)
        foreign = Unusable(f"the checkpoint in {self.folder} does not fit this run")
        if not all(isinstance(state.get(name), dict) for name in _PARTS):
            raise foreign
        try:
            same = comparable(state["config"]) == comparable(self.config.as_dict())
        except (TypeError, ValueError, RecursionError):
            raise foreign from None
        if not same:
            raise Unusable(f"the checkpoint in {self.folder} belongs to other settings")
        data = state.get("data")
        try:
            self.check_data(f"the checkpoint in {self.folder}", data if isinstance(data, str) else None)
        except OtherData as error:
            raise Unusable(error.why, error.remedy) from None
        try:
            self.load(state)
        except _OF_FOREIGN_STATE:
            raise foreign from None
        by_class, ended = self.benchmark.scenario == "class", [0, *self._ended]
        if not self.position.stands(self._sizes) or not self.record.stands(
            self.position.task, len(self.stream.tasks), len(self.benchmark.tasks), ended, by_class=by_class
        ):
            raise foreign
        self._resumed_at = self.position.total
