"""All figures by name: the theory figures of this package, and those that other packages bring.

Figures come through entry points: a package that declares

    [project.entry-points."coldtheory.figures"]
    mine = "my_package:figures"

adds the figures that `my_package.figures(wanted)` returns, an iterable of `Figure`, to `coldtheory figures`,
`coldtheory plot` and the gallery; `wanted` is what the user asks of training figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata

from ..ground.errors import ColdError, unknown_name
from .catalogue import Scale, theory_figures
from .figure import Figure, Wanted

GROUP = "coldtheory.figures"


def figures(scale: Scale | None = None, wanted: Wanted | None = None) -> tuple[Figure, ...]:
    """Every figure of every installed package, ours first; `scale` is the size of our data."""
    entries = {entry.value: entry for entry in metadata.entry_points(group=GROUP)}  # an installation may be seen twice
    further = (figure for entry in entries.values() for figure in _figures_of(entry, wanted or Wanted()))
    known = (*theory_figures(scale), *further)
    seen: set[str] = set()
    for figure in known:
        if figure.id in seen:
            raise ColdError(f"two figures are called {figure.id}; remove the package of one of them")
        seen.add(figure.id)
    return known


def _figures_of(entry: metadata.EntryPoint, wanted: Wanted) -> tuple[Figure, ...]:
    package = entry.value.partition(":")[0] if entry.dist is None else entry.dist.name
    try:
        given = tuple(entry.load()(wanted))
    except ColdError:
        raise
    except Exception as error:  # a plug-in may fail in any way; the user needs its name
        why = f"{type(error).__name__}: {error}".replace("\n", " ")
        raise ColdError(f"the figures of {package} ({entry.value}) cannot be loaded: {why}; reinstall it") from error
    for figure in given:
        if not isinstance(figure, Figure):
            kind = type(figure).__name__
            raise ColdError(f"the figures of {package} ({entry.value}) hold a {kind}, which is no Figure; reinstall it")
    return given


def find(name: str, known: Sequence[Figure]) -> Figure:
    """A figure by id, alias or paper label; an unknown name is an error with the nearest ones."""
    wanted = name.strip()
    for figure in known:
        if wanted in (figure.id, figure.label, figure.label.removeprefix("fig:"), *figure.aliases):
            return figure
    names = [n for figure in known for n in (figure.id, *figure.aliases)]
    raise unknown_name("figure", name, [*names, "all"])
