"""`advise`: from tasks to a V, a step size, a verdict on every theorem, and what to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._plots import draw_sweep
from ..bounds import STATEMENTS, Statement, named_statement
from ..bounds.base import quiet
from ..ground.checks import number, numbers, whole
from ..ground.errors import ColdError
from ..paper import TOY
from ..settings import Reference, Rule, Solver, Weights
from ..simulation import Run
from ..tasks import Tasks, as_tasks
from .balance import Balance, avg_seen_loss, balance
from .isometry import in_few_dimensions
from .portrait import Conflict, Shared, TaskFacts, conflict_of, quantities_of, smallest_tolerance
from .premises import Context, largest_eta
from .setting import Setting
from .text import Page
from .verdicts import Remedies, Remedy, Ruling, Verdict, rulings, verdicts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Tell = Callable[[int, int], None]

ACT = 0.01  #: queues act if they change the gradient, or the loss on all tasks seen, by more than this share


@dataclass(frozen=True)
class Queues:
    """What the queues do at the chosen V, against a run in which they have no weight."""

    share: float  #: of the curvature of DPP_t that comes from past tasks, at most over the tasks
    gradient: float  #: relative change of the average squared gradient by the queues
    seen: float  #: relative change of the loss on all tasks seen
    forgetting: float  #: change of the mean forgetting by the queues, in losses
    filled: float  #: queues that ever fill, per stream
    longest: float  #: the largest value of any queue
    most: float  #: the largest relative change of the gradient over the sweep
    most_at: float  #: the V where that is
    with_sum: (
        float | None
    )  #: the relative change of the gradient with sum weights, at the chosen V; None if it diverges

    @property
    def act(self) -> Literal["act", "hardly act", "stay empty"]:
        """What the queues do in a word, by their largest value and by `ACT`."""
        if self.longest == 0:
            return "stay empty"
        return "act" if max(abs(self.gradient), abs(self.seen)) > ACT else "hardly act"


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """The answer. `print` shows it as a page; every number on it is here."""

    name: str
    tasks: Tasks
    setting: Setting
    given_V: float | None  #: the V that the user asked about; None: the advised one
    balance: Balance
    run: Run  #: at `V`
    delta_min: float  #: delta', the smallest tolerance for which the ideal problem has a solution
    quantities: Mapping[str, float]
    conflict: Conflict
    queues: Queues
    eta_theorem: float | None  #: the largest eta with eta alpha_t <= 1, at `V`
    eta_stable: float | None  #: the largest eta with eta alpha_t <= 2
    verdicts: tuple[Verdict, ...]  #: every form of every statement
    rulings: tuple[Ruling, ...]  #: the statements that concern such runs, a line each
    remedies: Mapping[str, Remedy | None]  #: by statement, of those that do not apply
    own: tuple[Verdict, ...] = ()  #: forms of a statement of the user's

    @property
    def V(self) -> float:
        """The V that is judged: the one that was asked about, or the advised one."""
        return float(self.run.V)

    @property
    def diverged(self) -> bool:
        """Whether a run at the V that is judged left every bounded set."""
        return bool(self.run.diverged.any())

    @cached_property
    def avg_forgetting(self) -> float:
        """Mean forgetting over all pairs of tasks and streams; values that may be rounding errors are 0."""
        found = float(np.mean(self.run.avg_forgetting))
        return 0.0 if abs(found) <= float(np.mean(TaskFacts(self.run, {}).hat_rounding)) else found

    @cached_property
    def avg_seen_loss(self) -> float:
        """The mean loss on all tasks seen at the V that is judged, over pairs k <= t and streams."""
        return float(np.mean(avg_seen_loss(self.run)))

    @cached_property
    def page(self) -> Page:
        """The answer in five lines, everything else below it, and the numbers for scripts."""
        from .page import page_of  # noqa: PLC0415  (a page is made of this class)

        return page_of(self)

    def __str__(self) -> str:
        return self.page.text()

    def plot(self, path: Path | str | None = None) -> Figure:
        """Gradient, loss on all tasks seen and queue against V, with the advised ones marked."""
        balance = self.balance
        run, use = balance.sweep, balance.allowed
        streams = len(run.diverged) if run.tasks.streams else 1
        quantities = {
            "squared gradient before a task": run.avg_grad_sq_before,
            "loss on all tasks seen": avg_seen_loss(run),
            "average queue": run.avg_Qbar,
        }
        curves = {label: values.reshape(streams, -1)[:, use] for label, values in quantities.items()}
        marks = {
            f"V = {balance.V:g}, for the next task": balance.V,
            f"V = {balance.V_seen:g}, for all tasks seen": balance.V_seen,
        }
        title = "your tasks" if self.name == "own" else self.name
        return draw_sweep(run.V[use], curves, "V", title, marks, path)

    def __repr__(self) -> str:
        return f"<Advice on {self.name}: V = {self.V:g}; print it for the page>"


def advise(
    tasks: Tasks | ArrayLike,
    *,
    V: float | None = None,
    eta: float | Literal["auto"] = TOY.eta,
    delta: float = TOY.delta,
    steps: int = TOY.steps,
    reference: Reference | Rule = "previous",
    weights: Weights = "mean",
    solver: Solver = "gd",
    w0: ArrayLike | None = None,
    statement: str | Statement | None = None,
    remedies: bool = True,
    name: str | None = None,
    tell: Tell = lambda done, total: None,
) -> Advice:
    """For these tasks: which V and eta, whether queues act, which theorem holds, and what to change.

    tasks     : `Tasks`, or an array of optima (T, d); for several streams (S, T, d) means are taken
    V         : a V to judge; without it the advised one
    eta, delta, steps, reference, weights, solver, w0 : as in `simulate`
    statement : a theorem of your own, FILE.py (which is run) or a name, judged like the others
    remedies  : whether to look for settings with which the other theorems apply
    name      : what the tasks are called on the page
    tell      : is called with the number of steps done and the number of all steps

    >>> import numpy as np
    >>> advice = advise(2.0 + 0.3 * np.random.default_rng(0).normal(size=(20, 3)), eta=0.01)
    >>> print(advice.page.answer_lines()[0])
    V           43.8 for the next task (closed form), 19.7 for all tasks seen
    >>> advice.V, advice.queues.act
    (43.8, 'hardly act')
    """
    tasks = as_tasks(tasks)
    if len(tasks.streams) > 1:
        raise ColdError(f"tasks must have optima (T, d) or (streams, T, d), got {tasks.phi.optima.shape}")
    setting = Setting(
        eta=eta if isinstance(eta, str) else number("eta", eta, above=0),
        delta=number("delta", delta, least=0),
        steps=whole("steps", steps, least=1),
        reference=reference,
        weights=weights,
        solver=solver,
        w0=None if w0 is None else numbers("w0", w0),
    )
    given = None if V is None else number("V", V, above=0)
    told = None if statement is None else statement if isinstance(statement, Statement) else named_statement(statement)
    setting.run(tasks, 1.0 if given is None else given)  # any error in the settings is raised here
    with np.errstate(all="ignore"):  # the numbers of a run that diverges need no warning
        return _advice(tasks, setting, given, told, remedies, tasks.name if name is None else name, tell)


def _advice(
    whole: Tasks, asked: Setting, given: float | None, told: Statement | None, remedies: bool, name: str, tell: Tell
) -> Advice:
    tasks, setting = in_few_dimensions(whole, asked)
    tell(0, 4)
    chosen = balance(tasks, setting)
    tell(1, 4)
    shared: Shared = {}
    advised = chosen.V_seen if chosen.at_end == "low" else chosen.V  # with the smallest V nothing would be learnt
    facts = TaskFacts(setting.run(tasks, advised if given is None else given), shared)
    delta_min = smallest_tolerance(tasks)
    found = verdicts(facts, setting, delta_min, STATEMENTS.values())
    ruled = rulings(found, setting, tasks)
    missing = [one for one in ruled if one.outcome == "not applicable"] if remedies else []
    looking, context = (
        Remedies(tasks, float(facts.run.V), setting, delta_min, shared),
        Context(setting, facts, delta_min),
    )
    mended: dict[str, Remedy | None] = {}
    for one in missing:
        tell(2 + len(mended), 4 + len(missing))
        mended[one.statement] = looking.find(one.main, context)
    return Advice(
        name=name,
        tasks=whole,
        setting=asked,
        given_V=given,
        balance=chosen,
        run=facts.run if tasks is whole else asked.run(whole, facts.run.V),
        delta_min=delta_min,
        quantities=quantities_of(facts, tasks, delta_min),
        conflict=conflict_of(facts.run),
        queues=_queues(facts, setting, tasks, chosen),
        eta_theorem=largest_eta(facts, 1.0) if setting.fixed_step else None,
        eta_stable=largest_eta(facts, 2.0) if setting.fixed_step else None,
        verdicts=tuple(found),
        rulings=tuple(ruled),
        remedies=mended,
        own=() if told is None else tuple(verdicts(facts, setting, delta_min, [told])),
    )


def _queues(facts: TaskFacts, setting: Setting, tasks: Tasks, chosen: Balance) -> Queues:
    run, off = facts.run, replace(setting, weights="none")
    idle, summed = off.run(tasks, run.V), replace(setting, weights="sum").run(tasks, run.V)
    swept, idle_swept = chosen.sweep, off.run(tasks, chosen.sweep.V)
    with quiet():
        past = facts.l[..., None] * facts.gain * facts.Qbar
        effects = np.where(chosen.allowed, np.abs(_effect(swept, idle_swept)), 0.0)
        longest = run.Q.max(axis=-2)
        return Queues(
            share=float((past / facts.alpha).max()),
            gradient=float(_effect(run, idle)),
            seen=float(np.mean(avg_seen_loss(run)) / np.mean(avg_seen_loss(idle)) - 1.0) if longest.max() > 0 else 0.0,
            forgetting=float(np.mean(run.avg_forgetting) - np.mean(idle.avg_forgetting)),
            filled=float((longest > 0).sum(axis=-1).mean()),
            longest=float(longest.max()),
            most=float(effects.max()),
            most_at=float(swept.V[effects.argmax()]),
            with_sum=None if summed.diverged.any() else float(_effect(summed, idle)),
        )


def _effect(run: Run, idle: Run) -> np.ndarray:
    """The relative change of the gradient, mean over the streams, for each setting."""
    ours, theirs = (one.avg_grad_sq_before for one in (run, idle))
    if run.tasks.streams:
        ours, theirs = ours.mean(axis=0), theirs.mean(axis=0)
    return np.where(theirs > 0, ours / np.where(theirs > 0, theirs, 1.0) - 1.0, 0.0)
