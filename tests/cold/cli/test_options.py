"""An option has one meaning in all commands of both programs, and old spellings are understood and said to be old."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cold.cli.app import app as cold
from coldtheory.cli import app as coldtheory
from tests.options import all_commands, all_options

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "commands.md"
OLD = "the old spelling works until the next release"


def by_name():
    found = {}
    for option in all_options():
        found.setdefault(option.name, []).append(option)
    return found


def test_one_name_has_one_meaning():
    shared = {name: options for name, options in by_name().items() if len(options) > 1}
    assert {"--out", "--seeds", "--memory-per-task", "--weights", "--tasks", "--T"} <= shared.keys()
    for name, options in shared.items():
        meanings = {(option.kind, option.meaning) for option in options}
        assert len(meanings) == 1, f"{name}: {[(option.command, option.meaning) for option in options]}"


def test_the_help_of_every_option_ends_with_a_full_stop():
    assert [(option.command, option.name) for option in all_options() if not option.help.endswith(".")] == []


def test_what_the_most_used_names_mean():
    meaning = {name: options[0].meaning for name, options in by_name().items()}
    assert meaning["--out"] == "Where to write."
    assert meaning["--seeds"] == "Seeds, separated by commas or as a range: 6,7,8 or 0-19."
    assert meaning["--memory"] == "M: samples in the memory, of all tasks together."
    assert meaning["--memory-per-task"] == "Samples per task in the memory."
    assert meaning["--weights"] == "Weights of the queues: mean (appendix) or sum (main text)."
    assert meaning["--tasks"] == meaning["--T"] == "Number of tasks."


def test_the_page_has_every_option_that_several_commands_share():
    rows = re.findall(r"^\| `(--?[\w-]+)`[^|]*\| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), re.M)
    told = dict(rows)
    for name, options in by_name().items():
        if len({option.command for option in options}) > 1 and name not in ("-r", "--T"):
            assert told.get(name) == options[0].meaning.replace("|", "\\|"), name
    assert not told.keys() - by_name().keys()


def test_the_page_has_every_old_spelling():
    text = PAGE.read_text(encoding="utf-8")
    for words, command in all_commands().items():
        for old, new in getattr(command, "old_names", {}).items():
            assert re.search(rf"^\| `{words}[^|]*\| [^|]*`{old}[^|]*\| [^|]*`{new}", text, re.M), (words, old)


def called(app, *words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


QUICK = ("--d", "2", "--engine", "serial", "--json")


def rows_of(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_seeds_that_were_a_number_of_them(folder):
    old = called(coldtheory, "sweep-V", "--V", "5", "--T", "4", "--seeds", "2", *QUICK)
    assert old.stderr == f"note: --seeds 2 is now --seeds 0-1; {OLD}\n"
    new = called(coldtheory, "sweep", "V", "--V", "5", "--tasks", "4", "--seeds", "0-1", *QUICK)
    assert new.stderr == ""
    assert rows_of(old) == rows_of(new)
    some = rows_of(called(coldtheory, "sweep", "V", "--V", "5", "--tasks", "4", "--seeds", "7,1-2", *QUICK))
    assert [row["seed"] for row in some] == [7, 1, 2]


def test_memory_that_was_per_task(folder):
    sizes = ("--points", "5", "--V", "5", "--T", "4", "--seeds", "0-0", *QUICK)
    old = called(coldtheory, "sweep", "memory", "--memory", "1,3", *sizes)
    assert old.stderr == f"note: --memory is now --memory-per-task; {OLD}\n"
    assert rows_of(old) == rows_of(called(coldtheory, "sweep", "memory-per-task", "--memory-per-task=1,3", *sizes))
    assert rows_of(called(coldtheory, "simulate", "--T", "4", "--d", "2", "--points", "5", "--memory=2", "--json"))


def test_a_folder_that_is_read_is_no_out(folder):
    called(coldtheory, "sweep", "V", "--V", "5", "--T", "4", "--seeds", "0-0", *QUICK, "--out", "there")
    old = called(coldtheory, "results", "ls", "--out", "there", "--json")
    assert old.stderr == f"note: --out is now --results; {OLD}\n"
    (entry,) = rows_of(old)
    assert rows_of(called(coldtheory, "results", "ls", "--results", "there", "--json")) == [entry]
    for words in (
        ("--out", "there", "--file", "old.csv"),
        ("--out", "there"),
        ("--results", "there", "--out", "n.csv"),
    ):
        done = called(coldtheory, "results", "export", entry["name"], *words)
        assert done.exit_code == 0, done.output
        assert (OLD in done.stderr) == (words[0] == "--out")
    assert Path("old.csv").read_text() == Path("n.csv").read_text() == Path(f"{entry['name']}.csv").read_text()


def test_old_names_of_figures(folder):
    done = called(coldtheory, "plot", "picture", "--out", "data", "--to", "pictures", "--format", "png")
    assert done.exit_code == 0, done.output
    assert f"note: --out is now --results; {OLD}" in done.stderr
    assert f"note: --to is now --figures; {OLD}" in done.stderr
    assert Path("pictures/picture.png").is_file()
    assert Path("data/data/picture.csv").is_file()


def test_old_names_of_studies(folder):
    old = called(cold, "study", "status", "V", "--profile", "smoke", "--out", "a", "--reuse", "b", "--json")
    assert old.stderr.count(OLD) == 2
    assert rows_of(old) == rows_of(
        called(cold, "study", "status", "V", "--profile", "smoke", "--runs", "a", "--runs", "b", "--json")
    )
    kept = called(cold, "study", "run", "V", "--profile", "smoke", "--weights", "--dry-run", "--json")
    assert f"--weights is now --keep-networks; {OLD}" in kept.stderr


def test_what_follows_two_dashes_is_no_option(folder):
    done = called(coldtheory, "plot", "--", "--to")
    assert done.exit_code == 2
    assert OLD not in done.stderr


def test_ranges_of_tasks(folder):
    for words, told in ((("--T", "2:3"), True), (("--tasks", "2-3"), False)):
        done = called(coldtheory, "search", "lemma1", *words, "--candidates", "200", "--json")
        assert (OLD in done.stderr) == told
        assert rows_of(done)["search"]["plan"]["T"] == [2, 3]


@pytest.mark.parametrize("app", [cold, coldtheory])
def test_both_programs_say_their_version(app):
    from coldtheory import __version__  # noqa: PLC0415

    assert called(app, "--version").stdout.strip() == __version__
