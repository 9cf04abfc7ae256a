"""The root command, and how it fails: one line on stderr, exit code 2, no traceback."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from coldtheory.cli.app import complain
from coldtheory.errors import ColdError

from . import compare, methods, run, show, study, table, weights


class _OneLineErrors(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ColdError as error:
            complain(str(error))
            raise typer.Exit(2) from None


app = typer.Typer(
    cls=_OneLineErrors,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root() -> None:
    """Train COLD and its baselines on continual-learning benchmarks.

    First steps: [bold]cold data fetch mnist[/], then [bold]cold run --dataset pmnist --method cold[/].
    """


for module in (run, show, compare, table, weights, methods):
    module.add_to(app)
app.add_typer(study.app, name="study")
try:
    app.add_typer(importlib.import_module("cold.cli.data").app, name="data")
except ModuleNotFoundError as error:
    if error.name != "cold.cli.data":
        raise


def main() -> None:
    """Entry point of the `cold` script."""
    try:
        app()
    except BrokenPipeError:  # the reader of a pipe (head, less) has gone
        sys.stderr.close()
        raise SystemExit(0) from None
