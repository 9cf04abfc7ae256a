"""Normalisation and augmentation of a batch against one image at a time, in plain loops."""

from __future__ import annotations

import pytest
import torch

from cold.data import Transform, load_benchmark
from coldtheory import ColdError

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)


def images(n=7, height=6, width=9):
    return torch.randint(0, 256, (n, 3, height, width), dtype=torch.uint8, generator=torch.Generator().manual_seed(3))


def normalised(image):
    """One image, pixel after pixel, in double precision."""
    result = torch.empty(image.shape, dtype=torch.float64)
    for c in range(3):
        for i in range(image.shape[1]):
            for j in range(image.shape[2]):
                result[c, i, j] = (float(image[c, i, j]) / 255 - MEAN[c]) / STD[c]
    return result


def augmented(image, dy, dx, mirrored, padding):
    """One image: pad with black, mirror, cut; by loops."""
    height, width = image.shape[1:]
    result = torch.zeros_like(image)
    for i in range(height):
        for j in range(width):
            y, x = i + dy - padding, (width - 1 - j if mirrored else j) + dx - padding
            if 0 <= y < height and 0 <= x < width:
                result[:, i, j] = image[:, y, x]
    return result


def test_normalisation_equals_the_reference():
    x = images()
    batch = Transform(MEAN, STD)(x)
    assert batch.dtype == torch.float32
    for image, result in zip(x, batch, strict=True):
        torch.testing.assert_close(result.double(), normalised(image), rtol=0, atol=2e-6)


@pytest.mark.parametrize(("padding", "flip"), [(4, True), (2, False), (0, True)])
def test_augmentation_equals_the_reference_with_the_same_draws(padding, flip):
    x, transform = images(n=40), Transform(MEAN, STD, padding, flip)
    batch = transform(x, generator=torch.Generator().manual_seed(11))
    draws = torch.Generator().manual_seed(11)
    mirrored = torch.rand((40, 1), generator=draws)[:, 0] < 0.5 if flip else torch.zeros(40, dtype=bool)
    if padding:
        dy, dx = torch.randint(0, 2 * padding + 1, (2, 40, 1), generator=draws)[..., 0]
    else:
        dy = dx = torch.zeros(40, dtype=torch.int64)
    for i in range(40):
        expected = normalised(augmented(x[i], int(dy[i]), int(dx[i]), bool(mirrored[i]), padding))
        torch.testing.assert_close(batch[i].double(), expected, rtol=0, atol=2e-6)


def test_unit_pixels_lie_between_0_and_1():
    part = load_benchmark("synthetic", pixels="unit", tasks=5)
    x = part.transform(part.tasks[0].train.raw())
    assert x.min() >= 0
    assert 0.9 < x.max() <= 1
    with pytest.raises(ColdError, match="did you mean unit"):
        load_benchmark("synthetic", pixels="units")


def test_every_shift_and_both_directions_occur_alike():
    """A single bright pixel shows where an image went: 9 x 9 shifts, each mirrored or not, all as likely."""
    n, size = 40_000, 21
    x = torch.zeros(n, 1, size, size, dtype=torch.uint8)
    x[:, :, 10, 8] = 255  # off the middle column, so that its side tells the direction
    out = Transform((0.0,), (1.0,), 4, True)(x, generator=torch.Generator().manual_seed(0))
    assert (out.sum((1, 2, 3)) == 1).all()  # never cut off
    spot = out.flatten(1).argmax(1)
    dy = spot // size - 10
    assert set(dy.tolist()) == set(range(-4, 5))
    counts = torch.bincount(dy + 4, minlength=9).double()
    assert (counts / n - 1 / 9).abs().max() < 5 * (1 / 9 * 8 / 9 / n) ** 0.5
    right = (spot % size).double().mean()
    assert float(right) == pytest.approx(10, abs=5 * (20 / 3 + 4) ** 0.5 / n**0.5)  # 8 or 12, moved by -4..4


def test_without_a_generator_nothing_is_random():
    x, transform = images(), Transform(MEAN, STD, 4, True)
    assert torch.equal(transform(x), transform(x))
    assert torch.equal(transform(x), Transform(MEAN, STD)(x))


def test_same_generator_same_batch_and_no_global_state():
    x, transform = images(), Transform(MEAN, STD, 4, True)
    before = torch.random.get_rng_state()
    first = transform(x, generator=torch.Generator().manual_seed(5))
    assert torch.equal(first, transform(x, generator=torch.Generator().manual_seed(5)))
    assert not torch.equal(first, transform(x, generator=torch.Generator().manual_seed(6)))
    assert torch.equal(before, torch.random.get_rng_state())


def test_the_stored_images_stay_as_they_are():
    x = images()
    copy = x.clone()
    Transform(MEAN, STD, 4, True)(x, generator=torch.Generator())
    assert torch.equal(x, copy)
    features = torch.randn(4, 3)
    copy = features.clone()
    scaled = Transform((1.0, 2.0, 3.0), (2.0, 2.0, 2.0))(features)
    assert torch.equal(features, copy)
    torch.testing.assert_close(scaled, (features - torch.tensor([1.0, 2.0, 3.0])) / 2)


def test_own_features_pass_through():
    features = torch.randn(4, 3)
    assert torch.equal(Transform()(features), features)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu():
    x, transform = images().cuda(), Transform(MEAN, STD, 4, True)
    out = transform(x, generator=torch.Generator("cuda").manual_seed(0))
    assert out.device.type == "cuda"
    torch.testing.assert_close(transform(x).cpu(), transform(x.cpu()))
