"""Every figure by its id: the paper's label, what it shows, the data it needs and the function that draws it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..ground.errors import unknown_name
from .catalogue import Scale, datasets
from .datasets import Dataset, State, Stored
from .table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from cold.plots.studies import Study

Kind = Literal["theory", "training"]
_SMALL = "cpu"  # the profile whose pictures stand in the gallery beside those of the paper's size


@dataclass(frozen=True)
class Figure:
    """One figure. `draw` names a function of tables, "module:function": matplotlib loads when something is drawn."""

    id: str
    label: str  #: the paper's label, "" for a figure of our own
    title: str
    sentence: str
    kind: Kind
    data: tuple[Dataset, ...]
    draw: str
    aliases: tuple[str, ...] = ()
    profile: str | None = None  #: of a training figure's runs

    @property
    def command(self) -> str:
        """What makes the data and draws it."""
        if self.kind == "theory":
            return f"coldtheory plot {self.id}"
        return self.data[0].command

    def state(self, folder: Path) -> State:
        """The worst of its data's states."""
        states = {data.state(folder) for data in self.data}
        return "missing" if "missing" in states else "stale" if "stale" in states else "present"

    def load(self, folder: Path) -> dict[str, Stored]:
        return {data.name: data.load(folder) for data in self.data}

    def picture(self, tables: Mapping[str, Table]) -> Picture:
        module, function = self.draw.split(":")
        draw = getattr(importlib.import_module(module), function)
        style = importlib.import_module("coldtheory.figures.draw.style")
        with style.styled():
            drawn: Picture = draw(tables)
            style.settle(drawn)
        return drawn


#: id, paper label, title, sentence, data, drawing function, other names
_THEORY: tuple[tuple[str, str, str, str, tuple[str, ...], str, tuple[str, ...]], ...] = (
    (
        "picture", "", "The method in the plane",
        "Three kinds of task take turns. The ideal problem keeps every model in the overlap of the balls; without "
        "queues the model runs from optimum to optimum, while queues pull it inwards until the running mean of a past "
        "task's loss comes down to δ, later for larger V.",
        ("picture",), "picture:draw", (),
    ),
    (
        "theory_plots", "fig:theory_plots", "The paper's three theory panels",
        "Gradient against V, queue against V and gradient against t on LOW and HIGH: after a task the gradient falls "
        "like 1/V on LOW and more slowly on HIGH; before a task it turns up again; the queue bends below a straight "
        "line.",
        ("sweep_V", "trajectory"), "theory_plots:draw", (),
    ),
    (
        "plot4_theory", "fig:plot4_theory", "The effect of the step size",
        "Gradient against V for three step sizes: the minimum before a task comes well before the premise "
        "η ≤ 1/(2α) breaks at V ≈ 1/(2η), so the rise is tracking noise and no broken premise.",
        ("sweep_eta",), "eta:draw", ("eta",),
    ),
    (
        "gradient", "", "Gradient against V, with bound and prediction",
        "Gradient before and after a task with fitted slopes, turning point and closed form (top), and Theorem 3 with "
        "its terms above the measurement (bottom); on CONFLICT the queue changes the gradient itself.",
        ("sweep_V", "sweep_V_off", "prediction", "bound_terms"), "gradient:draw", (),
    ),
    (
        "turning", "", "Where the gradient turns",
        "The V with the smallest gradient before a task falls with the length of the stream, as the closed form "
        "without queues says: it balances the way from the start against the noise that is followed.",
        ("turning_points", "sweep_T"), "turning:draw", ("turning-point",),
    ),
    (
        "queues", "", "Queues against V, and each of them",
        "The average queue grows with V and bends: no queue of COLD passes ℓr²/2. COLD-ORACLE's are far larger; the "
        "heatmaps show how both references remember on CONFLICT.",
        ("sweep_V", "sweep_queues", "queue_caps", "queue_maps"), "queues:draw", ("queue",),
    ),
    (
        "queues_delta", "", "Queues against the tolerance",
        "A larger tolerance δ empties the queues: COLD's vanish once δ exceeds what one task can undo, COLD-ORACLE's "
        "later, since it adds up the loss against the best model.",
        ("sweep_delta", "queue_maps_delta"), "queues:draw_delta", ("queue_delta",),
    ),
    (
        "trajectory", "", "Gradient against t",
        "Large V reaches its floor after few tasks, small V after many; the floor before a task is higher for large V, "
        "and on CONFLICT every switch between the two kinds of task shows.",
        ("trajectory",), "trajectory:draw", (),
    ),
    (
        "tradeoff", "", "Gradient against queue",
        "V moves along the curve from small queues and large gradients to the opposite; beyond the turning point the "
        "gradient before a task and the queue grow together, and nothing is gained.",
        ("sweep_V",), "tradeoff:draw", ("trade-off",),
    ),
    (
        "bounds", "", "Tightness of the bounds",
        "Bound over measured value against V: the sharpened Theorem 3' is within a small factor where Theorem 3 is "
        "loose by one to three orders; Corollary 1 and Theorem 4 divide by δ and are loose by many orders.",
        ("bound_terms",), "bounds:draw", ("tightness",),
    ),
    (
        "bound_terms", "", "What the bounds are made of",
        "Each term's share of the right side: the variation of the tasks dominates Theorem 3 on LOW and HIGH, the "
        "queues on CONFLICT; the sharpened form replaces the queues by the far smaller residual and conflict.",
        ("bound_terms",), "bounds:draw_terms", ("terms",),
    ),
    (
        "variation", "", "Variation, conflict and residual of the tasks",
        "D_Φ, ρ̄ and Δ̄ grow with the noise and with the drift of HIGH; D_Φ over the ball is several times its value at "
        "the models.",
        ("variation",), "variation:draw", (),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Training:
    """How training figures are drawn: other data than the paper's, and its printed numbers beside ours."""

    dataset: str | None = None
    profile: str | None = None
    paper: bool = False
    kept: Path | None = None  #: where finished runs are kept, beside the folder of results


def figures(scale: Scale | None = None, training: Training | None = None) -> tuple[Figure, ...]:
    """All figures: theory first, then training."""
    known = datasets(scale)
    theory = [
        Figure(
            id_,
            label,
            title,
            sentence,
            "theory",
            tuple(known[n] for n in names),
            f"coldtheory.figures.draw.{draw}",
            other,
        )
        for id_, label, title, sentence, names, draw, other in _THEORY
    ]
    return (*theory, *_training(training or Training()))


def _training(wanted: Training) -> list[Figure]:
    """The paper's figures on the data that are asked for; when nothing is, also what the reduced studies draw."""
    from cold.plots.studies import STUDIES  # noqa: PLC0415  (the one door to the training half)
    from cold.studies import studies  # noqa: PLC0415

    drawn = [_drawn(study, wanted) for study in STUDIES]
    if wanted.dataset is None and wanted.profile is None:
        by_id = {study.id: study for study in STUDIES}
        small = dict.fromkeys(picture for study in studies() for picture in study.pictures.get(_SMALL, ()))
        drawn += [
            _drawn(by_id[picture.figure], replace(wanted, dataset=picture.dataset, profile=_SMALL), aliases=False)
            for picture in small
        ]
    return drawn


def _drawn(study: Study, wanted: Training, *, aliases: bool = True) -> Figure:
    """A training figure; its id says which data stand in for the paper's, and which profile made them."""
    from cold.plots.data import TrainingData  # noqa: PLC0415
    from cold.plots.names import dataset_name  # noqa: PLC0415

    other = "" if wanted.dataset is None else wanted.dataset.rpartition("=")[2]
    ending = "".join(f"-{word}" for word in (other, wanted.profile) if word)
    what, _, data = study.title.rpartition(", ")
    title = f"{what}, {dataset_name(other)}" if other else study.title
    words = [f"{wanted.profile} profile"] * bool(wanted.profile) + [f"the paper: {data}"] * bool(other)
    return Figure(
        study.id + ending, study.label, f"{title} ({'; '.join(words)})" if words else title, study.sentence, "training",
        (TrainingData(study.on(wanted.dataset), wanted.profile, wanted.paper, wanted.kept, wanted.dataset),),
        "cold.plots.draw:draw_study",
        (*study.aliases, *([study.id] if ending else [])) if aliases else (),
        wanted.profile,
    )  # fmt: skip


def find(name: str, known: Sequence[Figure]) -> Figure:
    """A figure by id, alias or paper label; an unknown name is an error with the nearest ones."""
    wanted = name.strip()
    for figure in known:
        if wanted in (figure.id, figure.label, figure.label.removeprefix("fig:"), *figure.aliases):
            return figure
    names = [n for figure in known for n in (figure.id, *figure.aliases)]
    raise unknown_name("figure", name, [*names, "all"])
