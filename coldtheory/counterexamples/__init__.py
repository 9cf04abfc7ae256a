"""Small stored instances on which a statement fails as printed: human-readable, and replayed in well under a second.

A file holds `statement`, `form`, the `tasks` (optima, and Hessians or memory where they differ from the default) with
either the `settings` of `simulate` or prescribed `models` and the settings of `follow`, or in place of tasks and
settings a `construction` by name with its parameters, such as `flips`; further a `ball` where the statement's set W
is not the smallest one, the `options` of `evaluate`, premises that it `waives`, both sides as `expected`, and the
form that `holds` instead. A statement in expectation says over how many `seeds` of the gradient noise it is averaged.
A statement is known by its name. The name of a statement in a Python file ends in .py; naming it here does not run the
file, and whoever reads the instance has to name it again.

>>> bound = replay(load_counterexample("lemma1_main_text"))
>>> bool(bound.violated), round(float(bound.worst().lhs), 4), round(float(bound.worst().rhs), 4)
(True, -0.0623, -0.125)
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec.structs import asdict

from ..bounds import Bound, Statement, evaluate, follow
from ..geometry import Ball
from ..ground.errors import ColdError, unknown_name
from ..ground.reading import read_toml
from ..simulation import Run, simulate
from ..tasks import Tasks, from_optima
from .flips import flips

_FOLDER = Path(__file__).parent
CONSTRUCTIONS = {"flips": flips}  #: name -> function of its parameters that returns tasks and settings


class _Tasks(msgspec.Struct, forbid_unknown_fields=True):
    optima: list[Any]
    hessians: list[Any] | None = None
    memory_optima: list[Any] | None = None
    memory_hessians: list[Any] | None = None


class _Construction(msgspec.Struct, forbid_unknown_fields=True):
    """Tasks that a function makes from a few numbers; a file cannot ask for more of them than memory holds."""

    name: Literal["flips"]
    resting: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    swings: Annotated[int, msgspec.Meta(ge=0, le=10_000)]
    u: float
    height: float
    delta: float
    climb: float = 0.0


class _Ball(msgspec.Struct, forbid_unknown_fields=True):
    center: list[float]
    radius: float


class _Sides(msgspec.Struct):
    lhs: float
    rhs: float


class _Told(msgspec.Struct):
    """What a file holds; entries that this version does not know, such as the origin, are ignored."""

    statement: str
    form: str
    expected: _Sides
    tasks: _Tasks | None = None
    settings: dict[str, Any] = {}
    construction: _Construction | None = None
    note: str = ""
    holds: str | None = None
    exact: bool = False
    models: list[Any] | None = None
    ball: _Ball | None = None
    options: dict[str, Any] = {}
    waives: list[str] = []
    seeds: Annotated[int, msgspec.Meta(ge=1, le=100_000)] | None = None


@dataclass(frozen=True)
class Counterexample:
    """One stored instance."""

    name: str
    statement: str | Statement
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
    seeds: int | None = None  #: how often the stream is run, each time with gradient noise of its own; None: once

    @property
    def T(self) -> int:
        """The number of tasks."""
        return self.tasks.T

    def run(self) -> Run:
        """The trajectory: simulated, or the prescribed models. With `seeds` there is one per seed."""
        if self.models is not None:
            return follow(self.tasks, self.models, **self.settings)
        if self.seeds is not None:
            return simulate(self.tasks[None][np.zeros(self.seeds, int)], **self.settings)
        return simulate(self.tasks, **self.settings)

    def first_run(self) -> Run:
        """The trajectory, or the first of several."""
        return replace(self, seeds=None).run()


def counterexample_names() -> list[str]:
    """The names of all stored instances, in alphabetical order."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def load_counterexample(name: str | Path, statement: Statement | None = None) -> Counterexample:
    """A stored instance by its name, or one of the user's own by its path.

    statement : that of the Python file which the instance names; the file itself is not looked for
    """
    path = path_of(name)
    content = read_toml(path)
    try:
        told = msgspec.convert(content, _Told)
    except (msgspec.ValidationError, RecursionError) as problem:
        raise ColdError(f"{path} is not a counterexample file: {' '.join(str(problem).split())[:200]}") from None
    if told.construction is not None:
        tasks, settings = CONSTRUCTIONS[told.construction.name](**_parameters(told.construction))
    elif told.tasks is not None:
        tasks = from_optima(**{key: array for key, array in asdict(told.tasks).items() if array is not None})
        settings = {**told.settings}
    else:
        raise ColdError(f"{path} is not a counterexample file: it has neither tasks nor a construction")
    if isinstance(settings.get("ball"), dict):
        settings["ball"] = _ball(path, settings["ball"])
    known = inspect.signature(simulate if told.models is None else follow).parameters
    for key in settings:
        if key not in known or key in ("tasks", "models"):
            raise unknown_name(f"setting in {path.name}", key, [one for one in known if one not in ("tasks", "models")])
    if "V" not in settings or (told.models is not None and "delta" not in settings):
        raise ColdError(f"{path} is not a counterexample file: its settings lack V or delta")
    names = ("form", "note", "holds", "exact", "models", "options", "seeds")
    given = {key: getattr(told, key) for key in names}
    return Counterexample(
        name=path.stem, statement=_whose(path, told.statement, statement), tasks=tasks, settings=settings,
        expected=asdict(told.expected), waives=tuple(told.waives),
        ball=None if told.ball is None else Ball(told.ball.center, told.ball.radius), **given,
    )  # fmt: skip


def _whose(path: Path, named: str, given: Statement | None) -> str | Statement:
    """What the instance is about; a Python file that it names is asked for."""
    own = named.endswith(".py")
    if own and given is None:
        file = Path(named).name
        raise ColdError(
            f"{path} is about the statement of {file}, which is not run unless you name it: --statement {file}"
        )
    if given is not None and not own:
        raise ColdError(f"{path} is about {named}, not about the statement of a file; leave --statement out")
    return named if given is None else given


def path_of(name: str | Path) -> Path:
    """The file of a stored instance by its name, or one of the user's own by its path."""
    path = Path(name)
    if path.suffix == ".toml":
        return path
    if str(name) not in counterexample_names():
        raise unknown_name("counterexample", name, counterexample_names())
    return _FOLDER / f"{name}.toml"


def _ball(path: Path, told: dict[str, Any]) -> Ball:
    if set(told) != {"center", "radius"}:
        raise ColdError(f"{path} is not a counterexample file: a ball has a center and a radius")
    return Ball(told["center"], told["radius"])


def _parameters(told: _Construction) -> dict[str, Any]:
    return {name: value for name, value in asdict(told).items() if name != "name"}


def all_counterexamples() -> list[Counterexample]:
    """Every stored instance, in the order of their names."""
    return [load_counterexample(name) for name in counterexample_names()]


def replay(instance: Counterexample, form: str | None = None) -> Bound:
    """The statement on the instance: as stored, or in another form (with the same options where it takes them).

    Premises that the instance waives are left out, but only in the form that it refutes.
    """
    chosen = instance.form if form is None else form
    bound = evaluate(instance.statement, chosen, instance.run(), instance.ball, **instance.options)
    if instance.seeds is not None:
        bound = bound.at(0)  # the mean over the seeds stands in every entry
    if chosen != instance.form:
        return bound
    return replace(bound, assumptions={n: met for n, met in bound.assumptions.items() if n not in instance.waives})
