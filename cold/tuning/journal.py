"""The trials of a search, by Optuna: proposed by its TPE sampler, kept in its journal, a file of JSON lines.

Every proposal, accuracy and end of a trial is on disk as soon as it is known, and `optuna-dashboard FILE` can show it.
Which trials go on is decided by `cold.tuning.plan` and not by one of Optuna's pruners: those decide by what has arrived
so far, and their outcome would depend on which worker was first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from coldtheory.ground.errors import ColdError
from coldtheory.ground.reading import read_bytes

from .space import Dimension

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial
    from optuna.trial import Trial as LiveTrial

State = Literal["running", "stopped", "finished", "failed"]
#: Optuna's names for them.
_STATES: dict[str, State] = {"RUNNING": "running", "PRUNED": "stopped", "COMPLETE": "finished", "FAIL": "failed"}


def load_optuna() -> Any:
    """Optuna, which is an extra; without it, one line says how to get it."""
    try:
        import optuna  # noqa: PLC0415
    except ImportError:
        raise ColdError("cold tune needs Optuna: pip install 'cold-continual[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


@dataclass(frozen=True)
class Trial:
    """Settings that were tried: what they reached after how many tasks, and what became of them."""

    number: int
    values: Mapping[str, float]
    accuracies: Mapping[int, float] = field(default_factory=dict)  #: on validation data, by the number of tasks learned
    state: State = "running"
    error: str = ""

    @property
    def tasks(self) -> int:
        """Tasks learned; 0 if none was looked at."""
        return max(self.accuracies, default=0)

    @property
    def acc(self) -> float | None:
        """The accuracy after as many tasks as were learned."""
        return self.accuracies.get(self.tasks)


class Journal:
    """The trials of one search on disk. Only one program at a time may write it."""

    def __init__(self, path: Path, name: str, space: Sequence[Dimension]) -> None:
        optuna = load_optuna()
        self._optuna, self._distributions = optuna, _distributions(space)
        _mend(path)
        with _damaged(path):
            backend = optuna.storages.journal.JournalFileBackend(str(path))
            self._study: Study = optuna.create_study(
                storage=optuna.storages.JournalStorage(backend), study_name=name, direction="maximize",
                load_if_exists=True,
            )  # fmt: skip
            for trial in self.trials():
                if trial.values.keys() != self._distributions.keys():
                    raise ValueError("a trial of another search")

    def trials(self) -> list[Trial]:
        """All trials, by their numbers."""
        return [
            Trial(
                one.number, one.params, dict(one.intermediate_values), _STATES[one.state.name],
                str(one.user_attrs.get("error", "")),
            )
            for one in self._study.get_trials(deepcopy=False)
        ]  # fmt: skip

    def add(self, values: Mapping[str, float]) -> None:
        """A trial that is to be run."""
        self._study.add_trial(_as_optuna(Trial(len(self.trials()), values), self._distributions))

    def report(self, number: int, tasks: int, acc: float) -> None:
        """What a trial reached after so many tasks."""
        self._live(number).report(acc, tasks)

    def stop(self, number: int) -> None:
        """The trial does not go on: others are better."""
        self._study.tell(number, state=self._optuna.trial.TrialState.PRUNED)

    def finish(self, number: int, acc: float) -> None:
        """The trial has learned all tasks."""
        self._study.tell(number, acc)

    def fail(self, number: int, error: str) -> None:
        """The trial could not continue, for instance because its loss was not a number."""
        self._live(number).set_user_attr("error", error)
        self._study.tell(number, state=self._optuna.trial.TrialState.FAIL)

    def _live(self, number: int) -> LiveTrial:
        frozen = self._study.get_trials(deepcopy=False)[number]
        live: LiveTrial = self._optuna.trial.Trial(self._study, frozen._trial_id)
        return live


def first_proposals(space: Sequence[Dimension], count: int, seed: int) -> list[dict[str, float]]:
    """The start of every dimension, then a Latin hypercube: each number of `count - 1` equal parts of every range."""
    start = {one.name: one.start for one in space}
    rest = count - 1
    chance = np.random.default_rng([seed, rest])
    part = np.array([chance.permutation(rest) for _ in space])  # (dimensions, rest)
    share = (part + chance.random(part.shape)) / max(rest, 1)
    return [start, *({one.name: one.at(float(share[d, i])) for d, one in enumerate(space)} for i in range(rest))]


def proposal(trials: Sequence[Trial], space: Sequence[Dimension], seed: int) -> dict[str, float]:
    """One more trial, drawn by TPE near those that did well and away from those under way.

    It depends on the arguments alone, so a search that was killed continues with the same proposals.
    """
    optuna = load_optuna()
    key = int(np.random.SeedSequence([seed, len(trials)]).generate_state(1)[0])
    sampler = optuna.samplers.TPESampler(seed=key, n_startup_trials=1)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distributions = _distributions(space)
    study.add_trials([_as_optuna(trial, distributions) for trial in trials])
    drawn = study.ask(distributions).params
    return {one.name: one.rounded(drawn[one.name]) for one in space}


def _distributions(space: Sequence[Dimension]) -> dict[str, BaseDistribution]:
    kind = load_optuna().distributions.FloatDistribution
    return {one.name: kind(one.low, one.high, log=True) for one in space}


def _as_optuna(trial: Trial, distributions: Mapping[str, BaseDistribution]) -> FrozenTrial:
    """For the sampler a trial that failed is one that reached nothing, as it passes over those of state FAIL."""
    optuna, failed = load_optuna(), trial.state == "failed"
    theirs = next(name for name, ours in _STATES.items() if ours == ("stopped" if failed else trial.state))
    frozen: FrozenTrial = optuna.trial.create_trial(
        state=optuna.trial.TrialState[theirs],
        value=trial.acc if trial.state == "finished" else None,
        params=dict(trial.values),
        distributions=dict(distributions),
        intermediate_values={1: 0.0} if failed else dict(trial.accuracies),
    )
    return frozen


def _mend(path: Path) -> None:
    """After a kill: remove an incomplete last line and the lock of the killed program."""
    path.with_name(f"{path.name}.lock").unlink(missing_ok=True)  # a link; who calls this is the only writer
    if path.exists():
        content = read_bytes(path)
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with path.open("r+b") as file:
                file.truncate(whole)


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    """Turns whatever Optuna raises for an unreadable journal into one line."""
    try:
        yield
    except ColdError:
        raise
    except Exception as error:
        words = " ".join(str(error).split())[:200] or type(error).__name__
        raise ColdError(f"{path} is damaged ({words}); remove it, or choose another --out") from None
