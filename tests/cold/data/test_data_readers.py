"""Readers on small files that the tests write, whole and damaged; and the cache of decoded images."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors import safe_open

from cold.data import cache, load_benchmark
from cold.data.archive import files
from cold.data.binary import CIFAR10, CIFAR100, MNIST_FILES, read_idx
from cold.data.images import Images
from coldtheory.ground.errors import ColdError


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COLD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def rng(seed=0):
    return np.random.default_rng(seed)


# ---------------------------------------------------------------------------------------------------
# MNIST


def idx_bytes(array):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_mnist(folder, *, packed, n_train=40, n_test=20):
    folder.mkdir(parents=True)
    arrays = {
        "train_x": rng(0).integers(0, 256, (n_train, 28, 28)).astype(np.uint8),
        "train_y": (np.arange(n_train) % 10).astype(np.uint8),
        "test_x": rng(1).integers(0, 256, (n_test, 28, 28)).astype(np.uint8),
        "test_y": (np.arange(n_test) % 10).astype(np.uint8),
    }
    for key, stem in MNIST_FILES.items():
        data = idx_bytes(arrays[key])
        (folder / f"{stem}{'.gz' if packed else ''}").write_bytes(gzip.compress(data) if packed else data)
    return arrays


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("place", ["mnist", "MNIST/raw", "."])
def test_mnist_packed_or_not_in_the_usual_places(tmp_path, packed, place):
    root = tmp_path / "root"
    arrays = write_mnist(root / place if place != "." else root, packed=packed)
    task = load_benchmark("split-mnist", root=root).tasks[1]
    expected = arrays["train_x"][np.isin(arrays["train_y"], (2, 3))]
    assert torch.equal(task.train.raw(), torch.from_numpy(expected).unsqueeze(1))
    assert task.train.y.tolist() == [0, 1] * 4
    assert task.train.raw().dtype == torch.uint8


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: gzip.compress(gzip.decompress(data)[:-1]), "is truncated"),
        (lambda data: data[: len(data) // 2], "truncated or not a gzip file"),
        (lambda data: b"not gzip", "truncated or not a gzip file"),
        (lambda data: gzip.compress(b"\1\2\3\4"), "not an idx file"),
        (lambda data: gzip.compress(b"\0\0\x08\3\0\0"), "is truncated"),
    ],
)
def test_damaged_mnist_is_one_line(tmp_path, damage, message):
    write_mnist(tmp_path / "mnist", packed=True)
    path = tmp_path / "mnist" / "train-images-idx3-ubyte.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ColdError, match=message) as caught:
        load_benchmark("pmnist", root=tmp_path)
    assert "cold data fetch mnist" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_mnist_label_out_of_range(tmp_path):
    write_mnist(tmp_path / "mnist", packed=False)
    labels = np.arange(40).astype(np.uint8) % 11
    (tmp_path / "mnist" / MNIST_FILES["train_y"]).write_bytes(idx_bytes(labels))
    with pytest.raises(ColdError, match=r"training image 10 has label 10, out of the range 0\.\.9"):
        load_benchmark("pmnist", root=tmp_path)


def test_mnist_with_fewer_labels_than_images(tmp_path):
    write_mnist(tmp_path / "mnist", packed=False)
    (tmp_path / "mnist" / MNIST_FILES["test_y"]).write_bytes(idx_bytes(np.zeros(19, np.uint8)))
    with pytest.raises(ColdError, match="20 test images but 19 labels"):
        load_benchmark("pmnist", root=tmp_path)


@pytest.mark.parametrize("place", ["fashion-mnist", "FashionMNIST/raw"])
def test_fashion_mnist_has_the_same_files_in_places_of_its_own(tmp_path, place):
    write_mnist(tmp_path / "mnist", packed=True, n_train=30)
    arrays = write_mnist(tmp_path / place, packed=True)
    made = load_benchmark("split-fashion", root=tmp_path)
    assert (len(made.tasks), made.tasks[0].classes, made.source) == (
        5,
        ("t-shirt", "trouser"),
        "fashion-mnist idx files",
    )
    expected = arrays["train_x"][np.isin(arrays["train_y"], (8, 9))]
    assert torch.equal(made.tasks[4].train.raw(), torch.from_numpy(expected).unsqueeze(1))
    assert sum(len(task.train) for task in load_benchmark("split-mnist", root=tmp_path).tasks) == 30


def test_absent_fashion_mnist_says_how_to_get_it(tmp_path):
    write_mnist(tmp_path / "mnist", packed=True)
    with pytest.raises(ColdError, match=r"no fashion-mnist below .*; get it with 'cold data fetch fashion-mnist'"):
        load_benchmark("split-fashion", root=tmp_path)
    (folder := tmp_path / "fashion-mnist").mkdir()
    for path in (tmp_path / "mnist").iterdir():
        (folder / path.name).write_bytes(b"not gzip")
    with pytest.raises(ColdError, match="remove it and run 'cold data fetch fashion-mnist'"):
        load_benchmark("split-fashion", root=tmp_path)


def test_idx_of_any_rank(tmp_path):
    array = rng().integers(0, 256, (2, 3, 4, 5)).astype(np.uint8)
    (tmp_path / "file").write_bytes(idx_bytes(array))
    assert np.array_equal(read_idx(tmp_path / "file"), array)


# ---------------------------------------------------------------------------------------------------
# CIFAR


def records(layout, n, seed):
    """Images (n, 3, 32, 32), labels, and the same as a binary file, written byte by byte."""
    x = rng(seed).integers(0, 256, (n, 3, 32, 32)).astype(np.uint8)
    y = (np.arange(n) % layout.classes).astype(np.uint8)
    rows = []
    for image, label in zip(x, y, strict=True):
        rows.append(bytes([label // 5] * (layout.label_bytes - 1) + [label]) + image.tobytes())
    return x, y, b"".join(rows)


def write_cifar(root, layout, *, as_tar, n=100, change=lambda name, data: data):
    content, truth = {}, {}
    for i, name in enumerate((*layout.train, layout.test)):
        x, y, data = records(layout, n, i)
        truth[name], content[name] = (x, y), change(name, data)
    folder = layout.places[0]
    if as_tar:
        tar_path = root / next(place for place in layout.places if place.endswith(".tar.gz"))
        root.mkdir(parents=True, exist_ok=True)
        write_tar(tar_path, {f"{folder}/{name}": data for name, data in content.items()})
        return truth, tar_path
    (root / folder).mkdir(parents=True)
    for name, data in content.items():
        (root / folder / name).write_bytes(data)
    return truth, root / folder


def write_tar(path, content):
    with tarfile.open(path, "w:gz") as tar:
        for name, data in content.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


@pytest.mark.parametrize("as_tar", [True, False])
@pytest.mark.parametrize(("name", "layout"), [("split-cifar10", CIFAR10), ("split-cifar100", CIFAR100)])
def test_cifar_binary(tmp_path, name, layout, as_tar):
    truth, _ = write_cifar(tmp_path, layout, as_tar=as_tar)
    benchmark = load_benchmark(name, root=tmp_path, tasks=5)
    assert benchmark.input_shape == (3, 32, 32)
    x = np.concatenate([truth[part][0] for part in layout.train])
    y = np.concatenate([truth[part][1] for part in layout.train])
    width = layout.classes // 5
    for t, task in enumerate(benchmark.tasks):
        mine = y // width == t  # the fine label, not the coarse one
        assert np.array_equal(task.train.raw().numpy(), x[mine])
        assert np.array_equal(task.train.y.numpy(), y[mine] % width)
    assert benchmark.transform.augments


def test_cifar100_comes_in_20_tasks_of_5_and_any_divisor(tmp_path):
    write_cifar(tmp_path, CIFAR100, as_tar=False)
    assert load_benchmark("split-cifar100", root=tmp_path).head_widths == (5,) * 20
    assert load_benchmark("split-cifar100", root=tmp_path, tasks=5).head_widths == (20,) * 5
    with pytest.raises(ColdError, match="choose --tasks from 1, 2, 4, 5, 10, 20, 25, 50, 100"):
        load_benchmark("split-cifar100", root=tmp_path, tasks=3)


def test_cifar_damage_is_one_line(tmp_path):
    cases = {
        "truncated": lambda name, data: data[:-7] if name == "data_batch_3.bin" else data,
        "out of the range 0..9": lambda name, data: b"\x0a" + data[1:] if name == "test_batch.bin" else data,
        "is truncated: 0 bytes": lambda name, data: b"" if name == "test_batch.bin" else data,
    }
    for i, (message, change) in enumerate(cases.items()):
        write_cifar(tmp_path / str(i), CIFAR10, as_tar=False, change=change)
        with pytest.raises(ColdError, match=message) as caught:
            load_benchmark("split-cifar10", root=tmp_path / str(i))
        assert "fetch" in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.97, 0.9999])
def test_truncated_cifar_archive(tmp_path, share):
    _, path = write_cifar(tmp_path, CIFAR10, as_tar=True)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ColdError, match="truncated or damaged"):
        load_benchmark("split-cifar10", root=tmp_path)


def test_incomplete_cifar_folder(tmp_path):
    _, folder = write_cifar(tmp_path, CIFAR10, as_tar=False)
    (folder / "data_batch_4.bin").unlink()
    with pytest.raises(ColdError, match=r"lacks data_batch_4\.bin"):
        load_benchmark("split-cifar10", root=tmp_path)


# ---------------------------------------------------------------------------------------------------
# Encoded images


def encoded(array, kind="PNG"):
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, kind)
    return buffer.getvalue()


def image_tree(classes, *, per_class=3, side=32, seed=0, ending="png"):
    """{name: content} of train/<class>/* and test/<class>/*, and {name: pixels}."""
    generator, content, pixels = rng(seed), {}, {}
    for part in ("train", "test"):
        for kind in classes:
            for i in range(per_class):
                name = f"{part}/{kind}/{i:04}.{ending}"
                pixels[name] = generator.integers(0, 256, (side, side, 3)).astype(np.uint8)
                content[name] = encoded(pixels[name], {"png": "PNG", "jpg": "JPEG"}[ending])
    return content, pixels


def write_tree(root, content):
    for name, data in content.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def test_cifar10_as_jpeg_files_in_a_tar(tmp_path):
    names = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
    content, _ = image_tree(names, ending="jpg")
    write_tar(tmp_path / "cifar10-jpeg.tar.gz", content)
    benchmark = load_benchmark("split-cifar10", root=tmp_path)
    assert benchmark.source == "cifar10-jpeg.tar.gz"
    assert benchmark.tasks[2].classes == ("deer", "dog")
    expected = np.asarray(Image.open(io.BytesIO(content["train/dog/0001.jpg"]))).transpose(2, 0, 1)
    assert np.array_equal(benchmark.tasks[2].train.raw()[4].numpy(), expected)


def test_the_binary_form_is_preferred(tmp_path):
    write_cifar(tmp_path, CIFAR10, as_tar=True)
    (tmp_path / "cifar10-jpeg.tar.gz").write_bytes(b"never opened")
    assert load_benchmark("split-cifar10", root=tmp_path).source == "cifar-10-binary.tar.gz"


@pytest.mark.parametrize("form", ["folder", "tar.gz", "zip"])
def test_folder_of_images(tmp_path, form):
    content, pixels = image_tree(("ant", "bee", "cow", "dog"), side=10)
    path = tmp_path / f"beasts.{form}" if form != "folder" else tmp_path / "beasts"
    if form == "folder":
        write_tree(path, content)
        (path / "train" / "ant" / "notes.txt").write_text("not an image")
    elif form == "zip":
        with zipfile.ZipFile(path, "w") as packed:
            for name, data in content.items():
                packed.writestr(name, data)
    else:
        write_tar(path, content)
    benchmark = load_benchmark(f"folder:{path}")
    assert benchmark.head_widths == (2, 2)
    assert benchmark.input_shape == (3, 10, 10)
    assert benchmark.tasks[1].classes == ("cow", "dog")
    for part in ("train", "test"):
        expected = np.stack([pixels[f"{part}/{kind}/{i:04}.png"] for kind in ("cow", "dog") for i in range(3)])
        found = getattr(benchmark.tasks[1], part)
        assert np.array_equal(found.raw().numpy(), expected.transpose(0, 3, 1, 2))
        assert found.y.tolist() == [0, 0, 0, 1, 1, 1]


def test_folder_normalises_by_its_own_statistics(tmp_path):
    content, _ = image_tree(("a", "b"), side=12)
    write_tree(tmp_path / "set", content)
    benchmark = load_benchmark(f"folder:{tmp_path / 'set'}", augment=False)
    x = benchmark.transform(benchmark.tasks[0].train.raw()).double()
    torch.testing.assert_close(x.mean((0, 2, 3)), torch.zeros(3, dtype=torch.float64), rtol=0, atol=1e-5)
    torch.testing.assert_close(x.var((0, 2, 3), correction=0), torch.ones(3, dtype=torch.float64), rtol=0, atol=1e-4)


def test_images_of_different_sizes_get_one(tmp_path):
    content, _ = image_tree(("a", "b"), side=12)
    content["train/a/wide.png"] = encoded(np.full((20, 50, 3), 7, np.uint8))
    write_tree(tmp_path / "set", content)
    assert load_benchmark(f"folder:{tmp_path / 'set'}").input_shape == (3, 64, 64)
    assert load_benchmark(f"folder:{tmp_path / 'set'}", size=16).input_shape == (3, 16, 16)


def test_grey_images_have_one_channel(tmp_path):
    grey = {f"{part}/{kind}/0.png": encoded(np.full((6, 6), 9, np.uint8)) for part in ("train", "val") for kind in "ab"}
    write_tree(tmp_path / "set", grey)
    assert load_benchmark(f"folder:{tmp_path / 'set'}").input_shape == (1, 6, 6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: {n: d for n, d in c.items() if n.startswith("train")}, "has no test images"),
        (lambda c: {n: d for n, d in c.items() if n.startswith("test")}, "its label is out of range"),
        (lambda c: {**c, "test/new/0.png": c["test/a/0000.png"]}, "class 'new' has test images but no training"),
        (lambda c: {**c, "train/a/bad.png": b"hello"}, "image train/a/bad.png cannot be read"),
        (lambda c: {**c, "train/a/cut.png": c["test/a/0000.png"][:150]}, "train/a/cut.png is truncated or damaged"),
        (lambda c: {"readme.md": b""}, "has no training images"),
    ],
)
def test_bad_folders_are_one_line(tmp_path, change, message):
    content, _ = image_tree(("a", "b"), side=12)
    write_tree(tmp_path / "set", change(content))
    with pytest.raises(ColdError, match=message) as caught:
        load_benchmark(f"folder:{tmp_path / 'set'}")
    assert "\n" not in str(caught.value)


def test_no_folder_and_bad_size(tmp_path):
    with pytest.raises(ColdError, match="there is no folder of images at"):
        load_benchmark(f"folder:{tmp_path / 'none'}")
    with pytest.raises(ColdError, match="at least 1 pixel"):
        load_benchmark(f"folder:{tmp_path}", size=0)


def tiny_layout(*, val="flat", wrong_label=False):
    wnids = ("n03", "n01", "n02", "n04")  # wnids.txt need not be sorted
    content, labelled, lines = {}, {"train": {}, "test": {}}, []
    generator = rng(4)

    def add(part, name, kind, *, grey):
        image = generator.integers(0, 256, (64, 64) if grey else (64, 64, 3)).astype(np.uint8)
        content[f"tiny-imagenet-200/{name}"] = encoded(image)  # PNG under any name: lossless, told by its content
        colour = np.broadcast_to(image[..., None], (64, 64, 3)) if grey else image
        labelled[part][np.ascontiguousarray(colour.transpose(2, 0, 1)).tobytes()] = wnids.index(kind)

    for i, kind in enumerate(wnids):
        for grey in (False, True):
            add("train", f"train/{kind}/images/{kind}_{int(grey)}.JPEG", kind, grey=grey)
        add("test", f"{'val/images' if val == 'flat' else f'val/{kind}/images'}/val_{i}.JPEG", kind, grey=False)
        lines.append(f"val_{i}.JPEG\t{'n99' if wrong_label and i == 2 else kind}\t0\t0\t62\t62")
    if val == "flat":
        content["tiny-imagenet-200/val/val_annotations.txt"] = "\n".join(lines).encode()
    content["tiny-imagenet-200/test/images/test_0.JPEG"] = b"never decoded"
    content["tiny-imagenet-200/wnids.txt"] = "\n".join(wnids).encode()
    content["tiny-imagenet-200/words.txt"] = b"n01\tgoldfish, Carassius\nn02\tsalamander\nn77\tother\n"
    return content, labelled


@pytest.mark.parametrize("form", ["folder", "tar.gz", "zip"])
@pytest.mark.parametrize("val", ["flat", "by class"])
def test_tinyimagenet(tmp_path, form, val):
    content, labelled = tiny_layout(val=val)
    if form == "folder":
        write_tree(tmp_path, content)
    elif form == "tar.gz":
        write_tar(tmp_path / "tiny-imagenet-200.tar.gz", content)
    else:
        with zipfile.ZipFile(tmp_path / "tiny-imagenet-200.zip", "w") as packed:
            for name, data in content.items():
                packed.writestr(name, data)
    benchmark = load_benchmark("split-tinyimagenet", root=tmp_path, tasks=2)
    assert [task.classes for task in benchmark.tasks] == [("n03", "goldfish"), ("salamander", "n04")]
    for part, of_image in labelled.items():
        parts = [getattr(task, part) for task in benchmark.tasks]
        found = {
            image.numpy().tobytes(): 2 * t + int(label)
            for t, samples in enumerate(parts)
            for image, label in zip(samples.raw(), samples.y, strict=True)
        }
        assert found == of_image


def test_tinyimagenet_label_out_of_range(tmp_path):
    content, _ = tiny_layout(wrong_label=True)
    write_tree(tmp_path, content)
    with pytest.raises(ColdError, match=r"label 'n99' of .*val_2.JPEG is out of range"):
        load_benchmark("split-tinyimagenet", root=tmp_path, tasks=2)


# ---------------------------------------------------------------------------------------------------
# The cache


@pytest.fixture
def tree(tmp_path):
    content, _ = image_tree(("a", "b"), side=8)
    write_tree(tmp_path / "set", content)
    return tmp_path / "set"


def decoded(monkeypatch):
    """How often images are decoded from here on."""
    calls = []
    original = cache._save
    monkeypatch.setattr(cache, "_save", lambda path, images: (calls.append(path), original(path, images)))
    return calls


def test_decoded_once(tree, own_cache, monkeypatch):
    calls = decoded(monkeypatch)
    first, again = load_benchmark(f"folder:{tree}"), load_benchmark(f"folder:{tree}")
    assert len(calls) == 1
    assert torch.equal(first.tasks[0].train.raw(), again.tasks[0].train.raw())
    assert torch.equal(first.tasks[0].test.raw(), again.tasks[0].test.raw())
    (file,) = own_cache.glob("*.safetensors")
    with safe_open(file, framework="pt") as head:
        assert head.metadata()["format"] == cache.FORMAT
        assert '"commit"' in head.metadata()["provenance"]


def test_a_changed_source_is_decoded_again(tree, monkeypatch):
    calls = decoded(monkeypatch)
    load_benchmark(f"folder:{tree}")
    (tree / "train/a/0000.png").write_bytes(encoded(np.zeros((8, 8, 3), np.uint8)))
    assert int(load_benchmark(f"folder:{tree}").tasks[0].train.raw()[0].sum()) == 0
    assert len(calls) == 2


@pytest.mark.parametrize("damage", ["bit", "cut", "empty", "text"])
def test_a_damaged_cache_is_made_anew(tree, own_cache, monkeypatch, damage):
    calls = decoded(monkeypatch)
    before = load_benchmark(f"folder:{tree}").tasks[0].train.raw()
    (file,) = own_cache.glob("*.safetensors")
    data = bytearray(file.read_bytes())
    data[-100] ^= 1
    file.write_bytes({"bit": bytes(data), "cut": bytes(data[:-5]), "empty": b"", "text": b"hello"}[damage])
    assert torch.equal(load_benchmark(f"folder:{tree}").tasks[0].train.raw(), before)
    assert len(calls) == 2


def test_no_room_for_a_cache_is_a_warning_only(tree, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("COLD_CACHE", str(tmp_path / "file" / "below"))
    with pytest.warns(cache.CacheWarning, match="cannot keep decoded images"):
        assert len(load_benchmark(f"folder:{tree}").tasks[0].train) == 6


# ---------------------------------------------------------------------------------------------------
# Hostile archives


def hostile_tar(path, entry, data=b""):
    with tarfile.open(path, "w:gz") as tar:
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))


def tar_entry(name, kind=tarfile.REGTYPE, target=""):
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (tar_entry("../outside.bin"), "leads out of its folder"),
        (tar_entry("a/../../outside.bin"), "leads out of its folder"),
        (tar_entry("/etc/outside"), "leads out of its folder"),
        (tar_entry("..\\outside.bin"), "leads out of its folder"),
        (tar_entry("C:/outside.bin"), "leads out of its folder"),
        (tar_entry("../outside", tarfile.DIRTYPE), "leads out of its folder"),
        (tar_entry("link", tarfile.SYMTYPE, "/etc/passwd"), "holds a link or device"),
        (tar_entry("link", tarfile.LNKTYPE, "other"), "holds a link or device"),
        (tar_entry("pipe", tarfile.FIFOTYPE), "holds a link or device"),
    ],
)
def test_hostile_tar_is_refused(tmp_path, entry, message):
    hostile_tar(tmp_path / "cifar-10-binary.tar.gz", entry)
    with pytest.raises(ColdError, match=message):
        load_benchmark("split-cifar10", root=tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cifar-10-binary.tar.gz"]


def test_hostile_zip_is_refused(tmp_path):
    path = tmp_path / "tiny-imagenet-200.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("../outside", b"")
    with pytest.raises(ColdError, match="leads out of its folder"):
        load_benchmark("split-tinyimagenet", root=tmp_path)
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(link, b"/etc/passwd")
    with pytest.raises(ColdError, match="holds a link or device"):
        load_benchmark("split-tinyimagenet", root=tmp_path)


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "bomb.tar.gz"
    write_tar(path, {f"{i}.bin": bytes(1 << 20) for i in range(4)})
    assert path.stat().st_size < 1 << 16
    read = []
    with pytest.raises(ColdError, match="unpacks to more than 2 MiB"):
        read.extend(name for name, _ in files(path, max_bytes=2 << 20))
    assert read == ["0.bin", "1.bin"]


def test_images_can_be_made_smaller_by_whole_squares():
    x = torch.tensor([[0, 1, 10, 20], [2, 4, 30, 41], [5, 5, 255, 255], [5, 5, 255, 254]], dtype=torch.uint8)
    y = np.array([0])
    images = Images(x[None, None], y, x.flip(0)[None, None], y, ("only",), "made here")
    small = images.shrunk(2)
    assert small.train_x.tolist() == [[[[2, 25], [5, 255]]]]  # 7/4 and 101/4 and 1019/4, rounded
    assert small.test_x.tolist() == [[[[5, 255], [2, 25]]]]
    assert small.train_x.dtype == torch.uint8
    assert small.fingerprint == images.fingerprint
    assert images.shrunk(4) is images
    for size in (3, 0, 8):
        with pytest.raises(ColdError, match="use one of 1, 2, 4"):
            images.shrunk(size)


def test_a_benchmark_of_smaller_images_says_so(tmp_path):
    root = tmp_path / "data"
    write_mnist(root, packed=False)
    small = load_benchmark("split-mnist", root=root, size=14)
    assert small.input_shape == (1, 14, 14)
    assert small.about.endswith("images reduced to 14 x 14 pixels")
    assert small.fingerprint == load_benchmark("split-mnist", root=root).fingerprint
    with pytest.raises(ColdError, match="did you mean size"):
        load_benchmark("split-mnist", root=root, sizes=14)
