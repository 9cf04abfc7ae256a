"""Every command in the documents is one that the two programs, or the Makefile, know; options included."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest
import typer.main

from cold.cli.app import app as cold_app
from coldtheory.cli.app import app as coldtheory_app
from tests.docs.pages import IDS, PAGES, ROOT, blocks, code_words

PROGRAMS = {"coldtheory": typer.main.get_command(coldtheory_app), "cold": typer.main.get_command(cold_app)}
_EXAMPLE = "architecture.md"  # its `coldtheory hello` comes from the plug-in that it describes
_TARGETS = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.M)) | {"docs", "release"}


def commands(page) -> Iterator[list[str]]:
    """The commands of a page as lists of words: from blocks without a language, and from running text."""
    lines = [line for block in blocks(page) if block.language in ("", "sh", "bash") for line in block.text.splitlines()]
    for line in [*lines, *code_words(page)]:
        for part in line.split("&&"):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:  # an apostrophe in running text
                continue
            if words[:1] == ["torchrun"] and "-m" in words:
                words = words[words.index("-m") + 1 :]
            if words[:1] and (words[0] in PROGRAMS or words[0] == "make") and len(words) > 1:
                yield words


def unknown(words: list[str]) -> str | None:
    """What is wrong with a command, in one line; None if nothing is."""
    command, rest = PROGRAMS[words[0]], words[1:]
    context = command.context_class(command, info_name=words[0])
    while hasattr(command, "get_command") and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        if found is None:
            return f"{words[0]} has no command {rest[0]}"
        context = found.context_class(found, info_name=rest[0], parent=context)
        command, rest = found, rest[1:]
    known = {name for param in command.get_params(context) for name in (*param.opts, *param.secondary_opts)}
    for word in rest:
        if re.match(r"--?[A-Za-z]", word) and word.split("=")[0] not in known | {"--help"}:
            return f"{' '.join(words)}: no option {word}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_are_known(page):
    for words in commands(page):
        if words[0] == "make":
            assert words[1] in _TARGETS, words
        elif words[1] != "hello" or page.name != _EXAMPLE:
            assert unknown(words) is None


def test_the_page_of_first_commands_has_some_to_check():
    found = [words for words in commands(ROOT / "docs/start.md") if words[0] != "make"]
    assert {words[0] for words in found} == set(PROGRAMS)
    assert len(found) > 20


def test_a_wrong_command_is_noticed():
    assert unknown(["coldtheory", "sweep-W"]) == "coldtheory has no command sweep-W"
    assert unknown(["cold", "run", "--datasett", "pmnist"]) == "cold run --datasett pmnist: no option --datasett"
    assert unknown(["cold", "study", "run", "V", "--profile", "cpu"]) is None
