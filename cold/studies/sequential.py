"""When a claim may be looked at again after more seeds, and how sure it then has to be: the rule of sequential.toml."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import msgspec

from coldtheory.ground.errors import ColdError
from coldtheory.ground.reading import read_toml

_FILE = Path(__file__).parent / "sequential.toml"
_Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]


@dataclass(frozen=True)
class Look:
    """A number of seeds, and the chance with which an interval over them may miss the true mean."""

    seeds: int
    missed: float


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file's entries, which it explains."""

    version: int
    alpha: _Share
    growth: Annotated[int, msgspec.Meta(ge=2)]
    shares: tuple[_Share, ...]
    begun: dict[str, dict[str, int]] = {}

    def first(self, study: str, dataset: str, declared: int) -> int:
        """How many seeds the first look has."""
        return max(declared, self.begun.get(study, {}).get(dataset, 0))

    def looks(self, first: int) -> tuple[Look, ...]:
        """All looks, beginning with the one at `first` seeds.

        >>> [(look.seeds, look.missed) for look in sequential_rule().looks(6)]
        [(6, 0.05), (12, 0.025), (24, 0.0125), (48, 0.0125)]
        """
        further = (
            Look(first * self.growth**number, self.alpha * share) for number, share in enumerate(self.shares, start=1)
        )
        return (Look(first, self.alpha), *further)

    def present(self, stored: int, first: int) -> Look:
        """The last look for which there are enough seeds; of fewer than the first one has, all.

        >>> sequential_rule().present(11, 6), sequential_rule().present(100, 6)
        (Look(seeds=6, missed=0.05), Look(seeds=48, missed=0.0125))
        """
        taken = [look for look in self.looks(first) if look.seeds <= stored]
        return taken[-1] if taken else Look(stored, self.alpha)


@lru_cache(maxsize=1)
def sequential_rule() -> Rule:
    """The rule that claims follow."""
    try:
        rule = msgspec.convert(read_toml(_FILE), Rule)
    except msgspec.ValidationError as error:
        raise ColdError(f"{_FILE.name} does not follow its schema: {' '.join(str(error).split())}") from None
    if sum(rule.shares) > 1 + 1e-12:
        raise ColdError(f"the shares in {_FILE.name} are more than the whole: {rule.shares}")
    return rule
