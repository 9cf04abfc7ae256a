"""Every named benchmark as data: what it is made of, how large it is, how the paper trains on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from coldtheory.ground.errors import ColdError
from coldtheory.paper import paper

Pixels = Literal["standard", "unit"]
#: What is known of a sample at test time. task: which task it is of, and each task has a head of its own; class:
#: nothing, one head answers for the classes of all tasks; domain: nothing either, and all tasks have the same classes.
Scenario = Literal["task", "class", "domain"]


@dataclass(frozen=True)
class BenchmarkEntry:
    """A named benchmark. `train`, `test` and `classes` count those of the whole data set, not of one task."""

    name: str
    title: str  #: as tables and figures print it
    data: str  #: the data set it is made of; empty: its images are made on the fly
    kind: Literal["split", "permuted", "rotated"]
    tasks: int  #: unless told otherwise
    train: int
    test: int
    classes: int
    shape: tuple[int, int, int]  #: of an image: channels, height, width
    model: str | None = None  #: the paper's network; None: one that fits the shape of the images
    pixels: Pixels = "standard"

    @property
    def scenario(self) -> Scenario:
        """Unless told otherwise: each task of a split has a head of its own, other tasks share theirs."""
        return "task" if self.kind == "split" else "domain"

    @property
    def has_preset(self) -> bool:
        """Whether the paper's hyper-parameter tables have a column for it."""
        return bool(paper().runs(self.name))

    def per_task(self, tasks: int) -> tuple[int, int]:
        """Training and test images of each of `tasks` tasks: a share in a split, else all of them."""
        return (self.train // tasks, self.test // tasks) if self.kind == "split" else (self.train, self.test)


BENCHMARKS: Mapping[str, BenchmarkEntry] = {
    entry.name: entry
    for entry in (
        BenchmarkEntry("pmnist", "Permuted-MNIST", "mnist", "permuted", 20, 60_000, 10_000, 10, (1, 28, 28),
                       "mlp-256-256", pixels="unit"),
        BenchmarkEntry("rmnist", "Rotated-MNIST", "mnist", "rotated", 20, 60_000, 10_000, 10, (1, 28, 28),
                       "mlp-256-256", pixels="unit"),
        BenchmarkEntry("split-mnist", "Split-MNIST", "mnist", "split", 5, 60_000, 10_000, 10, (1, 28, 28), "mlp-256"),
        BenchmarkEntry("split-fashion", "Split-Fashion-MNIST", "fashion-mnist", "split", 5, 60_000, 10_000, 10,
                       (1, 28, 28), "mlp-256"),
        BenchmarkEntry("split-cifar10", "Split-CIFAR10", "cifar10", "split", 5, 50_000, 10_000, 10, (3, 32, 32),
                       "resnet18"),
        BenchmarkEntry("split-cifar100", "Split-CIFAR100", "cifar100", "split", 20, 50_000, 10_000, 100, (3, 32, 32),
                       "resnet18"),
        BenchmarkEntry("split-tinyimagenet", "Split-TinyImageNet", "tinyimagenet", "split", 20, 100_000, 10_000, 200,
                       (3, 64, 64), "resnet18"),
        BenchmarkEntry("synthetic", "synthetic", "", "split", 5, 2_000, 500, 10, (1, 16, 16)),
    )
}  # fmt: skip
#: What `--dataset` takes, for messages.
BENCHMARK_NAMES = (*BENCHMARKS, "folder:PATH")


def default_tasks(name: str, options: Mapping[str, Any]) -> int | None:
    """How many tasks a benchmark has by default; None for a folder whose images have not been counted."""
    entry = BENCHMARKS.get(name)
    if entry is None:
        return None
    if entry.data or options.get("permuted"):
        return entry.tasks
    return even_split(int(options.get("classes", entry.classes)))


def even_split(classes: int) -> int:
    """As many tasks as there can be with the same number, at least two, of classes in each.

    >>> [even_split(classes) for classes in (10, 9, 7)]
    [5, 3, 1]
    """
    return next(classes // width for width in range(2, classes + 1) if classes % width == 0) if classes > 1 else 1


def usual_scenario(name: str, options: Mapping[str, Any]) -> Scenario:
    """The default scenario of a benchmark; a folder of images is split by class."""
    entry = BENCHMARKS.get(name)
    if (
        options.get("heads") == "shared"
        or options.get("permuted")
        or (entry is not None and entry.scenario == "domain")
    ):
        return "domain"
    return "task"


def named_by_scenario(
    name: str, scenario: str | None, options: Mapping[str, Any]
) -> tuple[str | None, Mapping[str, Any]]:
    """The one way to state a scenario: nothing where it is the usual one, heads="shared" for a split with one head.

    >>> named_by_scenario("split-mnist", "task", {}), named_by_scenario("split-mnist", "domain", {})
    ((None, {}), (None, {'heads': 'shared'}))
    """
    if scenario is None:
        return None, options
    usual, splits = usual_scenario(name, options), usual_scenario(name, {**options, "heads": "task"}) == "task"
    if scenario == usual:
        return None, options
    if not splits:
        raise ColdError(f"{name} has all classes in every task: it is domain-incremental, not {scenario}-incremental")
    if "heads" in options:
        raise ColdError(f"--scenario {scenario} says which heads there are; leave out --data-option heads")
    return (None, {**options, "heads": "shared"}) if scenario == "domain" else (scenario, options)
