"""A comparison with Avalanche, an independent implementation: python benchmarks/against_avalanche.py

Avalanche is optional: pip install avalanche-lib==0.6.0 torchvision
(beside a CPU-only torch, first: pip install --no-deps torchvision==0.28.0)

    speed      steps/s of the trainer's loop over those of Avalanche's, Permuted-MNIST's network and batches of 128,
               with 128 replayed samples for the replay methods (goal >= 3); epochs of both take turns, the result is
               a ratio of medians of processor time on one thread. Avalanche reads its own Permuted-MNIST; beside it
               the ratio for float tensors that were permuted before, the cheapest that it can be given
    agreement  final accuracy of both on Permuted-MNIST (real MNIST), same tasks, initial weights, optimiser, memory
               and number of replayed samples, over seeds; they agree if the mean difference is not larger than what
               the seeds' own scatter explains (95 % interval of Student's t). Fine-tuning and EWC see the very same
               batches.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import avalanche_side as side
import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from scipy.stats import t as student
from trainer import at_task, epoch

from cold.config import make_config
from cold.data import Part
from cold.streams import Streams
from cold.trainer import Trainer
from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically
from coldtheory.ground.provenance import provenance

METHODS = ("finetune", "er", "agem", "der", "ewc")
REPLAY = ("er", "agem", "der")
FAST = side.Rule(lr=0.01, batch=128, memory=1280, memory_batch=128, tasks=5, strength=10.0, alpha=0.5)
EQUAL = side.Rule(lr=0.03, batch=32, memory=1280, memory_batch=32, tasks=5, strength=10.0, alpha=0.5)
TEST = 2000  # images per task
KINDS = ("its own data", "ready tensors")
RESULT = Path(__file__).parent / "results" / "avalanche.json"


def settings(method: str, rule: side.Rule) -> dict[str, Any]:
    """The settings of our own run, which follow the numbers above and Avalanche's rules."""
    found: dict[str, Any] = {
        "method": method, "tasks": rule.tasks, "epochs": 1, "batch_size": rule.batch, "optimizer": "sgdm",
        "momentum": 0.0, "lr": rule.lr, "threads": 1, "device": "cpu", "memory": rule.memory, "replay": "mixed",
        "memory_batch": rule.memory_batch,
    }  # fmt: skip
    if method == "der":
        found |= {"memory_policy": "reservoir", "options": {"alpha": rule.alpha}}
    if method == "ewc":
        found |= {"options": {"strength": rule.strength, "fisher": "empirical"}}
    return found


def floats(trainer: Trainer, part: Part, rows: torch.Tensor | None = None) -> side.Data:
    """Some rows of a task as the float tensors that the network sees."""
    rows = torch.arange(len(part)) if rows is None else rows
    return side.Data(trainer.context.inputs(part.raw(rows)).flatten(1), part.y[rows])


# -------------------------------------------------------------------------------------------------------------- speed


def speed(method: str, rounds: int, *, own_data: bool) -> dict[str, float]:
    """Median seconds per step of both, and their ratio. In Avalanche's last task, our turn comes after each of its
    epochs."""
    from avalanche.core import SupervisedPlugin  # noqa: PLC0415  (an optional dependency)

    past = FAST.tasks - 1
    ours = at_task(past, **settings(method, FAST))
    tasks = [task.train for task in ours.benchmark.tasks]
    if own_data:
        pictures = tasks[0].pool[tasks[0].index][:, 0]
        stream = side.own_stream(pictures, tasks[0].y, FAST.tasks)
    else:
        ready = [floats(ours, part) for part in tasks]
        stream, _ = side.streams(ready, ready[:1])
    block = epoch(ours)
    seconds: dict[str, list[float]] = {"avalanche": [], "cold": []}

    class Turns(SupervisedPlugin):
        began = 0.0

        def before_training_epoch(self, strategy: Any, **_: Any) -> None:
            self.began = time.process_time()

        def after_training_epoch(self, strategy: Any, **_: Any) -> None:
            between = time.process_time()
            seconds["avalanche"].append(between - self.began)
            block()
            seconds["cold"].append(time.process_time() - between)

    weights = [p.detach() for p in ours.model.parameters()]
    theirs = side.strategy(method, side.network(weights), FAST, [Turns()])
    theirs.train(stream[:past])
    theirs.train_epochs = rounds
    theirs.train(stream[past])
    steps = -(-len(tasks[past]) // FAST.batch)
    found = {name: statistics.median(times[past:]) / steps for name, times in seconds.items()}
    return {**found, "ratio": found["avalanche"] / found["cold"]}


# ---------------------------------------------------------------------------------------------------------- agreement


def both(method: str, seed: int, images: int) -> dict[str, Any]:
    """One run of each: the accuracies on all tasks after the last one, (T,), and how far apart the final weights
    are."""
    from avalanche.evaluation.metrics import accuracy_metrics  # noqa: PLC0415
    from avalanche.training.plugins import EvaluationPlugin  # noqa: PLC0415

    data = {"dataset": "pmnist", "seed": seed, "limit_train": images, "limit_test": TEST,
            "data_options": {"pixels": "standard"}}  # fmt: skip
    ours = Trainer(make_config(settings(method, EQUAL), data))
    order = Streams(seed, torch.device("cpu")).cpu("order")  # that of our batches
    tasks = ours.benchmark.tasks
    train = [floats(ours, t.train, torch.randperm(len(t.train), generator=order)) for t in tasks]
    stream, test = side.streams(train, [floats(ours, t.test) for t in tasks])
    torch.manual_seed(seed)  # what Avalanche draws from
    random.seed(seed)
    model = side.network([p.detach() for p in ours.model.parameters()])
    measure = EvaluationPlugin(accuracy_metrics(experience=True), loggers=[])
    theirs = side.strategy(method, model, EQUAL, evaluator=measure)
    for experience in stream:
        theirs.train(experience, shuffle=method in REPLAY)
    cold = ours.run().arrays["accuracy"][-1].tolist()
    pairs = zip(ours.model.parameters(), model.parameters(), strict=True)
    apart = max(float((a - b).abs().max()) for a, b in pairs)
    return {"cold": cold, "avalanche": side.final_accuracies(theirs, test), "weights apart": apart}


def verdict(runs: Sequence[dict[str, Any]], samples: int) -> dict[str, Any]:
    """Means, the paired difference with its standard error, and whether it is within noise."""
    ours, theirs = (np.array([100 * np.mean(run[name]) for run in runs]) for name in ("cold", "avalanche"))
    away = ours - theirs
    error = float(away.std(ddof=1) / np.sqrt(len(away)))
    allowed = float(student.ppf(0.975, len(away) - 1)) * error + 100 / samples  # one answer more or less does not count
    return {
        "cold": ours.tolist(), "avalanche": theirs.tolist(), "difference": float(away.mean()), "standard error": error,
        "allowed": allowed, "agree": bool(abs(away.mean()) <= allowed),
        "weights apart": max(run["weights apart"] for run in runs),
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- output


def show(found: dict[str, Any]) -> None:
    console = Console()
    if "speed" in found:
        table = Table("ms per step", "Avalanche reads", "Avalanche", "cold", "ratio (goal ≥ 3)", box=None)
        for method, kinds in found["speed"].items():
            for kind, row in kinds.items():
                times = (f"{row[name] * 1e3:.2f}" for name in ("avalanche", "cold"))
                table.add_row(method, kind, *times, f"{row['ratio']:.1f}")
        console.print(table)
    if "agreement" in found:
        table = Table("ACC %", "Avalanche", "cold", "difference ± s.e.", "verdict", "what differs", box=None)
        for method, row in found["agreement"].items():
            spread = (f"{np.mean(row[name]):.2f} ± {np.std(row[name], ddof=1):.2f}" for name in ("avalanche", "cold"))
            away = f"{row['difference']:+.3f} ± {row['standard error']:.3f}"
            table.add_row(method, *spread, away, "agree" if row["agree"] else "DIFFER", side.LEFT[method])
        console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="speed,agreement", help="which of the two")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--rounds", type=int, default=9, help="epochs of each that are timed")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--images", type=int, default=5_000, help="a task")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    origin = provenance()  # now: of the code that is loaded
    methods = chosen.methods.split(",")
    found: dict[str, Any] = {}
    try:
        side.load_avalanche()
        if "speed" in chosen.parts:
            found["speed"] = {
                m: {kind: speed(m, chosen.rounds, own_data=kind == "its own data") for kind in KINDS} for m in methods
            }
        if "agreement" in chosen.parts:
            runs = {m: [both(m, seed, chosen.images) for seed in range(chosen.seeds)] for m in methods}
            found["agreement"] = {m: verdict(rows, TEST * EQUAL.tasks) for m, rows in runs.items()}
    except ColdError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    versions = {name: metadata.version(name) for name in ("torch", "avalanche-lib")}
    asked = {
        "speed": asdict(FAST),
        "agreement": asdict(EQUAL),
        "rounds": chosen.rounds,
        "seeds": chosen.seeds,
        "images": chosen.images,
    }
    record = {"config": asked, "versions": versions, "provenance": origin, "left": side.LEFT, **found}
    write_atomically(chosen.out, json.dumps(record, indent=1) + "\n")
    if chosen.json:
        print(json.dumps(record))
    else:
        show(found)
    return 0 if all(row["agree"] for row in found.get("agreement", {}).values()) else 1


if __name__ == "__main__":
    sys.exit(main())
