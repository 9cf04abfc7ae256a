"""Random streams with a name: the same (seed, key) gives the same numbers, whatever else was drawn before.

Each use has its own generator, so no use disturbs another. The order of the training samples and the choice of
the memory thus depend on the seed alone: methods are compared on the same batches and the same memory. With one
version of torch these are the same on all machines.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor


def stream(seed: int, *key: str | int) -> np.random.Generator:
    """The generator of one part of a benchmark, keyed by (seed, key) and nothing else.

    >>> bool((stream(0, "pmnist", 3).random(4) == stream(0, "pmnist", 3).random(4)).all())
    True
    """
    return np.random.default_rng(_sequence(seed, key))


def derived_seed(seed: int, *key: str | int) -> int:
    """A seed for a torch generator, keyed in the same way."""
    return int(_sequence(seed, key).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _sequence(seed: int, key: tuple[str | int, ...]) -> np.random.SeedSequence:
    words = tuple(zlib.crc32(part.encode()) if isinstance(part, str) else part for part in key)
    return np.random.SeedSequence(seed, spawn_key=words)


class Streams:
    """Generators by name, made when first asked for; their states go into a checkpoint."""

    def __init__(self, seed: int, device: torch.device) -> None:
        self.seed = seed
        self._device = device
        self._generators: dict[str, torch.Generator] = {}
        self._lent: dict[str, Callable[[], None]] = {}

    def cpu(self, name: str) -> torch.Generator:
        """For indices: always drawn on the CPU, so that a GPU sees the same batches.

        Ask for it whenever you draw, and do not keep it: `cold.ahead` may have drawn from it for the steps to come,
        and gives that back when it is asked for.
        """
        if name in self._lent:
            self._lent.pop(name)()
        return self._get(f"cpu/{name}", torch.device("cpu"))

    def lend(self, name: str, give_back: Callable[[], None]) -> None:
        """Called when numbers were drawn ahead from the CPU's stream; `give_back` resets it to the state without
        that."""
        self._lent[name] = give_back

    def device(self, name: str) -> torch.Generator:
        """For noise of a sample's size (augmentation): drawn where the samples are."""
        return self._get(f"device/{name}", self._device)

    def _get(self, name: str, device: torch.device) -> torch.Generator:
        if name not in self._generators:
            self._generators[name] = torch.Generator(device).manual_seed(derived_seed(self.seed, "run", name))
        return self._generators[name]

    def _take_back(self) -> None:
        while self._lent:
            self._lent.popitem()[1]()

    def state(self) -> dict[str, Tensor]:
        """The state of every generator, by name."""
        self._take_back()
        return {name: generator.get_state() for name, generator in self._generators.items()}

    def load(self, state: dict[str, Tensor]) -> None:
        """Restore what `state` returned."""
        self._take_back()
        self._generators.clear()
        for name, value in state.items():
            device = torch.device("cpu") if name.startswith("cpu/") else self._device
            self._get(name, device).set_state(value.cpu())
