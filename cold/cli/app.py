"""The root command, and how it fails: one line on stderr, exit code 2, no traceback."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from coldtheory.cli.app import complain
from coldtheory.errors import ColdError

#: Commands and the modules that have them. A module is loaded when its command is called (all of them for --help): what
#: only reads stored runs starts fast and needs no torch.
_MODULES = {
    "run": "run", "show": "show", "compare": "compare", "table": "table", "eval": "weights", "export": "weights",
    "methods": "methods", "study": "study", "data": "data",
}  # fmt: skip


class _Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        # for a name that is none, all are loaded: one of them is suggested
        wanted = [_MODULES[cmd_name]] if cmd_name in _MODULES else _MODULES.values()
        for name in dict.fromkeys(wanted):
            if cmd_name not in self.commands:
                self.commands.update(_loaded(name))
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ColdError as error:
            complain(str(error))
            raise typer.Exit(2) from None


def _loaded(name: str) -> dict[str, Any]:
    """The commands of a module: those that it adds to an app, or its own app as one command with parts."""
    module, part = importlib.import_module(f".{name}", __package__), typer.Typer(rich_markup_mode="rich")
    if hasattr(module, "add_to"):
        module.add_to(part)
    else:
        part.add_typer(module.app, name=name)
    return dict(get_group(part).commands)


app = typer.Typer(
    cls=_Commands,
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


def main() -> None:
    """Entry point of the `cold` script."""
    try:
        app()
    except BrokenPipeError:  # the reader of a pipe (head, less) has gone
        sys.stderr.close()
        raise SystemExit(0) from None
