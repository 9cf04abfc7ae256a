"""All settings of a run, frozen. Defaults, then a preset, then a TOML file, then flags; a later one wins."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from coldtheory.controllers import controller_of
from coldtheory.ground.checks import LARGEST_WHOLE, choice, number, shown
from coldtheory.ground.errors import ColdError, unknown_name
from coldtheory.ground.files import config_key
from coldtheory.ground.reading import read_toml

from .catalogue import METHODS, Scenario, named_by_constraint, named_by_reference, named_by_scenario

QueueUpdate = Literal["step", "epoch", "task", "never"]
Weights = Literal["sum", "mean"]
Reference = Literal["previous", "best", "stored"]
Replay = Literal["per-task", "mixed"]
Policy = Literal["uniform", "reservoir"]
Idle = Literal["auto", "skip", "joint"]
Passes = Literal["joint", "separate"]
Init = Literal["torch", "xavier"]
CHOICES: dict[str, tuple[str, ...]] = {
    "optimizer": ("adam", "sgdm"),
    "queue_update": get_args(QueueUpdate),
    "weights": get_args(Weights),
    "reference": get_args(Reference),
    "replay": get_args(Replay),
    "memory_policy": get_args(Policy),
    "idle": get_args(Idle),
    "amp": ("off", "bf16", "fp16"),
    "scenario": get_args(Scenario),
    "forward": get_args(Passes),
    "init": get_args(Init),
}
_MAY_BE_ABSENT = ("reference", "scenario")
AUTO = "auto"  #: the V that follows from the number of steps
USUAL_V = 20.0  #: of the paper's methods, for Permuted-MNIST
GAUGE = 0.2  #: share of the memory that measures, where forgetting is requested and nothing else is said
_MOST_THREADS = 1024
_LARGEST_GAUGE = 0.9  # of the memory
_LONGEST_NAME = 60  # of a dataset or method in the name of a folder
# Where a run computes, not what: two runs that differ in these only have one identity.
PLACE = ("device", "threads", "eval_batch")


@dataclass(frozen=True)
class RunConfig:
    """One run. The defaults are the paper's for Permuted-MNIST, with the delta that gives the paper's row."""

    dataset: str = "pmnist"
    method: str = "cold"
    preset: str | None = None
    profile: str | None = None  #: name of a reduced setting, for tables that mix such runs with full ones
    # the stream of tasks
    scenario: str | None = None  #: what is known at test time; not set: as is usual for the benchmark
    tasks: int | None = None
    limit_train: int | None = None
    limit_test: int | None = None
    validation: float = 0.0
    evaluate_on: str = "test"  #: or "validation"
    iid: bool = False
    blur: float = 0.0  #: share of each task's training samples that is dealt to the other tasks
    windows: int | None = None  #: in place of tasks: the stream in as many windows, with no word on boundaries
    augment: bool | None = None
    data_options: Mapping[str, Any] = field(default_factory=dict)  #: further arguments of `load_benchmark`
    # the network
    model: str | None = None  #: a name, package.module:factory, or timm:NAME
    width: int = 64
    init: str = "torch"  #: first weights of Linear layers and convolutions, see `cold.models.build`
    # optimisation
    epochs: int = 5
    batch_size: int = 128
    optimizer: str = "adam"
    lr: float = 1e-4
    momentum: float = 0.9
    weight_decay: float = 0.0
    reset_optimizer: bool = False
    average: float = 0.0  #: decay of a running average of the weights, which is evaluated in place of the last ones
    # replay
    memory: int = 5000
    memory_batch: int = 1
    memory_policy: str = "uniform"
    replay: str = "per-task"
    forward: str = (
        "joint"  #: batch and memory batch in one pass, with the same BatchNorm statistics, or each in its own
    )
    # COLD
    V: float | str | None = None  #: not set: as the method's name says; "auto": it follows from the number of steps
    delta: float = 0.0
    constraint: str | None = None  #: what past tasks are held to; not set: as the method's name says
    queue_start: str | None = None  #: where a new queue starts; not set: as is usual for the constraint
    gauge: float = 0.0  #: share of the memory that is never trained on and measures forgetting
    forget: float | None = None  #: how much may be forgotten, in nats of loss on the gauge
    forget_acc: float | None = None  #: the same in accuracy
    weights: str = "sum"
    queue_update: str = "step"
    reference: str | None = None  #: whose loss past tasks are compared with; not set: as the method's name says
    oracle: str = "exact"  #: how the best past model is found
    controller: str = "queue"  #: how the weight of a past task follows from its constraint
    idle: str = "auto"
    reference_passes: int = 2
    options: Mapping[str, Any] = field(default_factory=dict)  #: a method's own hyper-parameters
    # running
    diagnostics: bool = False  #: measure the theory's quantities along the run, see `cold.diagnostics`
    seed: int = 0
    device: str = "auto"
    threads: int | None = None
    amp: str = "off"
    channels_last: bool = False
    compile: bool = False
    deterministic: bool = False  #: only kernels that give the same bits every time, see `cold.compute.repeatable`
    eval_batch: int | None = None  #: samples of a test forward; by default what suits the device

    def __post_init__(self) -> None:
        for one in dataclasses.fields(self):
            object.__setattr__(self, one.name, _typed(one.name, str(one.type), getattr(self, one.name)))
        for name in CHOICES:
            check_setting(name, getattr(self, name))
        method, constraint = named_by_constraint(self.method, self.constraint)
        method, reference = named_by_reference(method, self.reference)
        scenario, data_options = named_by_scenario(self.dataset, self.scenario, self.data_options)
        for name, value in (
            ("method", method), ("reference", reference), ("controller", controller_of(self.controller).text),
            ("scenario", scenario), ("data_options", data_options), ("constraint", constraint),
            ("V", self._weight_of_present(method)),
        ):  # fmt: skip
            object.__setattr__(self, name, value)  # one name for one run, whichever way it was typed
        positive = (
            "tasks", "limit_train", "limit_test", "width", "epochs", "batch_size", "memory", "memory_batch",
            "reference_passes", "threads", "eval_batch", "V", "lr", "windows",
        )  # fmt: skip
        for name in positive:
            value = getattr(self, name)
            if value is not None and value != AUTO and not (value > 0 and math.isfinite(value)):
                raise ColdError(f"{name} must be > 0 and finite, got {value}")
        for name in ("delta", "seed", "weight_decay", "momentum", "blur", "gauge", "average"):
            if not (getattr(self, name) >= 0 and math.isfinite(getattr(self, name))):
                raise ColdError(f"{name} must be >= 0 and finite, got {getattr(self, name)}")
        for name, why in (
            ("momentum", "the steps would grow without end"), ("blur", "no task would keep a sample"),
            ("average", "the average would never move"),
        ):  # fmt: skip
            if getattr(self, name) >= 1:
                raise ColdError(f"{name} must be below 1, got {getattr(self, name):g}: {why}")
        for name, most in (("threads", _MOST_THREADS), ("gauge", _LARGEST_GAUGE)):
            if (getattr(self, name) or 0) > most:
                raise ColdError(f"{name} must be at most {most:g}, got {getattr(self, name):g}")
        queue_start_of(self.queue_start)
        check_request(self.forget, self.forget_acc)
        if (self.forget, self.forget_acc) != (None, None) and not self.gauge:
            object.__setattr__(self, "gauge", GAUGE)
        self._check_evaluation()

    def _check_evaluation(self) -> None:
        if self.evaluate_on not in ("test", "validation"):
            raise unknown_name("part to evaluate on", self.evaluate_on, ("test", "validation"))
        if self.evaluate_on == "validation" and not self.validation:
            raise ColdError("to evaluate on validation data, keep some: --validation 0.1")
        if self.average and self.gauge:
            raise ColdError("a gauge measures the network that trains and not its average; leave out one of them")

    def _weight_of_present(self, method: str) -> float | str:
        """V where it is not set: "auto" for the method that needs no tuning, else that of the paper's table."""
        if self.V is None:
            return AUTO if method == METHODS["cold-distill"].name else USUAL_V
        if isinstance(self.V, str) and self.V != AUTO:
            raise ColdError(f"V must be a number or {AUTO}, got {shown(self.V)}")
        return self.V

    def as_dict(self) -> dict[str, Any]:
        """All settings as plain JSON values."""
        return {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}

    @property
    def run_id(self) -> str:
        """A readable name that is unique to the settings that can change a result.

        Settings at their default do not count: a later version with more settings keeps the names of old runs.
        """
        plain = RunConfig()
        identity = {k: v for k, v in self.as_dict().items() if k not in PLACE and v != getattr(plain, k)}
        return f"{_safe(self.dataset)}-{_safe(self.method)}-s{self.seed}-{config_key(identity)[:8]}"


def queue_start_of(text: str | None) -> float | str | None:
    """Where a new queue starts: "mean" of the others, or a number ("zero" is 0); None: as is usual for the constraint.

    >>> queue_start_of("zero"), queue_start_of("0.4"), queue_start_of("mean")
    (0.0, 0.4, 'mean')
    """
    if text is None or text == "mean":
        return text
    if text == "zero":
        return 0.0
    try:
        found = float(text)
    except (TypeError, ValueError):
        found = math.nan
    if not (found >= 0 and math.isfinite(found)):
        raise ColdError(f"queue-start must be zero, mean or a number >= 0, got {shown(text)}")
    return found


def check_request(forget: float | None, forget_acc: float | None) -> None:
    """Raises unless at most one of the two ways to request forgetting is used, with an amount that makes sense."""
    if forget is not None and forget_acc is not None:
        raise ColdError("--forget and --forget-acc are two ways to say one thing; give one of them")
    if forget is not None:
        number("forget", forget, least=0)
    if forget_acc is not None:
        number("forget_acc", forget_acc, least=0, most=1)


def gauge_size(memory: int, share: float) -> int:
    """How many of the memory's samples are the gauge.

    >>> gauge_size(500, 0.2)
    100
    """
    return round(memory * share)


def check_setting(name: str, value: str | None) -> None:
    """Raises if a setting has a value that is none of its `CHOICES`."""
    if value is None and name in _MAY_BE_ABSENT:
        return
    choice(name.replace("_", "-"), value, CHOICES[name])


def check_memory(config: RunConfig, tasks: int) -> str | None:
    """Check that the memory can hold what a step draws, before the first step and not when the second task begins.

    Where a draw takes samples of all past tasks together, the memory may hold fewer at first. Draws are then smaller,
    which is what the text that comes back says.
    """
    each = (config.memory - gauge_size(config.memory, config.gauge)) // tasks
    if each == 0:
        raise ColdError(
            f"a memory of M = {config.memory} holds less than one sample of each of {tasks} tasks; "
            "take --memory >= the number of tasks"
        )
    if config.memory_policy == "uniform" and config.replay == "per-task" and config.memory_batch > each:
        raise ColdError(
            f"a memory batch of {config.memory_batch} is larger than the {each} samples that a memory of "
            f"{config.memory} keeps of each of {tasks} tasks; take a smaller --memory-batch or a larger --memory"
        )
    if config.memory_policy == "uniform" and config.replay == "mixed" and config.memory_batch > each and tasks > 1:
        until = min(tasks, math.ceil(config.memory_batch / each))
        return (
            f"the memory keeps {each} samples per task: up to task {until} a memory batch is all samples of past "
            f"tasks, fewer than {config.memory_batch}"
        )
    return None


def make_config(*layers: Mapping[str, Any]) -> RunConfig:
    """A configuration from layers of settings, later ones over earlier ones.

    >>> make_config({"V": 5, "epochs": 1}, {"V": 7}).V
    7.0
    """
    settings: dict[str, Any] = {}
    fields = {f.name: f for f in dataclasses.fields(RunConfig)}
    for layer in layers:
        for name, value in layer.items():
            if name not in fields:
                raise unknown_name("setting", name, fields)
            if name in ("options", "data_options") and isinstance(value, Mapping):
                settings[name] = {**settings.get(name, {}), **value}
            else:
                settings[name] = value
    return RunConfig(**settings)


def read_config(path: Path) -> dict[str, Any]:
    """Settings of a TOML file, names as in `RunConfig`; a table [options] holds a method's own."""
    return read_toml(path)


_AS_IT_IS = {type(None): "None", bool: "bool", str: "str"}  # values that need no further look, and their kinds
_ACCEPTED: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}


@cache
def _parts(kind: str) -> tuple[str, ...]:
    return tuple(kind.split(" | "))


def _typed(name: str, kind: str, value: Any) -> Any:
    """The value converted to its field's type; 5 for a float is 5.0, so equal settings have equal names on disk."""
    wanted = _parts(kind)
    if _AS_IT_IS.get(type(value)) in wanted:  # most of them, of thousands of runs that are read
        return value
    if kind.startswith("Mapping"):
        return _options(name, value)
    for option in wanted:
        types = _ACCEPTED.get(option, ())
        if isinstance(value, types) and (option == "bool" or not isinstance(value, bool)):
            if option == "float":
                return number(name, value)
            if option == "int" and not -LARGEST_WHOLE <= value <= LARGEST_WHOLE:  # type: ignore[operator]
                raise ColdError(f"{name} must be at most {LARGEST_WHOLE}, got {shown(value)}")
            return value
    raise ColdError(f"{name} must be {' or '.join(w for w in wanted if w != 'None')}, got {shown(value)}")


def _options(name: str, value: Any) -> dict[str, Any]:
    """Further options by name; they are part of a run's name, so they must be plain data."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ColdError(f"{name} must be options by name, got {shown(value)}")
    try:
        json.dumps(dict(value), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ColdError(f"{name} must be finite numbers, texts and lists of them, got {shown(value)}") from None
    return dict(value)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in Path(name).name)[:_LONGEST_NAME] or "own"
