"""The theory figures at a small scale, computed once."""

from __future__ import annotations

import pytest

from coldtheory.figures.catalogue import datasets
from coldtheory.figures.table import quiet
from tests.coldtheory.figures.small import SMALL, caller


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    """Results of every theory figure."""
    folder = tmp_path_factory.mktemp("stored")
    for data in datasets(SMALL).values():
        data.make(folder, quiet)
    return folder


@pytest.fixture
def call(monkeypatch):
    return caller(monkeypatch)


@pytest.fixture
def no_simulation(monkeypatch):
    """Any simulation is an error."""

    def forbidden(*_args, **_more):
        raise AssertionError("a plot simulated")

    monkeypatch.setattr("coldtheory.sweep.simulate", forbidden)
    for family in ("bounds", "picture", "queues", "trajectory", "variation"):
        monkeypatch.setattr(f"coldtheory.figures.{family}.simulate", forbidden)
