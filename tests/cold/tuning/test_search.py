"""Successive halving on synthetic images: the same trials on any engine, killed or not; rows as any other run's."""

from __future__ import annotations

import json
import math

import pytest

from cold.config import make_config
from cold.grid import Engine
from cold.runs import RESULT, find_runs
from cold.trainer import Trainer
from cold.tuning.journal import Trial, first_proposals, proposal
from cold.tuning.outcome import chosen_by
from cold.tuning.search import JOURNAL
from coldtheory.ground.errors import ColdError
from tests.cold.tiny_runs import same_results
from tests.cold.tuning.tiny_search import done, story, tiny

optuna = pytest.importorskip("optuna")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A search in one piece: two rounds of halving."""
    return done(tiny(8), tmp_path_factory.mktemp("whole"))


class Kill(BaseException):
    """As a signal: no handler of errors takes it."""


def killed_after(count):
    """An observer that ends the program at its count-th word."""
    seen = []

    def tell(step):
        seen.append(step)
        if len(seen) == count:
            raise Kill

    return tell


def test_what_is_done_is_what_was_planned(whole):
    search = whole.search
    learned = {trial.number: trial.tasks for trial in whole.trials}
    assert sum(learned.values()) == search.cost <= 8 * 4
    for one in search.rounds:
        for rung in one.rungs:
            assert sum(learned[number] >= rung.tasks for number in one.numbers) == rung.trials
    assert whole.spent == search.cost / 4


def test_the_better_half_goes_on(whole):
    for one in whole.search.rounds:
        trials = [whole.trials[number] for number in one.numbers]
        first = {trial.number: trial.accuracies[one.rungs[0].tasks] for trial in trials}
        kept = {trial.number for trial in trials if trial.state == "finished"}
        assert min(first[number] for number in kept) >= max(first[number] for number in first.keys() - kept)
    best = max(trial.acc for trial in whole.trials if trial.state == "finished")
    assert (whole.chosen.state, whole.chosen.acc) == ("finished", best)


def test_the_first_trial_is_the_start(whole):
    assert whole.trials[0].values == {"lr": 1e-4, "replay_weight": 1.0}


def test_the_same_trials_on_two_workers(tmp_path):
    two = done(tiny(3), tmp_path / "two", engine=Engine("loky", jobs=2))
    assert story(two) == story(done(tiny(3), tmp_path / "one"))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["loky", "dask"])
def test_the_same_proposals_on_two_workers(whole, tmp_path, engine):
    """Two rounds: what TPE proposes in the second does not depend on which worker was first, either."""
    if engine == "dask":
        pytest.importorskip("distributed")
    assert story(done(tiny(8), tmp_path, engine=Engine(engine, jobs=2))) == story(whole)


@pytest.mark.parametrize("count", [1, 4, 6, 9, 13])
def test_killed_and_started_again(whole, tmp_path, count):
    with pytest.raises(Kill):
        done(tiny(8), tmp_path, on_step=killed_after(count))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob(RESULT)}
    steps = []
    again = done(tiny(8), tmp_path, on_step=steps.append)
    assert story(again) == story(whole)
    assert again.computed
    assert sum(step.new > 0 for step in steps) == len(steps) - count  # nothing that was told is learned again
    assert before.items() <= {path: path.stat().st_mtime_ns for path in tmp_path.rglob(RESULT)}.items()
    third = done(tiny(8), tmp_path)
    assert (story(third), third.computed) == (story(whole), False)


def test_a_line_cut_off_and_a_lock_left_behind(whole, tmp_path):
    """What a kill leaves in the midst of a write: Optuna alone would wait for the lock and stumble over the line."""
    with pytest.raises(Kill):
        done(tiny(8), tmp_path, on_step=killed_after(4))
    (journal,) = tmp_path.rglob(JOURNAL)
    content = journal.read_bytes()
    journal.write_bytes(content[:-7])
    journal.with_name(f"{JOURNAL}.lock").symlink_to(journal)
    assert story(done(tiny(8), tmp_path)) == story(whole)


@pytest.mark.parametrize(
    "damage", [b"no JSON\n{}\n", b'{"op_code": 4}\n', b"[1]\n", b'{"op_code": 0, "worker_id": "x"}\n']
)
def test_a_damaged_journal_is_one_line(tmp_path, damage):
    search = tiny(1)
    folder = tmp_path / search.name
    folder.mkdir()
    (folder / JOURNAL).write_bytes(damage)
    with pytest.raises(ColdError, match=r"journal\.log is damaged .*; remove it, or choose another --out"):
        done(search, tmp_path)


def test_the_rows_are_those_of_the_same_runs_in_one_piece(whole):
    """Trials stop at every look and go on from a checkpoint; what comes out is what `cold run` gives, bit for bit."""
    found = find_runs(whole.folder)
    assert len(found) == len(whole.runs) == sum(trial.state == "finished" for trial in whole.trials)
    for number, stored in whole.runs.items():
        config = whole.search.config(whole.trials[number].values)
        again = Trainer(config).run()
        same_results(stored, again)
        assert whole.trials[number].acc == again.metrics["acc"]
        looks = whole.trials[number].accuracies
        assert looks == {tasks: again.over_tasks("acc")[tasks - 1] for tasks in looks}


def test_nothing_is_kept_of_what_did_not_go_on(whole):
    assert {path.name for path in whole.folder.iterdir()} == {JOURNAL, *find_runs(whole.folder)}
    assert not list(whole.folder.rglob("checkpoint-*")) + list(whole.folder.rglob("model.safetensors"))


def test_settings_that_diverge_are_the_worst(tmp_path):
    """A learning rate without bounds: the loss is no number, the others go on."""
    tuned = done(tiny(2, {"lr": (1e-3, 1e30)}, optimizer="sgdm", lr=1e-3), tmp_path)
    failed = [trial for trial in tuned.trials if trial.state == "failed"]
    assert failed
    assert all("not finite" in trial.error or "the loss is" in trial.error for trial in failed)
    assert tuned.chosen.values["lr"] < min(trial.values["lr"] for trial in failed)
    assert not list(tuned.folder.rglob("checkpoint-*"))
    trials = chosen_by(tuned).origin.trials
    assert [one["state"] for one in trials].count("failed") == len(failed)
    again = done(tuned.search, tmp_path)
    assert (story(again), again.computed) == (story(tuned), False)


def test_if_all_fail_the_reason_is_told_and_the_search_can_go_on(tmp_path, monkeypatch):
    search = tiny(2)
    monkeypatch.setattr(Trainer, "_evaluate", lambda self: 1 / 0)
    with pytest.raises(ColdError, match=r"every run failed: ZeroDivisionError.*go on with --retry-failed"):
        done(search, tmp_path)
    monkeypatch.undo()
    with pytest.raises(ColdError, match="every run failed: ZeroDivisionError"):
        done(search, tmp_path)
    assert done(search, tmp_path, retry_failed=True).chosen.state == "finished"


def test_a_full_disk_is_no_fault_of_the_settings(tmp_path, monkeypatch):
    search = tiny(2)

    def full(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Trainer, "_evaluate", full)
    with pytest.raises(ColdError, match="No space left on device; the same command goes on"):
        done(search, tmp_path)
    monkeypatch.undo()
    assert {trial.state for trial in done(search, tmp_path).trials} == {"finished", "stopped"}


def test_two_programs_do_not_tune_the_same(tmp_path):
    search = tiny(1)
    with pytest.raises(ColdError, match="another program is running"):
        done(search, tmp_path, on_step=lambda step: done(search, tmp_path))


def test_another_budget_range_or_seed_is_another_search():
    names = {
        tiny(3).name, tiny(4).name, tiny(3, {"lr": (1e-4, 1e-2)}).name, tiny(3, seed=7).name, tiny(3, memory=24).name,
    }  # fmt: skip
    assert len(names) == 5
    assert tiny(3, threads=2).name == tiny(3).name  # where a run computes, not what


def test_the_first_proposals_are_spread_over_every_range():
    space = tiny(1).space
    values = first_proposals(space, 11, 100)
    assert values == first_proposals(space, 11, 100) != first_proposals(space, 11, 101)
    for one in space:
        shares = sorted(v[one.name] for v in values[1:])
        for part, value in enumerate(shares):  # one in each of ten equal parts
            assert one.at(part / 10) <= value <= one.at((part + 1) / 10)


def test_later_proposals_lie_where_trials_did_well():
    """A made-up accuracy with its top at lr = 1e-3: proposals are nearer to it than chance."""
    space = tiny(1).space
    trials = [
        Trial(number, values, {4: 100.0 - 30 * abs(round(_decades(values["lr"], 1e-3), 6))}, "finished")
        for number, values in enumerate(first_proposals(space, 20, 0))
    ]
    drawn = [proposal([*trials, *_running(trials, extra)], space, 0) for extra in range(12)]
    assert drawn == [proposal([*trials, *_running(trials, extra)], space, 0) for extra in range(12)]
    mean = sum(abs(_decades(one["lr"], 1e-3)) for one in drawn) / len(drawn)
    assert mean < 0.4  # two decades of width: 0.6 by chance


def _decades(value, other):
    return math.log10(value / other)


def _running(trials, count):
    return [Trial(len(trials) + i, trials[0].values) for i in range(count)]


def test_the_journal_is_optuna_s_own(whole):
    """Other programs, such as optuna-dashboard, read it."""
    path = whole.folder / JOURNAL
    assert all(json.loads(line) for line in path.read_text().splitlines())
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    study = optuna.load_study(study_name=whole.search.name, storage=storage)
    assert study.best_trial.number == whole.chosen.number
    assert study.best_value == whole.chosen.acc


def test_the_chosen_settings_make_a_run_on_test_data(whole):
    config = make_config(whole.settings)
    assert (config.seed, config.validation, config.evaluate_on, config.threads) == (0, 0.0, "test", None)
    assert config.lr == whole.chosen.values["lr"]
    assert config.options == {"replay_weight": whole.chosen.values["replay_weight"]}
