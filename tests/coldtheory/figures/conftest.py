"""A small scale of the theory figures, computed once, and the command line on it."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from coldtheory.cli import app
from coldtheory.figures.catalogue import Scale, log_grid

SMALL = Scale(
    seeds=2, T=30, V=log_grid(10, 1000, 5), V_wide=log_grid(10, 4000, 7), V_shown=(50.0, 1000.0), lengths=(8, 12),
    few_seeds=2, noise=(1e-3, 1e-2), drift=(0.0, 0.8), delta=(0.1, 10.0, 1000.0), stride=1, rounds=4, engine="serial",
)  # fmt: skip


@pytest.fixture(scope="session")
def small():
    return SMALL


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    """Results of every theory figure at the small scale."""
    from coldtheory.figures.catalogue import datasets  # noqa: PLC0415
    from coldtheory.figures.table import quiet  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("stored")
    for data in datasets(SMALL).values():
        data.make(folder, quiet)
    return folder


@pytest.fixture
def call(monkeypatch):
    """`coldtheory ...` at the small scale."""
    monkeypatch.setattr("coldtheory.cli.figures.SCALE", SMALL)

    def run(*words):
        return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})

    return run


@pytest.fixture
def no_simulation(monkeypatch):
    """Any simulation is an error."""

    def forbidden(*_args, **_more):
        raise AssertionError("a plot simulated")

    monkeypatch.setattr("coldtheory.figures.compute.simulate", forbidden)
    monkeypatch.setattr("coldtheory.sweep.simulate", forbidden)
