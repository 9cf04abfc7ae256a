"""The fingerprint of data: the same for the same images however they came, another one for other images or labels."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from cold.cli.app import app
from cold.data import from_tensors, load_benchmark
from cold.data.images import DataWarning, Images, fingerprint
from cold.trainer import Stopped, Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.data.test_data_readers import (
    CIFAR10,
    MNIST_FILES,
    idx_bytes,
    image_tree,
    write_cifar,
    write_mnist,
    write_tar,
)
from tests.cold.tiny_runs import tiny

TEN = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COLD_CACHE", str(tmp_path / "cache"))


def of(name, root=None, **options):
    return load_benchmark(name, root=root, **options).fingerprint


# ---------------------------------------------------------------------------------------------- what it depends on


def test_the_digest_of_known_arrays_is_this_one_on_every_machine():
    arrays = (np.arange(6, dtype=np.uint8).reshape(1, 1, 2, 3), np.array([0], dtype=np.int64))
    assert fingerprint(arrays) == fingerprint([torch.from_numpy(array) for array in arrays]) == "7f84a67e60e4b162"


def test_places_and_packing_do_not_enter(tmp_path):
    write_mnist(tmp_path / "one" / "mnist", packed=True)
    write_mnist(tmp_path / "two" / "MNIST" / "raw", packed=False)
    assert of("pmnist", tmp_path / "one") == of("pmnist", tmp_path / "two")


def test_settings_of_a_run_do_not_enter(tmp_path):
    write_mnist(tmp_path / "mnist", packed=False)
    plain = of("split-mnist", tmp_path)
    assert plain == of("pmnist", tmp_path, tasks=3, seed=5, limit_train=20, limit_test=10, validation=0.2)
    assert plain == of("split-mnist", tmp_path, iid=True, order="shuffled", heads="shared", pixels="unit")
    assert of("synthetic", seed=1) == of("synthetic", seed=2, limit_train=10, tasks=2)


@pytest.mark.parametrize("key", ["train_x", "train_y", "test_x", "test_y"])
def test_one_changed_byte_changes_it(tmp_path, key):
    arrays = write_mnist(tmp_path / "mnist", packed=False)
    before = of("split-mnist", tmp_path)
    changed = arrays[key].copy()
    changed.flat[0] ^= 1
    (tmp_path / "mnist" / MNIST_FILES[key]).write_bytes(idx_bytes(changed))
    assert of("split-mnist", tmp_path) != before


def test_canonical_cifar_and_its_jpeg_copies_differ(tmp_path):
    write_cifar(tmp_path / "tar", CIFAR10, as_tar=True)
    write_cifar(tmp_path / "folder", CIFAR10, as_tar=False)
    content, _ = image_tree(TEN, ending="jpg")
    (tmp_path / "jpeg").mkdir()
    write_tar(tmp_path / "jpeg" / "cifar10-jpeg.tar.gz", content)
    found = {kind: of("split-cifar10", tmp_path / kind) for kind in ("tar", "folder", "jpeg")}
    assert found["tar"] == found["folder"] != found["jpeg"]


def test_the_cache_and_the_archive_give_the_same(tmp_path):
    content, _ = image_tree(("a", "b"), side=8)
    write_tar(tmp_path / "set.tar.gz", content)
    decoded = of(f"folder:{tmp_path / 'set.tar.gz'}")
    (kept,) = (tmp_path / "cache").glob("*.safetensors")
    stamp = kept.stat().st_mtime_ns
    assert of(f"folder:{tmp_path / 'set.tar.gz'}") == decoded
    assert kept.stat().st_mtime_ns == stamp  # read, not written again
    shutil.copy(tmp_path / "set.tar.gz", tmp_path / "other.tar.gz")
    assert of(f"folder:{tmp_path / 'other.tar.gz'}") == decoded


def test_the_number_of_classes_counts_and_their_names_do_not():
    x, y = torch.zeros(2, 1, 4, 4, dtype=torch.uint8), np.array([0, 1])
    two, renamed = (Images(x, y, x, y, classes, "here").fingerprint for classes in ("ab", "cd"))
    with pytest.warns(DataWarning, match="1 of 3 classes have no training image, such as 'c'"):
        three = Images(x, y, x, y, "abc", "here").fingerprint
    assert two == renamed != three


def test_synthetic_data_differ_by_their_options():
    assert (
        len({of("synthetic"), of("synthetic", noise=0.4), of("synthetic", classes=4), of("synthetic", shape=[1, 8, 8])})
        == 4
    )
    assert of("synthetic", noise=1) == of("synthetic", noise=1.0)


def test_own_tensors():
    x, y = torch.arange(24, dtype=torch.float32).reshape(8, 3), torch.arange(8) % 2
    plain = from_tensors([(x, y, x, y)])
    assert (
        plain.fingerprint == from_tensors([(x.numpy(), y.numpy(), x, y)], name="another", scenario="domain").fingerprint
    )
    assert plain.fingerprint != from_tensors([(x, 1 - y, x, y)]).fingerprint
    assert plain.fingerprint == plain.to("cpu").fingerprint


# ---------------------------------------------------------------------------------------------- what it decides


def own(shift=0.0):
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(60, 8, generator=generator) + shift, torch.arange(60) % 2
    return from_tensors([(x, y, x, y), (-x, y, -x, y)])


def stopped(folder, benchmark):
    trainer = Trainer(tiny(), benchmark=benchmark, out=folder, should_stop=lambda: True)
    with pytest.raises(Stopped):
        trainer.run()
    return trainer.folder


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    stopped(tmp_path, own())
    with pytest.raises(ColdError) as caught:
        Trainer(tiny(), benchmark=own(1.0), out=tmp_path).run(resume=True)
    line = str(caught.value)
    assert "\n" not in line
    for word in (own().fingerprint, own(1.0).fingerprint, "--data-root", "--fresh"):
        assert word in line
    assert Trainer(tiny(), benchmark=own(), out=tmp_path).run(resume=True).data == own().fingerprint


def test_a_checkpoint_without_a_fingerprint_goes_on_with_a_note(tmp_path, monkeypatch, capsys):
    complete = Trainer.state
    monkeypatch.setattr(Trainer, "state", lambda self: {k: v for k, v in complete(self).items() if k != "data"})
    stopped(tmp_path, own())
    trainer = Trainer(tiny(), benchmark=own(1.0), out=tmp_path)
    trainer.run(resume=True)
    assert trainer.resumed
    assert capsys.readouterr().err.count("does not record its data") == 1


def test_a_finished_run_of_other_data_is_not_shown_as_this_one(tmp_path):
    def call(root, *more):
        words = ["run", "--dataset", "split-mnist", "--data-root", str(tmp_path / root), "--out", str(tmp_path / "out"),
                 "--tasks", "2", "--memory", "10", "--epochs", "1", "--threads", "1", "--json"]  # fmt: skip
        return CliRunner().invoke(app, [*words, *more])

    for root in ("here", "there"):
        arrays = write_mnist(tmp_path / root / "mnist", packed=False)
    (tmp_path / "there" / "mnist" / MNIST_FILES["train_x"]).write_bytes(idx_bytes(255 - arrays["train_x"]))
    first = json.loads(call("here").stdout)
    assert first["data"] == of("split-mnist", tmp_path / "here")
    assert json.loads(call("here", "--resume").stdout) == first
    other = call("there", "--resume")
    assert other.exit_code == 2
    assert "was made from other data" in other.stderr
    assert "--fresh" in other.stderr
    (path,) = (tmp_path / "out").glob("*/result.json")
    path.write_text(json.dumps({key: value for key, value in first.items() if key != "data"}))
    old = call("there", "--resume")
    assert old.exit_code == 0
    assert "does not record its data" in old.stderr
    assert json.loads(call("there", "--fresh").stdout)["data"] == of("split-mnist", tmp_path / "there")
