"""What a finished search chose, as settings with their origin."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

from coldtheory.ground.provenance import provenance

from .search import Tuned
from .settings_file import FILE, FORMAT, Chosen, Origin, write_settings
from .space import chosen_settings


def chosen_by(tuned: Tuned) -> Chosen:
    """The chosen settings, with every trial behind them."""
    search, best = tuned.search, tuned.chosen
    order = [best.number, *(number for number in tuned.runs if number != best.number)]
    origin = Origin(
        format=FORMAT,
        command=search.command,
        chosen=chosen_settings(search.space, best.values),
        acc=best.acc or 0.0,
        runs=list(dict.fromkeys(tuned.runs[number].run_id for number in order)),
        seed=search.seed,
        validation=search.start.validation,
        data=tuned.runs[best.number].data,
        budget=search.budget,
        spent=round(tuned.spent, 3),
        trials=[_trial(tuned, number) for number in range(len(tuned.trials))],
        made=_made(),
    )
    return Chosen(tuned.settings, origin, str(tuned.folder / FILE))


def save(tuned: Tuned) -> tuple[Chosen, Path]:
    """The chosen settings, and the file that has them; a file of an earlier call stays if nothing is new."""
    chosen, path = chosen_by(tuned), tuned.folder / FILE
    if tuned.computed or not path.exists():
        write_settings(path, chosen)
    return chosen, path


def _trial(tuned: Tuned, number: int) -> dict[str, Any]:
    trial = tuned.trials[number]
    return {
        "number": number,
        **trial.values,
        "tasks": trial.tasks,
        "acc": trial.acc,
        "state": trial.state,
        "run": tuned.search.config(trial.values).run_id,
        "error": trial.error or None,
    }


def _made() -> dict[str, Any]:
    made = provenance()
    made["packages"] = {**made["packages"], **{name: metadata.version(name) for name in ("torch", "optuna")}}
    return made
