"""`cold plot`: the training figures, drawn from finished runs by the code of `coldtheory plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coldtheory.cli import options as o
from coldtheory.cli.figures import draw
from coldtheory.figures import Wanted, registry

from ..plots import figures as training_figures


def add_to(app: typer.Typer) -> None:
    """Register the command `plot` with the program."""
    app.command("plot")(plot)


def plot(
    name: Annotated[str, typer.Argument(metavar="ID|all", help="A training figure by its name, or all of them.")],
    runs: Annotated[
        Path | None,
        typer.Option(
            "--runs",
            help="Folder of finished training runs. The default is runs, results/runs and those of the package.",
        ),
    ] = None,
    figures: o.FiguresOption = o.PICTURES,
    formats: o.PictureFormats = "png,pdf",
    paper: o.PaperOption = False,
    dataset: o.PictureDataset = None,
    profile: o.PictureProfile = None,
    as_json: o.JsonOption = False,
) -> None:
    """Draw a training figure from finished runs, or all figures whose runs are there.

    Where runs are missing, the command that makes them is named. 'coldtheory figures' lists the names.

    Examples: [bold]cold plot varying_V --dataset pmnist --profile cpu[/] and [bold]cold plot all[/]
    """
    o.check_runs(runs)
    known = tuple(training_figures(Wanted(dataset, profile, paper, kept=runs is None)))
    chosen = known if name == "all" else (registry.find(name, known),)
    draw(chosen, runs or o.RESULTS, figures, formats, several=name == "all", make=False, as_json=as_json)
