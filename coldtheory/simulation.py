"""What COLD does: J gradient steps per task (or the exact minimiser), and one queue per past task.

Conventions (the paper mixes two; these are used everywhere here):

    x_0            initial model;  x_t, t = 1..T, the model after task t
    Q_k[t] = 0 for t <= k;  Q_k[t] = max(Q_k[t-1] + d_k[t], 0) for t > k          (eq. queue_update)
    d_k[t] = hatPhi_k(x_t) - hatPhi_k(ref_{t,k}) - delta
    ref_{t,k} = x_{t-1} ("previous", Case 1), the best of x_1..x_{t-1} on hatPhi_k ("best", Case 2), or x_k, the model
                at the end of task k ("stored", Case 3); a user's own rule gives the number hatPhi_k(ref_{t,k}) itself
    F_k[t] = hatPhi_k(x_t) - hatPhi_k(x_k), k < t: the forgetting of task k, whatever the reference
    DPP_t(w) = V_t Phi_t(w) + sum_{k<t} beta_k (hatPhi_k(w) - hatPhi_k(ref) - delta)
    beta_k = Q_k[t-1] / (t-1) ("mean", the appendix), Q_k[t-1] ("sum", the main text), 0 ("none")
    V_t = V, unless a schedule makes it move
    x_t = J gradient steps of size eta on DPP_t from x_{t-1} (eq. batchCOLD), or its minimiser

A controller other than the queue (see `coldtheory.controllers`) has its own rule for Q_k and for the weight that takes
the place of Q_k[t-1] in beta_k.

Arrays over states have T+1 entries (t = 0..T), arrays over tasks T entries (t = 1..T).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._batch import forgetting_after, run_batch, shortfalls
from ._views import plot, summary
from .controllers import Controller, Queue
from .geometry import Ball
from .ground.checks import numbers
from .ground.errors import ColdError, DivergenceWarning
from .ground.limits import demand_memory
from .paper import TOY
from .quadratics import Array
from .settings import Known, Reference, Rule, Settings, Solver, Weights, schedule_factors
from .tasks import Tasks, as_tasks

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Run:
    """What happened. Leading axes `...` are the tasks' streams, then the settings' shape.

    >>> run = simulate([[0.0], [1.0], [3.0]], V=1.0, delta=0.0, solver="exact")
    >>> run.w[:, 0]                                     # x_0 .. x_3
    array([0. , 0. , 1. , 2.4])
    >>> run.Q[2, 0]                                     # Q_1[2] = 1/2 (x_2 - a_1)^2 - 1/2 (x_1 - a_1)^2
    np.float64(0.5)
    """

    tasks: Tasks
    settings: Settings
    w: Array  #: x_0 .. x_T, (..., T+1, d)
    grad_sq_before: Array  #: |grad Phi_t(x_{t-1})|^2, (..., T), the quantity of `thm:gradient_norm_bound`
    grad_sq_after: Array  #: |grad Phi_t(x_t)|^2, (..., T)
    Qbar: Array  #: Qbar[t-1] = 1/(t-1) sum_{k<t} Q_k[t-1], (..., T), the mean weight of past tasks; 0 at t = 1
    Delta: Array  #: Delta_t = 1/(2(t-1)) sum_{k<t} d_k[t]^2, (..., T); 0 at t = 1
    alpha: Array  #: alpha_t = V_t L + l sum_k beta_k, (..., T), smoothness of DPP_t
    lyapunov: Array  #: Lyap[t] = 1/(2(t-1)) sum_{k<t} Q_k[t]^2, (..., T+1)
    cross: Array  #: S_t = sum_{k<t} Q_k[t-1] d_k[t], (..., T)
    diverged: np.ndarray  #: whether the run left every bounded set, (...)
    factor: Array | None = field(default=None, kw_only=True)  #: V_t / V, (..., T), or None where V is constant
    reference_loss: Array | None = field(default=None, kw_only=True)
    """What a user's own reference rule answered: hatPhi_k(ref_{t,k}), 0 for k >= t, (..., T, T); else None."""

    @property
    def V(self) -> Array:
        """The weight V of each setting, in the shape of the settings."""
        return self.settings.V

    @property
    def delta(self) -> Array:
        """The tolerance of each setting, in the shape of the settings."""
        return self.settings.delta

    @property
    def V_t(self) -> Array:
        """The weight of each task's loss, (..., T)."""
        factor = 1.0 if self.factor is None else self.factor
        return np.broadcast_to(self.settings.V[..., None] * factor, self.alpha.shape)

    @property
    def eta(self) -> Array:
        """The step size of each task, (..., T): the given eta, or eta_factor / alpha_t."""
        if isinstance(self.settings.eta, str):
            return np.asarray(self.settings.eta_factor[..., None] / self.alpha)
        return np.broadcast_to(self.settings.eta[..., None], self.alpha.shape)

    @property
    def drift(self) -> Array:
        """Lyap[t] - Lyap[t-1], (..., T)."""
        return np.diff(self.lyapunov, axis=-1)

    @property
    def avg_grad_sq_before(self) -> Array:
        """(1/T) sum_t |grad Phi_t(x_{t-1})|^2, (...)."""
        return np.asarray(self.grad_sq_before.mean(axis=-1))

    @property
    def avg_grad_sq_after(self) -> Array:
        """(1/T) sum_t |grad Phi_t(x_t)|^2, (...)."""
        return np.asarray(self.grad_sq_after.mean(axis=-1))

    @property
    def avg_grad_before(self) -> Array:
        """The old name of `avg_grad_sq_before`, until 0.3.0."""
        return self._renamed("avg_grad_before", "avg_grad_sq_before")

    @property
    def avg_grad_after(self) -> Array:
        """The old name of `avg_grad_sq_after`, until 0.3.0."""
        return self._renamed("avg_grad_after", "avg_grad_sq_after")

    def _renamed(self, old: str, new: str) -> Array:
        warnings.warn(f"Run.{old} is called {new} now; the old name goes with 0.3.0", DeprecationWarning, stacklevel=3)
        found: Array = getattr(self, new)
        return found

    @property
    def avg_Qbar(self) -> Array:
        """(1/T) sum_{t=1}^T Qbar[t-1], (...)."""
        return np.asarray(self.Qbar.mean(axis=-1))

    @property
    def Delta_bar(self) -> Array:
        """(1/T) sum_t Delta_t, (...)."""
        return np.asarray(self.Delta.mean(axis=-1))

    @cached_property
    def Q(self) -> Array:
        """Every queue, Q[..., t, k-1] = Q_k[t], (..., T+1, T): simulated again, with history, when asked.

        Q_k[t] = 0 for t <= k. A controller other than the queue has the first part of its state here.
        """
        return self._history["Q"]

    @cached_property
    def weight(self) -> Array:
        """weight[..., t-1, k-1]: what beta_k of DPP_t is made of, before the step on task t, (..., T, T).

        For the queue this is Q_k[t-1].
        """
        return self.Q[..., :-1, :] if isinstance(self.settings.controller, Queue) else self._history["weight"]

    @cached_property
    def _history(self) -> dict[str, np.ndarray]:
        again = replace(self.settings, V_schedule=self.factor)  # a function is asked once, its answers are known
        whole = run_batch(self.tasks, again, self.w[..., 0, :], history=True, answers=self.reference_loss)
        return {name: whole[name] for name in ("Q", "weight")}

    @cached_property
    def eps(self) -> Array:
        """eps_t = DPP_t(x_t) - min DPP_t, how far x_t is from minimising DPP_t over R^d, (..., T).

        NaN where the weights change with every iterate, as the objective is then not quadratic.
        """
        if self.settings.controller.looks == "always":
            return np.full(self.alpha.shape, np.nan)
        return shortfalls(self.tasks, self.settings, self.w, self.weight, self.V_t)

    @cached_property
    def forgetting(self) -> Array:
        """F[..., t-1, k-1] = F_k[t] = hatPhi_k(x_t) - hatPhi_k(x_k) for k < t, else 0: (..., T, T)."""
        F = np.zeros((*self.alpha.shape, self.tasks.T))
        for t, lost in enumerate(forgetting_after(self.tasks, self.w)):
            F[..., t, :t] = lost
        return F

    @property
    def avg_forgetting(self) -> Array:
        """The mean of F_k[t] over all pairs k < t, (...); 0 if there is only one task."""
        return self._forgetting_summary[0]

    @property
    def max_forgetting(self) -> Array:
        """The largest F_k[t] over all pairs k < t, (...); 0 if there is only one task."""
        return self._forgetting_summary[1]

    @cached_property
    def _forgetting_summary(self) -> tuple[Array, Array]:
        """Mean and largest, without an array over all pairs."""
        T, lead = self.tasks.T, self.alpha.shape[:-1]
        total, largest = np.zeros(lead), np.full(lead, -np.inf if T > 1 else 0.0)
        for lost in forgetting_after(self.tasks, self.w):
            total = total + lost.sum(axis=-1)
            largest = np.maximum(largest, lost.max(axis=-1, initial=-np.inf))
        return np.asarray(total / max(T * (T - 1) / 2, 1.0)), largest

    def summary(self) -> str:
        """What happened, in a few lines; of several settings a table with means over the streams.

        >>> print(simulate([[0.0], [1.0], [3.0]], V=1.0, delta=0.0, solver="exact").summary())
        3 tasks with 1 parameter, V = 1, delta = 0, the minimiser, reference previous,
          weights mean
        squared gradient  1.67 before a task, 0.12 after it
        forgetting        1.45 on average over pairs of tasks, 2.88 at most
        queues            0.0833 on average, 2.88 at most; 2 of 3 ever fill
        """
        return summary(self)

    def plot(self, path: Path | str | None = None) -> Figure:
        """A picture: of one run its queues and gradients over the tasks; of several settings the gradient, forgetting
        and queue over the one that varies. With a path that ends in .png, .pdf or .svg it is kept there.
        """
        return plot(self, path)


def simulate(
    tasks: Tasks | ArrayLike,
    *,
    V: ArrayLike,
    eta: ArrayLike | Literal["auto"] = TOY.eta,
    delta: ArrayLike = TOY.delta,
    steps: ArrayLike = TOY.steps,
    reference: Reference | Rule = "previous",
    weights: Weights = "mean",
    w0: ArrayLike | None = None,
    solver: Solver = "gd",
    window: int | None = None,
    noise: float = 0.0,
    noise_seed: int | Sequence[int] = 0,
    ball: Ball | None = None,
    eta_factor: ArrayLike | None = None,
    V_schedule: ArrayLike | Callable[[Known], ArrayLike] | str | None = None,
    controller: Controller | str | None = None,
) -> Run:
    """Run COLD (`reference="previous"`), COLD-ORACLE (`"best"`), Case 3 (`"stored"`) or a rule of your own on quadratic
    tasks.

    tasks      : `Tasks`, or an array of optima (T, d) or (S, T, d)
    V, eta, delta, steps : numbers, or arrays that broadcast to one shape; each entry is one setting.
                 eta="auto" takes eta_t = eta_factor / alpha_t, and eta_factor is 1/2 unless given
    reference  : what past tasks are compared with. A function of `coldtheory.settings.Past` returns the losses
                 hatPhi_k(ref_{t,k}) of the past tasks, for all runs at once; `coldtheory.per_run` makes one from a
                 function of a single run. Theorems about Case 1, 2 or 3 do not apply to such runs
    weights    : "mean" beta_k = Q_k/(t-1), "sum" beta_k = Q_k, "none" the queue only watches
    w0         : x_0, (d,) or one per stream (S, d); None is the origin
    solver     : "gd", or "exact" for the minimiser of DPP_t
    window     : with "best", only the last `window` models are candidates
    noise      : s.d. of Gaussian noise on each coordinate of grad Phi_t at every step (a mini-batch);
                 `noise_seed` keys it (or one key per stream), and all settings see the same noise
    ball       : project every step on this ball (the theorems assume there is none)
    V_schedule : V_t / V: T factors, an array that broadcasts to (streams..., settings..., T), a text such as
                 "power:0.33" for t^0.33 (`coldtheory.settings.schedule_factors`), or a function of what is known
                 before task t (`coldtheory.settings.Known`); None keeps V constant
    controller : how the weight of a past task follows from its constraint: a `coldtheory.controllers.Controller`, or
                 its text such as "leaky:a=0.1"; None is the paper's queue

    >>> import numpy as np
    >>> from coldtheory import make_tasks
    >>> run = simulate(make_tasks("high", seeds=range(4)), V=np.array([50.0, 200.0]))
    >>> run.w.shape, run.avg_grad_sq_before.shape
    ((4, 2, 151, 25), (4, 2))
    """
    tasks = as_tasks(tasks)
    settings = Settings.of(
        V=V, eta=eta, delta=delta, steps=steps, reference=reference, weights=weights, solver=solver,
        window=window, noise=noise, noise_seed=noise_seed, ball=ball, eta_factor=eta_factor, controller=controller,
        V_schedule=schedule_factors(V_schedule, tasks.T) if isinstance(V_schedule, str) else V_schedule,
    )  # fmt: skip
    _check_fit(tasks, settings)
    run = _run(tasks, settings, _start(tasks, w0, settings))
    if run.diverged.any():
        warnings.warn(divergence_message(run), DivergenceWarning, stacklevel=2)
    return run


def largest_stable_eta(run: Run, index: tuple[int, ...] = (), *, most: float = 2.0) -> float:
    """The largest eta with eta * alpha_t <= `most` at every task, for one entry of `run` (to 0.1 %): 2 is the limit of
    descent, 1 what Theorem 3 asks for.

    alpha_t holds the queues, which depend on eta: found by simulating a shrinking grid below most/(V L).
    """
    lead = len(run.tasks.streams)
    tasks = run.tasks[index[:lead]] if lead else run.tasks
    seeds = run.settings.noise_seed
    seed = seeds if isinstance(seeds, int) else seeds[index[0]]
    pick = {name: getattr(run.settings, name)[index[lead:]] for name in ("V", "delta", "steps")}
    schedule = run.settings.V_schedule
    if isinstance(schedule, np.ndarray) and run.factor is not None:
        schedule = run.factor[index]
    limit = most / (run.V_t[index].max() * tasks.phi.smoothness)
    low, high = 1e-6, 1.0
    for _ in range(6):
        grid = np.geomspace(low, high, 16)
        tried: dict[str, Any] = {name: np.full(grid.shape, value) for name, value in pick.items()}
        settings = replace(run.settings, eta=grid * limit, V_schedule=schedule, noise_seed=seed, **tried)
        probe = _run(tasks, settings, run.w[(*index, 0)])
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged probe is far beyond every number
            stable = (probe.eta * probe.alpha <= most).all(axis=-1)
        if not stable.any():
            return 0.0
        best = int(np.flatnonzero(stable)[-1])
        low, high = grid[best], grid[min(best + 1, len(grid) - 1)]
    return float(low * limit)


def divergence_message(run: Run) -> str:
    """One line on the runs that diverged: how many, the first of them, and the remedy."""
    first = tuple(int(i) for i in np.argwhere(run.diverged)[0])
    at = first[len(run.tasks.streams) :]
    which = f"{int(run.diverged.sum())} of {run.diverged.size} runs diverged, the first at V={run.V[at]:g} with "
    if isinstance(run.settings.eta, str):
        return which + f"eta_factor={run.settings.eta_factor[at]:g}; take a smaller one"
    which += f"eta={run.eta[first][0]:.3g}; "
    if run.settings.controller.looks == "always":
        return which + "take a smaller eta"
    return which + f"the largest stable eta there is {largest_stable_eta(run, first):.3g}"


def _run(tasks: Tasks, settings: Settings, start: Array) -> Run:
    measured: dict[str, Any] = run_batch(tasks, settings, start)
    lyapunov = measured["lyapunov"]
    return Run(
        tasks=tasks,
        settings=settings,
        w=measured["w"],
        grad_sq_before=measured["grad_sq_before"],
        grad_sq_after=measured["grad_sq_after"],
        Qbar=measured["Qbar"],
        Delta=measured["Delta"],
        alpha=measured["alpha"],
        lyapunov=np.concatenate([np.zeros_like(lyapunov[..., :1]), lyapunov], axis=-1),
        cross=measured["cross"],
        diverged=measured["diverged"],
        factor=measured.get("factor"),
        reference_loss=measured.get("reference_loss"),
    )


def _check_fit(tasks: Tasks, settings: Settings) -> None:
    """Whether settings go with these tasks, and whether a run of them fits in memory."""
    ball, keys = settings.ball, settings.noise_seed
    if len(tasks.streams) > 1:
        raise ColdError(f"tasks must have optima (T, d) or (streams, T, d), got {tasks.phi.optima.shape}")
    if ball is not None and not _broadcasts(ball.center.shape, (math.prod(tasks.streams), 1, tasks.d)):
        raise ColdError(f"the ball's center must have {tasks.d} coordinates, got shape {ball.center.shape}")
    if not isinstance(keys, int) and (len(keys),) != tasks.streams:
        raise ColdError(f"noise_seed must be one number, or one per stream: {len(keys)} for streams {tasks.streams}")
    runs, T = math.prod((*tasks.streams, *settings.shape)), tasks.T
    width = tasks.d + 10 + (settings.window or 0 if settings.reference == "best" else 0)  # model, measures, candidates
    width += 3 * T if callable(settings.reference) else 0  # losses of all models, and the answers
    draws = math.prod(tasks.streams) * T * tasks.d * int(settings.steps.max()) if settings.noise > 0 else 0
    demand_memory(8 * (runs * T * width + draws), f"{runs} runs of {T} tasks with d = {tasks.d}")


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to and shape[-1] == to[-1]
    except ValueError:
        return False


def _start(tasks: Tasks, w0: ArrayLike | None, settings: Settings) -> Array:
    """x_0, with axes for the settings between streams and coordinates."""
    if w0 is None:
        return np.zeros(tasks.d)
    given = numbers("w0", w0)
    try:
        start = np.broadcast_to(given, (*tasks.streams, tasks.d))
    except ValueError:
        allowed = " or ".join(str(shape) for shape in dict.fromkeys([(tasks.d,), (*tasks.streams, tasks.d)]))
        raise ColdError(f"w0 must be numbers of shape {allowed}") from None
    return np.asarray(start.reshape(*tasks.streams, *(1,) * len(settings.shape), tasks.d))
