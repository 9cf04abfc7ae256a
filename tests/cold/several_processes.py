"""What each process of `test_distributed.py` does: the same small runs, shared; the first stores what came out.

They run in double precision. In single precision the two programs cannot be told from two roundings of one: where a
gradient is about 1e-8, the eps of Adam, its rounding changes a step of size lr by a thousandth of itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from cold.distributed import joined
from cold.methods.finetune import FineTune
from cold.trainer import Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.tiny_runs import tiny

SINGLE = {"data_options": {"classes": 4, "shape": [1, 8, 8], "permuted": True}}
RUNS = {
    "heads": {"V": 1.0, "memory_batch": 3, "batch_size": 21},
    "one head": {**SINGLE, "V": 1.0, "memory_batch": 3, "batch_size": 59},  # 60 samples: a last batch of one
    "oracle": {**SINGLE, "method": "cold-oracle", "V": 1.0, "optimizer": "sgdm", "lr": 0.1, "queue_update": "task"},
    "replay": {"method": "er", "replay": "mixed", "memory_batch": 5},
    "epochs": {**SINGLE, "queue_update": "epoch", "weights": "mean", "V": 0.5},
}


@contextmanager
def in_double_precision() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def run(name: str, group=None) -> dict[str, torch.Tensor]:
    with in_double_precision():
        trainer = Trainer(tiny(**RUNS[name]), group=group)
        result = trainer.run()
    found = {f"weights/{key}": value for key, value in trainer.model.state_dict().items()}
    for key in ("queues", "queue_steps", "accuracy"):
        if key in result.arrays:
            found[key] = torch.from_numpy(result.arrays[key])
    return found


def main(out: Path) -> None:
    torch.set_num_threads(1)
    with joined("cpu") as group:
        assert group.size == 2
        for name in RUNS:
            found = run(name, group)
            for key, value in found.items():  # the same in every process, bit by bit
                others = [torch.empty_like(value) for _ in range(group.size)]
                dist.all_gather(others, value.contiguous())
                assert all(torch.equal(value, other) for other in others), (name, key)
            if group.leads:
                torch.save(found, out / f"{name}.pt")
        for changes, message in (
            ({"model": "resnet18", "width": 2}, "BatchNorm over several processes needs GPUs"),
            ({"method": "finetune"}, "finetune cannot run over several processes"),
        ):
            FineTune.over_processes = False  # as any method that takes gradients in another way
            with pytest.raises(ColdError, match=message):
                Trainer(tiny(**changes), group=group)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
