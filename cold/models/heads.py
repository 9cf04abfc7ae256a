"""A backbone and its heads, all made up front and chosen by task identity."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from torch import Tensor, nn


class HeadedModel(nn.Module):
    """`backbone` maps a batch to features (n, f); head h maps features to logits (n, width of h)."""

    def __init__(self, backbone: nn.Module, heads: Sequence[nn.Module]) -> None:
        super().__init__()
        self.backbone = backbone
        self.heads = nn.ModuleList(heads)

    def forward(self, x: Tensor, runs: Sequence[tuple[int, int]]) -> list[Tensor]:
        """Logits of consecutive pieces of the batch: one (count, width) a run (head, count).

        One pass through the backbone, and one through a head for neighbouring runs that share it. A head that
        no run names takes no part, so that its gradient stays None and no optimiser moves it.
        """
        features = self.backbone(x)
        if len(runs) == 1 and runs[0][1] == len(x):
            return [self.heads[runs[0][0]](features)]
        logits: list[Tensor] = []
        start = 0
        for head, group in groupby(runs, key=lambda run: run[0]):
            counts = [count for _, count in group]
            stop = start + sum(counts)
            logits.extend(self.heads[head](features[start:stop]).split(counts))
            start = stop
        if start != len(x):
            raise ValueError(f"the runs cover {start} samples of a batch of {len(x)}")
        return logits
