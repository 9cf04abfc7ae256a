"""The root command, and how it fails: one line on stderr, exit code 2, no traceback."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from .. import __version__
from ..errors import ColdError
from . import certify, check, figures, replay, report, results, search, single, sweeps


class _OneLineErrors(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ColdError as error:
            complain(str(error))
            raise typer.Exit(2) from None


def complain(message: str) -> None:
    Console(stderr=True, highlight=False).print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)


app = typer.Typer(
    cls=_OneLineErrors,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


sweeps.add_to(app)
single.add_to(app)
check.add_to(app)
figures.add_to(app)
search.add_to(app)
replay.add_to(app)
certify.add_to(app)
report.add_to(app)
app.add_typer(results.app, name="results")


def main() -> None:
    """Entry point of the `coldtheory` script."""
    try:
        app()
    except BrokenPipeError:  # the reader of a pipe (head, less) has gone
        sys.stderr.close()
        raise SystemExit(0) from None
