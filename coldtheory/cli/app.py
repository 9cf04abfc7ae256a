"""The root command of `coldtheory`."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from ..ground.command_line import program, run_program

_SWEEPS = (
    "sweep",
    "sweep-V",
    "sweep-delta",
    "sweep-eta",
    "sweep-steps",
    "sweep-T",
    "sweep-memory",
    "sweep-eta-factor",
    "sweep-controller",
)
_MODULES = {
    **dict.fromkeys(_SWEEPS, "sweeps"), "simulate": "single", "check": "check", "figures": "figures", "plot": "figures",
    "search": "search", "challenge": "challenge", "replay": "replay", "certify": "certify", "report": "report",
    "serve": "report", "results": "results", "memory": "memory", "advise": "advise",
}  # fmt: skip

app = program({name: f"coldtheory.cli.{module}" for name, module in _MODULES.items()}, "coldtheory.commands")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Simulate continual learning as drift-plus-penalty, measure it, and hold it against the theory.

    First steps: [bold]coldtheory sweep-V --regime high[/] and [bold]coldtheory simulate --V 200[/].
    """


def main() -> None:
    """Entry point of the `coldtheory` script."""
    run_program(app)
