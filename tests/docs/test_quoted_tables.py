"""A table below a comment `<!-- cold table NAME -->` is what that command prints from the stored runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cold.cli.app import app
from tests.docs.pages import PAGES, ROOT

_QUOTED = re.compile(r"^<!-- cold (?P<words>table [\w -]+?) -->\n\n(?P<table>(?:\|.*\n)+)", re.M)
QUOTED = [(page, found) for page in PAGES for found in _QUOTED.finditer(page.read_text(encoding="utf-8"))]


def test_there_are_such_tables():
    assert QUOTED


@pytest.mark.parametrize(("page", "found"), QUOTED, ids=[found["words"] for _, found in QUOTED])
def test_a_quoted_table_is_what_the_command_prints(page: Path, found: re.Match[str], monkeypatch):
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, [*found["words"].split(), "--format", "markdown"])
    assert done.exit_code == 0, done.output
    assert found["table"] in done.stdout
