"""The trainer's speed, side by side: python benchmarks/trainer.py

Programs that do the same work take turns in short blocks; the result is a ratio of medians, so the machine at hand and
its other users matter little. On the CPU one thread is used and processor time is counted.

    a   steps/s of the trainer's loop over those of a bare PyTorch loop with the same arithmetic on floats that were
        prepared before (goal >= 0.9)
    b   COLD's step over plain replay's, same number of samples (goal <= 1.10), with full and with empty queues
    c   steps/s over Avalanche's for fine-tuning and replay (goal >= 3), where it is installed: see against_avalanche.py
    d   a run of COLD-ORACLE --oracle streaming over one of COLD (goal <= 1.10); exact for comparison
    e   step time against the number of past tasks
    f   ResNet-18 step: plain, channels-last, compiled (--compile; takes a minute or two)
    g   peak memory of a run, one process each
    h   an epoch of COLD-distill over one of DER at the same samples (goal <= 1.10), without and with a gauge, and where
        forgetting is requested, so that the gauge is looked at while the network trains
    i   ResNet-18 step on the CPU: freed memory kept for the next step, as the trainer does it, over glibc's usual way
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

from cold import trainer as trainer_module
from cold.config import make_config
from cold.methods.base import Batch
from cold.trainer import Trainer

PMNIST: dict[str, Any] = {
    "dataset": "synthetic", "tasks": 20, "limit_train": 2560, "limit_test": 100, "epochs": 1, "memory": 5000,
    "model": "mlp-256-256", "threads": 1,
    "data_options": {"permuted": True, "shape": [1, 28, 28], "train_per_class": 256, "test_per_class": 10},
}  # fmt: skip
Block = Callable[[], None]


def take_turns(blocks: dict[str, Block], rounds: int, device: torch.device) -> dict[str, float]:
    """Median seconds of each block; blocks alternate, the first round warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in blocks}
    for turn in range(rounds + 1):
        for name, block in blocks.items():
            began = _now(device)
            block()
            if turn:
                seconds[name].append(_now(device) - began)
    return {name: statistics.median(values) for name, values in seconds.items()}


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        return time.perf_counter()
    return time.process_time()


def at_task(past: int, device: str, **changes: Any) -> Trainer:
    """A trainer at the start of task `past`, with a full memory."""
    trainer = Trainer(make_config(PMNIST, {"device": device}, changes))
    for k in range(past):
        part = trainer.benchmark.tasks[k].train
        trainer.method.begin_task(k, part)
        trainer.method.end_task(k, part)
    trainer.position.task = past
    trainer.method.begin_task(past, trainer.benchmark.tasks[past].train)
    return trainer


def in_the_middle(device: str, past: int, **changes: Any) -> Trainer:
    """A trainer in task `past`, which has trained two epochs of each task before; a gauge sets its samples aside."""
    trainer = Trainer(make_config(PMNIST, {"device": device}, changes))
    for k in range(past + 1):
        trainer.position.task = k
        part = trainer.training_part()
        trainer.method.begin_task(k, part)
        if k < past:
            epoch(trainer)()
            epoch(trainer)()
            trainer.method.end_task(k, part)
    return trainer


def distill_over_der(device: str, rounds: int) -> dict[str, float]:
    """Part h, per step, for a gauge leaves fewer images to train on; with some 400 steps per task."""
    data = {**PMNIST["data_options"], "train_per_class": 2560}
    common: dict[str, Any] = {"limit_train": 25600, "data_options": data, "replay": "per-task", "idle": "joint"}
    kinds: dict[str, dict[str, Any]] = {
        "DER": {"method": "der"},
        "COLD-distill": {"method": "cold-distill"},
        "with a gauge": {"method": "cold-distill", "gauge": 0.2},
        "on request": {"method": "cold-distill", "forget": 0.1},
    }
    trainers = {name: in_the_middle(device, 10, **common, **changes) for name, changes in kinds.items()}
    blocks = {name: epoch(trainer) for name, trainer in trainers.items()}
    times = take_turns(blocks, rounds, torch.device(device))
    per_step = {
        name: seconds / -(-len(trainers[name].training_part()) // trainers[name].config.batch_size)
        for name, seconds in times.items()
    }
    return {name: per_step[name] / per_step["DER"] for name in kinds if name != "DER"}


def epoch(trainer: Trainer) -> Block:
    def block() -> None:
        trainer.position.step, trainer.position.order = 0, None
        trainer.train_epoch()

    return block


def bare_loop(trainer: Trainer) -> Block:
    """What one would write by hand: floats on the device, a gather, forward, backward, step."""
    part = trainer.benchmark.tasks[0].train
    x, y = trainer.context.inputs(part.raw()).flatten(1), part.y
    sizes = [x.shape[1], 256, 256, 10]
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    model = nn.Sequential(*layers[:-1]).to(x.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    loss_of = nn.CrossEntropyLoss()

    def block() -> None:
        order = torch.randperm(len(x)).to(x.device)
        for start in range(0, len(x), 128):
            rows = order[start : start + 128]
            optimizer.zero_grad()
            loss_of(model(x[rows]), y[rows]).backward()
            optimizer.step()

    return block


def steps_block(trainer: Trainer, count: int, *, fill: float | None = None) -> Block:
    """`count` steps on one batch of the present task; `fill` puts every queue at a value before each."""
    at = trainer.position.task
    task = trainer.benchmark.tasks[at]
    rows = torch.arange(min(128, len(task.train)), device=trainer.device)
    batch = Batch(task.train.raw(rows), task.train.y[rows], at, task.head)
    queues = trainer.method.queues()

    def block() -> None:
        for _ in range(count):
            if fill is not None and queues is not None:
                queues[:at] = fill
            trainer.method.step(batch)

    return block


RESNET: dict[str, Any] = {
    "dataset": "synthetic", "tasks": 5, "model": "resnet18", "memory": 100, "memory_batch": 7, "batch_size": 10,
    "threads": 1, "limit_test": 20, "data_options": {"shape": [3, 32, 32], "train_per_class": 20, "test_per_class": 10},
}  # fmt: skip


def resnet_steps(device: str, width: int, rounds: int, *, compiled: bool) -> dict[str, float]:
    kinds: dict[str, dict[str, Any]] = {"plain": {}, "channels-last": {"channels_last": True}}
    if compiled:
        kinds["compiled"] = {"compile": True}
        kinds["both"] = {"compile": True, "channels_last": True}
    blocks = {}
    for name, changes in kinds.items():
        trainer = Trainer(make_config(RESNET, {"width": width, "device": device}, changes))
        blocks[name] = steps_block(in_second_task(trainer), 3, fill=1.0)
    return {name: s / 3 for name, s in take_turns(blocks, rounds, torch.device(trainer.device)).items()}


def in_second_task(trainer: Trainer) -> Trainer:
    trainer.method.begin_task(0, trainer.benchmark.tasks[0].train)
    trainer.method.end_task(0, trainer.benchmark.tasks[0].train)
    trainer.position.task = 1
    trainer.method.begin_task(1, trainer.benchmark.tasks[1].train)
    return trainer


def _seconds_of_steps(width: int, rounds: int, *, kept: bool) -> float:
    torch.set_num_threads(1)
    if not kept:
        trainer_module.keep_freed_memory = lambda: False
    trainer = Trainer(make_config(RESNET, {"width": width, "device": "cpu", "channels_last": True}))
    block = steps_block(in_second_task(trainer), 10, fill=1.0)
    return take_turns({"steps": block}, rounds, trainer.device)["steps"]


def freed_memory(width: int, rounds: int) -> float:
    """Part i; each setting has processes of its own, for the allocator is the process's."""
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(3):
        for kept, found in seconds.items():
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                found.append(pool.apply(_seconds_of_steps, (width, rounds), {"kept": kept}))
    return statistics.median(seconds[True]) / statistics.median(seconds[False])


def whole_run(device: str, method: str, **changes: Any) -> Block:
    def block() -> None:
        Trainer(make_config(PMNIST, {"tasks": 8, "memory": 2000, "device": device, "method": method}, changes)).run()

    return block


def _peak(device: str, changes: dict[str, Any]) -> int:
    return int(Trainer(make_config(PMNIST, {"device": device}, changes)).run().timing["peak_memory_bytes"])


def peak_memories(device: str) -> dict[str, int]:
    """Peak memory in bytes; each run is a process of its own."""
    context = multiprocessing.get_context("spawn")
    kinds: dict[str, dict[str, Any]] = {name: {"method": name} for name in ("finetune", "er", "cold")}
    for oracle in ("exact", "streaming"):
        kinds[f"cold-oracle {oracle}"] = {"method": "cold-oracle", "oracle": oracle}
    with context.Pool(1, maxtasksperchild=1) as pool:
        return {name: pool.apply(_peak, (device, changes)) for name, changes in kinds.items()}


def against_avalanche(rounds: int) -> dict[str, Any]:
    """Part c; empty where Avalanche is not installed."""
    if importlib.util.find_spec("avalanche") is None:
        return {}
    import against_avalanche as theirs  # noqa: PLC0415  (it imports this module)

    theirs.side.load_avalanche()
    kinds = {kind: kind == "its own data" for kind in theirs.KINDS}
    return {
        f"{method}, {kind}": theirs.speed(method, rounds, own_data=own)["ratio"]
        for method in ("finetune", "er")
        for kind, own in kinds.items()
    }


def measure(device: str, rounds: int, *, parts: str, width: int, compiled: bool) -> dict[str, Any]:
    """All numbers that are asked for, by the letters of the list above."""
    torch.set_num_threads(1)
    where = torch.device(device)
    found: dict[str, Any] = {}
    if "a" in parts:
        trainer = at_task(0, device, method="finetune")
        times = take_turns({"bare": bare_loop(trainer), "trainer": epoch(trainer)}, rounds, where)
        found["a"] = {**times, "ratio": times["bare"] / times["trainer"]}
    if "b" in parts:
        found["b"] = {}
        for m in (1, 7):
            er, cold = (at_task(15, device, method=name, memory_batch=m) for name in ("er", "cold"))
            skip = at_task(15, device, memory_batch=m, idle="skip")
            blocks = {
                "er": steps_block(er, 10), "cold, queues full": steps_block(cold, 10, fill=1.0),
                "cold, queues empty": steps_block(cold, 10, fill=0.0),
                "cold --idle skip, queues empty": steps_block(skip, 10, fill=0.0),
            }  # fmt: skip
            times = take_turns(blocks, 2 * rounds, where)
            found["b"][f"{m} samples of each of 15 past tasks"] = {
                name: times[name] / times["er"] for name in times if name != "er"
            }
    if "c" in parts:
        found["c"] = against_avalanche(rounds)
    if "d" in parts:
        blocks = {
            "cold": whole_run(device, "cold"), "streaming": whole_run(device, "cold-oracle", oracle="streaming"),
            "exact": whole_run(device, "cold-oracle"),
        }  # fmt: skip
        times = take_turns(blocks, max(3, rounds // 3), where)
        found["d"] = {name: times[name] / times["cold"] for name in ("streaming", "exact")}
    if "e" in parts:
        found["e"] = {}
        for m in (1, 7):
            blocks = {str(t): steps_block(at_task(t, device, memory_batch=m), 10, fill=1.0) for t in (0, 5, 10, 19)}
            times = take_turns(blocks, rounds, where)
            found["e"][f"{m} of each"] = {t: s / 10 * 1e3 for t, s in times.items()}
    if "f" in parts:
        times = resnet_steps(device, width, max(3, rounds // 3), compiled=compiled)
        found["f"] = {name: {"ms": s * 1e3, "over plain": s / times["plain"]} for name, s in times.items()}
    if "g" in parts:
        found["g"] = peak_memories(device)
    if "h" in parts:
        found["h"] = distill_over_der(device, 2 * rounds)
    if "i" in parts:
        found["i"] = {f"width {w}": freed_memory(w, rounds) for w in sorted({8, width})}
    return found


def show(found: dict[str, Any]) -> None:
    console = Console()
    if "a" in found:
        a = found["a"]
        console.print(f"a  trainer over bare loop, steps/s: [bold]{a['ratio']:.3f}[/] (goal ≥ 0.9)")
    for setting, ratios in found.get("b", {}).items():
        text = ", ".join(f"{name}: [bold]{ratio:.3f}[/]" for name, ratio in ratios.items())
        console.print(f"b  step over plain replay's, {setting}: {text} (goal ≤ 1.10)")
    if "c" in found:
        text = ", ".join(f"{name}: [bold]{ratio:.1f}[/]" for name, ratio in found["c"].items())
        console.print(f"c  steps/s over Avalanche's: {text or 'not installed, see against_avalanche.py'} (goal ≥ 3)")
    if "d" in found:
        d = found["d"]
        console.print(
            f"d  run over COLD's: streaming [bold]{d['streaming']:.3f}[/] (goal ≤ 1.10), exact {d['exact']:.3f}"
        )
    if "e" in found:
        table = Table("e  ms per step after t tasks", *(f"t={t}" for t in (0, 5, 10, 19)), box=None)
        for name, row in found["e"].items():
            table.add_row(name, *(f"{ms:.2f}" for ms in row.values()))
        console.print(table)
    for name, row in found.get("f", {}).items():
        console.print(f"f  ResNet-18 step, {name}: {row['ms']:.1f} ms, {row['over plain']:.2f} of plain")
    for name, peak in found.get("g", {}).items():
        console.print(f"g  peak memory, {name}: {peak / 2**20:.0f} MiB")
    if "h" in found:
        text = ", ".join(f"{name}: [bold]{ratio:.3f}[/]" for name, ratio in found["h"].items())
        console.print(f"h  step over DER's: {text} (goal ≤ 1.10)")
    for name, ratio in found.get("i", {}).items():
        console.print(f"i  ResNet-18 step, freed memory kept over usual, {name}: [bold]{ratio:.2f}[/]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--parts", default="abcdefghi", help="which letters to measure")
    parser.add_argument("--width", type=int, default=20, help="of the ResNet-18 in parts f and i")
    parser.add_argument("--compile", action="store_true", help="part f with torch.compile")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found = measure(chosen.device, chosen.rounds, parts=chosen.parts, width=chosen.width, compiled=chosen.compile)
    if chosen.json:
        print(json.dumps(found))
    else:
        show(found)


if __name__ == "__main__":
    main()
