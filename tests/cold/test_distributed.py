"""Two processes with gloo end where one process ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from cold.distributed import Group, joined
from cold.losses import cut, merged
from tests.cold.several_processes import RUNS, run

pytestmark = pytest.mark.torch_kernels

HERE = Path(__file__).parent
# The two programs sum the rows of a batch in another order. A gradient is a sum over n < 100 rows of terms below 1, so
# the two differ by at most n u = 100 * 1.1e-16, about 1e-14. Adam's first step lr g/(|g| + eps) has at g = 0 the slope
# lr/eps = 1e-2/1e-8, so a weight differs by at most 1e6 * 1e-14 = 1e-8 after it, and that only where its gradient is
# below eps; later steps divide by an average that remembers the larger gradients. SGD has no such slope.
SAME = 1e-8
SMALL = [
    "run", "--dataset", "synthetic", "--tasks", "2", "--limit-train", "40", "--limit-test", "20", "--epochs", "1",
    "--batch-size", "15", "--memory", "10", "--data-option", "classes=4", "--data-option", "shape=[1,8,8]", "--json",
]  # fmt: skip


def torchrun(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    out = tmp_path_factory.mktemp("shared")
    torchrun(str(HERE / "several_processes.py"), str(out))
    return {name: torch.load(out / f"{name}.pt", weights_only=True) for name in RUNS}


@pytest.mark.parametrize("name", RUNS)
def test_two_processes_end_where_one_does(shared, name):
    alone, together = run(name), shared[name]
    assert alone.keys() == together.keys()
    if name in ("one head", "oracle", "epochs"):
        assert alone["queues"].max() > 0.01  # the queues do something
    assert alone["accuracy"].equal(together["accuracy"])
    for key, value in alone.items():
        assert value.dtype == torch.float64
        # a queue is a sum of differences of losses of order 1: its rounding is theirs, however small it is itself
        largest = 1.0 if key.startswith("queue") else value.abs().max()
        assert (value - together[key]).abs().max() <= SAME * largest, key


@pytest.mark.slow
def test_the_command_under_torchrun(tmp_path):
    done = torchrun("-m", "cold", *SMALL, "--out", str(tmp_path))
    printed = json.loads(done.stdout)  # one process prints
    assert printed["timing"]["processes"] == 2
    stored = json.loads((tmp_path / printed["run_id"] / "result.json").read_text())
    assert stored == printed
    alone = subprocess.run(
        [sys.executable, "-m", "cold", *SMALL], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    one = json.loads(alone.stdout)
    assert one["run_id"] == printed["run_id"]
    assert np.allclose(one["metrics"]["acc"], printed["metrics"]["acc"], atol=5.1)  # one of 20 samples may flip


def test_without_torchrun_there_is_one_process():
    with joined() as group:
        assert group == Group(0, 1)
        assert group.leads
        wish = lambda: True  # noqa: E731
        assert group.agreed(wish) is wish
        group.wait()


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_cut_loses_no_row(parts):
    runs = [(0, 5), (3, 1), (1, 4), (0, 3)]
    ends = [13 * i // parts for i in range(parts + 1)]
    pieces = [piece for low, high in pairwise(ends) for piece in cut(runs, low, high)]
    assert merged(pieces) == runs
