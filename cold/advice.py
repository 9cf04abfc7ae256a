"""Advice on a finished training run with diagnostics, for `coldtheory advise RUN`.

The entry point `coldtheory.advice` names `advice`. What the run measured is read back (`cold.diagnostics` says what
each number is); nothing is trained, and torch is not loaded. A network has no closed form for the best V: runs beside
this one that differ in V alone serve as the sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from coldtheory.advice import Page, Part, Table
from coldtheory.advice.text import percent, shown
from coldtheory.ground.errors import ColdError
from coldtheory.ground.statistics import mean_of

from .config import RunConfig
from .runs import Result, comparable, default_roots, find_runs, read_result, same_data, stored_config

_ACT = 0.01  # share of the curvature from which queues are said to act
_ALIKE = 0.01  # relative difference below which values of V are not ranked
_NUMBERS = {
    "avg_grad_sq_before": "average squared gradient before a task",
    "avg_grad_sq_after": "the same after it",
    "L": "largest curvature of a task's loss that was met",
    "l": "the same of the memory losses",
    "D_phi_trajectory": "change of the loss from task to task, at the models",
    "rho_bar_trajectory": "conflict with past gradients, at the models",
    "Delta_bar": "half the mean square of what the queues were told",
    "avg_Qbar": "average queue at the start of a task",
    "alpha_max": "largest smoothness constant of the objective",
}
#: What a premise asks of a training run: the flags of `cold run` with which it is met.
_FLAGS = {
    "the method has queues": "--method cold",
    "queues drive the model": "--method cold",
    "queue per task": "--queue-update task",
    "memory samples stay": "--memory-policy uniform",
    "delta > 0": "--delta 1e-3",
    "gradient descent": "--optimizer sgdm --momentum 0 --weight-decay 0",
    "the method's own models": "--optimizer sgdm --momentum 0 --weight-decay 0",
    "exact gradients": "all samples in each step (--batch-size and --memory-batch), --no-augment, and a network "
    "without dropout and BatchNorm",
    "Case 1": "--reference previous",
    "plain queue": "--controller queue",
    "curvature was measured": "a run without --compile",
    "did not diverge": "a smaller --lr",
}


class _Bound(msgspec.Struct, frozen=True):
    statement: str
    form: str
    outcome: Literal["holds", "violated", "not applicable"]
    failing_premises: list[str] = []
    lhs: float | None = None
    rhs: float | None = None


class _Diagnostics(msgspec.Struct, frozen=True):
    avg_grad_sq_before: float | None = None
    avg_grad_sq_after: float | None = None
    L: float | None = None
    l: float | None = None  # noqa: E741  (the paper's letter)
    D_phi_trajectory: float | None = None
    rho_bar_trajectory: float | None = None
    Delta_bar: float | None = None
    avg_Qbar: float | None = None
    alpha_max: float | None = None
    eta_alpha_max: float | None = None
    per_task: dict[str, list[float | None]] = {}
    bounds: list[_Bound] = []
    notes: list[str] = []


def advice(word: str) -> Iterator[Page]:
    """The page on the run with this folder or id; nothing if the word names no run."""
    result = _named(word)
    if result is not None:
        yield page_of(result)


def _named(word: str) -> Result | None:
    path = Path(word)
    if path.name == word and not path.exists():
        return find_runs(*default_roots()).get(word) if "-" in word else None
    below = find_runs(path)
    if len(below) > 1:
        raise ColdError(f"{word} holds {len(below)} runs; name one of them, such as {path / next(iter(below))}")
    return next(iter(below.values()), None) or (read_result(path) if below.problems else None)


def page_of(result: Result) -> Page:
    """What a stored run says about V, its step size, its queues and the theorems."""
    if not result.diagnostics:
        raise ColdError(f"{result.run_id} has no diagnostics; train it again with --diagnostics")
    try:
        found = msgspec.convert(result.diagnostics, _Diagnostics)
    except msgspec.ValidationError as error:
        words = " ".join(str(error).split())
        raise ColdError(f"the diagnostics of {result.run_id} are damaged ({words}); train it again") from None
    config = stored_config(result)
    swept = _sweep(result)
    answer = [
        ("V", _answer_V(config, swept)),
        ("step size", _answer_step(config, found)),
        ("queues", _answer_queues(config, found, result)),
        ("guarantee", _answer_guarantee(found)),
        ("forgetting", _answer_forgetting(result)),
    ]
    parts = [_run(result, config, found), _which_V(config, found, swept), _statements(found)]
    parts += [_changes(config, found)] if any(one.failing_premises for one in found.bounds) else []
    parts += [Part("Notes", [_sentence(note) for note in found.notes])] if found.notes else []
    return Page(answer, parts, _data(result, config, found, swept))


# ---------------------------------------------------------------------------------------------------------------------
# V, from the runs beside this one


def _sweep(result: Result) -> Mapping[float, Mapping[str, float | None]]:
    """For each V of runs on the same data that differ in V and seed alone: means over the seeds."""
    beside = [result] if result.folder is None else list(find_runs(result.folder.parent).values())
    by_V: dict[float, list[Result]] = {}
    for one in beside:
        if _but_V(one.config) == _but_V(result.config) and same_data(one.data, result.data):
            by_V.setdefault(float(comparable(one.config)["V"]), []).append(one)
    return {
        V: {
            "seeds": float(len(runs)),
            "avg_grad_sq_before": _mean([run.diagnostics.get("avg_grad_sq_before") for run in runs]),
            "acc": _mean([run.metrics.get("acc") for run in runs]),
            "forgetting": _mean([run.metrics.get("forgetting") for run in runs]),
        }
        for V, runs in sorted(by_V.items())
    }


def _but_V(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in comparable(config).items() if name not in ("V", "seed", "diagnostics")}


def _mean(values: Sequence[Any]) -> float | None:
    known = [float(value) for value in values if isinstance(value, int | float)]
    return mean_of(known) if known and len(known) == len(values) else None


def _best(swept: Mapping[float, Mapping[str, float | None]], name: str, sign: float) -> float | None:
    known = {V: sign * value for V, row in swept.items() if (value := row[name]) is not None}
    if len(known) < 2 or max(known.values()) - min(known.values()) <= _ALIKE * max(map(abs, known.values())):
        return None
    return min(known, key=lambda V: known[V])


def _answer_V(config: RunConfig, swept: Mapping[float, Mapping[str, float | None]]) -> str:
    best, accurate = _best(swept, "avg_grad_sq_before", 1.0), _best(swept, "acc", -1.0)
    if len(swept) < 2:
        return f"{shown(_V(config))}, the only one trained: one run cannot rank V"
    words = [f"{shown(best)} for the next task"] * (best is not None)
    words += [f"{shown(accurate)} for accuracy"] * (accurate is not None)
    return f"{', '.join(words) or 'no difference'} (sweep of {len(swept)} V, differences above {percent(_ALIKE)})"


def _which_V(config: RunConfig, found: _Diagnostics, swept: Mapping[float, Mapping[str, float | None]]) -> Part:
    blocks: list[str | Table] = []
    if len(swept) > 1:
        blocks.append(
            "Runs beside this one that differ in V alone; means over their seeds. A network has no closed form."
        )
        rows = tuple(
            (
                shown(V), shown(row["seeds"]), shown(row["avg_grad_sq_before"]), shown(row["acc"], 4),
                shown(row["forgetting"]),
            )
            for V, row in swept.items()
        )  # fmt: skip
        blocks.append(Table(("V", "seeds", "gradient", "accuracy", "forgetting"), rows))
    else:
        low, high = shown(_V(config) / 3), shown(_V(config) * 3)
        blocks.append(
            "A network has no closed form for the best V, and no other V was trained beside this run. Train some, "
            f"say {low} and {high}, with the same settings into the same folder, and ask again."
        )
    most = _largest_V(config, found)
    if most is not None:
        blocks.append(
            f"With --lr {shown(config.lr)} and the curvatures that were met, eta alpha_t stays below 1 up to V = "
            f"{shown(most)}."
        )
    return Part("Which V", blocks)


def _V(config: RunConfig) -> float:
    """The V that was set; raises where it followed from the number of steps."""
    if not isinstance(config.V, int | float):
        raise ColdError("V of this run followed from its number of steps; advise takes a run with a number, as --V 20")
    return float(config.V)


def _largest_V(config: RunConfig, found: _Diagnostics) -> float | None:
    """The V at which eta alpha_t reaches 1 with the queues of this run."""
    if found.L is None or found.alpha_max is None or not found.L > 0:
        return None
    return (1.0 / config.lr - (found.alpha_max - _V(config) * found.L)) / found.L


# ---------------------------------------------------------------------------------------------------------------------
# The other answers


def _answer_step(config: RunConfig, found: _Diagnostics) -> str:
    alpha = found.alpha_max
    if alpha is None or not alpha > 0:
        return f"lr = {shown(config.lr)}; its limit is not known, as no curvature was measured"
    limits = f"(Theorem 3: {shown(1 / alpha)}; descent: {shown(2 / alpha)})"
    if config.optimizer != "sgdm" or config.momentum:
        return f"lr = {shown(config.lr)} with {config.optimizer}; of plain steps {limits[1:-1]}"
    words = "is safe" if config.lr * alpha <= 1 else "descends" if config.lr * alpha <= 2 else "is too large"
    return f"lr = {shown(config.lr)} {words} {limits}"


def _share(config: RunConfig, found: _Diagnostics) -> float | None:
    """The largest share of queues in the smoothness constant at the start of a task."""
    alpha = [value for value in found.per_task.get("alpha", []) if value is not None and value > 0]
    if found.L is None or not alpha:
        return None
    return max(0.0, 1.0 - _V(config) * found.L / max(alpha))


def _answer_queues(config: RunConfig, found: _Diagnostics, result: Result) -> str:
    queues, share = result.array("queues"), _share(config, found)
    if queues is None:
        return "none: the method has no queues"
    if not np.nanmax(queues, initial=0.0) > 0:
        return "are empty at the end of every task"
    if share is None:
        return f"reach {shown(float(np.nanmax(queues)))}; their share is not known"
    return f"{'act' if share > _ACT else 'hardly act'}: at most {percent(share)} of the curvature as a task starts"


def _answer_guarantee(found: _Diagnostics) -> str:
    holding = [one for one in found.bounds if one.outcome == "holds" and one.statement.startswith("thm3")]
    if holding:
        best = min(holding, key=lambda one: np.inf if one.rhs is None else one.rhs)
        return f"{best.statement} holds: gradient at most {shown(best.rhs)}, measured {shown(best.lhs)}"
    missing = [
        one.failing_premises for one in found.bounds if one.statement.startswith("thm3") and one.failing_premises
    ]
    return f"none for the gradient: it misses {', '.join(missing[0][:2])}" if missing else "none was judged"


def _answer_forgetting(result: Result) -> str:
    words = f"{shown(result.metrics.get('forgetting'))} in accuracy"
    rise = _rise(result)
    return words if rise is None else f"{words}; memory losses rose by {shown(rise)} on average"


def _rise(result: Result) -> float | None:
    """The mean of hatPhi_k(x_t) - hatPhi_k(x_k) over all pairs k < t."""
    hat = result.array("diag_hat")
    if hat is None or hat.ndim != 2 or hat.shape[0] != hat.shape[1] + 1 or hat.shape[1] < 2:
        return None
    after = hat[1:]
    pairs = np.tri(len(after), k=-1, dtype=bool)
    rise = (after - np.diagonal(after)[None, :])[pairs]
    return float(rise.mean()) if np.isfinite(rise).all() else None


def _run(result: Result, config: RunConfig, found: _Diagnostics) -> Part:
    words = (
        f"{config.method} on {result.dataset}, {result.run_id}: V = {shown(_V(config))}, "
        f"delta = {shown(config.delta)}, lr = {shown(config.lr)}, {config.optimizer}, weights {config.weights}, "
        f"queues move every {config.queue_update}; accuracy {shown(result.metrics.get('acc'), 4)} %."
    )
    rows = tuple((name, shown(getattr(found, name)), meaning) for name, meaning in _NUMBERS.items())
    return Part("This run", [words, Table(("quantity ", "value", "meaning "), rows)])


def _statements(found: _Diagnostics) -> Part:
    rows = tuple(
        (one.statement, one.form, one.outcome, shown(one.lhs), shown(one.rhs), _times(one)) for one in found.bounds
    )
    words = (
        "Theorems that need no set W. Curvatures are those that were met, so the condition on the step size is "
        "judged by estimates."
    )
    return Part("The theorems", [words, Table(("statement ", "form ", "outcome ", "measured", "bound", "times"), rows)])


def _times(one: _Bound) -> str:
    return shown(one.rhs / one.lhs) if one.lhs is not None and one.rhs is not None and one.lhs > 0 else shown(None)


def _changes(config: RunConfig, found: _Diagnostics) -> Part:
    premises = dict.fromkeys(name for one in found.bounds for name in one.failing_premises)
    rows = tuple(
        (name, ", ".join(one.statement for one in found.bounds if name in one.failing_premises), _flags(name, found))
        for name in premises
    )
    words = "The premises that this run misses, and what `cold run` would have to be given; nothing of it was tried."
    return Part("What to change", [words, Table(("premise ", "missed by ", "to meet it "), rows)])


def _flags(premise: str, found: _Diagnostics) -> str:
    if "alpha_t" in premise and found.alpha_max is not None and found.alpha_max > 0:
        return f"--lr {shown((2.0 if premise.startswith('eta <= 2') else 1.0) / found.alpha_max)}"
    return _FLAGS.get(premise, "")


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


def _data(
    result: Result, config: RunConfig, found: _Diagnostics, swept: Mapping[float, Mapping[str, float | None]]
) -> dict[str, Any]:
    return {
        "run_id": result.run_id,
        "V": _V(config),
        "V_best_gradient": _best(swept, "avg_grad_sq_before", 1.0),
        "V_best_accuracy": _best(swept, "acc", -1.0),
        "V_largest": _largest_V(config, found),
        "lr": config.lr,
        "lr_theorem": None if not found.alpha_max else 1.0 / found.alpha_max,
        "lr_stable": None if not found.alpha_max else 2.0 / found.alpha_max,
        "queue_share": _share(config, found),
        "memory_loss_rise": _rise(result),
        "sweep": [{"V": V, **row} for V, row in swept.items()],
        "metrics": result.metrics,
        "diagnostics": msgspec.to_builtins(found),
    }
