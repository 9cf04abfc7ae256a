"""What a new run records beside its numbers: the kernels it computed with, and what its data are."""

from __future__ import annotations

import torch

from cold.config import make_config
from cold.data import load_benchmark
from cold.data.data_sets import DATA_SETS
from cold.kernels import FORCED, kernels
from cold.trainer import Trainer
from tests.cold.tiny_runs import TINY


def test_a_run_records_kernels_and_data():
    result = Trainer(make_config(TINY)).run()
    told = result.provenance["kernels"]
    assert told["aten"] == torch.backends.cpu.get_cpu_capability()
    assert told["threads"] == torch.get_num_threads()
    assert told["processor"]
    assert result.provenance["data"] == {"source": "synthetic", "about": ""}
    assert result.about_data == ""


def test_kernels_that_were_forced(monkeypatch):
    for name in FORCED:  # whatever the machine that runs the tests has set
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    assert kernels(torch.device("cpu"))["forced"] == {"ATEN_CPU_CAPABILITY": "default"}
    monkeypatch.delenv("ATEN_CPU_CAPABILITY")
    assert kernels(torch.device("cpu"))["forced"] == {}


def test_a_part_of_a_data_set_says_so(tmp_path):
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    rows = [bytes([0, label]) + bytes(3072) for label in range(100)]
    (folder / "train.bin").write_bytes(b"".join(rows * 2))
    (folder / "test.bin").write_bytes(b"".join(rows))
    benchmark = load_benchmark("split-cifar100", root=tmp_path)
    assert benchmark.about == "a part of CIFAR-100 (200 of 50,000 training and 100 of 10,000 test images)"
    assert benchmark.to("cpu").about == benchmark.about


def test_what_is_whole_and_canonical_says_nothing():
    data = DATA_SETS["cifar10"]
    assert data.about(50_000, 10_000, "cifar-10-batches-bin") == ""
    assert data.about(50_000, 10_000, "cifar10-jpeg.tar.gz") == "JPEG copies of CIFAR-10's images (lossy)"
    assert data.about(5, 10_000, "cifar10-jpeg.tar.gz").startswith("a part of CIFAR-10 (5 of 50,000")
