"""Sizes are compared with the memory that is free before anything is allocated, wherever they come from."""

from __future__ import annotations

import math
import os
import tracemalloc
import zipfile

import numpy as np
import pytest
from torch import nn
from typer.testing import CliRunner

import coldtheory as ct
from cold import COLD, Memory
from cold.cli.app import app as cold_app
from cold.data import from_tensors, load_benchmark
from cold.models import build_model
from coldtheory.cli.app import app as coldtheory_app
from coldtheory.ground import limits
from coldtheory.ground.errors import ColdError
from coldtheory.ground.limits import VARIABLE, available_memory, demand_memory
from coldtheory.ground.reading import Npz, read_bytes, read_json, read_toml
from coldtheory.sources import load_source


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLD_CACHE", str(tmp_path / "cache"))


def test_the_limit_is_what_is_free_or_what_the_user_says(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert available_memory() > 0
    monkeypatch.setenv(VARIABLE, "1e6")
    demand_memory(1e6, "this")
    with pytest.raises(
        ColdError, match=r"this needs about 1 MB of memory, and 1 MB are free; try a smaller size \(COLD_MEMORY"
    ):
        demand_memory(1e6 + 1, "this")
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(ColdError, match="COLD_MEMORY is a number of bytes"):
        demand_memory(1, "this")


SECOND = {"memory.max": "5000", "memory.current": "4000", "memory.stat": "anon 1\ninactive_file 300\n"}
FIRST = {
    "memory.limit_in_bytes": "5000",
    "memory.usage_in_bytes": "4000",
    "memory.stat": "inactive_file 7\ntotal_inactive_file 300\n",
}


@pytest.mark.parametrize(
    ("own", "groups", "left"),
    [
        ("0::/a/b", {"a/b": SECOND}, 1300),
        ("0::/a/b", {"a": SECOND, "a/b": {"memory.max": "max", "memory.current": "1"}}, 1300),
        ("0::/a/b", {"a": {**SECOND, "memory.max": "4100"}, "a/b": SECOND}, 400),  # the groups above bind as well
        ("0::/../../elsewhere", {"": SECOND}, 1300),  # in a container: its group is the topmost one
        ("0::/", {"": {"memory.max": "5000", "memory.current": "6000"}}, 0),
        ("0::/", {"": {"memory.max": "?", "memory.current": "6000"}}, math.inf),
        ("0::/a", {}, math.inf),
        ("4:memory:/a/b", {"memory/a/b": FIRST}, 1300),
        ("9:cpu,memory:/a/b\n0::/", {"memory/a": FIRST, "memory/a/b": {"memory.limit_in_bytes": "x"}}, 1300),
        ("4:memory:/docker/x", {"memory": FIRST}, 1300),
        ("4:memory:/\n0::/", {"memory": FIRST, "": {**SECOND, "memory.max": "4100"}}, 400),
        ("4:cpu:/\nnonsense", {"memory": FIRST}, math.inf),
    ],
)
def test_control_groups_of_both_versions_are_asked(own, groups, left, monkeypatch, tmp_path):
    (tmp_path / "own").write_text(own)
    for group, content in groups.items():
        (tmp_path / "groups" / group).mkdir(parents=True, exist_ok=True)
        for name, text in content.items():
            (tmp_path / "groups" / group / name).write_text(text)
    monkeypatch.setattr(limits, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(limits, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(limits, "_machine", lambda: math.inf)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert available_memory() == left


@pytest.mark.parametrize(
    ("program", "words", "told"),
    [
        (coldtheory_app, "sweep-V --seeds 2147483648", "20 values and 2147483648 seeds"),
        (coldtheory_app, "sweep-V --d 2147483648", "d = 2147483648"),
        (coldtheory_app, "sweep-V --T 1e9 --engine serial", "T = 1000000000"),
        (coldtheory_app, "simulate --T 1e9 --d 1", "T = 1000000000"),
        (coldtheory_app, "sweep-V --V 1:2:999999999999", "999999999999 values"),
        (coldtheory_app, "simulate --points 999999999999 --memory 5", "999999999999 points"),
        (coldtheory_app, "simulate --steps 999999999999 --noise 1", "runs of 150 tasks"),
        (cold_app, "run --dataset synthetic --memory 999999999999999", "999999999999999 samples"),
        (cold_app, "run --dataset synthetic --model mlp-99999999999", "mlp-99999999999"),
        (cold_app, "run --dataset synthetic --model resnet18 --width 999999999", "resnet18 of width 999999999"),
        (cold_app, "run --dataset synthetic --data-option classes=999999999999", "synthetic images"),
        (cold_app, "study run V --seeds 0-999999999999", "1000000000000 seeds"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_number(program, words, told):
    done = CliRunner().invoke(program, words.split())
    assert done.exit_code == 2, done.output
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert told in line
    assert "of memory, and" in line


@pytest.mark.parametrize(
    ("program", "words", "told"),
    [
        (coldtheory_app, "simulate --steps 1e300", "steps must be at most"),
        (coldtheory_app, "sweep-V --fit nan:nan", "cannot read --fit"),
        (coldtheory_app, "sweep-V --fit 200:50", "cannot read --fit"),
        (coldtheory_app, "sweep-V --V inf", "V must be finite"),
        (coldtheory_app, "simulate --spread nan --points 5", "spread must be"),
        (cold_app, "run --dataset synthetic --momentum 5", "momentum must be below 1"),
        (cold_app, "run --dataset synthetic --checkpoint-every nan", "--checkpoint-every must be >= 0 and finite"),
        (cold_app, "run --dataset synthetic --checkpoint-every=-1", "--checkpoint-every must be >= 0 and finite"),
        (cold_app, "run --dataset synthetic --V inf", "V must be a finite number"),
        (cold_app, "run --dataset synthetic --threads 99999999", "threads must be at most"),
        (cold_app, "run --dataset synthetic --data-option root=x", "root is not an option of the data"),
    ],
)
def test_nonsense_is_refused(program, words, told):
    done = CliRunner().invoke(program, words.split())
    assert done.exit_code == 2, done.output
    assert told in done.stderr


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: ct.make_tasks("high", range(10**12)), "seeds"),
        (lambda: ct.make_tasks("high", T=10**12), "T = 1000000000000"),
        (lambda: ct.simulate([[0.0]] * 3, V=np.broadcast_to(1.0, 10**12)), "of memory"),
        (lambda: Memory(10**15, 2), "1000000000000000 samples"),
        (lambda: COLD(V=1.0, delta=0.0, tasks=10**9, memory=10**9), "1000000000 tasks"),
        (lambda: load_benchmark("synthetic", shape=(1, 10**6, 10**6)), "synthetic images"),
        (lambda: from_tensors([(np.zeros((2, 3)), [0, 10**15], np.zeros((2, 3)), [0, 1])], scenario="domain"), "head"),
    ],
)
def test_functions_ask_too(call, told, monkeypatch):
    monkeypatch.setenv(VARIABLE, "1e9")
    with pytest.raises(ColdError, match=told):
        call()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: ct.make_tasks("high", n=3, spread=1e308), "spread must be"),
        (lambda: build_model(load_benchmark("synthetic", tasks=2), seed=0, module=0.5), "module must be a Module"),
        (lambda: ct.simulate([[0.0]] * 3, V=1.0, noise=1.0, noise_seed=np.array(0.5)), "noise_seed must be"),
        (
            lambda: COLD(V=1.0, delta=0.0, tasks=2, memory=4).begin_task(nn.Linear(3, 2), np.array(3.0)),
            "x must be a tensor",
        ),
    ],
)
def test_a_bad_argument_is_named(call, told):
    with pytest.raises(ColdError, match=told):
        call()


def test_an_array_of_one_number_is_a_number():
    runs = [ct.simulate([[0.0]] * 3, V=1.0, noise=1.0, noise_seed=seed).w for seed in (3, np.array(3.0))]
    assert np.array_equal(*runs)
    sizes = [len(load_benchmark("synthetic", tasks=2, limit_train=n).tasks[0].train) for n in (3, np.array(3.0))]
    assert sizes == [3, 3]


# ------------------------------------------------------------------------------------------------------- files


def claimed(path, shape, data=b""):
    """An npz whose one array claims a shape."""
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("optima.npy", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + data)


@pytest.mark.parametrize("shape", ["(1000000, 1000000)", "(10000000000000,)", "(-1,)", "(3.5, 2)"])
def test_an_array_that_claims_terabytes_is_not_allocated(shape, tmp_path):
    claimed(tmp_path / "a.npz", shape, b"\0" * 100)
    with pytest.raises(ColdError, match="damaged"):
        load_source("a.npz")


def test_a_packed_array_that_does_not_fit_is_not_unpacked(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as file:
        head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000, 1250), }\n"
        member = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + b"\0" * 10_000_000
        file.writestr("optima.npy", member)
    assert (tmp_path / "a.npz").stat().st_size < 100_000
    assert Npz(tmp_path / "a.npz", "").read("optima").shape == (1000, 1250)
    monkeypatch.setenv(VARIABLE, "1e6")
    with pytest.raises(ColdError, match="needs about 10 MB"):
        load_source("a.npz")


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED])
def test_no_more_is_unpacked_than_an_array_claims(tmp_path, method):
    """A few kilobytes that stand for 200 MB, of which the array claims one."""
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100, 1250), }\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as file, file.open("optima.npy", "w") as member:
        member.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
        for _ in range(200):
            member.write(b"\0" * 1_000_000)
    assert (tmp_path / "a.npz").stat().st_size < 300_000
    tracemalloc.start()
    try:
        assert Npz(tmp_path / "a.npz", "").read("optima").shape == (100, 1250)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_bzip2_is_not_unpacked(tmp_path):
    """Few bytes of it can stand for gigabytes, and zipfile unpacks them all at once."""
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("optima.npy", b"")
    with pytest.raises(ColdError, match="the array optima is not packed as npz files are"):
        Npz(tmp_path / "a.npz", "").read("optima")


def test_a_pickle_is_not_read(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    np.savez(tmp_path / "a.npz", optima=np.array([Evil()], dtype=object))
    with pytest.raises(ColdError, match="does not hold numbers"):
        load_source("a.npz")
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("read", [read_bytes, read_toml, lambda path: read_json(path, "")])
def test_only_regular_files_are_read(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero", "."):
        with pytest.raises(ColdError, match=r"^cannot read [^:]*: it is not a regular file$"):
            read(tmp_path / name)
    for name in ("x" * 300, "nothing", "a\0b"):
        with pytest.raises(ColdError, match="cannot read"):
            read(tmp_path / name)


@pytest.mark.parametrize(
    ("part", "times"), [(b"[", 100_000), (b'{"a":', 100_000), (b"9", 100_000), (b"\xff", 1), (b"", 0)]
)
def test_deeply_nested_and_odd_json_is_damaged(part, times, tmp_path):
    (tmp_path / "a.json").write_bytes(part * times)
    with pytest.raises(ColdError, match="is damaged"):
        read_json(tmp_path / "a.json", "make it again")


@pytest.mark.parametrize(("part", "times"), [(b"[", 5000), (b"{a=", 5000), (b"1\na=", 2), (b"\xff", 1), (b"1e", 1)])
def test_deeply_nested_and_odd_toml_is_refused(part, times, tmp_path):
    (tmp_path / "a.toml").write_bytes(b"a=" + part * times)
    with pytest.raises(ColdError, match="not valid TOML"):
        read_toml(tmp_path / "a.toml")


def test_a_source_that_names_itself_is_refused(tmp_path):
    (tmp_path / "a.toml").write_text('optima = "a.toml"\n')
    with pytest.raises(ColdError, match=r"must name a \.npz or \.csv file"):
        load_source("a.toml")
    (tmp_path / "a.toml").write_text('regime = "a.toml"\n')
    with pytest.raises(ColdError, match="unknown regime"):
        load_source("a.toml")


def test_messages_are_one_line_without_signs_that_steer_a_terminal():
    assert str(ColdError("a\nb\x1b[31m\x00é")) == "a\\nb\\x1b[31m\\x00é"
