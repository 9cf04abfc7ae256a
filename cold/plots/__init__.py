"""Training figures, drawn from stored runs. Nothing here imports torch.

paper_figures  every training figure of the paper: panels, and the runs that each of them wants
select         from stored runs to one tidy table per figure
requested      requested and delivered forgetting, and plasticity against forgetting: beyond the paper
printed        the paper's own numbers as rows of that table
data           the data of a figure: their state, the commands that make them, the table
draw           from the table to the picture

`figures` is what the entry point `coldtheory.figures` names: through it `coldtheory plot` knows training figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coldtheory.figures import Figure, Wanted

from ..catalogue import benchmark_title
from ..studies import studies
from .data import RunsFoundOnce, TrainingData
from .paper_figures import PAPER_FIGURES, TrainingFigure
from .requested import requested_figures

_SMALL = "cpu"  # the profile whose pictures stand in the gallery beside those of the paper's size


def figures(wanted: Wanted) -> Iterator[Figure]:
    """The paper's figures on the data that are asked for; when nothing is, also what the reduced studies draw."""
    shared = RunsFoundOnce()
    yield from (_drawn(figure, wanted, shared) for figure in PAPER_FIGURES)
    if wanted.dataset is None and wanted.profile is None:
        by_id = {figure.id: figure for figure in PAPER_FIGURES}
        for picture in dict.fromkeys(picture for study in studies() for picture in study.pictures.get(_SMALL, ())):
            small = replace(wanted, dataset=picture.dataset, profile=_SMALL)
            yield _drawn(by_id[picture.figure], small, shared, aliases=False)
    if wanted.dataset is None and wanted.profile in (None, _SMALL):
        yield from requested_figures(shared, kept=wanted.kept)


def _drawn(figure: TrainingFigure, wanted: Wanted, shared: RunsFoundOnce, *, aliases: bool = True) -> Figure:
    """A figure whose id says which data stand in for the paper's, and which profile made them."""
    other = "" if wanted.dataset is None else wanted.dataset.rpartition("=")[2]
    ending = "".join(f"-{word}" for word in (other, wanted.profile) if word)
    what, _, data = figure.title.rpartition(", ")
    title = f"{what}, {benchmark_title(other)}" if other else figure.title
    words = [f"{wanted.profile} profile"] * bool(wanted.profile) + [f"the paper: {data}"] * bool(other)
    return Figure(
        id=figure.id + ending,
        label=figure.label,
        title=f"{title} ({'; '.join(words)})" if words else title,
        sentence=figure.sentence,
        kind="training",
        data=(
            TrainingData(figure.on(wanted.dataset), wanted.profile, wanted.paper, wanted.kept, wanted.dataset, shared),
        ),
        draw="cold.plots.draw:draw_training",
        aliases=(*figure.aliases, *([figure.id] if ending else [])) if aliases else (),
        profile=wanted.profile,
    )
