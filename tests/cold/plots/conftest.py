"""The command line of figures."""

from __future__ import annotations

import pytest

from tests.coldtheory.figures.small import caller


@pytest.fixture
def call(monkeypatch):
    return caller(monkeypatch)
