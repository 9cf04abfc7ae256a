"""GDumb's learning rate: cosine cycles, each twice as long as the one before."""

from __future__ import annotations

import math


def pass_lr(number: int, max_lr: float, min_lr: float) -> float:
    """A tenth of the full rate in pass 0, then cosine cycles of 1, 2, 4, 8, ... passes that start at the full rate.

    >>> [round(pass_lr(n, 1.0, 0.0), 2) for n in range(8)]
    [0.1, 1.0, 1.0, 0.5, 1.0, 0.85, 0.5, 0.15]
    """
    if number < 2:
        return max_lr * (0.1 if number == 0 else 1.0)
    length = 2 ** (number.bit_length() - 1)
    return min_lr + (max_lr - min_lr) * (1 + math.cos(math.pi * (number - length) / length)) / 2
