"""`coldtheory advise`: files, regimes, options, JSON, a picture, advice of other packages, and errors in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from coldtheory import advise, make_tasks
from coldtheory.advice import Page, Part
from coldtheory.advice import other as others
from coldtheory.cli import app


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def call(*words, code=0):
    done = CliRunner().invoke(app, ["advise", *words])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def optima():
    return 1.0 + 0.3 * np.random.default_rng(1).standard_normal((12, 3))


def write(kind):
    if kind == "npz":
        np.savez("mine.npz", optima=optima())
    elif kind == "csv":
        np.savetxt("mine.csv", optima(), delimiter=",")
    else:
        np.savez("other.npz", optima=optima())
        with open("mine.toml", "w") as file:
            file.write('optima = "other.npz"\n')
    return f"mine.{kind}"


@pytest.mark.parametrize("kind", ["npz", "csv", "toml"])
def test_files_of_tasks(kind):
    page = call(write(kind), "--eta", "0.01").stdout
    expected = str(advise(optima(), eta=0.01, name="mine"))
    assert page.strip() == expected
    assert max(map(len, page.splitlines())) <= 80


def test_a_regime_and_its_options():
    data = json.loads(call("high", "--T", "20", "--d", "4", "--delta", "0.1", "--steps", "1", "--json").stdout)
    expected = advise(make_tasks("high", seeds=0, T=20, d=4), delta=0.1, steps=1)
    assert (data["T"], data["d"], data["V"], data["name"]) == (20, 4, expected.balance.V, "high")
    many = json.loads(call("low", "--T", "15", "--seeds", "3", "--V", "50", "--weights", "sum", "--json").stdout)
    assert (many["streams"], many["V_judged"], many["setting"]["weights"]) == (3, 50.0, "sum")
    sampled = json.loads(call("high", "--T", "10", "--points", "8", "--memory", "3", "--json").stdout)
    by_name = {one["statement"]: one for one in sampled["verdicts"]}
    assert by_name["memory_size"]["outcome"] == "holds"


def test_a_picture_and_a_statement():
    with open("mine.py", "w") as file:
        file.write(
            '"""Queues are short."""\nfrom coldtheory.bounds import bound, form\n\n\n@form\ndef hoped(facts):\n'
            "    return bound(facts, facts.avg_Qbar, facts.V * 0.0)\n"
        )
    page = call(write("npz"), "--eta", "0.01", "--statement", "mine.py", "--plot", "picture.png").stdout
    assert "YOUR STATEMENT\nQueues are short: on these tasks" in page
    assert "coldtheory challenge mine.py" in " ".join(page.split())
    with open("picture.png", "rb") as file:
        assert file.read(4) == b"\x89PNG"


def test_a_named_statement():
    assert "YOUR STATEMENT\nTheorem 4: average queue" in call("low", "--T", "10", "--statement", "thm4").stdout


def test_what_others_advise_on(monkeypatch):
    page = Page([("V", "seven")], [Part("Why", ["It is a prime."])], {"V": 7})
    monkeypatch.setattr(others, "contributions", lambda group, kind, word: iter([page] if word == "my-run" else []))
    assert call("my-run").stdout == "V  seven\n\nWHY\nIt is a prime.\n"
    assert json.loads(call("my-run", "--json").stdout) == {"V": 7}
    assert "unknown regime" in call("no-run", code=2).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hihg"], "did you mean high"),
        (["all"], "name low, high or conflict"),
        (["nowhere.npz"], "no file nowhere.npz"),
        (["low", "--eta", "auto:0.9"], "--eta auto without a factor"),
        (["low", "--V", "1,2"], "--V takes one number here"),
        (["low", "--plot", "picture.txt"], "a picture must end in .png"),
        (["low", "--statement", "thm9"], "did you mean thm4"),
        (["wrong.npz"], "wrong.npz: Hessians must have shape (12,)"),
        (["wrong.npz", "--T", "5"], "wrong.npz: Hessians"),
        (["low", "--T", "-3"], "T must be a whole number of at least 1"),
        (["low", "--seeds", "0"], "at least 1"),
    ],
)
def test_wrong_words_are_one_line(words, message):
    np.savez("wrong.npz", optima=optima(), hessians=np.ones((12, 2, 2)))
    done = call(*words, code=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
