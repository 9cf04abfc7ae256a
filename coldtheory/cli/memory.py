"""`coldtheory memory`: how many samples per task a memory needs, or how large its error is."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from ..ground.command_line import with_old_names
from ..ground.errors import ColdError
from ..memory import memory_error, memory_needed
from .options import JsonOption


def add_to(app: typer.Typer) -> None:
    """Register the command `memory` with the program."""
    old = {"--memory": "--memory-per-task", "--tasks": "--past-tasks"}
    app.command("memory", cls=with_old_names(old))(memory)


def memory(
    sample_radius: Annotated[
        float, typer.Option("--sample-radius", help="Every sample is within this distance of the mean of its task.")
    ],
    model_radius: Annotated[
        float, typer.Option("--model-radius", help="Every model is within this distance of the mean of every task.")
    ],
    error: Annotated[
        float | None, typer.Option("--error", help="Allowed error. The command then computes the size of the memory.")
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(
            "--memory-per-task", help="Samples per task in the memory. The command then computes their error."
        ),
    ] = None,
    points: Annotated[
        int | None, typer.Option("--points", help="Samples per task. By default the supply is unlimited.")
    ] = None,
    tasks: Annotated[int, typer.Option("--past-tasks", help="Number of past tasks.")] = 1,
    p: Annotated[float, typer.Option("--p", help="Probability with which the answer may be wrong.")] = 0.05,
    curvature: Annotated[float, typer.Option("--curvature", help="Largest curvature of the loss of a sample.")] = 1.0,
    every: Annotated[
        bool, typer.Option("--every/--mean", help="Bound the largest error over the tasks, or (by default) their mean.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compute how many samples per task the memory needs, or how large its error is.

    The error is the supremum over all models of |Phi_k - hatPhi_k|, the memory's part of D_{Phi,hatPhi}; see
    docs/theorems/memory_size.md. Example: [bold]coldtheory memory --sample-radius 1 --model-radius 2 --error 0.1[/]
    """
    known = {"sample_radius": sample_radius, "model_radius": model_radius, "n": points, "tasks": tasks, "p": p,
             "curvature": curvature, "every": every}  # fmt: skip
    if (error is None) == (memory is None):
        raise ColdError("give either --error, to learn the memory size, or --memory-per-task, to learn the error")
    size = memory_needed(error, **known) if memory is None else memory  # type: ignore[arg-type]
    found = memory_error(size, **known)  # type: ignore[arg-type]
    if as_json:
        typer.echo(json.dumps({"memory": size, "error": found, **known}))
        return
    which = "the largest error" if every else "the mean error"
    of = "" if points is None else f" of {points}"
    line = f"{size} samples per task{of}: {which} over {tasks} past tasks is at most {found:.4g}"
    Console(highlight=False).print(f"{line} with probability {1 - p:g}", soft_wrap=True)
