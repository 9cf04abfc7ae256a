"""Where the numbers of a run are written while it goes on: TensorBoard, Weights & Biases or MLflow, each an extra.

All three are one interface: `log(values, step)`, and `close()`. In your own loop a logger is a callback of `COLD`:

    with open_logger("tensorboard:logs") as logger:
        dpp = cold.COLD(V=20.0, delta=0.0, memory=60, memory_batch=5, callbacks=[logger])
        ...
        logger.accuracies([0.97, 0.91], dpp.steps)

`cold run --log tensorboard` writes the same values:

    loss, loss/present    the objective, and (own loop) the mean loss on the batch of the present task
    queue/task_1, ...     the queues of the past tasks
    weight/task_1, ...    the weights of the past tasks in the objective
    accuracy/task_1, ...  the accuracies on all tasks, after each task
    accuracy so far       in per cent, the average over the tasks up to the present one

Nothing is sent anywhere unless you ask for it. A logger is named as NAME or NAME:WHERE:

    tensorboard:FOLDER    a folder
    wandb:FOLDER          a folder, in W&B's offline mode: `wandb sync` uploads it, if you want that
    wandb:online          W&B's server, as `wandb login` set it up
    mlflow:FOLDER         a SQLite file mlflow.db in that folder
    mlflow:URI            a tracking server, or another store of MLflow
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Self

from coldtheory.ground.checks import choice, whole
from coldtheory.ground.errors import ColdError

from .dpp import COLD, Callback
from .history import Step
from .record import Progress

_FOLDER = Path("results/logs")
_EVERY = 50  # steps: as often as the trainer looks


class Logger(Callback):
    """What all loggers share; a further one overrides `log` and `close`.

    every : every n-th step of your own loop is logged
    """

    package: ClassVar[str]

    def __init__(self, every: int = _EVERY) -> None:
        self._every = whole("every", every, least=1)
        self._evaluated = 0

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Write some values of one step."""
        raise NotImplementedError

    def close(self) -> None:
        """Called when nothing more will be logged."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def accuracies(self, accuracy: Sequence[float], step: int, *, seen: int | None = None) -> None:
        """The accuracy on each task, as shares of 1; the average is over the first `seen` tasks, or all."""
        known = list(accuracy)[: len(accuracy) if seen is None else seen]
        mean = {"accuracy so far": 100 * sum(known) / len(known)} if known else {}
        self.log({**_per_task("accuracy", accuracy), **mean}, step)

    # ------------------------------------------------------------------------------------------------ own loop

    def step(self, dpp: COLD, step: Step) -> None:
        """Log loss, queues and weights of a step, if it is one of those that are logged."""
        if step.number % self._every == 0:
            queues = _per_task("queue", step.Q.tolist()) | _per_task("weight", step.weight.tolist())
            self.log({"loss": float(step.loss), "loss/present": float(step.present), **queues}, step.number)

    # ------------------------------------------------------------------------------------------------ trainer

    def progress(self, place: Progress) -> None:
        """Where a run of the trainer stands."""
        queues = _per_task("queue", place.queues) | _per_task("weight", place.weights)
        self.log({"loss": place.loss, **queues}, place.done)
        if place.evaluated > self._evaluated:
            self._evaluated = place.evaluated
            self.accuracies(place.accuracy, place.done, seen=place.evaluated)


class TensorBoard(Logger):
    """Event files for `tensorboard --logdir FOLDER`."""

    package = "tensorboard"

    def __init__(self, folder: Path, *, settings: Mapping[str, Any] | None = None, every: int = _EVERY) -> None:
        super().__init__(every)
        _loaded(self.package)
        self._writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter(str(folder))
        if settings:
            self._writer.add_text("settings", "\n".join(f"    {name} = {value!r}" for name, value in settings.items()))

    def log(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class WandB(Logger):
    """A run of Weights & Biases, offline unless `online`."""

    package = "wandb"

    def __init__(
        self,
        folder: Path,
        *,
        online: bool = False,
        project: str = "cold",
        name: str | None = None,
        settings: Mapping[str, Any] | None = None,
        every: int = _EVERY,
    ) -> None:
        super().__init__(every)
        if not online:
            os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        wandb = _loaded(self.package)
        folder.mkdir(parents=True, exist_ok=True)
        self._run = wandb.init(
            project=project,
            name=name,
            dir=str(folder),
            mode="online" if online else "offline",
            config=dict(settings or {}),
            reinit="create_new",
            settings=wandb.Settings(silent=True, console="off", x_disable_stats=True, disable_git=True),
        )

    def log(self, values: Mapping[str, float], step: int) -> None:
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        self._run.finish()


class MLflow(Logger):
    """A run in an MLflow store; `uri` is what MLflow calls the tracking URI."""

    package = "mlflow"

    def __init__(
        self,
        uri: str,
        *,
        project: str = "cold",
        name: str | None = None,
        settings: Mapping[str, Any] | None = None,
        every: int = _EVERY,
    ) -> None:
        super().__init__(every)
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        mlflow = _loaded(self.package)
        self._metric, self._param = mlflow.entities.Metric, mlflow.entities.Param
        self._client = mlflow.MlflowClient(tracking_uri=uri)
        found = self._client.get_experiment_by_name(project)
        experiment = self._client.create_experiment(project) if found is None else found.experiment_id
        self._run = self._client.create_run(experiment, run_name=name).info.run_id
        if settings:
            params = [self._param(key, str(value)) for key, value in settings.items()]
            self._client.log_batch(self._run, params=params)

    def log(self, values: Mapping[str, float], step: int) -> None:
        now = int(1000 * time.time())
        metrics = [self._metric(name, float(value), now, step) for name, value in values.items()]
        self._client.log_batch(self._run, metrics=metrics)

    def close(self) -> None:
        self._client.set_terminated(self._run)


LOGGERS: dict[str, type[Logger]] = {kind.package: kind for kind in (TensorBoard, WandB, MLflow)}


def check_logger(text: str) -> tuple[str, str]:
    """The two parts of NAME:WHERE; raises if there is no such logger, or if its package is not installed.

    >>> check_logger("tensorboad")
    Traceback (most recent call last):
    ...
    coldtheory.ground.errors.ColdError: unknown logger 'tensorboad'; did you mean tensorboard?
    """
    name, _, where = text.partition(":")
    choice("logger", name, LOGGERS)
    if find_spec(name) is None:
        raise _missing(name)
    return name, where


def open_logger(
    text: str,
    *,
    folder: Path = _FOLDER,
    name: str | None = None,
    settings: Mapping[str, Any] | None = None,
    every: int = _EVERY,
) -> Logger:
    """The logger that a text names; see the module's docstring.

    folder   : where it writes if the text does not say so
    name     : what W&B and MLflow call the run
    settings : are written once, beside the values
    """
    kind, where = check_logger(text)
    if kind == "tensorboard":
        return TensorBoard(Path(where) if where else folder / "tensorboard", settings=settings, every=every)
    if kind == "wandb":
        online = where == "online"
        place = folder if online or not where else Path(where)
        return WandB(place, online=online, name=name, settings=settings, every=every)
    uri = where
    if "://" not in where:
        store = (Path(where) if where else folder) / "mlflow.db"
        store.parent.mkdir(parents=True, exist_ok=True)
        uri = f"sqlite:///{store.absolute()}"
    return MLflow(uri, name=name, settings=settings, every=every)


def _per_task(kind: str, values: Sequence[float]) -> dict[str, float]:
    return {f"{kind}/task_{k + 1}": value for k, value in enumerate(values)}


def _loaded(package: str) -> ModuleType:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise _missing(package) from None


def _missing(package: str) -> ColdError:
    return ColdError(f"{package} is not installed; pip install 'cold-continual[{package}]'")
