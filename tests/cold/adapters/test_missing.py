"""An adapter whose framework is not installed says in one line how to get it."""

from __future__ import annotations

import importlib
import sys

import pytest

import cold.adapters
from cold.adapters import MissingExtra


@pytest.mark.parametrize("extra", ["avalanche", "cooper", "lightning"])
def test_a_missing_framework_is_told_in_one_line(extra, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == extra]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, extra, None)
    monkeypatch.delitem(sys.modules, f"cold.adapters.{extra}", raising=False)
    monkeypatch.delattr(cold.adapters, extra, raising=False)
    with pytest.raises(MissingExtra) as told:
        importlib.import_module(f"cold.adapters.{extra}")
    assert str(told.value) == f"{extra} is not installed; pip install 'cold-continual[{extra}]'"
