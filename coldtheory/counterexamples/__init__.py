"""Small instances on which a statement fails as printed: stored, human readable, replayed in well under a second.

A file holds `statement`, `form`, the `tasks` (optima, and Hessians or memory where they differ from the default),
or in place of tasks and settings a `construction` by name with its parameters, such as `flips`; further
either the `settings` of `simulate` or prescribed `models` with the settings of `follow`, a `ball` where the statement's
set W is not the smallest one, the `options` of `evaluate`, premises that it `waives`, both sides as `expected`, and the
form that `holds` instead.

>>> bound = replay(load_counterexample("lemma1_main_text"))
>>> bool(bound.violated), round(float(bound.worst().lhs), 4), round(float(bound.worst().rhs), 4)
(True, -0.0623, -0.125)
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..bounds import Bound, evaluate, follow
from ..geometry import Ball
from ..ground.errors import ColdError, unknown_name
from ..simulation import Run, simulate
from ..tasks import Tasks, from_optima
from .flips import flips

_FOLDER = Path(__file__).parent
CONSTRUCTIONS = {"flips": flips}  #: name -> function of its parameters that returns tasks and settings


@dataclass(frozen=True)
class Counterexample:
    """One stored instance."""

    name: str
    statement: str
    form: str
    note: str
    tasks: Tasks
    settings: Mapping[str, Any]
    expected: Mapping[str, float]  #: lhs and rhs of the worst entry
    holds: str | None = None  #: the form that is true, evaluated on the same run
    exact: bool = False  #: all numbers are rationals, and the two sides are exact
    models: Any = None
    ball: Ball | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    waives: tuple[str, ...] = ()  #: premises that the paper does not state, and that this instance shows to be needed

    @property
    def T(self) -> int:
        return self.tasks.T

    def run(self) -> Run:
        """The trajectory: simulated, or the prescribed models."""
        if self.models is not None:
            return follow(self.tasks, self.models, **self.settings)
        return simulate(self.tasks, **self.settings)


def counterexample_names() -> list[str]:
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def load_counterexample(name: str | Path) -> Counterexample:
    """A stored instance by its name, or one of the user's own by its path."""
    path = Path(name)
    if path.suffix != ".toml":
        path = _FOLDER / f"{name}.toml"
        if not path.is_file():
            raise unknown_name("counterexample", name, counterexample_names())
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        ball = Ball(data["ball"]["center"], data["ball"]["radius"]) if "ball" in data else None
        keys = ("statement", "form", "note", "expected", "holds", "exact", "models", "options")
        given = {key: data[key] for key in keys if key in data}
        tasks, settings = _constructed(data["construction"]) if "construction" in data else _written_out(data)
        waives = tuple(data.get("waives", ()))
        return Counterexample(name=path.stem, tasks=tasks, settings=settings, ball=ball, waives=waives, **given)
    except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError) as problem:
        raise ColdError(f"{path} is no counterexample file: {problem}") from None


def _written_out(data: Mapping[str, Any]) -> tuple[Tasks, dict[str, Any]]:
    settings = dict(data["settings"])
    if "ball" in settings:
        settings["ball"] = Ball(settings["ball"]["center"], settings["ball"]["radius"])
    return from_optima(**data["tasks"]), settings


def _constructed(given: Mapping[str, Any]) -> tuple[Tasks, dict[str, Any]]:
    parameters = dict(given)
    name = parameters.pop("name")
    if name not in CONSTRUCTIONS:
        raise unknown_name("construction", name, CONSTRUCTIONS)
    return CONSTRUCTIONS[name](**parameters)


def all_counterexamples() -> list[Counterexample]:
    return [load_counterexample(name) for name in counterexample_names()]


def replay(instance: Counterexample, form: str | None = None) -> Bound:
    """The statement on the instance: as stored, or in another form (with the same options where it takes them).

    Premises that the instance waives are left out, but only in the form that it refutes.
    """
    chosen = instance.form if form is None else form
    bound = evaluate(instance.statement, chosen, instance.run(), instance.ball, **instance.options)
    if chosen != instance.form:
        return bound
    return replace(bound, assumptions={n: met for n, met in bound.assumptions.items() if n not in instance.waives})
