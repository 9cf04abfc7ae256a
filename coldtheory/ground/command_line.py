"""What the commands of both programs share: how they load, how they fail, and how their texts become values.

A program is a table of commands, each with the module that has it and the line that lists show. A module is loaded when
its command is called. `--help` and the completion of a command's name need no module at all, so that both are quick.
Further commands come from entry points: a package that declares

    [project.entry-points."coldtheory.commands"]
    hello = "my_package.cli:hello"

adds `coldtheory hello`; the object is the command's function, or a `typer.Typer` for a command with parts.
"""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from .errors import ColdError
from .limits import demand_memory
from .plugins import entry_points, load

_SEED_BYTES = 1000  # what the settings of one seed take, at least
_LONGEST = 600  # characters of a message of typer that are shown
#: The error for words that typer cannot read: the base class of its public errors, without a public name of its own.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for scripts, and nothing else on stdout.")]


def complain(message: str) -> None:
    """Print an error as one line on stderr."""
    Console(stderr=True, highlight=False).print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)


def note(message: str) -> None:
    """Print a remark as one line on stderr."""
    Console(stderr=True, highlight=False).print(f"[yellow]note:[/] {escape(message)}", soft_wrap=True)


def tell_old_name(old: str, new: str) -> None:
    """Say that an old spelling was understood, and what to type instead."""
    note(f"{old} is now {new}; the old spelling works until the next release")


def with_old_names(names: Mapping[str, str]) -> type[TyperCommand]:
    """Return a class of commands that also accept options by their old names (old -> new) and say so on stderr."""

    class Renaming(TyperCommand):
        old_names = names

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, _renamed(args, names, told=not ctx.resilient_parsing))

    return Renaming


def typed_command(program: str, context: typer.Context, left_out: Collection[str] = ()) -> str:
    """Return the command of a call as one would type it again, with the main names of options and without defaults."""
    words = [program, *context.command_path.split()[1:]]
    for param in context.command.params:
        name, value = str(param.name), context.params.get(str(param.name))
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE" or name in left_out:
            continue
        option = [param.opts[0]] if param.param_type_name == "option" else []
        words += option if isinstance(value, bool) else [*option, str(value)]
    return shlex.join(words)


def _renamed(words: list[str], names: Mapping[str, str], *, told: bool) -> list[str]:
    """The words of a call with new names for old ones; completion of a shell says nothing about it."""
    end = words.index("--") if "--" in words else len(words)
    found = list(words)
    for at, word in enumerate(words[:end]):
        name, equals, value = word.partition("=")
        if name in names:
            found[at] = f"{names[name]}{equals}{value}"
            if told:
                tell_old_name(name, names[name])
    return found


@dataclass(frozen=True)
class Listed:
    """An entry in the table of a program.

    The module has a function `add_to(app)` that adds its commands, or an `app` of its own, a command with parts.
    """

    module: str
    line: str  #: the line that lists show
    hidden: bool = False  #: whether lists leave it out, as they do with a second name


def program(table: Mapping[str, Listed], group: str, *, about: str, version: str) -> typer.Typer:
    """Make an app of these commands and of those that entry points of the group add; `about` is its help."""

    def print_version(wanted: bool) -> None:
        if wanted:
            typer.echo(version)
            raise typer.Exit

    option: Any = typer.Option(
        False, "--version", help="Print the version and stop.", is_eager=True, callback=print_version
    )

    def root(version: bool = option) -> None: ...

    class Commands(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return [*table, *(name for name in _further(group) if name not in table)]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in self.commands and cmd_name in self.list_commands(ctx):
                found = _added(table[cmd_name].module, cmd_name) if cmd_name in table else _plugged(group, cmd_name)
                self.commands.update(found)
            return super().get_command(ctx, cmd_name)

        @contextmanager
        def only_listed(self) -> Iterator[None]:
            """Within the block, the commands of the table are known by their lines alone, and no module is loaded."""
            loaded = self.commands
            lines = {name: TyperCommand(name=name, help=one.line, hidden=one.hidden) for name, one in table.items()}
            self.commands = {**loaded, **lines}
            try:
                yield
            finally:
                self.commands = loaded

        def format_help(self, ctx: Any, formatter: Any) -> None:
            with self.only_listed():
                super().format_help(ctx, formatter)

        def shell_complete(self, ctx: Any, incomplete: str) -> Any:
            with self.only_listed():
                return super().shell_complete(ctx, incomplete)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            if args[0] in self.list_commands(ctx):
                return super().resolve_command(ctx, args)
            with self.only_listed():  # the error suggests the nearest name
                return super().resolve_command(ctx, args)

        def make_context(self, *words: Any, **more: Any) -> Any:
            with _in_one_line():
                return super().make_context(*words, **more)

        def invoke(self, ctx: Any) -> Any:
            with _in_one_line():
                return super().invoke(ctx)

    app = typer.Typer(
        cls=Commands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=about)(root)
    return app


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Turn any problem with the words, a file, the disk or the memory into one line and exit code 2."""
    try:
        yield
    except ColdError as error:
        complain(str(error))
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # the help is printed already
            raise
        context: Any = getattr(error, "ctx", None)
        command = f"'{context.command_path} --help'" if context is not None else "--help"
        complain(str(ColdError(f"{_message(error)} see {command}")))
    except BrokenPipeError:  # see `run_program`
        raise
    except OSError as error:  # about a path that the user gave, or about the disk
        where = "" if error.filename is None else f"{error.filename}: "
        complain(str(ColdError(f"{where}{error.strerror or error}; choose another path")))
    except MemoryError:
        complain("there is not enough memory for this; try a smaller size")
    else:
        return
    raise typer.Exit(2)


def _message(error: Any) -> str:
    """The message of typer about words that it cannot read, on one line and not too long."""
    words = " ".join(str(error.format_message()).split()).rstrip(".")
    words = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."
    return words if words.endswith("?") else f"{words};"


def run_program(app: typer.Typer) -> None:
    """Run an app as the script of a program."""
    try:
        app()
    except BrokenPipeError:  # the program that reads our output (head, less) has ended
        sys.stderr.close()
        raise SystemExit(0) from None


def _added(module: str, name: str) -> dict[str, Any]:
    loaded, part = importlib.import_module(module), typer.Typer(rich_markup_mode="rich")
    if hasattr(loaded, "add_to"):
        loaded.add_to(part)
    else:
        part.add_typer(loaded.app, name=name)
    return dict(get_group(part).commands)


def _further(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group)}


def _plugged(group: str, name: str) -> dict[str, Any]:
    loaded: typer.Typer | Callable[..., Any] = load(_further(group)[name], "command")
    part = typer.Typer(rich_markup_mode="rich")
    if isinstance(loaded, typer.Typer):
        part.add_typer(loaded, name=name)
    else:
        part.command(name)(loaded)
    return dict(get_group(part).commands)


def words_of(text: str) -> list[str]:
    """Split a text at its commas; each value is kept once, in its order.

    >>> words_of("er, cold,er")
    ['er', 'cold']
    """
    return list(dict.fromkeys(word.strip() for word in text.split(",")))


def seeds_of(text: str) -> list[int]:
    """Read whole numbers that are separated by commas, and ranges, which include both ends.

    >>> seeds_of("6,7,8"), seeds_of("0-3,8")
    ([6, 7, 8], [0, 1, 2, 3, 8])
    """
    found: list[int] = []
    for word in words_of(text):
        first, dash, last = word.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isdecimal() and len(end) <= 18 for end in ends) or int(ends[0]) > int(ends[1]):
            raise ColdError(f"--seeds takes whole numbers separated by commas, such as 6,7,8 or 0-8, got {text!r}")
        count = int(ends[1]) - int(ends[0]) + 1
        demand_memory(_SEED_BYTES * count, f"{count} seeds")
        found += range(int(ends[0]), int(ends[1]) + 1)
    return list(dict.fromkeys(found))


def named_value(word: str) -> tuple[str, Any]:
    """Read NAME=VALUE: the name, and the value as JSON or otherwise as a plain word.

    >>> named_value("passes=3"), named_value("form=mini-batch")
    (('passes', 3), ('form', 'mini-batch'))
    """
    name, equals, text = word.partition("=")
    if not equals or not name:
        raise ColdError(f"cannot read {word!r}: give NAME=VALUE")
    try:
        return name, json.loads(text)
    except (ValueError, RecursionError):
        return name, text
