"""Functions of both packages with bad arguments: either they work, or a `ColdError` names the argument."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import coldtheory as ct
from cold import COLD, Memory, RunConfig, make_config
from cold.data import from_tensors, load_benchmark
from cold.models import build_model
from cold.queues import VirtualQueues
from cold.trainer import Trainer
from coldtheory import bounds, ideal, measures, sources, sweep
from coldtheory.geometry import smallest_enclosing_ball
from coldtheory.ground.errors import ColdError
from coldtheory.search import plan_for, search
from tests.cold.tiny_runs import tiny
from tests.fuzz.sandbox import Enough, Tally, escaped, limited, sandbox, where
from tests.fuzz.values import OBJECTS

X, Y = torch.arange(24.0).reshape(8, 3), torch.arange(8) % 2
TENSORS: list[Any] = [
    torch.tensor([]),
    torch.tensor(1),
    torch.tensor([[1.0, float("nan")]]),
    torch.zeros(2, 3),
    torch.zeros(8, dtype=torch.bool),
    torch.full((8,), -100),
    torch.full((8,), 10**12),
    torch.zeros(8, 3, dtype=torch.complex64),
    torch.zeros(0, 3),
    torch.ones(8, requires_grad=True),
    torch.zeros(8),
    torch.full((8,), 7),
]
#: Under which other name a message may speak of an argument.
ALSO = {
    "tasks": ("optima", "M =", "task", "models"),
    "optima": ("tasks",),
    "hessians": ("Hessians",),
    "memory_hessians": ("Hessians",),
    "memory_optima": ("memory optima",),
    "n": ("points",),
    "m": ("memory",),
    "numbers": ("V",),
    "size": ("M =", "memory"),
    "regime": ("regime",),
    "id": ("statement",),
    "queue_update": ("queue-update",),
    "policy": ("memory-policy", "memory"),
    "data_options": ("option",),
    "options": ("option",),
    "x": ("sample", "y"),
    "y": ("label", "sample", "x"),
    "values": ("V", "grid"),
    "evaluate_on": ("evaluate on", "validation"),
    "memory_batch": ("memory batch",),
    "memory_policy": ("memory-policy",),
    "given": ("task", "label", "sample", "class"),
    "phi": ("stream",),
    "phi_hat": ("stream", "phi"),
    "t": ("task",),
    "name": ("benchmark", "model"),
    "statement": ("statement", "form"),
    "order": ("order",),
    "raw": ("sample", "x", "y"),
    "w0": ("w0",),
    "scheme": ("reference",),
    "delta_prime": ("delta'",),
    "text": ("regime", "no file", "source"),
    "classes": ("images",),
    "train_per_class": ("images",),
    "test_per_class": ("images",),
    "shape": ("images",),
    "seeds": ("seeds",),
    "config": ("config",),
    "dataset": ("benchmark",),
    "method": ("method",),
    "wanted": ("seeds",),
}


@dataclass(frozen=True)
class Function:
    """A function, arguments with which it works, and those that may be bad."""

    call: Callable[..., Any]
    good: Mapping[str, Any]
    bad: tuple[str, ...] = ()
    also: list[Any] = field(default_factory=list)  #: further values to try, often
    only: bool = False  #: whether nothing but these is tried

    @property
    def names(self) -> tuple[str, ...]:
        return self.bad or tuple(self.good)


def _loss(raw: Any, y: Any) -> Any:
    cold = COLD(V=1.0, delta=0.0, tasks=2, memory=4)
    cold.begin_task(nn.Linear(3, 2), X)
    return cold.loss(nn.Linear(3, 2), raw, y)


def _two_tasks(x: Any, y: Any) -> None:
    model, cold = nn.Linear(3, 2), COLD(V=1.0, delta=0.0, tasks=2, memory=4)
    for _ in range(2):
        cold.begin_task(model, x)
        cold.loss(model, X, Y).backward()
        cold.end_task(model, x, y)


def _order(calls: str) -> None:
    """Calls of COLD in any order."""
    model, cold = nn.Linear(3, 2), COLD(V=1.0, delta=0.0, tasks=2, memory=4)
    for letter in calls:
        if letter == "b":
            cold.begin_task(model, X)
        elif letter == "l":
            cold.loss(model, X, Y)
        else:
            cold.end_task(model, X, Y)


def functions() -> list[Function]:
    optima = np.arange(6.0).reshape(3, 2)
    tasks = ct.make_tasks("high", 0, T=4, d=2)
    run = ct.simulate(tasks, V=[50.0, 200.0])
    phi = ct.Quadratics.of(optima)
    ball = ct.Ball([0.0, 0.0], 5.0)
    source = sources.load_source("high").with_constants(T=4, d=2)
    settings = {
        "V": 1.0,
        "eta": 0.1,
        "delta": 0.1,
        "steps": 2,
        "reference": "previous",
        "weights": "mean",
        "w0": None,
        "solver": "gd",
        "window": None,
        "noise": 0.0,
        "noise_seed": 0,
        "ball": None,
    }
    regime = {"seeds": 0, "T": 4, "d": 2, "c1": 0.1, "c2": 0.1, "n": None, "m": None, "spread": 0.3}
    config = RunConfig().as_dict()
    bench = from_tensors([(X, Y, X, Y)], scenario="domain")
    own = [*TENSORS, np.ones((8, 3)), [1, 2], "x"]
    numbers = {
        "V": 1.0,
        "delta": 0.1,
        "tasks": 2,
        "memory": 4,
        "memory_batch": 1,
        "weights": "sum",
        "queue_update": "step",
        "oracle": None,
        "replay": "per-task",
        "policy": "uniform",
        "idle": "auto",
        "reference_passes": 1,
        "heads": None,
        "batch_size": 4,
        "seed": 0,
        "device": "cpu",
    }
    return [
        Function(ct.make_tasks, {"regime": "high", **regime}),
        Function(ct.make_tasks, {"regime": "conflict", "T": 4, "d": 2, "separation": 1.0, "block": 2, "seeds": 0}),
        Function(ct.from_optima, {"optima": optima, "hessians": None, "memory_optima": None, "memory_hessians": None}),
        Function(ct.from_points, {"points": np.ones((3, 4, 2)), "m": 2, "seed": 0, "name": "points"}),
        Function(ct.from_regression, {"X": np.ones((3, 4, 2)), "y": np.ones((3, 4)), "m": 2, "seed": 0}),
        Function(ct.Quadratics.of, {"optima": optima, "hessians": None, "offsets": None}),
        Function(ct.Ball, {"center": [0.0, 1.0], "radius": 1.0}),
        Function(ball.contains, {"points": [0.0, 1.0]}),
        Function(smallest_enclosing_ball, {"points": optima}),
        Function(ct.simulate, {"tasks": optima, **settings}),
        Function(lambda **given: ct.simulate(tasks, **{**settings, **given}), settings),
        Function(lambda **given: ct.simulate(tasks, **{**settings, "reference": "best", **given}), settings),
        Function(bounds.follow, {"tasks": optima, "models": np.ones((4, 2)), "V": 1.0, "delta": 0.1, "eta": 1.0}),
        Function(bounds.evaluate, {"id": "thm3", "form": "corrected", "run": run, "ball": None}),
        Function(bounds.evaluate, {"id": "thm1", "form": "corrected", "run": run, "delta_prime": None, "w_star": None}),
        Function(bounds.evaluate, {"id": "cor2_queue", "form": "printed", "run": run, "constant": 1.0}),
        Function(measures.loss_variation, {"run": run, "reading": "ball", "ball": ball}),
        Function(measures.rho_bar, {"run": run, "reading": "ball", "ball": ball}),
        Function(measures.conditions, {"run": run, "ball": ball}),
        Function(measures.enclosing_ball, {"run": run}),
        Function(ideal.ideal_point, {"phi": phi, "phi_hat": phi, "t": 2, "delta_prime": 9.0}),
        Function(ideal.ideal_points, {"tasks": tasks, "delta_prime": 9.0}),
        Function(ideal.smallest_feasible_delta, {"phi_hat": phi, "upto": 2}),
        Function(
            sweep.grid, {"source": source, "axis": "V", "values": [1.0], "seeds": 2, "numbers": None, "scheme": None}
        ),
        Function(sources.load_source, {"text": "high"}),
        Function(
            lambda **given: source.with_constants(**given).tasks([0]), {"T": 4, "d": 2, "n": 3, "m": 2, "spread": 0.1}
        ),
        Function(search, {"statement": "lemma1", "form": None, "candidates": 1, "seed": 0, "rounds": 1}),
        Function(
            lambda **given: plan_for("lemma1", "printed", **given),
            {"d": 1, "steps": 1, "step_limit": 1.0, "weights": "mean", "blocks": 1, "hessians": "psd"},
        ),
        Function(RunConfig, config),
        Function(lambda **given: make_config(given), config),
        Function(lambda **given: make_config(given).run_id, config),
        Function(COLD, numbers),
        Function(Memory, {"size": 4, "tasks": 2, "policy": "uniform"}),
        Function(VirtualQueues, {"tasks": 2, "delta": 0.0, "weights": "sum"}),
        Function(_loss, {"raw": X, "y": Y}, ("y",), own),
        Function(_two_tasks, {"x": X, "y": Y}, ("x", "y"), own),
        Function(
            _order,
            {"calls": "ble"},
            ("calls",),
            ["e", "l", "be", "bee", "bebebe", "bebl", "blbl", "bleble", "eb"],
            only=True,
        ),
        Function(
            lambda given: from_tensors([(X, Y, X, Y), given]),
            {"given": (X, Y, X, Y)},
            ("given",),
            [(X, t, X, Y) for t in own]
            + [(t, Y, t, Y) for t in own]
            + [(X, Y, t, t) for t in own]
            + [(t, t) for t in own],
        ),
        Function(lambda y: from_tensors([(X, y, X, Y)], scenario="domain"), {"y": Y}, ("y",), own),
        Function(
            from_tensors,
            {"tasks": [(X, Y, X, Y)], "scenario": "task", "name": "own", "transform": None, "task_names": None},
        ),
        Function(
            load_benchmark,
            {
                "name": "synthetic",
                "tasks": 2,
                "seed": 0,
                "limit_train": 8,
                "limit_test": 8,
                "validation": 0.0,
                "order": "natural",
                "heads": "task",
                "pixels": None,
                "classes": 2,
                "train_per_class": 5,
                "test_per_class": 5,
                "noise": 0.1,
                "shape": [1, 4, 4],
            },
        ),
        Function(
            build_model,
            {"benchmark": bench, "width": 4, "seed": 0, "name": "mlp-4", "module": None},
            ("benchmark", "width", "name", "module"),
        ),
        Function(lambda **given: Trainer(tiny(), **given), {"checkpoint_every": 10.0, "benchmark": None}),
    ]


def outcome_of(function: Function, given: dict[str, Any], bad: list[str]) -> str:
    """What became of a call: see `Tally.note`."""
    try:
        limited(lambda: function.call(**given))
    except Enough:
        return "accepted"
    except ColdError as error:
        words = str(error)
        if "\n" in words or not words:
            return f"a message that is not one line: {words!r}"
        named = any(name in words for one in bad for name in (one, *ALSO.get(one, ())))
        return "refused" if named or "memory" in words or function.call is _order else f"does not name {bad}: {words}"
    except TypeError as error:
        return "refused" if "unexpected keyword" in str(error) or "missing" in str(error) else where(error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return where(error)
    return "accepted"


def fuzz(count: int, seed: int | str, folder: Path) -> Tally:
    """So many calls, with one to three bad arguments each."""
    rng, tally = random.Random(seed), Tally()
    with sandbox(folder):
        known = functions()
        for function in known:
            function.call(**function.good)  # works, and has loaded what it loads when first called
        for number in range(count):
            function = known[number % len(known)]
            bad = rng.sample(function.names, min(len(function.names), rng.choice([1, 1, 1, 2, 3])))
            values = function.also if function.only else [*OBJECTS, *function.also, *function.also]
            given = {**function.good, **{name: rng.choice(values) for name in bad}}
            outcome = outcome_of(function, given, bad)
            tally.note(escaped(folder) or outcome, f"{function.call.__qualname__} {[(n, given[n]) for n in bad]}"[:300])
    return tally
