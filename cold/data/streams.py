"""Random streams with a name: the same (seed, key) gives the same numbers, whatever else was drawn before."""

from __future__ import annotations

import zlib

import numpy as np


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
