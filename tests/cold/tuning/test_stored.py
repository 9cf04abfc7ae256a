"""What stored tuning runs chose: the tables' own choice, settings files, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from cold import best_settings
from cold.presets import build_config
from cold.runs import default_roots
from cold.tables.comparison import choose
from cold.tables.make import names, terms_of
from cold.tables.stored import RunsOnHand
from cold.tables.wanted import final_runs
from cold.tuning.settings_file import write_settings
from cold.tuning.stored import named_settings, origin_lines, stored_settings
from coldtheory.ground.errors import ColdError
from tests.cold.tables.made_rows import row_of, tune

SIZE = {
    "dataset": "synthetic", "tasks": 2, "limit_train": 60, "memory": 20,
    "data_options": {"classes": 4, "shape": [1, 8, 8]},
}  # fmt: skip


@pytest.fixture
def tuned(tiny, tmp_path):
    """Tuning runs with numbers of our own: lr = 1e-2 is the better rate, replay_weight = 3 the better value."""
    tune(tiny, "er", tmp_path, 60.0, 70.0, 80.0)
    return tiny


def er(**changes):
    return {**SIZE, "method": "er", **changes}


def test_the_choice_is_the_table_s(tuned, tmp_path):
    found = best_settings(er(), [tmp_path])
    row = row_of(tuned, "er")
    choice = choose(tuned, row, RunsOnHand([tmp_path]))
    assert found.origin.chosen == choice.settings == {"lr": 1e-2, "options": {"replay_weight": 3}}
    assert (found.origin.acc, found.origin.seed, found.origin.validation) == (80.0, 100, 0.2)
    assert set(found.origin.runs) == set(choice.used)
    assert found.origin.command == "cold table tiny --rows er"
    assert [replace(found.config, seed=seed).run_id for seed in (0, 1, 2)] == [
        run.run_id for run in final_runs(tuned, row, choice.settings)
    ]  # a run with them is the table's own


def test_the_run_of_the_chosen_settings_comes_first(tuned, tmp_path):
    found = best_settings(er(), [tmp_path])
    stored = RunsOnHand([tmp_path])._found
    assert stored[found.origin.runs[0]].metrics["acc"] == 80.0
    assert stored[found.origin.runs[0]].config["options"] == {"replay_weight": 3}


def test_a_new_run_changes_the_choice(tiny, tmp_path):
    """Nothing is written down: with other stored runs another choice."""
    tune(tiny, "er", tmp_path, 70.0, 60.0, 50.0)
    assert best_settings(er(), [tmp_path]).origin.chosen == {"lr": 1e-3, "options": {"replay_weight": 1.0}}


def test_half_a_tuning_has_chosen_nothing(tiny, tmp_path):
    tune(tiny, "er", tmp_path, 60.0, 70.0)
    with pytest.raises(ColdError, match="no stored tuning runs chose settings for er on synthetic"):
        best_settings(er(), [tmp_path])


@pytest.mark.parametrize(
    "changes",
    [{"limit_train": 61}, {"tasks": 1}, {"memory": 30}, {"dataset": "pmnist", "data_options": {}}, {"method": "der"},
     {"limit_train": None}, {"scenario": "class"}, {"windows": 3}, {"model": "mlp-256"}],
)  # fmt: skip
@pytest.mark.usefixtures("tuned")
def test_another_size_is_another_problem(tmp_path, changes):
    wanted = {name: value for name, value in er(**changes).items() if value is not None}
    with pytest.raises(ColdError) as caught:
        best_settings(wanted, [tmp_path])
    line = str(caught.value)
    assert "\n" not in line
    config = build_config(None, wanted)
    assert f"make them with cold tune {config.method} --dataset {config.dataset}" in line
    if config.method == "er":
        assert "for er there are synthetic (limit_train=60 memory=20" in line
    else:
        assert "cold settings lists what there is" in line


@pytest.mark.usefixtures("tuned")
def test_other_settings_do_not_count(tmp_path):
    found = best_settings(er(epochs=3, seed=5, lr=0.5), [tmp_path])
    assert found.origin.acc == 80.0
    lines = origin_lines(found, er(epochs=3, seed=5))
    assert lines[0] == "settings: lr=0.01 replay_weight=3 (80.00 % on validation data, seed 100)"
    assert lines[1] == "chosen by: cold table tiny --rows er"
    assert lines[2] == f"from the runs: {', '.join(found.origin.runs)}"
    assert lines[3:] == ["note: they were chosen with epochs=1"]
    assert len(origin_lines(found, er())) == 3


@pytest.mark.usefixtures("tuned")
def test_a_settings_file_of_the_same_size_counts_too(tmp_path):
    table = best_settings(er(), [tmp_path])
    better = replace(table, settings={**table.settings, "lr": 0.5}, origin=_with(table.origin, acc=81.0))
    write_settings(tmp_path / "deep" / "settings.toml", better)
    assert best_settings(er(), [tmp_path]).settings["lr"] == 0.5
    write_settings(tmp_path / "deep" / "settings.toml", replace(better, origin=_with(table.origin, acc=79.0)))
    assert best_settings(er(), [tmp_path]).settings["lr"] == 1e-2


@pytest.mark.usefixtures("tuned")
def test_a_found_file_names_no_code(tmp_path):
    """A settings file that lies about may name a model or a method, which is code: it is passed over."""
    table = best_settings(er(), [tmp_path])
    for name, value in (("model", "os:getcwd"), ("method", "evil.py"), ("dataset", "folder:elsewhere")):
        evil = replace(table, settings={**table.settings, name: value}, origin=_with(table.origin, acc=99.0))
        write_settings(tmp_path / "evil.toml", evil)
        assert best_settings(er(), [tmp_path]).origin.acc == 80.0


@pytest.mark.usefixtures("tuned")
def test_a_file_that_the_user_names(tmp_path):
    path = tmp_path / "mine.toml"
    write_settings(path, best_settings(er(), [tmp_path]))
    assert named_settings(str(path), {}).settings["lr"] == 1e-2
    assert named_settings(str(path), {"method": "er", "limit_train": 30}).settings["lr"] == 1e-2
    for wanted in ({"method": "der"}, {"dataset": "pmnist"}):
        with pytest.raises(ColdError, match=r"has settings for the .*; take --settings best"):
            named_settings(str(path), wanted)


def test_the_committed_runs_have_chosen_what_the_tables_show():
    """Every tuned row of every table whose runs are there is listed, with the very runs of the table."""
    listed = {tuple(one.origin.runs): one for one in stored_settings(default_roots()) if one.source.startswith("cold")}
    assert len(listed) > 20
    on_hand = RunsOnHand(default_roots())
    for name in (name for name in names() if name in ("pmnist", "pmnist-10k", "adaptivity")):
        (terms,) = terms_of(name, "equal")
        for row in terms.rows:
            if row.tuning is None or row.absent:
                continue
            choice = choose(terms, row, on_hand)
            (one,) = (
                one for runs, one in listed.items() if set(runs) == set(choice.used) and one.source.endswith(name)
            )
            assert one.config == replace(final_runs(terms, row, choice.settings)[0].config, seed=0, threads=None)


def _with(origin, **changes):
    return msgspec.structs.replace(origin, **changes)
