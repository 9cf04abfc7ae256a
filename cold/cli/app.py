"""The root command of `cold`."""

from __future__ import annotations

from coldtheory.ground.command_line import program, run_program

_MODULES = {
    "run": "run", "show": "show", "compare": "compare", "table": "table", "eval": "weights", "export": "weights",
    "methods": "methods", "study": "study", "data": "data", "verify": "verify",
    "reproduce": "reproduce",
}  # fmt: skip

app = program({name: f"cold.cli.{module}" for name, module in _MODULES.items()}, "cold.commands")


@app.callback()
def root() -> None:
    """Train COLD and its baselines on continual-learning benchmarks.

    First steps: [bold]cold data fetch mnist[/], then [bold]cold run --dataset pmnist --method cold[/].
    """


def main() -> None:
    """Entry point of the `cold` script."""
    run_program(app)
