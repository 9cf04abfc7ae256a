from __future__ import annotations

import pytest

from cold.tables.make import make, terms_of
from cold.tables.terms import using
from tests.cold.tables.made_rows import TINY


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """The comparisons of made_rows.TINY in a folder of their own, which is the current one."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    with using(path):
        yield terms_of("tiny", "equal")[0]


@pytest.fixture
def table(tiny, tmp_path):
    """The comparison as it is with what is stored now."""
    return lambda: make("tiny", (tiny,), [tmp_path])
