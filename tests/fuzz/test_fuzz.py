"""The short form of the fuzz suite: no traceback, exit codes as promised, one line per error, nothing outside."""

from __future__ import annotations

import pytest

from tests.fuzz import arguments, files, programs
from tests.fuzz.programs import commands


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_malformed_calls_of_the_programs(seed, tmp_path):
    tally = programs.fuzz(500, seed, tmp_path)
    assert not tally.failures, str(tally)
    assert min(tally.accepted, tally.refused) > 50  # neither everything nor nothing is refused


@pytest.mark.slow
def test_bad_arguments(tmp_path):
    tally = arguments.fuzz(3000, 0, tmp_path)
    assert not tally.failures, str(tally)
    assert tally.refused > 2000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_damaged_files(seed, tmp_path):
    tally = files.fuzz(300, seed, tmp_path)
    assert not tally.failures, str(tally)
    assert tally.refused > 100


def test_every_command_and_option_is_drawn_from():
    """The tables of options come from the programs; if they could not be read any more, nothing would be tried."""
    known = commands()
    assert {command.program for command in known} == {"coldtheory", "cold"}
    assert len(known) > 25
    run = next(command for command in known if command.words == ("run",))
    assert {"--momentum", "--checkpoint-every", "--model"} <= {name for option in run.options for name in option.opts}


@pytest.mark.parametrize(
    ("part", "count"), [(programs, 40), (arguments, 200), (files, 45)], ids=["programs", "arguments", "files"]
)
def test_a_few_of_each(part, count, tmp_path):
    tally = part.fuzz(count, 12, tmp_path)
    assert not tally.failures, str(tally)
