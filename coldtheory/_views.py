"""How a run shows itself: a few lines of text, or a picture."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ._plots import draw_run, draw_sweep
from .quadratics import Array
from .settings import Settings
from .tasks import Tasks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH = 80
_ROWS = 24  # lines of a table; of more settings, this many are shown, evenly spread


class Shown(Protocol):
    """The parts of a run that are shown; see `coldtheory.simulation.Run`."""

    @property
    def tasks(self) -> Tasks: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def diverged(self) -> np.ndarray: ...
    @property
    def Q(self) -> Array: ...
    @property
    def eta(self) -> Array: ...
    @property
    def alpha(self) -> Array: ...
    @property
    def grad_sq_before(self) -> Array: ...
    @property
    def grad_sq_after(self) -> Array: ...
    @property
    def avg_grad_sq_before(self) -> Array: ...
    @property
    def avg_grad_sq_after(self) -> Array: ...
    @property
    def avg_forgetting(self) -> Array: ...
    @property
    def max_forgetting(self) -> Array: ...
    @property
    def avg_Qbar(self) -> Array: ...


def summary(run: Shown) -> str:
    """One run in a few lines; for several settings a table, one line per setting with means over the streams."""
    if run.diverged.ndim:
        return _table(run)
    longest = run.Q.max(axis=0)
    lines = {
        "squared gradient": f"{run.avg_grad_sq_before:.3g} before a task, {run.avg_grad_sq_after:.3g} after it",
        "forgetting": f"{run.avg_forgetting:.3g} on average over pairs of tasks, {run.max_forgetting:.3g} at most",
        "queues": f"{run.avg_Qbar:.3g} on average, {longest.max():.3g} at most; {int((longest > 0).sum())} of "
        f"{run.tasks.T} ever fill",
    }
    if run.settings.solver == "gd":
        lines["steps"] = f"eta alpha_t reaches {_reach(run)[()]:.3g}; Theorem 3 asks for at most 1"
    if run.diverged:
        lines["diverged"] = "the models left every bounded set: take a smaller eta"
    return "\n".join([_title(run), *(f"{name:18}{words}" for name, words in lines.items())])


def plot(run: Shown, path: Path | str | None = None) -> Figure:
    """One run: queues and gradients over the tasks. Several: gradient, forgetting and queue over the settings."""
    name = "your tasks" if run.tasks.name == "own" else run.tasks.name
    if not run.diverged.ndim:
        title = f"{name}, V = {run.settings.V:g}"
        return draw_run(run.Q, run.grad_sq_before, run.grad_sq_after, title, path)
    axis, x = _axis(run.settings)
    order = np.argsort(x, kind="stable")
    quantities = {
        "squared gradient before a task": run.avg_grad_sq_before,
        "mean forgetting": run.avg_forgetting,
        "average queue": run.avg_Qbar,
    }
    streams = math.prod(run.tasks.streams)
    curves = {label: values.reshape(streams, -1)[:, order] for label, values in quantities.items()}
    return draw_sweep(x[order], curves, axis, name if streams == 1 else f"{name}, {streams} streams", path=path)


def _title(run: Shown) -> str:
    settings, tasks = run.settings, run.tasks
    words = [f"{tasks.T} tasks with {tasks.d} parameter{'s' * (tasks.d > 1)}"]
    words += [f"{math.prod(tasks.streams)} streams"] * bool(tasks.streams)
    varying = _varying(settings)
    words += [f"{name} = {values.flat[0]:g}" for name, values in _numbers(settings).items() if name not in varying]
    if settings.solver == "exact":
        words.append("the minimiser")
    elif isinstance(settings.eta, str):
        words.append("eta = auto")
    whole = ", ".join([*words, f"reference {settings.case}", f"weights {settings.weights}"])
    return textwrap.fill(whole, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _table(run: Shown) -> str:
    settings = run.settings
    count, streams = math.prod(settings.shape), math.prod(run.tasks.streams)
    columns = {name: values.reshape(-1) for name, values in _varying(settings).items()}
    quantities = {
        "gradient before": run.avg_grad_sq_before,
        "after": run.avg_grad_sq_after,
        "forgetting": run.avg_forgetting,
        "queue": run.avg_Qbar,
        "diverged": run.diverged,
    }
    columns |= {name: values.reshape(streams, count).mean(axis=0) for name, values in quantities.items()}
    if not run.diverged.any():
        del columns["diverged"]
    rows = np.unique(np.linspace(0, count - 1, min(count, _ROWS)).round().astype(int))
    widths = {name: max(len(name), 10) for name in columns}
    lines = ["  ".join(f"{name:>{widths[name]}}" for name in columns)]
    lines += ["  ".join(f"{values[i]:>{widths[name]}.4g}" for name, values in columns.items()) for i in rows]
    lines += [f"({count} settings, of which these are some)"] * (len(rows) < count)
    return "\n".join([_title(run), *lines])


def _numbers(settings: Settings) -> dict[str, np.ndarray]:
    """The settings that are numbers and have an effect."""
    found: dict[str, np.ndarray] = {"V": settings.V}
    if settings.solver == "gd":
        found |= {"eta_factor": settings.eta_factor} if isinstance(settings.eta, str) else {"eta": settings.eta}
        found["steps"] = settings.steps
    return {**found, "delta": settings.delta}


def _varying(settings: Settings) -> dict[str, np.ndarray]:
    return {name: values for name, values in _numbers(settings).items() if (values != values.flat[0]).any()}


def _axis(settings: Settings) -> tuple[str, Array]:
    """The name and the values of the setting along which a picture is drawn: the first that varies, or V."""
    varying = _varying(settings) or {"V": settings.V}
    name, values = next(iter(varying.items()))
    return name, np.asarray(values, dtype=np.float64).reshape(-1)


def _reach(run: Shown) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray((run.eta * run.alpha).max(axis=-1))
