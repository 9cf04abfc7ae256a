"""Successive halving on validation data: `prepare` says what is to be done, `tune` does it, and a second call goes on.

What holds: proposals depend on the seed and on the accuracies of earlier rounds alone, and trials are compared when all
trials of a round have reached the same point. A run on a CPU with a given number of threads (1 unless told) repeats bit
by bit. So the chosen settings do not depend on the number of workers, nor on the engine, nor on how often a search was
killed, as long as all workers have the same kind of processor and the same versions; elsewhere runs agree up to
rounding, which may change the order of trials that are nearly equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import config_key

from ..config import PLACE, RunConfig
from ..presets import build_config
from ..runs import Result, find_runs, identified, only_writer, read_result
from ..tables.terms import Settings, layered, on_equal_terms, tuning_defaults
from .command import tune_command
from .plan import Round, best, planned
from .space import Dimension, chosen_settings, dimensions

if TYPE_CHECKING:
    from ..grid import Engine, Event
    from .journal import Journal, Trial

JOURNAL = "journal.log"
#: Of a trial, not of what it is for: a run with the chosen settings has its own.
_OF_TUNING = ("validation", "evaluate_on", "seed")


@dataclass(frozen=True)
class Search:
    """What is to be tuned, and with what budget.

    base    : settings of every trial, as flags of `cold run`
    space   : what is searched
    budget  : in whole runs
    command : what a user types for it
    """

    base: Settings
    space: tuple[Dimension, ...]
    budget: int
    command: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        _ = self.rounds  # an impossible budget or setting is reported before any work is done

    @cached_property
    def start(self) -> RunConfig:
        """The run of the first trial."""
        return self.config({one.name: one.start for one in self.space})

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds that the budget pays for."""
        assert self.start.tasks is not None
        return planned(self.budget, self.start.tasks)

    @property
    def cost(self) -> int:
        """Tasks that are learned in all."""
        return sum(one.cost for one in self.rounds)

    @property
    def seed(self) -> int:
        """The seed of the trials."""
        return self.start.seed

    @cached_property
    def name(self) -> str:
        """Readable, and unique to what is searched and how."""
        space = [[one.name, one.low, one.high, one.start] for one in self.space]
        key = config_key({"start": self.start.run_id, "budget": self.budget, "space": space})
        return f"{self.start.run_id.rpartition('-')[0]}-b{self.budget}-{key[:8]}"

    def config(self, values: Mapping[str, float]) -> RunConfig:
        """The run of a trial."""
        return identified(build_config(None, layered(self.base, chosen_settings(self.space, values))))

    def settings(self, values: Mapping[str, float]) -> Settings:
        """The settings of a run with these values, without those of tuning and without the place."""
        told = layered(self.base, chosen_settings(self.space, values))
        by_name = {name: getattr(self.start, name) for name in ("dataset", "method", "model")}  # never a path
        kept = {name: value for name, value in told.items() if name not in (*_OF_TUNING, *PLACE)}
        return {**kept, **{name: value for name, value in by_name.items() if value is not None}}


@dataclass(frozen=True)
class Step:
    """One trial more has come as far as it was to come: `done` of `cost` tasks are learned, `new` of them now."""

    trial: Trial
    tasks: int
    done: int
    cost: int
    new: int


@dataclass(frozen=True)
class Tuned:
    """A search that is done. `runs` are the finished ones by the numbers of their trials."""

    search: Search
    trials: tuple[Trial, ...]
    chosen: Trial
    runs: Mapping[int, Result]
    folder: Path
    computed: bool  #: whether there was anything left to do

    @property
    def settings(self) -> Settings:
        """The chosen settings, as flags of `cold run`."""
        return self.search.settings(self.chosen.values)

    @property
    def at_an_end(self) -> list[Dimension]:
        """Where a better value may lie beyond the range."""
        return [one for one in self.search.space if one.at_an_end(self.chosen.values[one.name])]

    @property
    def spent(self) -> float:
        """In whole runs, of those that came as far as they were to come."""
        return sum(trial.tasks for trial in self.trials) / (self.search.start.tasks or 1)


def prepare(flags: Settings, budget: int, ranges: Mapping[str, tuple[float, float]] | None = None) -> Search:
    """A search from flags of `cold run`, among them dataset and method.

    Beneath the flags lie the settings of the tables on equal terms (delta = 0 for COLD) and those of tuning: a tenth of
    the training data for validation, seed 100. Runs are made with one thread unless told otherwise.
    """
    method = build_config(None, flags).method
    equal, tuning = on_equal_terms(method, flags)
    base = layered({"threads": 1}, tuning_defaults(), equal, flags, {"evaluate_on": "validation"})
    ends = ranges or {}
    searched = (f"--search {name}={low:g}:{high:g}" for name, (low, high) in ends.items())
    command = " ".join([tune_command(flags), f"--budget {budget}", *searched])
    return Search(base, dimensions(base, tuning, ends), budget, command)


def tune(
    search: Search,
    out: Path,
    *,
    engine: Engine | None = None,
    data_root: Path | None = None,
    retry_failed: bool = False,
    on_step: Callable[[Step], None] | None = None,
) -> Tuned:
    """Do what is left of a search; its journal and its runs are in <out>/<search.name>.

    Settings whose run fails, for instance because its loss is not a number, rank last. If all runs of a round fail at
    the first look, that is an error with the first reason.

    retry_failed : also runs that failed when the search was stopped by such an error
    """
    from ..grid import Engine  # noqa: PLC0415  (joblib and more)
    from .journal import Journal  # noqa: PLC0415  (Optuna, an extra)

    folder = (out / search.name).absolute()
    with only_writer(folder):
        journal = Journal(folder / JOURNAL, search.name, search.space)
        work = _Work(search, journal, folder, engine or Engine(), data_root, retry_failed, on_step)
        for one in search.rounds:
            work.round(one)
        trials = journal.trials()
        finished = {trial.number: trial.acc or 0.0 for trial in trials if trial.state == "finished"}
        if not finished:
            raise ColdError(f"no settings came to the last task: {trials[0].error}; give other ranges with --search")
        runs = {number: read_result(work.place(trials[number])) for number in finished}
    return Tuned(search, tuple(trials), trials[best(finished, 1)[0]], runs, folder, work.computed)


@dataclass
class _Work:
    """A search under way."""

    search: Search
    journal: Journal
    folder: Path
    engine: Engine
    data_root: Path | None
    retry_failed: bool
    on_step: Callable[[Step], None] | None
    computed: bool = False
    done: int = 0  #: tasks learned

    def round(self, one: Round) -> None:
        """Propose the trials of a round, and run each as far as it comes."""
        self._propose(one)
        before = 0
        for rung, following in zip_longest(one.rungs, one.rungs[1:]):
            self._learn(one, rung.tasks, before, last=following is None)
            self._decide(one, rung.tasks, None if following is None else following.trials)
            before = rung.tasks

    def place(self, trial: Trial) -> Path:
        """The folder of a trial's run."""
        return self.folder / self.search.config(trial.values).run_id

    def _of(self, one: Round) -> list[Trial]:
        return [trial for trial in self.journal.trials() if trial.number in one.numbers]

    def _propose(self, one: Round) -> None:
        from .journal import first_proposals, proposal  # noqa: PLC0415

        search, there = self.search, len(self.journal.trials())
        if one.first == 0:
            for values in first_proposals(search.space, len(one.numbers), search.seed)[there:]:
                self.journal.add(values)
            return
        for _ in range(there, one.numbers.stop):
            self.journal.add(proposal(self.journal.trials(), search.space, search.seed))

    def _learn(self, one: Round, tasks: int, before: int, *, last: bool) -> None:
        """Bring every trial that goes on to so many tasks; each accuracy is stored as it is known."""
        from ..grid import failures, fill  # noqa: PLC0415

        going_on = [trial for trial in self._of(one) if trial.state == "running" or tasks in trial.accuracies]
        waiting: dict[str, list[Trial]] = {}
        for trial in going_on:
            if tasks in trial.accuracies:
                self._tell(trial, tasks, tasks - before, new=False)
            else:
                waiting.setdefault(self.search.config(trial.values).run_id, []).append(trial)
        if not waiting:
            return
        self.computed = True

        def settled(event: Event) -> None:
            if event.state in ("failed", "busy"):
                return
            acc = event.acc
            if acc is None:
                acc = read_result(self.folder / event.run_id).over_tasks("acc")[tasks - 1]
            for trial in waiting[event.run_id]:
                self.journal.report(trial.number, tasks, acc)
                self._tell(self.journal.trials()[trial.number], tasks, tasks - before, new=True)

        report = fill(
            [self.search.config(trials[0].values) for trials in waiting.values()], self.folder, engine=self.engine,
            data_root=self.data_root, retry_failed=self.retry_failed, weights=False,
            until=None if last else tasks, on_event=settled,
        )  # fmt: skip
        if report.busy:
            raise ColdError(f"another program runs {report.busy[0]}; wait for it, the same command then goes on")
        lasting = failures(self.folder)
        for run_id, line in report.failed.items():
            if run_id not in lasting:  # such as a full disk, which is not due to the settings
                raise ColdError(f"{run_id}: {line}; the same command goes on")
        if before == 0 and report.failed and not any(tasks in trial.accuracies for trial in self._of(one)):
            line = next(iter(report.failed.values()))
            raise ColdError(f"every run failed: {line}; when that is fixed, go on with --retry-failed")
        for run_id, line in report.failed.items():
            for trial in waiting[run_id]:
                self.journal.fail(trial.number, line)
                self._clear(trial)

    def _decide(self, one: Round, tasks: int, count: int | None) -> None:
        """Which trials go on; after the last task, none."""
        reached = {trial.number: trial.accuracies[tasks] for trial in self._of(one) if tasks in trial.accuracies}
        kept = best(reached, len(reached) if count is None else count)
        for trial in self._of(one):
            if trial.state != "running":
                continue
            if count is None:
                self.journal.finish(trial.number, reached[trial.number])
            elif trial.number not in kept:
                self.journal.stop(trial.number)
                self._clear(trial)

    def _clear(self, trial: Trial) -> None:
        """A trial that does not go on needs no checkpoint."""
        from ..checkpoint import remove_checkpoints  # noqa: PLC0415  (torch)

        place = self.place(trial)
        if find_runs(place):  # finished by an earlier search in this folder
            return
        remove_checkpoints(place)
        with suppress(OSError):  # what failed has its error there
            place.rmdir()

    def _tell(self, trial: Trial, tasks: int, cost: int, *, new: bool) -> None:
        self.done += cost
        if self.on_step is not None:
            self.on_step(Step(trial, tasks, self.done, self.search.cost, cost if new else 0))
