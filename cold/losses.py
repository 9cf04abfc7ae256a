"""Cross-entropy of every sample of a batch that goes through several heads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn import functional

from coldtheory.ground.checks import shown
from coldtheory.ground.errors import ColdError

_LABELS = (torch.int64, torch.uint8)
_NO_LABEL = -(2**62)

Runs = list[tuple[int, int]]  # consecutive pieces of a batch: (head, number of samples)


def merged(runs: Iterable[tuple[int, int]]) -> Runs:
    """Neighbours with the same head become one piece.

    >>> merged([(0, 128), (0, 1), (0, 1), (2, 5)])
    [(0, 130), (2, 5)]
    """
    pieces: Runs = []
    for head, count in runs:
        if pieces and pieces[-1][0] == head:
            pieces[-1] = (head, pieces[-1][1] + count)
        elif count:
            pieces.append((head, count))
    return pieces


def cut(runs: Runs, low: int, high: int) -> Runs:
    """The runs of rows low..high-1.

    >>> cut([(0, 4), (2, 3)], 3, 6)
    [(0, 1), (2, 2)]
    """
    inside, start = [], 0
    for head, count in runs:
        inside.append((head, max(0, min(start + count, high) - max(start, low))))
        start += count
    return merged(inside)


def in_passes(x: Tensor, runs: Runs, sizes: Sequence[int]) -> list[tuple[Tensor, Runs]]:
    """The parts of a batch, of these sizes, each with its own runs: what separate passes through a network take."""
    ends = list(accumulate(sizes))
    return [
        (part, cut(runs, end - len(part), end)) for part, end in zip(torch.split(x, list(sizes)), ends, strict=True)
    ]


def joined(logits: Sequence[Tensor]) -> Tensor:
    """Logits of all pieces as one tensor, (n, widest head); what a narrower head lacks has probability 0."""
    if len(logits) == 1:
        return logits[0]
    widest = max(piece.shape[1] for piece in logits)
    return torch.cat([_widened(piece, widest) for piece in logits])


def per_sample_losses(logits: Sequence[Tensor], y: Tensor) -> Tensor:
    """The cross-entropy of each sample, (n,), in single precision at least."""
    joint = joined(logits)
    joint = joint if joint.dtype == torch.float64 else joint.float()
    if not isinstance(y, Tensor) or y.dtype not in _LABELS or y.shape != joint.shape[:1]:
        raise ColdError(f"y must be {len(joint)} labels of type int64, one per sample, got {shown(y)}")
    try:  # no label is passed over: torch would take -100 for one that does not count
        return functional.cross_entropy(joint, y, reduction="none", ignore_index=_NO_LABEL)
    except IndexError:
        wrong = y[(y < 0) | (y >= joint.shape[1])]
        raise ColdError(f"y holds the label {int(wrong[0])}, the head has 0..{joint.shape[1] - 1}") from None


def _widened(piece: Tensor, width: int) -> Tensor:
    missing = width - piece.shape[1]
    return functional.pad(piece, (0, missing), value=float("-inf")) if missing else piece
