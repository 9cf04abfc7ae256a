"""Theorems of one's own against every attempt to break them, by function and by command."""

from __future__ import annotations

import json
import tomllib

import pytest
from typer.testing import CliRunner

from coldtheory.bounds import load_statement
from coldtheory.cli import app
from coldtheory.ground.errors import ColdError
from coldtheory.search import Plan, challenge, search
from coldtheory.search.challenge import shrunk
from coldtheory.search.rerun import rerun
from tests.coldtheory.search.own_theorems import FALSE, HARD, HEAD, TRUE

pytestmark = pytest.mark.kernels

BUDGET = 20_000


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "110"})


@pytest.fixture
def write(tmp_path):
    def written(text, name="mine.py"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return written


# --- three theorems -------------------------------------------------------------------------------------------------


def test_a_true_theorem_holds_on_all_that_is_tried(write):
    done = challenge(load_statement(write(TRUE)), candidates=BUDGET)
    assert done.verdict == "holds on all tried"
    assert [tally.attempt for tally in done.tallies] == ["random", "extreme", "climbing"]
    assert done.tried >= BUDGET
    assert done.applicable > 0.9 * done.tried
    assert done.found.best.tightness == pytest.approx(1.0, abs=1e-6)  # a queue that never empties attains it


def test_a_false_theorem_is_broken_by_random_runs(write):
    done = challenge(load_statement(write(FALSE)), candidates=BUDGET)
    assert (done.verdict, done.broken_by, done.clear) == ("violated", "random", True)
    assert done.tried < BUDGET / 4


def test_only_climbing_breaks_the_third(write):
    told = load_statement(write(HARD))
    for easy in ("random", "extreme"):
        alone = challenge(told, candidates=BUDGET, attempts=[easy])
        assert alone.verdict == "holds on all tried"
        assert alone.tried == BUDGET
        assert alone.found.best.tightness < 0.9
    done = challenge(told, candidates=BUDGET, attempts=["climbing"])
    assert (done.verdict, done.broken_by, done.clear) == ("violated", "climbing", True)
    assert done.tried <= BUDGET + 400  # the population in which the budget ends
    together = challenge(told, candidates=2 * BUDGET)
    assert (together.verdict, together.broken_by) == ("violated", "climbing")


# --- the parts of a challenge ---------------------------------------------------------------------------------------


def test_the_counterexample_is_small_and_stays_one(write):
    best = challenge(load_statement(write(FALSE)), candidates=BUDGET).found.best
    assert best.broken
    assert best.instance.T == 2
    assert set(best.plain["tasks"]) == {"optima"}
    assert all(len(repr(abs(x))) <= 6 for x in (best.plain["settings"]["eta"], best.plain["tasks"]["optima"][1][0]))


def test_what_breaks_nothing_is_not_made_smaller(write):
    best = search(load_statement(write(TRUE)), candidates=200).best
    assert shrunk(best) is best


def test_equal_seeds_try_equal_runs(write):
    told = load_statement(write(FALSE))
    first, again, other = (challenge(told, candidates=2000, seed=seed) for seed in (1, 1, 2))
    assert first.found.best.plain == again.found.best.plain
    assert first.found.best.plain != other.found.best.plain


def test_a_form_whose_premises_no_run_meets(write):
    body = 'bound(facts, facts.V, 0, where={"never": facts.V < 0})'
    text = f'"""No."""{HEAD}@form\ndef printed(facts):\n    return {body}\n'
    done = challenge(load_statement(write(text)), candidates=500)
    assert (done.verdict, done.applicable, done.found) == ("not applicable", 0, None)
    assert sum(tally.tried for tally in done.tallies) >= 500


def test_a_statement_of_the_paper_is_challenged_alike():
    assert challenge("thm3", "corrected", candidates=2000).verdict == "holds on all tried"
    assert challenge("lemma1", "printed", candidates=2000).kind == "false as printed"


def test_plans_and_attempts_are_checked():
    for wrong in ({"plans": []}, {"attempts": []}, {"attempts": ["hopeful"]}, {"candidates": 0}, {"seed": -1}):
        with pytest.raises(ColdError):
            challenge("lemma1", **wrong)
    few = challenge("lemma1", plans=[Plan(T=(3, 3), solver="exact")], candidates=1000, attempts=["extreme"])
    assert [tally.tried for tally in few.tallies] == [1000]


# --- commands -------------------------------------------------------------------------------------------------------


def test_check_gives_a_verdict_per_form_and_its_budget(write):
    path = write(FALSE + TRUE.partition("@form")[2].join(["\n\n@form", ""]).replace("def printed", "def mended"))
    done = call("check", path, "--candidates", 2000)
    assert done.exit_code == 1, done.stderr
    for words in ("What a past task has lost", "printed", "violated", "random runs", "mended", "holds on all tried"):
        assert words in done.stdout
    assert "a budget of 2000 runs per form, seed 0" in " ".join(done.stdout.split())
    first, second = json.loads(call("check", path, "--candidates", 2000, "--json").stdout)
    assert (first["form"], first["verdict"], first["broken_by"]) == ("printed", "violated", "random")
    assert (second["form"], second["verdict"], second["broken_by"]) == ("mended", "holds on all tried", None)
    assert second["tried"] >= 2000
    assert sum(one["tried"] for one in second["attempts"]) == second["tried"]


def test_a_form_that_says_it_is_false_may_be(write):
    assert call("check", write(FALSE), "--candidates", 500).exit_code == 1
    known = FALSE.replace("premises=", 'kind="false as printed", premises=')
    assert call("check", write(known), "--candidates", 500).exit_code == 0
    assert call("check", write(TRUE), "--candidates", 500).exit_code == 0


def test_check_tells_where_no_run_meets_the_premises(write):
    text = TRUE.replace('"Case 1"', '"Case 1", "Case 2"')
    done = call("check", write(text), "--candidates", 500)
    assert done.exit_code == 0
    assert "not applicable" in done.stdout
    assert "no run met all premises" in " ".join(done.stdout.split())


def test_a_challenge_is_saved_replayed_and_drawn(write, tmp_path):
    path, out, plot = write(FALSE), tmp_path / "broken.toml", tmp_path / "broken.png"
    done = call("challenge", path, "--candidates", 2000, "--out", out, "--plot", plot)
    assert done.exit_code == 1, done.stderr
    for words in ("random: ", "breaks the statement: T = 2", "saved:", "drawn:"):
        assert words in done.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")
    told = tomllib.loads(out.read_text())
    assert (told["statement"], told["form"], told["search"]["stage"]) == ("mine.py", "printed", "random runs")
    again = call("replay", out, "--statement", path, "--plot", tmp_path / "again.pdf", "--json")
    assert again.exit_code == 0, again.stderr
    record = json.loads(again.stdout)
    assert (record["outcome"], record["comes_out"], record["statement"]) == ("violated", True, "mine.py")
    assert json.loads(call("challenge", path, "--candidates", 2000, "--json").stdout)["found"]["broken"] is True


def test_search_takes_a_file_too(write, tmp_path):
    path, out = write(HARD), tmp_path / "found.toml"
    done = call("search", path, "--candidates", BUDGET, "--out", out, "--json")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["statement"], report["broken"], report["search"]["until_broken"]) == ("mine.py", True, True)
    assert rerun(out, statement=load_statement(path)).comes_out
    assert call("search", path, "--form", "prnted").exit_code == 2


def test_an_instance_does_not_run_the_file_that_it_names(write, tmp_path, monkeypatch):
    path, out, mark = write(FALSE), tmp_path / "broken.toml", tmp_path / "mark"
    assert call("challenge", path, "--candidates", 500, "--out", out).exit_code == 1
    evil = write(f"from pathlib import Path\nPath({str(mark)!r}).touch()\n{FALSE}", "evil.py")
    monkeypatch.chdir(tmp_path)
    for named in ("mine.py", "evil.py", str(evil), "./evil.py"):
        out.write_text("\n".join([f"statement = {json.dumps(named)}", *out.read_text().splitlines()[1:]]))
        done = call("replay", out)
        assert done.exit_code == 2
        (line,) = done.stderr.strip().splitlines()
        assert line.startswith("error: ")
        assert "which is not run unless you name it: --statement" in line
        assert not mark.exists()
    assert call("replay", out, "--statement", evil).exit_code == 0
    assert mark.exists()  # named by the user, it runs


def test_a_statement_file_is_only_for_instances_of_one(write):
    done = call("replay", "lemma1_main_text", "--statement", write(TRUE))
    assert done.exit_code == 2
    assert "leave --statement out" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("check", "FILE"),
        ("search", "FILE"),
        ("challenge", "FILE"),
        ("plot", "bounds", "FILE"),
        ("report", "--statement", "FILE"),
        ("replay", "lemma1_main_text", "--statement", "FILE"),
    ],
    ids=lambda words: words[0],
)
def test_a_file_with_an_error_is_one_line_with_exit_code_2(write, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(TRUE.replace("facts.forgetting,", "facts.forgeting,"))
    done = call(*(str(path) if word == "FILE" else word for word in words))
    assert done.exit_code == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("error: ")
    assert "mine.py:13 (printed): AttributeError" in line
    assert isinstance(done.exception, SystemExit)


def test_options_of_claims_and_of_statements_do_not_mix(write):
    assert "for claims" in call("check", write(TRUE), "--only", "thm3").stderr
    assert "for a statement" in call("check", "--candidates", 3).stderr
    assert call("check", write(TRUE), "--candidates", 0).exit_code == 2
    assert "did you mean thm3" in call("check", "thm33").stderr
    assert "only the figure bounds" in call("plot", "trajectory", write(TRUE)).stderr
