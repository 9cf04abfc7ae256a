"""Typed access to the paper's numbers (paper_tables.toml) and to short facts about its text (paper_facts.toml)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from coldtheory.ground import reading
from coldtheory.ground.errors import ColdError, unknown_name

HERE = Path(__file__).parent
DASH = "--"


@dataclass(frozen=True)
class PrintedResult:
    """One entry of a results table. `acc` is in per cent, as printed; `forgetting` is None where a dash is printed.

    `acc_rounding` and `forgetting_rounding` are half a unit of the last printed digit: the true value is within it.
    """

    method: str
    dataset: str
    memory: int
    acc: float
    acc_sd: float | None
    forgetting: float | None
    forgetting_sd: float | None
    table: str
    acc_rounding: float = 0.0
    forgetting_rounding: float = 0.0
    acc_bold: bool = False
    forgetting_bold: bool = False

    @property
    def setting(self) -> tuple[str, int]:
        """The column: (dataset, memory)."""
        return (self.dataset, self.memory)

    @property
    def where(self) -> str:
        """Method, dataset and memory in a few words, for messages."""
        return f"{self.method} {self.dataset} M={self.memory}"


@dataclass(frozen=True)
class ResultsTable:
    """One results table of the paper: its label, its columns (dataset, memory), its methods and all printed cells."""

    label: str
    place: str
    columns: tuple[tuple[str, int], ...]
    methods: tuple[str, ...]
    years: Mapping[str, int]
    cells: tuple[PrintedResult, ...]

    def column(self, setting: tuple[str, int]) -> tuple[PrintedResult, ...]:
        """All cells of a column (dataset, memory)."""
        return tuple(cell for cell in self.cells if cell.setting == setting)

    def cell(self, method: str, setting: tuple[str, int]) -> PrintedResult:
        """The cell of a method in a column; raises `ColdError` if there is none."""
        for cell in self.cells:
            if cell.method == method and cell.setting == setting:
                return cell
        raise unknown_name("entry", f"{method} {setting}", [c.where for c in self.cells])


@dataclass(frozen=True)
class Hyperparameters:
    """One column of a hyper-parameter table: what one run of one method uses."""

    method: str
    dataset: str
    memory: int
    learning_rate: float
    optimizer: str
    epochs: int
    tasks: int
    V: float
    queue_initialization: float
    delta: float
    task_batch_size: int
    memory_batch_size: int
    table: str

    @property
    def setting(self) -> tuple[str, int]:
        """The column: (dataset, memory)."""
        return (self.dataset, self.memory)


@dataclass(frozen=True)
class Complexity:
    """One row of the complexity table: operations, storage, mechanism and notes, as printed."""

    method: str
    operations: str
    storage: str
    mechanism: str
    notes: str


@dataclass(frozen=True)
class PrintedDataset:
    """A benchmark as the text describes it; None where the text does not say."""

    key: str
    name: str
    label: str
    setting: str
    total_classes: int
    model: str
    tasks: int | None
    classes_per_task: int | None


@dataclass(frozen=True)
class Paper:
    """All numbers of the paper that the data file holds."""

    datasets: Mapping[str, PrintedDataset]
    results: tuple[ResultsTable, ...]
    hyperparameters: tuple[Hyperparameters, ...]
    complexity: tuple[Complexity, ...]
    seeds: int

    def table(self, label: str) -> ResultsTable:
        """The results table with this label; raises `ColdError` if there is none."""
        for table in self.results:
            if table.label == label:
                return table
        raise unknown_name("table", label, [t.label for t in self.results])

    def cells(self) -> Iterator[PrintedResult]:
        """All cells of all results tables."""
        for table in self.results:
            yield from table.cells

    def runs(self, dataset: str | None = None, method: str | None = None) -> tuple[Hyperparameters, ...]:
        """Columns of the hyper-parameter tables, all or those of one dataset and/or one method."""
        return tuple(
            run for run in self.hyperparameters if dataset in (None, run.dataset) and method in (None, run.method)
        )

    def tasks_in_tables(self, dataset: str) -> frozenset[int]:
        """The numbers of tasks that the hyper-parameter tables print for a dataset."""
        return frozenset(run.tasks for run in self.runs(dataset))


@dataclass(frozen=True)
class Fact:
    """What the paper says at one place, in our words; `anchor` is a few characters by which to find the place."""

    id: str
    label: str
    says: str
    anchor: str
    value: Any = None


@dataclass(frozen=True)
class PrintedStatement:
    """A theorem, lemma or corollary and the traits that claims about "all results" depend on."""

    label: str
    name: str
    bounds_from: str
    quantity: str
    average_over_tasks: bool
    task_variation: bool


_tables_path: ContextVar[Path] = ContextVar("tables_path", default=HERE / "paper_tables.toml")
_facts_path: ContextVar[Path] = ContextVar("facts_path", default=HERE / "paper_facts.toml")


@contextmanager
def using(*, tables: Path | None = None, facts: Path | None = None) -> Iterator[None]:
    """Evaluate the claims on other data files within a `with` block (what if this number were another one?)."""
    tokens = [(var, var.set(path)) for var, path in ((_tables_path, tables), (_facts_path, facts)) if path is not None]
    try:
        yield
    finally:
        for var, token in tokens:
            var.reset(token)


def paper() -> Paper:
    """The paper's numbers; within `using` those of another file."""
    return load_paper(_tables_path.get())


def fact(id: str) -> Fact:
    """The fact with this id; raises `ColdError` with the nearest ids if there is none."""
    known = facts()
    if id not in known:
        raise unknown_name("fact", id, known)
    return known[id]


def facts() -> Mapping[str, Fact]:
    """All facts about the paper's text, by id."""
    return _load_facts(_facts_path.get())[0]


def statements() -> tuple[PrintedStatement, ...]:
    """The numbered statements of the paper, in the order of the file."""
    return _load_facts(_facts_path.get())[1]


@lru_cache(maxsize=8)
def load_paper(path: Path) -> Paper:
    """The numbers of a data file; raises `ColdError` if it does not follow its schema."""
    raw = read_toml(path)
    try:
        return Paper(
            datasets={key: _dataset(key, entry) for key, entry in raw["dataset"].items()},
            results=tuple(_results(entry) for entry in raw["results"]),
            hyperparameters=tuple(run for entry in raw["hyperparameters"] for run in _runs(entry)),
            complexity=tuple(Complexity(**{"notes": "", **entry}) for entry in raw["complexity"]),
            seeds=int(raw["setup"]["seeds"]),
        )
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ColdError(f"{path.name} does not follow its schema: {error!r}; see the comments at its top") from error


def read_toml(path: Path) -> dict[str, Any]:
    """The raw data of a file; numbers with a point are Decimal, so that printed digits survive."""
    if not path.exists():
        raise ColdError(f"no data file {path}")
    return reading.read_toml(path, parse_float=Decimal)


def _dataset(key: str, entry: Mapping[str, Any]) -> PrintedDataset:
    optional = {"tasks": None, "classes_per_task": None}
    return PrintedDataset(key=key, **{**optional, **entry})


def _rounding(number: Any) -> float:
    exponent = Decimal(number).as_tuple().exponent
    assert isinstance(exponent, int)  # a TOML number is never NaN or infinite here
    return 0.5 * 10.0**exponent


def _results(entry: Mapping[str, Any]) -> ResultsTable:
    columns = tuple((str(dataset), int(memory)) for dataset, memory in entry["columns"])
    bold = {tuple(place) for place in entry["bold"]}
    cells = []
    for method, row in entry["rows"].items():
        if len(row) != len(columns):
            raise ColdError(f"{entry['label']}: {method} has {len(row)} cells, not {len(columns)}")
        for (dataset, memory), numbers in zip(columns, row, strict=True):
            printed = dict(zip(entry["fields"], numbers, strict=True))
            values = {name: None if text == DASH else float(text) for name, text in printed.items()}
            accuracy = values["acc"]
            if accuracy is None:
                raise ColdError(f"{entry['label']}: {method} {dataset} M={memory} has no accuracy")
            forgets = values["forgetting"] is not None
            cells.append(
                PrintedResult(
                    method, dataset, memory, accuracy, values.get("acc_sd"),
                    values["forgetting"], values.get("forgetting_sd"), entry["label"],
                    acc_rounding=_rounding(printed["acc"]),
                    forgetting_rounding=_rounding(printed["forgetting"]) if forgets else 0.0,
                    acc_bold=(method, dataset, memory, "acc") in bold,
                    forgetting_bold=(method, dataset, memory, "forgetting") in bold,
                )
            )  # fmt: skip
    methods = tuple(entry["rows"])
    return ResultsTable(entry["label"], entry["place"], columns, methods, dict(entry["years"]), tuple(cells))


def _runs(entry: Mapping[str, Any]) -> Iterator[Hyperparameters]:
    shared = ("label", "method", "columns")
    rows = {name: values for name, values in entry.items() if name not in shared}
    for place, (dataset, memory) in enumerate(entry["columns"]):
        settings = {name: values[place] for name, values in rows.items()}
        for name in ("learning_rate", "V", "delta", "queue_initialization"):
            settings[name] = float(settings[name])
        yield Hyperparameters(method=entry["method"], dataset=dataset, memory=memory, table=entry["label"], **settings)


@lru_cache(maxsize=8)
def _load_facts(path: Path) -> tuple[Mapping[str, Fact], tuple[PrintedStatement, ...]]:
    raw = read_toml(path)
    try:
        known = {id: Fact(id=id, **_floats(entry)) for id, entry in raw["fact"].items()}
        return known, tuple(PrintedStatement(**entry) for entry in raw["statement"])
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ColdError(f"{path.name} does not follow its schema: {error!r}; see the comments at its top") from error


def _floats(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: _floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return value
