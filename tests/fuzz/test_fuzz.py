"""The fuzz suite draws from the programs' own tables. A few cases run with the tests, its short form with slow ones.

`python -m tests.fuzz` runs as many as one likes.
"""

from __future__ import annotations

import pytest

from tests.fuzz import arguments, files, programs
from tests.fuzz.programs import commands


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
