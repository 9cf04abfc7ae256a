"""What methods cost beside the gradients that their rules need: python benchmarks/methods.py

    every method   time of a step in the trainer's loop (sampling, conversion of pixels, rule and bookkeeping included)
                   over that of a bare loop which does the same passes and optimiser steps on ready tensors (see
                   bare_loops.py); goal <= 1.15. Blocks of both take turns on one thread, and the result is the median
                   of the ratios of processor time over the turns
    breakdown      of CBA, GEM and REFRESH, whose rules are more than passes
    --fisher       EWC's Fisher diagonal over 60,000 MNIST samples, batched, over a loop of one backward pass per sample
                   (goal >= 30; the loop runs over --looped samples and is scaled), and the largest difference of both
                   (goal <= 1e-5 of a tensor's largest entry)

Permuted-MNIST's network with 128 + 128 samples after ten tasks; --resnet adds a narrow ResNet-18 with 32 + 32.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import bare_loops as bare
import torch
from rich.console import Console
from rich.table import Table
from trainer import Block, at_task, epoch, take_turns

from cold.cli.measure import looped_fisher
from cold.data import Part, load_benchmark
from cold.methods import all_methods, cba, find_method, gem, refresh
from cold.methods.fisher import diagonal_fisher
from cold.methods.gdumb import GDumb
from cold.trainer import Trainer
from coldtheory.ground.errors import ColdError
from coldtheory.ground.files import write_atomically
from coldtheory.ground.provenance import provenance

PAST = 10
MNIST: dict[str, Any] = {"memory_batch": 128, "replay": "mixed", "memory": 5000, "idle": "joint"}
RESNET: dict[str, Any] = {
    "model": "resnet18", "width": 8, "batch_size": 32, "memory_batch": 32, "replay": "mixed", "memory": 1000,
    "limit_train": 160, "idle": "joint", "data_options": {"permuted": False, "shape": [3, 32, 32], "classes": 40,
                                                          "train_per_class": 80, "test_per_class": 5},
}  # fmt: skip
INNER = 3  #: MER's inner steps; the published 10 only repeat them
#: (method, what it is called here, its settings, its bare loop)
ROWS: list[tuple[str, str, dict[str, Any], Callable[[bare.Bench], bare.Step]]] = [
    ("finetune", "finetune", {}, bare.plain("b")),
    ("joint", "joint", {}, bare.plain("b")),
    ("ewc", "ewc", {}, bare.with_penalty),
    ("ewc-online", "ewc-online", {}, bare.with_penalty),
    ("er", "er", {}, bare.plain("bm")),
    ("er-ace", "er-ace", {}, bare.plain("bm")),
    ("cold", "cold", {}, bare.plain("bm")),
    ("cold-oracle", "cold-oracle", {"oracle": "streaming"}, bare.plain("bm")),
    ("der", "der", {}, bare.plain("bm")),
    ("derpp", "derpp", {}, bare.plain("bmm")),
    ("agem", "agem", {}, bare.two_gradients),
    ("nccl", "nccl", {}, bare.two_gradients),
    ("mer", "mer, mini-batch", {"options": {"form": "mini-batch", "batches": INNER}}, bare.inner_steps(INNER, "bm")),
    ("gdumb", "gdumb, a step on its memory", {"options": {"passes": 1}, "memory": 1280}, bare.memory_training),
    ("gem", "gem", {}, bare.past_gradients(PAST)),
    ("cba", "cba", {}, bare.plain("bm")),
    ("refresh", "refresh", {}, bare.unlearn_first),
]
BROKEN_DOWN: dict[str, dict[str, tuple[Any, str]]] = {
    "gem": {
        "memory: forward": (gem.GEM, "memory_loss"), "memory: backward": (gem, "gradient"),
        "own: forward": (gem.GEM, "batch_losses"), "own: backward": (None, "backward"),
        "projection (QP)": (gem, "projected"), "optimiser": (None, "update"),
    },
    "cba": {
        "outer level, every fifth step": (cba.CBA, "_learn_adaptor"), "of it: virtual step": (cba, "virtual_step"),
        "of it: passes of the heads": (cba, "heads_only"), "inner loss": (cba.CBA, "inner_loss"),
        "backward": (None, "backward"), "optimiser": (None, "update"),
    },
    "refresh": {
        "unlearn step": (refresh.Refresh, "_unlearn"), "of it: backward": (refresh, "gradient"),
        "DER++: loss": (refresh.Refresh, "loss"), "DER++: backward": (None, "backward"),
        "DER++: optimiser": (None, "update"),
    },
}  # fmt: skip


def check_complete() -> None:
    missing = {method.name for method in all_methods()} - {row[0] for row in ROWS}
    if missing:
        raise ColdError(f"no bare loop for {', '.join(sorted(missing))}; add it to ROWS")


def block_of(trainer: Trainer) -> tuple[Block, int]:
    """A function that makes steps of the trainer, and how many it makes."""
    if isinstance(trainer.method, GDumb):
        method = trainer.method

        def train() -> None:
            method.trained = None
            method.network_for_evaluation()

        return train, -(-len(method.memory) // 16)
    return epoch(trainer), -(-len(trainer.training_part()) // trainer.config.batch_size)


def ratios(base: dict[str, Any], names: list[str], rounds: int, past: int) -> dict[str, dict[str, float]]:
    """Milliseconds per step of both, and their ratio."""
    found = {}
    for method, title, changes, loop in ROWS:
        if method not in names:
            continue
        trainer = at_task(past, "cpu", method=method, **{**base, **changes})
        block, steps = block_of(trainer)
        step = loop(bare.bench(trainer))
        found[title] = paired(block, repeated(step, steps), steps, rounds)
    return found


def paired(block: Block, other: Block, steps: int, rounds: int) -> dict[str, float]:
    """Medians over turns: milliseconds per step of both, and the ratio of the two in one turn."""
    turns = []
    for _ in range(rounds + 1):
        began = time.process_time()
        block()
        between = time.process_time()
        other()
        turns.append((between - began, time.process_time() - between))
    ours, bare_times = zip(*turns[1:], strict=True)  # the first turn warms up
    ratio = statistics.median(a / b for a, b in turns[1:])
    return {
        "method": 1e3 * statistics.median(ours) / steps, "bare": 1e3 * statistics.median(bare_times) / steps,
        "ratio": ratio,
    }  # fmt: skip


def repeated(step: bare.Step, count: int) -> Block:
    def block() -> None:
        for _ in range(count):
            step()

    return block


# ---------------------------------------------------------------------------------------------------------- breakdown


def breakdown(method: str, rounds: int) -> dict[str, float]:
    """Milliseconds per step of the parts and of the whole step, and of the Fisher at the end of a task where there is
    one."""
    trainer = at_task(PAST, "cpu", method=method, **MNIST)
    block, steps = block_of(trainer)
    block()
    spent: dict[str, float] = {}
    with ExitStack() as stack:
        for title, (holder, name) in BROKEN_DOWN[method].items():
            stack.enter_context(timed(trainer.context if holder is None else holder, name, title, spent))
        stack.enter_context(timed(trainer.method, "step", "whole step", spent))
        for _ in range(rounds):
            block()
    found = {title: 1e3 * seconds / (rounds * steps) for title, seconds in spent.items()}
    if method == "refresh":
        began = time.process_time()
        part = trainer.training_part()
        diagonal_fisher(trainer.model, part, 0, trainer.context.inputs)
        found[f"at a task's end: Fisher of {len(part)} samples"] = 1e3 * (time.process_time() - began)
    return found


@contextmanager
def timed(holder: Any, name: str, title: str, spent: dict[str, float]) -> Iterator[None]:
    """Inside the block, calls of a function are timed."""
    function, own = getattr(holder, name), name in vars(holder)
    spent[title] = 0.0

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        began = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            spent[title] += time.process_time() - began

    setattr(holder, name, wrapped)
    try:
        yield
    finally:
        if own:
            setattr(holder, name, function)
        else:
            delattr(holder, name)


# ------------------------------------------------------------------------------------------------------------- Fisher


def fisher(looped: int) -> dict[str, float]:
    """Seconds of both for 60,000 samples; the difference over the looped ones, in single and in double precision."""
    task = load_benchmark("pmnist", tasks=1).tasks[0].train
    x = task.raw().flatten(1).float() / 255
    trainer = at_task(0, "cpu", method="ewc")
    trainer.train_epoch()  # not the random start
    model = trainer.model
    whole = Part(x, torch.arange(len(x)), task.y)
    few = Part(x[:looped], torch.arange(looped), task.y[:looped])
    times = take_turns(
        {"batched": lambda: diagonal_fisher(model, whole, 0, same), "loop": lambda: looped_fisher(model, few, 0)},
        3, trainer.device,
    )  # fmt: skip
    loop = times["loop"] * len(x) / looped
    found = {"samples": len(x), "looped": looped, "batched": times["batched"], "loop": loop}
    found |= {"ratio": loop / times["batched"], "difference": difference(model, few)}
    return found | {"difference (float64)": difference(model.double(), Part(few.pool.double(), few.index, few.y))}


def difference(model: Any, few: Part) -> float:
    """The largest difference, relative to each tensor's largest entry."""
    pairs = zip(diagonal_fisher(model, few, 0, same), looped_fisher(model, few, 0), strict=True)
    return max(float((a - b).abs().max() / b.max()) for a, b in pairs)


def same(raw: torch.Tensor) -> torch.Tensor:
    return raw


# ------------------------------------------------------------------------------------------------------------- output


def show(found: dict[str, Any]) -> None:
    console = Console()
    for network in ("mlp", "resnet"):
        if network in found:
            table = Table(f"{network}, ms per step", "method", "bare", "ratio (goal ≤ 1.15)", box=None)
            for title, row in found[network].items():
                table.add_row(title, f"{row['method']:.2f}", f"{row['bare']:.2f}", f"{row['ratio']:.3f}")
            console.print(table)
    for method, parts in found.get("breakdown", {}).items():
        console.print(f"{find_method(method).title}, ms per step:", ", ".join(f"{k} {v:.2f}" for k, v in parts.items()))
    if "fisher" in found:
        f = found["fisher"]
        console.print(
            f"Fisher of {f['samples']:,} samples: {f['batched']:.2f} s batched, {f['loop']:.0f} s sample by sample "
            f"(from {f['looped']:,}): [bold]{f['ratio']:.0f}[/]x (goal ≥ 30); largest difference "
            f"{f['difference']:.1e}, in double precision {f['difference (float64)']:.1e} (goal ≤ 1e-5)"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join(row[0] for row in ROWS))
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--resnet", action="store_true", help="er, cold and agem on a narrow ResNet-18 too")
    parser.add_argument("--fisher", action="store_true", help="EWC's Fisher instead")
    parser.add_argument("--looped", type=int, default=2000, help="samples of the loop for the Fisher")
    parser.add_argument("--out", type=Path, help="a JSON file with provenance")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    origin = provenance()  # now: of the code that is loaded
    names = chosen.methods.split(",")
    found: dict[str, Any] = {}
    try:
        check_complete()
        if chosen.fisher:
            found["fisher"] = fisher(chosen.looped)
        else:
            found["mlp"] = ratios(MNIST, names, chosen.rounds, PAST)
            if chosen.resnet:
                found["resnet"] = ratios(RESNET, ["er", "cold", "agem"], chosen.rounds, PAST)
            found["breakdown"] = {m: breakdown(m, max(1, chosen.rounds // 3)) for m in BROKEN_DOWN if m in names}
    except ColdError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    record = {"config": vars(chosen) | {"out": None}, "torch": torch.__version__, "provenance": origin, **found}
    if chosen.out is not None:
        write_atomically(chosen.out, json.dumps(record, indent=1) + "\n")
    if chosen.json:
        print(json.dumps(record))
    else:
        show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
