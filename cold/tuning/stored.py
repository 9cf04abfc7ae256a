"""What stored tuning runs chose: for each method, benchmark and size, the settings with the best validation accuracy.

They come from two places. For the tables' rows the choice is made anew from the stored tuning runs whenever it is asked
for, by the code of `cold table`; and `cold tune` leaves a settings file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coldtheory.ground.errors import ColdError

from ..catalogue import METHODS, default_tasks
from ..config import PLACE, RunConfig
from ..presets import build_config
from ..runs import default_roots, identified
from ..tables.comparison import choose
from ..tables.stored import RunsOnHand
from ..tables.terms import Row, Settings, Terms, benchmark, declarations, full_size, layered
from .command import tune_command
from .settings_file import FORMAT, Chosen, Origin, find_settings, read_settings

#: Folders of `cold tune`, unless told.
TUNING_OUT = Path("results/tuning")
#: What settings are chosen for. A run with another value of one of these is another problem.
SIZE = (
    "dataset", "method", "reference", "scenario", "iid", "blur", "windows", "tasks", "limit_train", "memory", "model",
    "width", "data_options",
)  # fmt: skip
BEST = "best"


def stored_settings(roots: Sequence[Path] | None = None) -> list[Chosen]:
    """Everything that stored tuning runs chose, tables first; roots: folders in place of the usual ones."""
    places = (*default_roots(), TUNING_OUT) if roots is None else tuple(roots)
    on_hand = RunsOnHand(places)
    found = [one for terms, call in _tables() for row in terms.rows for one in _of_row(terms, row, call, on_hand)]
    return [*found, *find_settings(places)]


def best_settings(wanted: Mapping[str, Any], roots: Sequence[Path] | None = None) -> Chosen:
    """The settings with the best validation accuracy for a method on a benchmark of the very size.

    wanted : settings as flags of `cold run`, at least dataset and method; those of the size have to be the same

        chosen = cold.best_settings({"dataset": "pmnist", "method": "er", "limit_train": 10_000})
        cold.Trainer(chosen.config).run()
    """
    stored = stored_settings(roots)
    fitting = [one for one in stored if _fits(one, wanted)]
    if not fitting:
        raise ColdError(_nothing(wanted, stored))
    return max(fitting, key=lambda one: one.origin.acc)  # the first of equal ones


def named_settings(name: str, wanted: Mapping[str, Any]) -> Chosen:
    """What `--settings` names: "best", or a file; a file of another dataset or method than `wanted` is a mistake."""
    if name == BEST:
        return best_settings(wanted)
    chosen = read_settings(Path(name))
    theirs, ours = chosen.config, build_config(None, {**chosen.settings, **wanted})
    for what in ("dataset", "method"):
        if (here := getattr(identified(ours, 1), what)) != (there := getattr(identified(theirs, 1), what)):
            raise ColdError(f"{name} has settings for the {what} {there}, not {here}; take --settings {BEST}")
    return chosen


def size_of(config: RunConfig) -> dict[str, Any]:
    """What of a run's benchmark and size is not as by default, for people; dataset and method aside."""
    usual = {**RunConfig().as_dict(), "tasks": default_tasks(config.dataset, config.data_options)}
    found = {name: getattr(config, name) for name in SIZE[2:]}
    return {name: value for name, value in found.items() if value not in (None, usual[name])}


def words_of_settings(settings: Mapping[str, Any]) -> str:
    """
    >>> words_of_settings({"lr": 0.001, "options": {"alpha": 0.5}})
    'lr=0.001 alpha=0.5'
    """
    flat = {**{name: value for name, value in settings.items() if name != "options"}, **settings.get("options", {})}
    numbers = {name: f"{value:g}" if isinstance(value, float) else value for name, value in flat.items()}
    return " ".join(f"{name}={value}" for name, value in numbers.items())


def origin_lines(chosen: Chosen, wanted: Mapping[str, Any]) -> list[str]:
    """Where settings come from: what was chosen, by which command and from which runs; and what a run has otherwise.

    wanted : settings of the run as flags of `cold run`
    """
    origin, config = chosen.origin, chosen.config
    lines = [
        f"settings: {words_of_settings(origin.chosen)} ({origin.acc:.2f} % on validation data, seed {origin.seed})",
        f"chosen by: {origin.command}",
        f"from the runs: {', '.join(origin.runs)}",
    ]
    plain = RunConfig().as_dict()
    aside = ("dataset", "method", "preset", "profile", "seed", "validation", "evaluate_on", "diagnostics", "limit_test")
    ours, theirs = {**plain, **wanted}, config.as_dict()
    other = [name for name in wanted if name in plain and name not in (*aside, *PLACE) and ours[name] != theirs[name]]
    if other:
        lines.append(f"note: they were chosen with {words_of_settings({name: theirs[name] for name in other})}")
    return lines


def _tables() -> Iterator[tuple[Terms, str]]:
    """The terms of every comparison that tunes, and the command that shows it."""
    told = declarations()
    for name, about in told["benchmark"].items():
        if "equal" in about:
            yield benchmark(name, "equal"), f"cold table {name}"
    for name in told["full"]["tables"]:
        for terms in full_size(name, "equal"):
            yield terms, f"cold table {name}"


def _of_row(terms: Terms, row: Row, call: str, on_hand: RunsOnHand) -> Iterator[Chosen]:
    """What the stored runs chose for a row; nothing if it is not tuned, or if a run is missing."""
    if row.tuning is None or row.absent:
        return
    choice = choose(terms, row, on_hand)
    if choice.settings is None:
        return
    tried = dict(zip(choice.used, choice.tried, strict=True))
    order = sorted(tried, key=lambda run_id: tried[run_id][0] != choice.settings)  # that of the chosen ones first
    flags = layered(terms.base, {"method": row.method}, row.fixed, choice.settings, row.final)
    origin = Origin(
        format=FORMAT,
        command=f"{call} --rows {row.key}",
        chosen=_numbers(row, choice.settings),
        acc=tried[order[0]][1],
        runs=order,
        seed=int(row.tuning.settings["seed"]),
        validation=float(row.tuning.settings["validation"]),
        trials=[{"run": run_id, "settings": tried[run_id][0], "acc": tried[run_id][1]} for run_id in order],
    )
    yield Chosen({name: value for name, value in flags.items() if name not in PLACE}, origin, call)


def _numbers(row: Row, settings: Settings) -> Settings:
    """The chosen settings; a parameter at its default, which is not passed, is named."""
    parameter = None if row.tuning is None else row.tuning.parameter
    if parameter is None or parameter.start or settings.get("options") or row.method not in METHODS:
        return settings
    return layered({"options": {parameter.name: METHODS[row.method].defaults()[parameter.name]}}, settings)


def _fits(one: Chosen, wanted: Mapping[str, Any]) -> bool:
    """Whether settings were chosen for the benchmark and size of a run; a preset is theirs unless told otherwise."""
    preset = {name: one.settings[name] for name in ("preset",) if name in one.settings}
    try:
        ours, theirs = build_config(None, {**preset, **wanted}), one.config
        left, right = identified(ours), identified(theirs)
    except ColdError:
        return False
    return all(getattr(left, name) == getattr(right, name) for name in SIZE)


def _nothing(wanted: Mapping[str, Any], stored: Sequence[Chosen]) -> str:
    """One line: what there is, and how to make what is missing."""
    config = build_config(None, wanted)
    same = [one.config for one in stored if one.config.method == config.method]
    there = dict.fromkeys(f"{one.dataset} ({words_of_settings(size_of(one)) or 'full size'})" for one in same)
    exist = f"for {config.method} there are {', '.join(there)}" if there else "cold settings lists what there is"
    flags = {name: value for name, value in wanted.items() if name not in ("seed", "limit_test")}
    return (
        f"no stored tuning runs chose settings for {config.method} on {config.dataset} of this size; {exist}; "
        f"make them with {tune_command({'dataset': config.dataset, 'method': config.method, **flags})}"
    )
