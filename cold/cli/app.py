"""The root command of `cold`."""

from __future__ import annotations

from coldtheory import __version__
from coldtheory.ground.command_line import Listed, program, run_program

_LINES = {
    "run": ("run", "Train one method on one benchmark."),
    "show": ("show", "Print the measures and accuracies of a finished run."),
    "compare": ("compare", "Print runs side by side, with the paper's numbers."),
    "table": ("table", "Print one of the paper's tables from stored runs."),
    "plot": ("plot", "Draw a training figure from finished runs."),
    "study": ("study", "List, plan, run and look after the paper's ablations."),
    "tune": ("tune", "Search settings for a method on validation data."),
    "settings": ("settings", "List the settings that stored tuning runs chose."),
    "reproduce": ("reproduce", "Make every run of the paper at its full size, resumably."),
    "verify": ("verify", "Make stored runs again and compare."),
    "methods": ("methods", "List the methods with their settings and costs."),
    "data": ("data", "List the data sets that are there, or fetch one."),
    "eval": ("weights", "Test the stored weights of a finished run again."),
    "export": ("weights", "Write the trained weights of a finished run to a file."),
}

app = program(
    {name: Listed(f"cold.cli.{module}", line) for name, (module, line) in _LINES.items()},
    "cold.commands",
    about="""Train COLD and its baselines on continual-learning benchmarks.

    First steps: [bold]cold data fetch mnist[/], then [bold]cold run --dataset pmnist --method cold[/].
    """,
    version=__version__,
)


def main() -> None:
    """Entry point of the `cold` script."""
    run_program(app)
