"""From stored bytes to what a network sees: normalisation and augmentation of a whole batch, on its device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Transform:
    """Normalise a batch and, if there is a generator, augment it.

    uint8 images become (x / 255 - mean) / std, one mean and one std per channel; floats are taken as they
    are unless `mean` is set, then (x - mean) / std. With a generator, and only then, every image is cropped
    at random after `padding` black pixels on each side, and mirrored with probability 1/2 if `flip`.
    """

    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    padding: int = 0
    flip: bool = False

    @property
    def augments(self) -> bool:
        """Whether the transform is random."""
        return self.padding > 0 or self.flip

    def __call__(self, raw: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        """Floats of the same shape, on the same device; the generator must be on that device too.

        They are of torch's default type, as a network's weights are: float32 unless a program sets another.
        """
        if generator is not None and self.augments:
            raw = self._augment(raw, generator)
        x = raw.to(torch.get_default_dtype())
        if raw.dtype == torch.uint8 or self.mean is not None:
            unit = 255.0 if raw.dtype == torch.uint8 else 1.0
            mean, std = self.mean or (0.0,), self.std or (1.0,)
            scale, shift = _scale_and_shift(mean, std, unit, raw.dim(), raw.device, x.dtype)
            x = (
                x.mul_(scale).add_(shift) if x is not raw else x.mul(scale).add_(shift)
            )  # the array of the caller stays as it is
        return x

    def _augment(self, raw: Tensor, generator: torch.Generator) -> Tensor:
        """Crop and flip in one gather on the stored bytes, before normalisation, so that the padding is black."""
        n, channels, height, width = raw.shape
        device, rows, columns = raw.device, _count(height, raw.device), _count(width, raw.device)
        if self.flip:
            mirrored = torch.rand((n, 1), generator=generator, device=device) < 0.5
            columns = torch.where(mirrored, width - 1 - columns, columns)  # (n, W)
        if self.padding:
            dy, dx = torch.randint(0, 2 * self.padding + 1, (2, n, 1), generator=generator, device=device)
            rows, columns = rows + dy, columns + dx
            raw = functional.pad(raw, (self.padding,) * 4)
        pixels = rows.reshape(-1, height, 1) * raw.shape[-1] + columns.reshape(-1, 1, width)
        where = pixels.reshape(-1, 1, height * width).expand(n, channels, -1)
        return raw.flatten(2).gather(2, where).reshape(n, channels, height, width)


@lru_cache(maxsize=64)
def _count(stop: int, device: torch.device) -> Tensor:
    return torch.arange(stop, device=device)


@lru_cache(maxsize=64)
def _scale_and_shift(
    mean: tuple[float, ...], std: tuple[float, ...], unit: float, dims: int, device: torch.device, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """x * scale + shift = (x / unit - mean) / std, ready on the device: no transfer in the training loop."""
    shape = (1, -1) + (1,) * (dims - 2)
    m, s = torch.tensor(mean, dtype=torch.float64), torch.tensor(std, dtype=torch.float64)
    scale, shift = (1.0 / (unit * s)).reshape(shape), (-m / s).reshape(shape)
    return scale.to(device, dtype), shift.to(device, dtype)
