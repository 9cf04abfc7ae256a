"""The root command of `coldtheory`."""

from __future__ import annotations

from .. import __version__
from ..ground.command_line import Listed, program, run_program

_SWEPT = ("V", "delta", "eta", "steps", "T", "memory", "eta-factor", "controller")
_LINES = {
    "sweep": ("sweeps", "Sweep one setting, such as V, and store every cell."),
    "simulate": ("single", "Run one setting and summarise it."),
    "advise": ("advise", "Say which V, which theorem and which step suit your tasks."),
    "results": ("results", "List, explain, export or remove stored sweeps."),
    "plot": ("figures", "Draw a figure, and make the data that it lacks first."),
    "figures": ("figures", "List every figure and the state of its data."),
    "check": ("check", "Check the claims of the paper, or a statement of your own."),
    "search": ("search", "Search for the run on which a statement is tightest."),
    "challenge": ("challenge", "Try to prove a statement wrong."),
    "replay": ("replay", "Run a stored counterexample again."),
    "certify": ("certify", "Prove or refute statements in exact arithmetic."),
    "memory": ("memory", "Compute how many samples per task a memory needs."),
    "report": ("report", "Write one HTML page with verdicts, figures and an explorer."),
    "serve": ("report", "Show the report in a browser."),
}

app = program(
    {
        **{name: Listed(f"coldtheory.cli.{module}", line) for name, (module, line) in _LINES.items()},
        **{f"sweep-{axis}": Listed("coldtheory.cli.sweeps", f"Sweep {axis}.", hidden=True) for axis in _SWEPT},
    },
    "coldtheory.commands",
    about="""Simulate continual learning as drift-plus-penalty, measure it, and compare it with the theory.

    First steps: [bold]coldtheory sweep V --regime high[/], then [bold]coldtheory plot queues[/].
    """,
    version=__version__,
)


def main() -> None:
    """Entry point of the `coldtheory` script."""
    run_program(app)
