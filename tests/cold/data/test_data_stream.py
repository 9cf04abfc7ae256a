"""Blurred and hidden boundaries, and rotated images: which samples come when, by counting and by loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from cold.data import Part, load_benchmark
from cold.data.splits import rotation, task_angle
from cold.data.stream import stream_of, tasks_ended
from coldtheory.ground.errors import ColdError
from tests.cold.data.test_data_readers import write_mnist


def benchmark(**options):
    return load_benchmark("synthetic", tasks=5, scenario="class", **options)


def samples(parts):
    return sorted(
        zip(torch.cat([p.index for p in parts]).tolist(), torch.cat([p.y for p in parts]).tolist(), strict=True)
    )


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_blur_deals_a_share_of_every_task_to_the_others(share):
    clean = benchmark()
    blurred = stream_of(clean, blur=share, seed=3)
    parts = [task.train for task in blurred.tasks]
    assert samples(parts) == samples([task.train for task in clean.tasks])  # nothing is lost, nothing comes twice
    for t, (old, new) in enumerate(zip(clean.tasks, blurred.tasks, strict=True)):
        own = sum(int(y) // 2 == t for y in new.train.y)
        assert own == len(old.train) - round(share * len(old.train))
        others = [sum(int(y) // 2 == k for y in new.train.y) for k in range(5) if k != t]
        assert max(others) - min(others) <= 1  # from all of them alike
        assert new.test is old.test
        assert new.outputs == old.outputs
    again, other = (stream_of(clean, blur=share, seed=seed).tasks[0].train for seed in (3, 4))
    assert torch.equal(parts[0].index, again.index)
    assert not torch.equal(parts[0].index, other.index)


@pytest.mark.parametrize("windows", [1, 5, 7, 12])
def test_windows_cut_the_stream_wherever_that_is(windows):
    clean = benchmark()
    parts = [task.train for task in stream_of(clean, windows=windows, seed=0).tasks]
    assert len(parts) == windows
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert samples(parts) == samples([task.train for task in clean.tasks])
    y = torch.cat([part.y for part in parts])
    assert (y.div(2, rounding_mode="floor").diff() >= 0).all()  # task after task
    first = y[: len(clean.tasks[0].train)]
    assert (first.diff() != 0).float().mean() > 0.3  # the classes of a task are mixed


@pytest.mark.parametrize(("windows", "ended"), [
    (None, [1, 2, 3, 4, 5]), (5, [1, 2, 3, 4, 5]), (1, [5]), (2, [2, 5]), (7, [0, 1, 2, 2, 3, 4, 5]),
])  # fmt: skip
def test_how_many_tasks_have_ended(windows, ended):
    """400 samples per task: seven windows of 285 or 286, the first task ends in the second."""
    assert tasks_ended(benchmark(), windows) == ended


def test_permuted_tasks_go_into_one_pool():
    clean = load_benchmark("synthetic", permuted=True, tasks=2, limit_train=20, shape=(1, 4, 4))
    (window,) = (task.train for task in stream_of(clean, windows=1).tasks)
    raw = {tuple(x.flatten().tolist()) for x in window.raw()}
    assert raw == {tuple(x.flatten().tolist()) for task in clean.tasks for x in task.train.raw()}
    assert len(stream_of(clean, blur=0.1).tasks[0].train) == 20


@pytest.mark.parametrize(("made", "told", "message"), [
    (lambda: load_benchmark("synthetic", tasks=5), {"blur": 0.1}, "one head for all tasks; use --scenario class"),
    (lambda: load_benchmark("synthetic", tasks=5), {"windows": 3}, "needs one head for all tasks"),
    (lambda: load_benchmark("synthetic", tasks=1, scenario="class"), {"blur": 0.1}, "no boundaries to blur"),
    (lambda: benchmark(limit_train=2), {"windows": 11}, "11 windows are more than the 10 training samples"),
])  # fmt: skip
def test_bad_streams_in_one_line(made, told, message):
    with pytest.raises(ColdError, match=message):
        stream_of(made(), **told)


# ---------------------------------------------------------------------------------------------- rotations


def by_loops(image, angle):
    """Bilinear, one pixel at a time, in floating point."""
    height, width = image.shape
    out = np.zeros((height, width))
    turn = math.radians(angle)
    for r in range(height):
        for c in range(width):
            down, right = r - (height - 1) / 2, c - (width - 1) / 2
            row = math.cos(turn) * down + math.sin(turn) * right + (height - 1) / 2
            column = math.cos(turn) * right - math.sin(turn) * down + (width - 1) / 2
            for i in (math.floor(row), math.floor(row) + 1):
                for j in (math.floor(column), math.floor(column) + 1):
                    if 0 <= i < height and 0 <= j < width:
                        out[r, c] += (1 - abs(row - i)) * (1 - abs(column - j)) * image[i, j]
    return out


@pytest.mark.parametrize("angle", [0.0, 12.5, 45.0, 133.0, 179.9])
def test_rotation_against_loops(angle):
    images = torch.randint(256, (3, 1, 7, 7), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    part = Part(images, torch.arange(3), torch.zeros(3).long(), rotation=rotation(angle, 7, 7))
    for image, turned in zip(images, part.raw(), strict=True):
        assert np.abs(by_loops(image[0].numpy(), angle) - turned[0].numpy()).max() <= 1.5  # weights in 256ths
    if angle == 0:
        assert torch.equal(part.raw(), images)


@pytest.mark.parametrize(("angle", "turns"), [(90.0, 1), (180.0, 2)])
def test_quarter_turns_are_exact(angle, turns):
    images = torch.randint(256, (2, 1, 6, 6), dtype=torch.uint8, generator=torch.Generator().manual_seed(2))
    part = Part(images, torch.arange(2), torch.zeros(2).long(), rotation=rotation(angle, 6, 6))
    assert torch.equal(part.raw(), images.rot90(turns, (2, 3)))


def test_rotated_mnist_has_twenty_angles(tmp_path):
    write_mnist(tmp_path / "mnist", packed=True)
    made = load_benchmark("rmnist", root=tmp_path)
    assert (len(made.tasks), made.scenario, made.head_widths) == (20, "domain", (10,))
    angles = [task_angle("rmnist", 0, t) for t in range(20)]
    assert len(set(angles)) == 20
    assert 0 <= min(angles) < 30
    assert 150 < max(angles) < 180
    upright = load_benchmark("split-mnist", root=tmp_path, tasks=1).tasks[0].train.raw().float()
    turned = made.tasks[4].train.raw().float()
    assert turned.mean() == pytest.approx(float(upright.mean()), rel=0.3)  # the corners are blank
    assert not torch.equal(turned, upright)
    near = load_benchmark("rmnist", root=tmp_path, tasks=2, iid=True)
    assert torch.equal(near.tasks[0].train.rotation, near.tasks[1].train.rotation)
