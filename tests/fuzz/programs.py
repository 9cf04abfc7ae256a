"""Calls of both programs with malformed, extreme, wrong and mixed options, drawn from their own tables of options."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from click.testing import Result
from typer.main import get_command
from typer.testing import CliRunner

from cold.cli.app import app as cold_app
from coldtheory.cli.app import app as coldtheory_app
from tests.fuzz import corpus
from tests.fuzz.sandbox import Enough, Tally, escaped, limited, sandbox, where
from tests.fuzz.values import text

APPS = {"coldtheory": coldtheory_app, "cold": cold_app}
#: Options and arguments that take a place, or the name of what is there.
_NAMES = (
    "run", "runs", "regime", "file", "method", "config", "settings", "terms", "name", "names", "statement",
    "first", "second",
)  # fmt: skip
#: Those that take a Python file and run it, since the user names it. What must never run is named for the others.
_RUN = ("method", "statement", "what")
AFRESH = 60  # cases after which the folder is put back as it was
PLACES = (
    "results",
    "results/checks/outcomes.json",
    "old",
    "halted",
    "runs",
    "packed",
    "trained",
    "begun",
    "figures",
    "study.toml",
    "terms.toml",
    "config.toml",
    "settings.toml",
    "tuning",
    "source.toml",
    "optima.npz",
    "optima.csv",
    "lemma1_main_text.toml",
    "measured.json",
    "images",
    "images.zip",
    "home",
    "evil.py",
    "own.py",
    "mine.py",
    "nowhere",
    "nowhere/deep.npz",
    "out.toml",
    "out.png",
    "out.npz",
    "report.html",
    "out.safetensors",
    ".",
    "/dev/null/x",
    "/proc/nothing/x",
    "x" * 300,
    "x" * 300 + ".toml",
    "images/train",
)


@dataclass(frozen=True)
class Command:
    """One command and the options that it declares."""

    program: str
    words: tuple[str, ...]
    options: tuple[Any, ...]
    arguments: tuple[Any, ...]


def commands() -> list[Command]:
    """Every command of both programs, as they declare it: a new option is tried without being named here."""
    return [found for name, app in APPS.items() for found in _below(name, (), get_command(app))]


def _below(program: str, words: tuple[str, ...], command: Any) -> Iterator[Command]:
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from _below(program, (*words, name), command.get_command(None, name))
        return
    options = tuple(p for p in command.params if p.param_type_name == "option" and "--help" not in p.opts)
    arguments = tuple(p for p in command.params if p.param_type_name == "argument")
    yield Command(program, words, options, arguments)


def drawn_words(command: Command, rng: random.Random, runs: list[str]) -> list[str]:
    """The words of one call."""
    words = list(command.words)
    for argument in command.arguments:
        for _ in range(rng.choice([0, 1, 1, 1, 1, 2])):
            words.append(_value(argument, rng, runs))
    if any(argument.name in _RUN for argument in command.arguments):  # which of them it is depends on their number
        words = [_trusted(word) for word in words]
    for option in rng.sample(command.options, min(len(command.options), rng.choice([0, 1, 1, 2, 2, 3, 5]))):
        name = rng.choice([*option.opts, *option.secondary_opts])
        if option.is_flag:
            words.append(name)
        else:
            words += (
                [name, _value(option, rng, runs)] if rng.random() < 0.7 else [f"{name}={_value(option, rng, runs)}"]
            )
    if rng.random() < 0.03:
        words.insert(rng.randrange(len(words) + 1), _trusted(text(rng)))
    if command.words[:1] == ("run",) and rng.random() < 0.7:  # where a run is small enough to begin
        small = "--dataset synthetic --limit-train 20 --limit-test 10 --epochs 1 --memory 30 --threads 1"
        words += [word for word in small.split() if rng.random() < 0.95]
    if command.words == ("tune",) and rng.random() < 0.7:
        small = "--dataset synthetic --limit-train 20 --epochs 1 --memory 30 --budget 1"
        words += [word for word in small.split() if rng.random() < 0.95]
    return words


def _value(parameter: Any, rng: random.Random, runs: list[str]) -> str:
    """One word; see `_RUN`."""
    word = _word(parameter, rng, runs)
    return _trusted(word) if parameter.name in _RUN else word


def _trusted(word: str) -> str:
    return word.replace("evil.py", "own.py")


def _word(parameter: Any, rng: random.Random, runs: list[str]) -> str:
    described = getattr(parameter, "type_descriptor", None)
    kind = described.annotation if described is not None else parameter.type
    told = str(kind).lower()
    if rng.random() < 0.15:
        return text(rng)
    if "path" in told or parameter.name in _NAMES:
        return rng.choice([*PLACES, *runs]) if rng.random() < 0.85 else text(rng)
    choices = [one for one in get_args(kind) if isinstance(one, str)] or list(getattr(kind, "choices", ()))
    if choices and rng.random() < 0.8:
        return rng.choice(choices)
    default = getattr(parameter, "default", None)
    if isinstance(default, str | int | float) and not isinstance(default, bool) and rng.random() < 0.4:
        return str(default)
    if ("int" in told or "float" in told) and rng.random() < 0.4:
        return rng.choice(["1", "2", "3", "0.5", "10"])
    return text(rng)


def outcome_of(program: str, words: list[str]) -> str:
    """What became of a call: see `Tally.note`."""
    try:
        done = limited(lambda: CliRunner().invoke(APPS[program], words))
    except Enough:
        return "accepted"
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return where(done.exception)
    if done.exit_code not in (0, 1, 2):
        return f"exit code {done.exit_code} of {program} {words[0]}"
    if "Traceback (most recent call last)" in done.output:
        return f"a traceback is printed by {program} {words[:1]}"
    return "accepted" if done.exit_code != 2 else _refusal(done, f"{program} {words[:1]}")


def _refusal(done: Result, call: str) -> str:
    """Exit code 2 comes with one line that begins with "error:"."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    if sum(line.startswith("error: ") for line in lines) != 1 or not lines[-1].startswith("error: "):
        return f"exit code 2 of {call} without one line of error: {lines[-3:]}"
    return "refused"


def fuzz(count: int, seed: int | str, folder: Path) -> Tally:
    """So many calls, in a folder of their own."""
    rng, tally, known = random.Random(seed), Tally(), commands()
    with sandbox(folder) as inside:
        corpus.fresh(folder)
        runs = [f"{place}/{path.name}" for place in ("runs", "trained") for path in sorted((inside / place).iterdir())]
        runs += [path.rpartition("/")[2] for path in runs]
        runs += [path.stem for path in (inside / "old").iterdir()] * 3
        for number in range(count):
            if number and number % AFRESH == 0:
                corpus.fresh(folder)
            command = rng.choice(known)
            words = drawn_words(command, rng, runs)
            outcome = outcome_of(command.program, words)
            tally.note(escaped(folder) or outcome, f"{command.program} {words}"[:400])
    return tally
