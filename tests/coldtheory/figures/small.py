"""A small scale of the theory figures, and the command line on it."""

from __future__ import annotations

from typer.testing import CliRunner

from coldtheory.cli import app
from coldtheory.figures.catalogue import Scale, log_grid

SMALL = Scale(
    seeds=2, T=30, V=log_grid(10, 1000, 5), V_wide=log_grid(10, 4000, 7), V_shown=(50.0, 1000.0), lengths=(8, 30),
    V_lengths=log_grid(10, 4000, 7)[:-1], noise=(1e-3, 1e-2), drift=(0.0, 0.8), delta=(0.1, 10.0, 1000.0), stride=1,
    rounds=4, horizons=(20, 50),
    engine="serial", doublings=(4, 8), noise_seeds=30, memory=(1, 4, 12), many_tasks=(3, 9), longest=30,
)  # fmt: skip


def caller(monkeypatch):
    """`coldtheory ...` as a function of its words, at the small scale."""
    monkeypatch.setattr("coldtheory.cli.figures.SCALE", SMALL)

    def call(*words):
        return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})

    return call
