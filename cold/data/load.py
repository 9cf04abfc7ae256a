"""Benchmarks by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from coldtheory.ground.checks import choice, whole
from coldtheory.ground.errors import ColdError, unknown_name

from ..catalogue import BENCHMARK_NAMES, BENCHMARKS, Pixels, Scenario, even_split, named_by_scenario, usual_scenario
from . import synthetic
from .augment import Transform
from .benchmark import Benchmark
from .cache import data_root
from .data_sets import DATA_SETS
from .encoded import read_folder
from .images import Images
from .splits import Heads, Order, Sizes, permuted_benchmark, split_benchmark


def load_benchmark(
    name: str,
    *,
    root: Path | None = None,
    tasks: int | None = None,
    seed: int = 0,
    limit_train: int | None = None,
    limit_test: int | None = None,
    validation: float = 0.0,
    iid: bool = False,
    order: Order = "natural",
    scenario: Scenario | None = None,
    heads: Heads = "task",
    augment: bool | None = None,
    pixels: Pixels | None = None,
    **options: Any,
) -> Benchmark:
    """A benchmark, with all its images in memory as bytes.

    `name`         pmnist, rmnist, split-mnist, split-fashion, split-cifar10, split-cifar100, split-tinyimagenet,
                   synthetic, or folder:PATH.
    `root`         the data root (see `cold.data.cache.data_root`).
    `tasks`        any divisor of the number of classes for a split, any number for a permuted or rotated benchmark.
    `seed`         of permutations, angles, class order, limits and parts. The same tasks come out for every method.
    `limit_train`, `limit_test`   images per task, spread evenly over its classes.
    `validation`   share of each task's (limited) training part that is held out, stratified and disjoint.
    `iid`          the near-IID counterpart: the same images and labels, dealt to the tasks at random.
    `order`        of classes in a split: natural, or shuffled by the seed.
    `scenario`     of a split: task (a head per task), class (one head for the classes of all tasks), or domain (one
                   head, and label k is the k-th class of every task). None: task; domain where all tasks have all
                   classes.
    `heads`        another word for the scenario of a split: task; shared means domain.
    `augment`      False: no crop and flip; None: as is usual for the data.
    `pixels`       standard: mean 0, s.d. 1 by the data's statistics; unit: between 0 and 1. The paper does not say.
                   None: unit for pmnist and rmnist, where validation data (pmnist's) prefer it, else standard.
    `options`      synthetic: shape, classes, train_per_class, test_per_class, noise, permuted; folder: size; the
                   others: size, a divisor of the side of their images, whose pixels become means over squares.

    >>> benchmark = load_benchmark("synthetic", tasks=5)
    >>> len(benchmark.tasks), benchmark.head_widths, benchmark.input_shape
    (5, (2, 2, 2, 2, 2), (1, 16, 16))
    >>> load_benchmark("synthetic", tasks=5, scenario="class").head_widths
    (10,)
    """
    if not isinstance(name, str):
        raise unknown_name("benchmark", name, BENCHMARK_NAMES)
    seed = whole("seed", seed, least=0)
    tasks = None if tasks is None else whole("tasks", tasks)
    sizes = Sizes(limit_train, limit_test, validation)
    choice("heads", heads, get_args(Heads))
    if scenario is not None:
        choice("scenario", scenario, get_args(Scenario))
    chosen = _scenario(name, scenario, heads, options)
    permuted, rotated, about = False, False, ""
    if name == "synthetic":
        permuted = bool(options.pop("permuted", False))
        _check_options(name, options, synthetic.make, extra=("permuted",))
        images = synthetic.make(seed, **options)
        transform = _measured(images, bool(augment))
        default = BENCHMARKS[name].tasks if permuted else even_split(len(images.classes))
    elif name.startswith("folder:"):
        _check_options(name, options, read_folder)
        images = read_folder(Path(name.removeprefix("folder:")).expanduser(), **options)
        transform = _measured(images, augment is not False)
        name, default = f"folder:{images.source}", even_split(len(images.classes))
    elif name in BENCHMARKS:
        entry = BENCHMARKS[name]
        size = options.pop("size", None)
        _check_options(name, options, None, extra=("size",))
        data = DATA_SETS[entry.data]
        transform = data.transform(augment)
        images = data.load(data_root(root))
        about = data.about(len(images.train_y), len(images.test_y), images.source)
        if size is not None:
            images = images.shrunk(size)
            about = "; ".join(filter(None, (about, f"images reduced to {size} x {size} pixels")))
        permuted, rotated = entry.kind != "split", entry.kind == "rotated"
        default, pixels = entry.tasks, pixels or entry.pixels
    else:
        raise unknown_name("benchmark", name, BENCHMARK_NAMES)
    if pixels is not None:
        choice("pixels", pixels, get_args(Pixels))
    if pixels == "unit":
        transform = replace(transform, mean=None, std=None)
    count = default if tasks is None else tasks
    if permuted:
        if order != "natural" or heads != "task":
            raise ColdError(f"{name} has one head and all classes in every task; leave order and heads out")
        made = permuted_benchmark(
            name, images, transform, tasks=count, seed=seed, sizes=sizes, iid=iid, rotated=rotated
        )
    else:
        made = split_benchmark(
            name, images, transform, tasks=count, seed=seed, sizes=sizes, iid=iid, order=order, scenario=chosen
        )
    return replace(made, about=about)


def _scenario(name: str, scenario: Scenario | None, heads: Heads, options: Mapping[str, Any]) -> Scenario:
    told = {**options, **({"heads": heads} if heads != "task" else {})}
    named, way = named_by_scenario(name, scenario, told)
    return "class" if named is not None else usual_scenario(name, way)


def _measured(images: Images, augment: bool) -> Transform:
    """Return a normalisation by the statistics of these images, for data without canonical ones."""
    return Transform(*images.channel_statistics(), *((4, True) if augment else (0, False)))


def _check_options(
    name: str, options: Mapping[str, Any], reader: Callable[..., Images] | None, extra: tuple[str, ...] = ()
) -> None:
    """Call a reader; an unknown option raises a `ColdError` instead of a TypeError."""
    parameters = inspect.signature(reader).parameters.values() if reader is not None else ()
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY] + list(extra)
    for option in options:
        if option not in known:
            raise (
                unknown_name(f"option of {name}", option, known)
                if known
                else ColdError(f"{name} has no option {option!r}")
            )
