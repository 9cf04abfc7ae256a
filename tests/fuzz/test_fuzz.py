"""The fuzz suite draws from the programs' own tables. A few cases run with the tests, its short form with slow ones.

`python -m tests.fuzz` runs as many as one likes.
"""

from __future__ import annotations

import pytest

from tests.fuzz import __main__ as long_form
from tests.fuzz import arguments, files, programs
from tests.fuzz.programs import commands
from tests.fuzz.sandbox import Tally


def test_every_command_and_option_is_drawn_from():
    """The tables of options come from the programs; if they could not be read any more, nothing would be tried."""
    known = commands()
    assert {command.program for command in known} == {"coldtheory", "cold"}
    assert len(known) > 25
    run = next(command for command in known if command.words == ("run",))
    assert {"--momentum", "--checkpoint-every", "--model"} <= {name for option in run.options for name in option.opts}


@pytest.mark.parametrize(
    ("part", "count"), [(programs, 40), (arguments, 200), (files, 60)], ids=["programs", "arguments", "files"]
)
def test_a_few_of_each(part, count, tmp_path):
    tally = part.fuzz(count, 12, tmp_path)
    assert tally.cases == count
    assert not tally.failures, str(tally)


def test_the_long_form_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    keep = tmp_path / "kept.jsonl"
    monkeypatch.setattr(long_form, "_PORTION", 30)
    first = long_form.fuzz("arguments", 60, 0, tmp_path, keep)
    assert len(keep.read_text().splitlines()) == 2
    asked = []
    monkeypatch.setattr(arguments, "fuzz", lambda cases, *_: asked.append(cases) or Tally(cases, accepted=cases))
    more = long_form.fuzz("arguments", 80, 0, tmp_path, keep)
    assert asked == [20]
    assert (more.cases, more.refused) == (80, first.refused)
    assert len(keep.read_text().splitlines()) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "count"), [(programs, 3000), (arguments, 3000), (files, 600)], ids=["programs", "arguments", "files"]
)
def test_the_short_form(part, count, tmp_path):
    tally = part.fuzz(count, 0, tmp_path)
    assert tally.cases == count
    assert not tally.failures, str(tally)
    assert tally.accepted > count // 50  # else the cases would all end at the door
    assert tally.refused > count // 4
