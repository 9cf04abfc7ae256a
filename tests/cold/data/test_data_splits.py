"""Tasks: what belongs to which, drawn how, and the same for everybody with the same seed."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cold.data import from_tensors, load_benchmark
from cold.data.splits import balanced_order, pixel_permutation
from coldtheory.ground.errors import ColdError

real = pytest.mark.skipif("COLD_DATA" not in os.environ, reason="needs real data in COLD_DATA")


def synthetic(**options):
    return load_benchmark("synthetic", **{"classes": 6, "train_per_class": 30, "test_per_class": 7, **options})


def rows(benchmark, part="train"):
    return [getattr(task, part).index.tolist() for task in benchmark.tasks]


def assert_partition(pieces, total):
    together = [row for piece in pieces for row in piece]
    assert sorted(together) == list(range(total))


@pytest.mark.parametrize("iid", [False, True])
@pytest.mark.parametrize("tasks", [1, 2, 3, 6])
def test_every_image_is_in_one_task_for_every_divisor(tasks, iid):
    benchmark = synthetic(tasks=tasks, iid=iid)
    assert_partition(rows(benchmark), 180)
    assert_partition(rows(benchmark, "test"), 42)
    assert benchmark.head_widths == (6 // tasks,) * tasks
    assert [task.head for task in benchmark.tasks] == list(range(tasks))
    for task in benchmark.tasks:
        assert len(task.classes) == 6 // tasks
        assert set(task.train.y.tolist()) == set(range(6 // tasks))


def test_a_split_task_has_its_classes_and_local_labels():
    benchmark = synthetic(tasks=3)
    for t, task in enumerate(benchmark.tasks):
        assert task.classes == (f"kind {2 * t}", f"kind {2 * t + 1}")
        assert len(task.train) == 60
        assert np.bincount(task.train.y).tolist() == [30, 30]


def test_near_iid_keeps_images_and_labels_and_changes_only_the_task():
    """LOW and HIGH compare like with like: the same (image, label) pairs in all, the same heads."""
    high, low = synthetic(tasks=3), synthetic(tasks=3, iid=True)

    def pairs(benchmark):
        return sorted(
            (r, y)
            for task in benchmark.tasks
            for r, y in zip(task.train.index.tolist(), task.train.y.tolist(), strict=True)
        )

    assert pairs(high) == pairs(low)
    assert high.head_widths == low.head_widths
    assert high.scenario == low.scenario
    assert rows(high) != rows(low)
    sizes = [len(task.train) for task in low.tasks]
    assert max(sizes) - min(sizes) <= 1
    of_class = np.empty(180, dtype=int)  # class of each row, from the split
    for task in high.tasks:
        of_class[task.train.index] = 2 * task.head + task.train.y.numpy()
    for task in low.tasks:  # stratified: 30 of a class over 3 tasks
        assert np.bincount(of_class[task.train.index]).tolist() == [10] * 6
        assert task.classes == ("kind 0|kind 2|kind 4", "kind 1|kind 3|kind 5")


def test_near_iid_tasks_differ_less_than_split_tasks():
    """What the LOW regime is for, measured on the images: distance between the mean images of two tasks."""

    def distance(benchmark):
        means = [task.train.raw().double().mean(0) for task in benchmark.tasks]
        return float(torch.stack([(a - b).norm() for a, b in pairwise(means)]).mean())

    assert distance(synthetic(tasks=3, iid=True)) < 0.3 * distance(synthetic(tasks=3))


def test_shared_head():
    benchmark = synthetic(tasks=3, heads="shared", iid=True)
    assert benchmark.head_widths == (2,)
    assert benchmark.scenario == "domain"
    assert [task.head for task in benchmark.tasks] == [0, 0, 0]
    assert rows(benchmark) == rows(synthetic(tasks=3, iid=True))


def test_class_order_is_shuffled_by_the_seed():
    shuffled = [task.classes for task in synthetic(tasks=3, order="shuffled", seed=1).tasks]
    assert sorted(sum(shuffled, ())) == [f"kind {i}" for i in range(6)]
    assert shuffled != [task.classes for task in synthetic(tasks=3, seed=1).tasks]
    assert shuffled == [task.classes for task in synthetic(tasks=3, order="shuffled", seed=1).tasks]


def test_shuffled_classes_carry_their_own_images():
    natural, shuffled = synthetic(tasks=6, seed=2), synthetic(tasks=6, seed=2, order="shuffled")
    of_class = {task.classes[0]: task.train.index.tolist() for task in natural.tasks}
    assert all(of_class[task.classes[0]] == task.train.index.tolist() for task in shuffled.tasks)


# ---------------------------------------------------------------------------------------------------


def test_permutations_are_permutations_of_every_task():
    benchmark = synthetic(permuted=True, tasks=4)
    assert benchmark.head_widths == (6,)
    assert benchmark.scenario == "domain"
    found = [task.train.permutation.tolist() for task in benchmark.tasks]
    for permutation in found:
        assert sorted(permutation) == list(range(256))
        assert permutation != list(range(256))
    assert len(set(map(tuple, found))) == 4
    for task in benchmark.tasks:
        assert task.train.permutation is not None
        assert torch.equal(task.train.permutation, task.test.permutation)


def test_permuted_pixels_against_a_loop():
    benchmark = synthetic(permuted=True, tasks=2, shape=(2, 3, 5))
    part = benchmark.tasks[1].test
    for position in (0, 5, 17):
        stored = part.pool[part.index[position]]
        expected = torch.stack([stored[c].flatten()[part.permutation].reshape(3, 5) for c in range(2)])
        assert torch.equal(part.raw()[position], expected)
        assert torch.equal(part.raw(torch.tensor([position]))[0], expected)


def test_permutations_depend_on_seed_and_task_alone():
    few, many = synthetic(permuted=True, tasks=2), synthetic(permuted=True, tasks=5, limit_train=10, validation=0.1)
    for a, b in zip(few.tasks, many.tasks, strict=False):
        assert torch.equal(a.train.permutation, b.train.permutation)
    assert not torch.equal(pixel_permutation("pmnist", 0, 3, 784), pixel_permutation("pmnist", 1, 3, 784))


def test_near_iid_permuted_tasks_share_one_permutation_and_no_image():
    benchmark = synthetic(permuted=True, tasks=3, iid=True)
    assert len({tuple(task.train.permutation.tolist()) for task in benchmark.tasks}) == 1
    assert_partition(rows(benchmark), 180)


# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("permuted", [False, True])
@pytest.mark.parametrize("iid", [False, True])
def test_validation_is_disjoint_stratified_and_complete(permuted, iid):
    whole = synthetic(tasks=3, permuted=permuted, iid=iid)
    parted = synthetic(tasks=3, permuted=permuted, iid=iid, validation=0.2)
    for task, full in zip(parted.tasks, whole.tasks, strict=True):
        kept, held_out = set(task.train.index.tolist()), set(task.validation.index.tolist())
        assert not kept & held_out
        assert kept | held_out == set(full.train.index.tolist())
        assert len(held_out) == round(0.2 * len(full.train))
        share = np.bincount(task.validation.y) / np.bincount(full.train.y)
        assert np.abs(share - 0.2).max() <= 1 / np.bincount(full.train.y).min() + 1e-12
        assert task.test.index.tolist() == full.test.index.tolist()
        assert full.validation is None


def test_an_image_held_out_is_held_out_of_all_permuted_tasks():
    held_out = [set(task.validation.index.tolist()) for task in synthetic(permuted=True, tasks=4, validation=0.1).tasks]
    assert all(rows == held_out[0] for rows in held_out)


def test_limits_are_balanced_and_nested():
    small, large = synthetic(tasks=2, limit_train=9, limit_test=3), synthetic(tasks=2, limit_train=31)
    for a, b in zip(small.tasks, large.tasks, strict=True):
        assert (len(a.train), len(a.test), len(b.train)) == (9, 3, 31)
        assert np.bincount(a.train.y).tolist() == [3, 3, 3]
        assert set(a.train.index.tolist()) <= set(b.train.index.tolist())


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_every_beginning_of_a_balanced_order_has_the_proportions_of_the_whole(y, seed):
    y = np.array(y)
    order = balanced_order(y, np.random.default_rng(seed))
    assert sorted(order.tolist()) == list(range(len(y)))
    counts = np.bincount(y, minlength=5)
    for stop in range(1, len(y) + 1):
        here = np.bincount(y[order[:stop]], minlength=5)
        assert np.abs(here - stop * counts / len(y)).max() <= len(set(y.tolist()))


def test_the_same_seed_gives_the_same_benchmark_and_another_seed_another():
    first, again, other = (synthetic(tasks=2, limit_train=20, validation=0.2, seed=s) for s in (0, 0, 1))
    for a, b, c in zip(first.tasks, again.tasks, other.tasks, strict=True):
        assert torch.equal(a.train.raw(), b.train.raw())
        assert torch.equal(a.train.y, b.train.y)
        assert torch.equal(a.validation.index, b.validation.index)
        assert not torch.equal(a.train.raw(), c.train.raw())


def test_moving_keeps_what_is_shared_shared():
    moved = synthetic(tasks=3, validation=0.1).to("meta")
    pools = {id(part.pool) for task in moved.tasks for part in (task.train, task.validation)}
    assert len(pools) == 1
    assert moved.tasks[0].train.pool.device.type == "meta"


def test_synthetic_classes_can_be_told_apart_but_not_without_error():
    """A nearest-mean classifier is far above chance, and noise makes it err."""
    task = load_benchmark("synthetic", tasks=1, noise=3.0).tasks[0]
    x, y = task.train.raw().flatten(1).double(), task.train.y
    means = torch.stack([x[y == c].mean(0) for c in range(10)])
    guess = torch.cdist(task.test.raw().flatten(1).double(), means).argmin(1)
    assert 0.3 < float((guess == task.test.y).double().mean()) < 0.99


# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": 4}, "4 tasks do not divide the 6 classes of synthetic; choose --tasks from 1, 2, 3, 6"),
        ({"tasks": 0}, "do not divide"),
        ({"permuted": True, "tasks": 0}, "at least 1 task"),
        ({"limit_train": 0}, "limit_train must be at least 1"),
        ({"validation": 1.0}, "validation is a share"),
        ({"validation": 0.001}, "leaves 60 training and 0 validation"),
        ({"order": "random"}, "unknown class order 'random'"),
        ({"heads": "shred"}, "did you mean shared"),
        ({"seed": -1}, "seed must be"),
        ({"nose": 1.0}, "unknown option of synthetic 'nose'; did you mean noise"),
        ({"noise": float("nan")}, "noise must be"),
        ({"shape": (3, 0, 4)}, "shape"),
        ({"permuted": True, "heads": "shared"}, "leave order and heads out"),
    ],
)
def test_bad_input_is_one_line(options, message):
    with pytest.raises(ColdError, match=message) as caught:
        synthetic(**options)
    assert "\n" not in str(caught.value)


def test_unknown_benchmark_names_the_nearest():
    with pytest.raises(ColdError, match="did you mean split-cifar10"):
        load_benchmark("split-cifar")


def test_missing_data_says_how_to_get_it(tmp_path):
    for name, data in (
        ("pmnist", "mnist"),
        ("split-cifar10", "cifar10"),
        ("split-cifar100", "cifar100"),
        ("split-tinyimagenet", "tinyimagenet"),
    ):
        with pytest.raises(ColdError, match=f"get it with 'cold data fetch {data}'"):
            load_benchmark(name, root=tmp_path)


def test_mnist_is_not_augmented(tmp_path):
    with pytest.raises(ColdError, match="no augmentation"):
        load_benchmark("pmnist", root=tmp_path, augment=True)


# ---------------------------------------------------------------------------------------------------
# A user's own tasks


def own_task(n=12, labels=(0, 1), seed=0):
    generator = torch.Generator().manual_seed(seed)
    y = torch.tensor(labels)[torch.arange(n) % len(labels)]
    return torch.randn(n, 5, generator=generator), y, torch.randn(6, 5, generator=generator), y[:6]


def test_own_tensors_become_tasks_with_local_labels():
    benchmark = from_tensors([own_task(), own_task(labels=(4, 7, 9))])
    assert benchmark.head_widths == (2, 3)
    assert benchmark.input_shape == (5,)
    second = benchmark.tasks[1]
    assert second.classes == ("4", "7", "9")
    assert second.train.y.tolist() == [0, 1, 2] * 4
    assert torch.equal(benchmark.transform(second.train.raw()), own_task(labels=(4, 7, 9))[0])


def test_own_data_sets_become_tasks():
    class Grey(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return np.full((8, 8), 60 * i, dtype=np.uint8), i % 2

    benchmark = from_tensors([(Grey(), Grey())] * 2, scenario="domain")
    assert benchmark.head_widths == (2,)
    assert benchmark.input_shape == (1, 8, 8)
    assert benchmark.transform(benchmark.tasks[1].test.raw())[3].unique().tolist() == pytest.approx([180 / 255])


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([], "at least 1 task"),
        ([own_task()[:3]], "3 entries"),
        ([(torch.zeros(3, 5), torch.zeros(2), torch.zeros(1, 5), torch.zeros(1))], "labels"),
        ([(torch.zeros(2, 5), torch.tensor([0, -1]), torch.zeros(1, 5), torch.tensor([0]))], "out of range"),
        ([(torch.zeros(2, 5), torch.tensor([0, 1]), torch.zeros(1, 5), torch.tensor([2]))], "test label 2 is out of"),
        ([(torch.full((2, 5), torch.nan), torch.tensor([0, 1]), torch.zeros(1, 5), torch.tensor([0]))], "not finite"),
        (
            [own_task(), (torch.zeros(2, 4), torch.tensor([0, 1]), torch.zeros(1, 4), torch.tensor([0]))],
            r"shape \(4,\)",
        ),
    ],
)
def test_bad_own_tasks(tasks, message):
    with pytest.raises(ColdError, match=message):
        from_tensors(tasks)


# ---------------------------------------------------------------------------------------------------
# The real thing


@real
def test_real_pmnist():
    benchmark = load_benchmark("pmnist", validation=0.1)
    assert len(benchmark) == 20
    for task in benchmark.tasks:
        assert sorted(task.train.permutation.tolist()) == list(range(784))
        assert (len(task.train), len(task.validation), len(task.test)) == (54_000, 6_000, 10_000)
    stored = benchmark.tasks[7].train
    image = stored.raw(torch.tensor([123]))[0, 0].flatten()
    assert torch.equal(image.sort().values, stored.pool[stored.index[123]].flatten().sort().values)


@real
def test_real_split_mnist_high_and_low():
    high, low = load_benchmark("split-mnist"), load_benchmark("split-mnist", iid=True)
    for benchmark in (high, low):
        assert benchmark.head_widths == (2,) * 5
        assert_partition(rows(benchmark), 60_000)
        assert_partition(rows(benchmark, "test"), 10_000)
    assert [len(task.train) for task in low.tasks] == [12_000] * 5
    assert [task.classes for task in high.tasks] == [tuple("01"), tuple("23"), tuple("45"), tuple("67"), tuple("89")]
    assert low.tasks[0].classes == ("0|2|4|6|8", "1|3|5|7|9")


@real
def test_real_mnist_has_the_mean_and_deviation_that_normalise_it():
    benchmark = load_benchmark("split-mnist", tasks=1)
    x = benchmark.transform(benchmark.tasks[0].train.raw()).double()
    assert float(x.mean()) == pytest.approx(0.0, abs=2e-4)
    assert float(x.std()) == pytest.approx(1.0, abs=2e-4)


@real
@pytest.mark.skipif(
    not Path(os.environ.get("COLD_DATA", "."), "cifar10-jpeg.tar.gz").exists(), reason="needs cifar10-jpeg.tar.gz"
)
@pytest.mark.slow
def test_real_cifar10_as_jpeg():
    benchmark = load_benchmark("split-cifar10", augment=False)
    assert [task.classes for task in benchmark.tasks][:2] == [("airplane", "automobile"), ("bird", "cat")]
    assert_partition(rows(benchmark), 50_000)
    assert [len(task.test) for task in benchmark.tasks] == [2_000] * 5
    x = benchmark.transform(
        benchmark.tasks[0].train.pool[::10]
    )  # rows are sorted by class: every tenth is a fair sample
    assert x.mean((0, 2, 3)).abs().max() < 0.02  # lossy: close to, not equal to, the canonical images
    assert (x.std((0, 2, 3)) - 1).abs().max() < 0.03


@real
@pytest.mark.skipif(
    not Path(os.environ.get("COLD_DATA", "."), "tiny-imagenet-200-subset.tar.gz").exists(), reason="needs the subset"
)
def test_real_tinyimagenet_subset():
    benchmark = load_benchmark("split-tinyimagenet")
    assert len(benchmark) == 20
    assert benchmark.input_shape == (3, 64, 64)
    assert [len(task.train) for task in benchmark.tasks] == [500] * 20
    assert [np.bincount(task.test.y).tolist() for task in benchmark.tasks] == [[10] * 10] * 20
    grey = [
        bool((image[0] == image[1]).all() and (image[1] == image[2]).all()) for image in benchmark.tasks[0].train.raw()
    ]
    assert 0 < sum(grey) < 250  # greyscale files are there, as three equal channels
