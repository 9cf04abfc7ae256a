"""Every option of both programs, with the command that has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer.main

from cold.cli.app import app as cold_app
from coldtheory.cli.app import app as coldtheory_app


@dataclass(frozen=True)
class Option:
    """One option of one command, by one of its names."""

    name: str
    command: str
    kind: str  #: flag, path or value
    help: str

    @property
    def meaning(self) -> str:
        """The first sentence of its help."""
        return re.split(r"(?<=[.!?])\s", self.help, maxsplit=1)[0]


def all_options() -> list[Option]:
    """Hidden options, which are old spellings, are left out, and so are the second names of `sweep`."""
    return [
        Option(name, words, _kind(param), param.help or "")
        for words, command in all_commands().items()
        for param in command.params
        if param.param_type_name == "option" and not param.hidden
        for name in (*param.opts, *param.secondary_opts)
    ]


def all_commands() -> dict[str, Any]:
    """Every command of both programs by its words."""
    apps = {"coldtheory": coldtheory_app, "cold": cold_app}
    return {words: found for name, app in apps.items() for words, found in _commands(name, typer.main.get_command(app))}


def _commands(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield words, command
        return
    for name in command.list_commands(None):
        if not name.startswith("sweep-"):
            yield from _commands(f"{words} {name}", command.get_command(None, name))


def _kind(param: Any) -> str:
    if param.is_flag:
        return "flag"
    shown = str(getattr(param, "type_descriptor", None) or param.type)  # as this or an older typer keeps it
    return "path" if "path" in shown.lower() else "value"
