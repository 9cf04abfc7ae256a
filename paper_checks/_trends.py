"""The paper's ablation figures print no numbers, only trends in words; here a trend is held against stored runs.

A trend becomes contrasts (see `_contrasts`), such as the forgetting at V = 10,000 minus that at V = 100. The runs are
those of `cold study run ID --profile cpu`: real images, reduced in size, so a verdict speaks of that size, and the
statement says on which data.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cold.plots.names import dataset_name
from paper_checks._contrasts import Contrast, settled
from paper_checks.base import Check, Finding, Verdict, claim

BOTH = ("cold-oracle", "cold")
NAMES = {"cold": "COLD", "cold-oracle": "ORACLE"}  # short: evidence is one line
RULE = """
The verdict speaks of the reduced runs that are stored (profile cpu: real images, fewer of them, for Split-CIFAR10 a
narrow network), not of the paper's size. Each contrast is paired over the seeds; the trend holds if the 95 % interval
of every contrast lies above zero, is false if that of one lies below (widened for the number of contrasts, after
Bonferroni), and is left open otherwise. Accuracy and forgetting are in points (per cent). The margin is the end of the
deciding interval that is nearer to zero.
"""

#: claim -> the pictures of the gallery in which its trend is to be seen
PICTURES: dict[str, tuple[str, ...]] = {}


Contrasts = Callable[[str], Iterator[Contrast]]  # of a dataset


@dataclass(frozen=True)
class Shown:
    """Where a trend is to be seen here, and the verdict recorded for it."""

    recorded: Verdict
    pictures: tuple[str, ...]  #: of the gallery


def trend(
    *, id: str, label: str, statement: str, on: Mapping[str, Shown], explain: str = ""
) -> Callable[[Contrasts], Contrasts]:
    """Register a generator of contrasts as the check of one claim for each dataset."""

    def register(contrasts: Contrasts) -> Contrasts:
        for dataset, shown in on.items():
            name = f"{id}-{dataset.removeprefix('split-')}"
            PICTURES[name] = shown.pictures
            claim(
                id=name,
                label=label,
                section="Ablation and Sensitivity Analysis",
                statement=f"{statement} (Here on {dataset_name(dataset)}, reduced.)",
                recorded=shown.recorded,
                explain="\n\n".join(filter(None, (inspect.cleandoc(explain), RULE.strip()))),
            )(_check(contrasts, dataset))
        return contrasts

    return register


def _check(contrasts: Contrasts, dataset: str) -> Check:
    @functools.wraps(contrasts)  # the claim belongs to the module that states it
    def check() -> Finding:
        return settled(contrasts(dataset))

    return check


def both(contrast: Callable[[str], np.ndarray], words: str) -> Iterator[Contrast]:
    """The same contrast for COLD-ORACLE and for COLD."""
    for method in BOTH:
        yield Contrast(f"{NAMES[method]} {words}", contrast(method))
