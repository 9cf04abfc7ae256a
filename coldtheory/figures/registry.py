"""All figures by name: the theory figures of this package, and those that other packages bring.

Figures come through entry points: a package that declares

    [project.entry-points."coldtheory.figures"]
    mine = "my_package:figures"

adds the figures that `my_package.figures(wanted)` returns, an iterable of `Figure`, to `coldtheory figures`,
`coldtheory plot` and the gallery; `wanted` is what the user asks of training figures.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ground.errors import ColdError, unknown_name
from ..ground.plugins import contributions
from .catalogue import Scale, theory_figures
from .figure import Figure, Wanted

GROUP = "coldtheory.figures"


def figures(scale: Scale | None = None, wanted: Wanted | None = None) -> tuple[Figure, ...]:
    """Every figure of every installed package, ours first; `scale` is the size of our data."""
    known = (*theory_figures(scale), *contributions(GROUP, Figure, wanted or Wanted()))
    seen: set[str] = set()
    for figure in known:
        if figure.id in seen:
            raise ColdError(f"two figures are called {figure.id}; remove the package of one of them")
        seen.add(figure.id)
    return known


def find(name: str, known: Sequence[Figure]) -> Figure:
    """A figure by id, alias or paper label; an unknown name is an error with the nearest ones."""
    wanted = name.strip()
    for figure in known:
        if wanted in (figure.id, figure.label, figure.label.removeprefix("fig:"), *figure.aliases):
            return figure
    names = [n for figure in known for n in (figure.id, *figure.aliases)]
    raise unknown_name("figure", name, [*names, "all"])
