"""Settings of the methods' own papers, as the comparisons declare them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .source import declarations
from .terms import Settings, layered


@dataclass(frozen=True)
class Published:
    """Settings of a method's own paper, and where they come from if not from there."""

    settings: Settings = field(default_factory=dict)
    borrowed: str = ""
    absent: str = ""


def published(method: str, dataset: str) -> Published:
    """What a method takes from its own paper for a dataset; memory and the like stay the table's."""
    told = declarations()
    if told["method"][method].get("unpublished"):  # nothing to set beyond the base
        return Published()
    here = told["published"].get(dataset, {})
    if method not in here:
        return Published(absent=f"its authors print no settings for {dataset}")
    entry, assumed = here[method], here[method].get("assumed", {})
    source = told["published"][entry["from"]][method] if "from" in entry else entry
    settings = layered(told["online"] if source.get("online") else {}, source["settings"], assumed)
    words = [f"settings of its paper for {entry['from']}"] if "from" in entry else []
    words += [f"{name} = {value} assumed" for name, value in assumed.items()]
    return Published({k: v for k, v in settings.items() if k not in here["keeps"]}, "; ".join(words))
