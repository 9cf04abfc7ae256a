"""A theorem of your own: one small file, which every command takes as it takes Theorem 3.

The file holds a sentence that says what is claimed, and one function per form of the claim. A function takes the facts
of runs and returns a `bound`: the left side, the right side or its terms by name, and the premises.

    \"\"\"The average queue is at most l r^2/2.\"\"\"

    from coldtheory.bounds import bound, form


    @form
    def printed(facts):
        return bound(facts, facts.avg_Qbar, facts.l * facts.r**2 / 2, premises=["Case 1", "models in W"])

Forms may have any names; `printed`, `corrected` and `proved` are looked at first. `coldtheory check FILE.py` tries all
forms on many small runs, `challenge` does its best to break one, `search` looks for its tightest run, `plot bounds
FILE.py` draws it. `Facts` lists what is known of a run, `Facts.premise` the premises.

Many runs are evaluated at once. Arrays begin with one or more axes of runs (`facts.lead`), so sums and maxima over
tasks need `axis=-1`, and a number per run becomes one per task by `[..., None]`.

References, weights, solvers and dimensions that the premises leave open are all tried, and so are controllers other
than the queue and a V that moves. `@form(T=(2, 8), memory=True)` sets fields of `coldtheory.search.Plan`, which say
where to look. Two names of the file are optional: `FAMILY`, fields of the plan for all forms, and `LATEX`, the formula
for the report.

A package brings its statements by entry points, each a module like this file, with the statement's name before it:

    [project.entry-points."coldtheory.statements"]
    small_queues = "my_package.small_queues"

A file runs when a user names it, and never because another file does: see `load_statement`.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from ..ground.checks import choice, kind_of, numbers, shown
from ..ground.errors import ColdError
from ..ground.plugins import entry_points, load
from ..ground.reading import read_bytes
from ..quadratics import Array
from ..simulation import Run, simulate
from ..tasks import from_optima
from ..tolerance import RTOL
from .base import Bound, Explanation, Kind, Statement, make
from .facts import Facts
from .run_facts import RunFacts

GROUP = "coldtheory.statements"
LABEL = "own:"  #: begins the label of a statement that is not part of this package

_MARK = "_coldtheory_family"
_LONGEST = 500  # characters of a message
_MOST_AXES = 2  # after those of the runs: tasks t, or pairs t, k
_SAME = 1e-6  # share of its scale by which a side may differ when a run is evaluated alone: rounding is far less
#: Where a search looks unless the premises or the author say otherwise.
_FAMILY: Mapping[str, Any] = {"T": (2, 5), "hessians": "scalar", "step_limit": 2.0}
#: What a premise says about where to look.
_BY_PREMISE: Mapping[str, Mapping[str, Any]] = {
    "Case 1": {"reference": "previous"},
    "Case 2": {"reference": "best"},
    "Case 3": {"reference": "stored"},
    "gradient descent": {"solver": "gd"},
    "exact minimiser": {"solver": "exact"},
    "mean weights": {"weights": "mean"},
    "sum weights": {"weights": "sum"},
    "plain queue": {"controller": "queue"},
    "leaky queue": {"controller": "leaky"},
    "Yu-Neely controller": {"controller": "yu-neely"},
    "V is constant": {"V_moves": "no"},
    "V never falls": {"V_moves": "up"},
    "V never rises": {"V_moves": "down"},
    "eta < 2/alpha_t": {"step_limit": 1.999},
    "eta <= 1/alpha_t": {"step_limit": 1.0},
    "eta <= 1/(2 alpha_t) as printed": {"step_limit": 0.5, "printed_alpha": True},
}

_Function = TypeVar("_Function", bound=Callable[..., Bound])


# ---------------------------------------------------------------------------------------------------------------------
# What an author writes


@overload
def form(function: _Function, /) -> _Function: ...
@overload
def form(**family: Any) -> Callable[[_Function], _Function]: ...
def form(function: Any = None, /, **family: Any) -> Any:
    """Mark a function of the facts of runs as one form of the file's statement.

    family : where a search looks, as fields of `coldtheory.search.Plan`: `@form(T=(2, 8), d=2)`
    """

    def mark(marked: Any) -> Any:
        if not callable(marked):
            raise ColdError(f"@form stands above a function, got {shown(marked)}; write @form or @form(T=(2, 8))")
        setattr(marked, _MARK, family)
        return marked

    return mark if function is None else mark(function)


def bound(
    facts: Facts,
    lhs: ArrayLike,
    rhs: ArrayLike | Mapping[str, ArrayLike],
    *,
    premises: str | Iterable[str] = (),
    where: Mapping[str, ArrayLike] | None = None,
    kind: Kind = "conjectured",
    attained: str = "",
    magnitude: ArrayLike | None = None,
) -> Bound:
    """The inequality lhs <= rhs on the runs whose facts these are.

    lhs       : one number per run (`facts.avg_Qbar`), or per run and task, or per run and pair t, k of tasks
    rhs       : the right side, or its terms by name, whose sum it is
    premises  : names of premises that `Facts.premise` knows
    where     : premises of your own by name, whether each run meets them: `{"V > 1": facts.V > 1}`
    kind      : "valid" or "tight" once it is proved, "false as printed" for a form that is known to be false
    magnitude : the largest number that entered by a difference; unless given, the largest loss. Sides that differ by
                less than 1e-9 of it are equal up to rounding. Give it if losses enter with large factors

    Where a side is not finite (a division by 0, say) the statement does not apply.

    >>> from coldtheory import make_tasks, simulate
    >>> from coldtheory.bounds import facts_of
    >>> facts = facts_of(simulate(make_tasks("high", seeds=0, T=20), V=[50.0, 200.0]))
    >>> bound(facts, facts.avg_Qbar, {"cap": facts.l * facts.r**2 / 2}, premises="Case 1").outcome.tolist()
    ['holds', 'holds']
    """
    kind_of("facts", facts, Facts, "pass on what the function was given")
    left = numbers("the left side", lhs, finite=False, copy=False)
    if 0 < left.ndim < len(facts.lead) and left.shape == facts.lead[-left.ndim :]:  # V, say, is alike for all streams
        left = np.broadcast_to(left, facts.lead)
    trailing = left.ndim - len(facts.lead)
    if left.shape[: len(facts.lead)] != facts.lead or not 0 <= trailing <= _MOST_AXES:
        raise ColdError(
            f"the left side has the shape {left.shape}, where {facts.lead} comes first, a number per run; "
            "sums and maxima over tasks need axis=-1"
        )
    terms = rhs if isinstance(rhs, Mapping) else {"right side": rhs}
    if not terms:
        raise ColdError("the right side has no terms")
    names = (premises,) if isinstance(premises, str) else tuple(premises)
    if magnitude is None:
        losses = np.maximum(facts.phi_before, facts.phi_after).max(axis=-1)
        size = np.maximum(facts.hat_scale, losses + facts.phi_rounding / RTOL)
        magnitude = np.reshape(size, (*facts.lead, *(1,) * trailing))
    return make(
        ("", ""),
        "",
        facts,
        left,
        kind=choice("kind", kind, ("conjectured", "valid", "tight", "false as printed")),  # type: ignore[arg-type]
        premises=names,
        more={str(name): _truths(str(name), met, facts.lead) for name, met in (where or {}).items()},
        terms={str(name): _fitting(f"the term {name!r}", term, left.shape) for name, term in terms.items()},
        attained=attained,
        trailing=trailing,
        magnitude=_fitting("the magnitude", magnitude, left.shape),
    )


def _fitting(what: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    array = numbers(what, values, finite=False, copy=False)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ColdError(
            f"{what} has the shape {array.shape}, which does not fit the left side's {shape}; "
            "a number per run becomes one per task by [..., None]"
        ) from None


def _truths(name: str, met: ArrayLike, lead: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(met)
    try:
        if array.dtype == np.bool_:
            return np.broadcast_to(array, lead)
    except ValueError:
        pass
    raise ColdError(f"the premise {name!r} must be true or false per run, an array of the shape {lead}")


# ---------------------------------------------------------------------------------------------------------------------
# From a file or a package to a statement


def load_statement(path: str | Path) -> Statement:
    """The statement of a file, which is run: only for a file that the user names.

    Whatever is wrong with it is a `ColdError` that names the file and the line. Each form is tried on a few runs at
    once, so that a mistake shows before a search begins.
    """
    path = Path(path).expanduser()
    if path.suffix != ".py":
        raise ColdError(f"{path} is not a file of a statement: its name must end in .py")
    name = f"coldtheory_statement_{path.stem}"
    module = ModuleType(name)
    module.__file__ = str(path)
    with _Told(path):
        source = read_bytes(path)
        code = compile(source, str(path), "exec")
        sys.modules[name] = module  # dataclasses look their module up by name
        exec(code, module.__dict__)
    return _statement(module, path.name, path)


def source_digest(word: str) -> str:
    """A digest of the content of FILE.py, so that results made with another content are noticed; "" for a name."""
    return hashlib.sha256(read_bytes(Path(word).expanduser())).hexdigest()[:16] if word.endswith(".py") else ""


def plugged_statements(taken: Iterable[str] = ()) -> dict[str, Statement]:
    """The statements that installed packages bring, by name; `taken` are names that they may not have."""
    found: dict[str, Statement] = {}
    for entry in entry_points(GROUP):
        module = load(entry, "statements")
        if not isinstance(module, ModuleType):
            raise ColdError(f"the entry point {entry.name} = {entry.value} of {GROUP} must name a module")
        if entry.name in (*taken, *found):
            raise ColdError(f"two statements are called {entry.name}; remove the package {entry.value}")
        found[entry.name] = _statement(module, entry.name, Path(module.__file__ or entry.value))
    return found


class _Told:
    """Turns whatever goes wrong within a file into one line with the file's name and the line's number."""

    def __init__(self, path: Path, form: str = "", line: int | None = None) -> None:
        self.path, self.form, self.line = path, form, line

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if not isinstance(error, Exception | SystemExit):
            return
        line = self.line
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == str(self.path):
                line = trace.tb_lineno
            trace = trace.tb_next
        if isinstance(error, SyntaxError):
            line = error.lineno
        if isinstance(error, ColdError) and line is None:  # the file could not even be read
            return
        words = error.msg if isinstance(error, SyntaxError) else str(error)
        what = words if isinstance(error, ColdError) else f"{type(error).__name__}: {words}"
        raise _at(self.path, line, self.form, what) from None


def _at(path: Path, line: int | None, form: str, what: str) -> ColdError:
    place = f"{path}" + (f":{line}" if line else "") + (f" ({form})" if form else "")
    return ColdError(" ".join(f"{place}: {what}".split())[:_LONGEST])


def _statement(module: ModuleType, id_: str, path: Path) -> Statement:
    """The marked functions of a module as a statement, each form tried."""
    marked = {name: value for name, value in vars(module).items() if callable(value) and hasattr(value, _MARK)}
    if not marked:
        raise ColdError(f"{path} has no form of a statement; write @form above a function of the facts of runs")
    title, _, words = inspect.cleandoc(module.__doc__ or id_).partition("\n\n")
    general = _mapping(path, "FAMILY", getattr(module, "FAMILY", {}))
    latex = getattr(module, "LATEX", "")
    if not isinstance(latex, str):
        raise ColdError(f"{path}: LATEX must be a text, got {shown(latex)}")
    forms = {name: _guarded(function, id_, name, path) for name, function in marked.items()}
    families, terms = {}, {}
    for name, tried in forms.items():
        once = _tried(tried, name, path, _first_line(marked[name]))
        by_premise = {key: value for premise in once.assumptions for key, value in _BY_PREMISE.get(premise, {}).items()}
        families[name] = {**_FAMILY, **by_premise, **general, **getattr(marked[name], _MARK)}
        terms.update(dict.fromkeys(once.terms, ""))
    explain = Explanation("", "", words, "", "", terms)
    return Statement(id_, " ".join(title.split()), f"{LABEL}{id_}", forms, latex, explain, family_of_form=families)


def _mapping(path: Path, name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ColdError(f"{path}: {name} must be a dict of fields of a plan, got {shown(value)}")
    return dict(value)


def _guarded(function: Callable[..., Any], id_: str, name: str, path: Path) -> Callable[..., Bound]:
    """The function with the statement's name on what it returns, and its mistakes in one line."""
    line = _first_line(function)

    @functools.wraps(function)
    def call(facts: Facts, **options: Any) -> Bound:
        with _Told(path, name, line), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # what is not a number is "not applicable"
            given = function(facts, **options)
            if not isinstance(given, Bound):
                raise ColdError(f"it must return a bound(...), got {shown(given)}")
            return replace(given, id=id_, form=name, label=f"{LABEL}{id_}")

    return call


def _first_line(function: Callable[..., Any]) -> int | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else code.co_firstlineno


def _tried(function: Callable[..., Bound], name: str, path: Path, line: int | None) -> Bound:
    """The form on six runs at once; a `ColdError` unless each run alone gives the same."""
    together = function(RunFacts(_trial()))
    for i, j in ((0, 0), (2, 1)):
        alone = function(RunFacts(_trial(i, j)))
        if set(alone.terms) != set(together.terms):
            raise _at(path, line, name, "it has other terms for a run alone than for many at once")
        for what, ours, theirs in (("left", together.lhs[i, j], alone.lhs), ("right", together.rhs[i, j], alone.rhs)):
            with np.errstate(all="ignore"):
                close = np.abs(ours - theirs) <= _SAME * alone.scale
            if not np.all(close | (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))):
                raise _at(path, line, name, f"the {what} side of a run alone is not what it is among other runs; "
                          "sums and maxima over tasks need axis=-1")  # fmt: skip
    return together


def _trial(stream: int | slice = slice(None), setting: int | slice = slice(None)) -> Run:
    """Three streams of four tasks on a line under two settings, or one of these six runs."""
    optima = np.array([[0.0, 1.0, -0.5, 0.75], [0.0, 0.25, 0.5, 0.75], [0.0, -1.0, 1.0, 1.0]])[stream, ..., None]
    V, delta = np.array([0.5, 2.0])[setting], np.array([0.5, 0.75])[setting]
    return simulate(from_optima(optima), V=V, delta=delta, eta=0.25)
