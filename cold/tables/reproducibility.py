"""What reproduces: for every method and benchmark the printed number, ours on equal terms and as published, a verdict.

The verdict holds our mean against the printed one by Welch's interval for the difference of two means, with the spread
over seeds on both sides: *reproduced* if it has zero in it, else *above* or *below*. Where a spread is not printed,
ours stands for it. Only rows of full size get such a verdict; rows of a reduced size say so, and rows that nobody has
run say that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from coldtheory.ground.errors import ColdError
from coldtheory.ground.provenance import provenance
from coldtheory.ground.reading import read_toml
from coldtheory.ground.statistics import Spread, spread, student_quantile, t_interval
from coldtheory.paper import PrintedResult, paper

from ..catalogue import METHODS, benchmark_title
from ..runs import Result, data_notes
from ..studies import find_study, planned
from . import footnotes
from .comparison import ComparedRow, Comparison, compared
from .formats import markdown
from .sheet import Column, Entry, Interval, Sheet
from .stored import RunsOnHand
from .terms import benchmark, declarations, full_size

Verdict = Literal["reproduced", "above", "below", "reduced", "not run", "not printed"]
_FILE = Path(__file__).parent / "own_papers.toml"
_STUDY, _PROFILE = "baselines", "cpu"
_OURS = ("cold", "cold-oracle")
_HEAD = """# What reproduces

Every method on every benchmark of the paper: the number that the paper prints, the number of the method's own paper
where one is known, what comes out here on equal terms and with published settings, and a verdict. This page is what
`cold table reproducibility --format markdown` prints; the command in a row shows it, or makes it where it is not run.
Rules and provenance stand at the end.
"""


class OwnNumber(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number of another paper; own_papers.toml explains the fields."""

    method: str
    dataset: str
    memory: int
    acc: float
    source: str
    setting: str
    checked: bool
    sd: float | None = None


@dataclass(frozen=True)
class Ours:
    """Our row for a method: accuracies by seed, the command that shows it, and how it is reduced, if it is."""

    acc: dict[int, float]
    command: str
    reduced: str = ""

    @property
    def interval(self) -> Interval | None:
        """Mean and 95 % interval over seeds; one seed has no interval."""
        found = list(self.acc.values())
        if not found:
            return None
        low, high = t_interval(found) if len(found) > 1 else (None, None)
        return Interval(sum(found) / len(found), low, high)


@dataclass(frozen=True)
class Line:
    """One method on one benchmark."""

    method: str
    dataset: str
    memory: int
    printed: PrintedResult | None
    own: OwnNumber | None
    equal: Ours | None
    published: Ours | None
    run: str  #: the command that would make the row at full size

    def verdict_on(self, ours: Ours | None) -> Verdict:
        """Of one of our two rows."""
        if ours is None or not ours.acc:
            return "not run"
        if ours.reduced:
            return "reduced"
        return "not printed" if self.printed is None else against(ours, self.printed)

    @property
    def verdict(self) -> str:
        """Of the row on equal terms; where the one as published has the full size and says otherwise, of both."""
        equal, published = self.verdict_on(self.equal), self.verdict_on(self.published)
        if equal in ("not run", "reduced") and published != "not run":
            return published
        return f"{equal} (published: {published})" if published not in (equal, "not run", "reduced") else equal

    @property
    def command(self) -> str:
        """What shows the row, or what would make it."""
        shown = next((ours.command for ours in (self.equal, self.published) if ours and ours.acc), None)
        return shown or self.run


def against(ours: Ours, printed: PrintedResult) -> Verdict:
    """Whether a printed mean is reproduced, by Welch's 95 % interval of our mean minus the printed one."""
    here = spread(ours.acc.values())
    assert here is not None
    there = Spread(printed.acc, printed.acc_sd if printed.acc_sd is not None else here.sd, paper().seeds)
    gap = here.mean - there.mean
    half = welch_half_width(here, there) + printed.acc_rounding
    return "reproduced" if abs(gap) <= half else "above" if gap > 0 else "below"


def welch_half_width(one: Spread, other: Spread) -> float:
    """Half of the 95 % interval for the difference of two means with spreads of their own.

    >>> round(welch_half_width(Spread(91.6, 0.33, 3), Spread(91.3, 0.22, 3)), 3)
    0.68
    """
    variances = [(side.sd or 0.0) ** 2 / side.n for side in (one, other)]
    total = sum(variances)
    if not total:
        return 0.0
    freedom = total**2 / sum(v**2 / (side.n - 1) for v, side in zip(variances, (one, other), strict=True) if v)
    return student_quantile(max(1, math.floor(freedom))) * math.sqrt(total)


# ------------------------------------------------------------------------------------------------ from runs to lines


def lines(stored: RunsOnHand) -> list[Line]:
    """All lines for which anything is known, by printed column, methods in the paper's order, then the others."""
    found = []
    for dataset, memory in _columns():
        printed = _printed(dataset, memory)
        comparisons = list(_comparisons(dataset, memory, stored))
        first = [name for name in METHODS if METHODS[name].title in printed]
        for name in (*first, *(name for name in METHODS if name not in first)):
            line = _line(name, dataset, memory, printed.get(METHODS[name].title), comparisons, stored)
            if line.printed or line.own or line.equal or line.published:
                found.append(line)
    return found


def _columns() -> list[tuple[str, int]]:
    """Of the paper's tables of results: pmnist first, each once."""
    seen = dict.fromkeys(column for table in paper().results for column in table.columns)
    return sorted(seen, key=lambda column: (column[0] != "pmnist", list(seen).index(column)))


def _printed(dataset: str, memory: int) -> dict[str, PrintedResult]:
    """By the method's printed name; of several copies the one that has a standard deviation."""
    found: dict[str, PrintedResult] = {}
    for cell in paper().cells():
        if cell.setting == (dataset, memory) and (cell.method not in found or cell.acc_sd is not None):
            found[cell.method] = cell
    return found


def _comparisons(dataset: str, memory: int, stored: RunsOnHand) -> Iterator[tuple[str, Comparison]]:
    """(command, comparison) of every table that stands beside this printed column; those of full size first."""
    told = declarations()["benchmark"]
    beside = [name for name, about in told.items() if about.get("printed", [])[1:] == [dataset, memory]]
    for kind in ("equal", "published"):
        flag = "" if kind == "equal" else f" --kind {kind}"
        for table in declarations()["full"]["tables"]:
            for terms in full_size(table, kind):
                if terms.printed is not None and terms.printed[1:] == (dataset, memory):
                    yield f"cold table {table}{flag}", compared(terms, stored)
        for name in sorted(beside, key=lambda name: bool(told[name].get("short"))):
            if kind in told[name]:
                yield f"cold table {name}{flag}", compared(benchmark(name, kind), stored)


def _line(
    name: str,
    dataset: str,
    memory: int,
    printed: PrintedResult | None,
    comparisons: Sequence[tuple[str, Comparison]],
    stored: RunsOnHand,
) -> Line:
    own = next((one for one in own_numbers() if (one.method, one.dataset) == (name, dataset)), None)
    equal = [_ours(*one, name) for one in comparisons if one[1].terms.kind == "equal"]
    published = [_ours(*one, name) for one in comparisons if one[1].terms.kind == "published"]
    if name in _OURS:  # the settings of their own paper are this paper's preset
        published = [_ours(*one, name, f"{name}-printed") for one in comparisons]
    if not any(ours for ours in equal):
        equal.append(_of_study(name, dataset, memory, stored))
    table = next((command.partition(" --")[0] for command, _ in comparisons), f"cold table {dataset}")
    run = f"{table} --rows {name} --run"
    return Line(name, dataset, memory, printed, own, _best(equal), _best(published), run)


def _best(found: Sequence[Ours | None]) -> Ours | None:
    """The row of full size if there is one, else the first."""
    having = [ours for ours in found if ours is not None]
    return next((ours for ours in having if not ours.reduced), having[0] if having else None)


def _ours(command: str, comparison: Comparison, method: str, key: str = "") -> Ours | None:
    """The row of a method: the one with its name, or `key`, else the only one that is reduced further."""
    rows = {one.row.key: one for one in comparison.rows if one.row.method == method and one.runs}
    further = [one for one in rows.values() if one.row.reduced]
    row = rows.get(key or method) or (further[0] if further and not key else None)
    if row is None:
        return None
    reduced = "; ".join(filter(None, (comparison.terms.short, row.row.reduced, _about(row))))
    return Ours(row.acc, f"{command}{' --rows' if ' --rows' not in command else ''} {row.row.key}", reduced)


def _about(row: ComparedRow) -> str:
    return "; ".join(dict.fromkeys(run.about_data for run in row.runs.values() if run.about_data))


def _of_study(name: str, dataset: str, memory: int, stored: RunsOnHand) -> Ours | None:
    """Runs of the reduced study of methods, which shares the printed column's memory and is not tuned."""
    study = find_study(_STUDY)
    if not any(grid.dataset == dataset for grid in study.grids.get(_PROFILE, ())):
        return None
    cells = [one for one in planned(study.on(dataset), _PROFILE) if one.method == name]
    runs: dict[int, Result] = {}
    for cell in cells:
        run = stored.of(cell.config)
        if run is not None and cell.config.memory == memory:
            runs[cell.seed] = run
    if not runs:
        return None
    notes = "; ".join(dict.fromkeys(run.about_data for run in runs.values() if run.about_data))
    reduced = "; ".join(filter(None, (f"profile {_PROFILE}, not tuned", notes)))
    acc = {seed: float(run.metrics["acc"] or 0.0) for seed, run in runs.items()}
    return Ours(acc, f"cold study show {_STUDY}", reduced)


@lru_cache(maxsize=1)
def own_numbers() -> tuple[OwnNumber, ...]:
    """What other papers print."""
    try:
        return msgspec.convert(read_toml(_FILE)["number"], tuple[OwnNumber, ...])
    except (KeyError, msgspec.ValidationError) as error:
        raise ColdError(f"{_FILE.name} does not follow its schema: {error}") from None


# ------------------------------------------------------------------------------------------------ from lines to sheets


def reproducibility(call: str, roots: Sequence[Path] | None = None) -> tuple[list[Sheet], dict[str, Any]]:
    """One sheet per printed column, and all of it as plain data."""
    stored = RunsOnHand(roots)
    found = lines(stored)
    sheets = [
        _sheet(dataset, memory, [line for line in found if (line.dataset, line.memory) == (dataset, memory)])
        for dataset, memory in _columns()
    ]
    last = (*sheets[-1].notes, *_rules(), *data_notes(stored.used))
    sheets[-1] = Sheet(sheets[-1].title, sheets[-1].columns, sheets[-1].rows, last, (), footnotes.origin(call, stored))
    data = {"table": "reproducibility", "lines": [_as_data(line) for line in found], "provenance": provenance()}
    return sheets, data


def page(sheets: Sequence[Sheet]) -> str:
    """The sheets as docs/reproducibility.md."""
    return "\n".join([_HEAD, *(markdown(sheet) for sheet in sheets)])


def _sheet(dataset: str, memory: int, found: Sequence[Line]) -> Sheet:
    columns = (
        Column("method"), Column("printed", "spread"), Column("own paper"), Column("equal terms", "interval"),
        Column("as published", "interval"), Column("verdict"), Column("command", terminal=False),
    )  # fmt: skip
    rows = [
        (
            Entry(METHODS[line.method].title), Entry(_spread_of(line.printed)), Entry(_own(line.own)),
            Entry(_interval(line.equal)), Entry(_interval(line.published)), Entry(line.verdict), Entry(line.command),
        )
        for line in found
    ]  # fmt: skip
    return Sheet(f"{benchmark_title(dataset)}, M = {memory}", columns, tuple(rows), tuple(_notes(found)))


def _notes(found: Sequence[Line]) -> Iterator[str]:
    told: dict[str, list[str]] = {}
    for line in found:
        for kind, ours in (("equal terms", line.equal), ("as published", line.published)):
            if ours and ours.acc and ours.reduced:
                told.setdefault(f"{kind}, reduced: {ours.reduced}", []).append(METHODS[line.method].title)
    for words, methods in told.items():
        yield f"{words} ({', '.join(methods)})"
    for line in found:
        if line.own is not None:
            checked = "" if line.own.checked else "; taken from notes, not checked"
            yield (
                f"own paper of {METHODS[line.method].title}: {line.own.source}; M = {line.own.memory}, "
                f"{line.own.setting}{checked}"
            )
    yield from (f"shown by: {command}" for command in dict.fromkeys(_tables(found)))


def _tables(found: Sequence[Line]) -> Iterator[str]:
    for line in found:
        for ours in (line.equal, line.published):
            if ours and ours.acc:
                yield ours.command.partition(" --rows")[0]


def _rules() -> Iterator[str]:
    yield "numbers are average accuracies in per cent; brackets are 95 % intervals over seeds (Student's t)"
    yield (
        "reproduced: Welch's 95 % interval of our mean minus the printed one has zero in it; above, below: it has not; "
        "reduced: fewer images, a narrower network or fewer epochs, so that nothing is compared; not run: no rows"
    )
    yield "own paper: printed elsewhere, in a setting of its own, and compared with nothing; ? means not checked"


def _spread_of(printed: PrintedResult | None) -> Spread | None:
    return None if printed is None else Spread(printed.acc, printed.acc_sd)


def _own(own: OwnNumber | None) -> str | None:
    return None if own is None else f"{own.acc:.2f}{'' if own.checked else '?'}"


def _interval(ours: Ours | None) -> Interval | None:
    return None if ours is None else ours.interval


def _as_data(line: Line) -> dict[str, Any]:
    def ours(one: Ours | None) -> dict[str, Any] | None:
        if one is None or one.interval is None:
            return None
        found = one.interval
        told = {"mean": found.mean, "low": found.low, "high": found.high, "seeds": one.acc}
        return {**told, "reduced": one.reduced, "command": one.command}

    return {
        "method": line.method,
        "dataset": line.dataset,
        "memory": line.memory,
        "printed": line.printed and {"acc": line.printed.acc, "acc_sd": line.printed.acc_sd},
        "own_paper": line.own and msgspec.structs.asdict(line.own),
        "equal": ours(line.equal),
        "published": ours(line.published),
        "verdict": line.verdict,
        "verdict_equal": line.verdict_on(line.equal),
        "verdict_published": line.verdict_on(line.published),
        "command": line.command,
    }
