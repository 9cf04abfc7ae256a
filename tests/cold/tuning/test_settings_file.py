"""Chosen settings as a file: what was written is read, what is damaged is one line."""

from __future__ import annotations

import tomllib

import pytest

from cold.presets import build_config
from cold.tuning.settings_file import FORMAT, Chosen, Origin, find_settings, read_settings, write_settings
from coldtheory.ground.errors import ColdError

ORIGIN = Origin(
    format=FORMAT, command="cold tune der --budget 3", chosen={"lr": 0.001, "options": {"alpha": 0.1}}, acc=81.25,
    runs=["pmnist-der-s100-0123abcd"], seed=100, validation=0.1, data="8f14e45fceea167a", budget=3, spent=2.75,
    trials=[{"number": 0, "lr": 0.001, "acc": 81.25}, {"number": 1, "lr": 0.1, "error": 'the loss is "nan"'}],
    made={"commit": None, "packages": {"numpy": "2.4.6"}},
)  # fmt: skip
CHOSEN = Chosen(
    {"dataset": "pmnist", "method": "der", "preset": "paper", "lr": 0.001, "options": {"alpha": 0.1}}, ORIGIN
)


def test_it_comes_back_as_it_went(tmp_path):
    path = tmp_path / "settings.toml"
    write_settings(path, CHOSEN)
    back = read_settings(path)
    assert back.settings == CHOSEN.settings
    assert back.source == str(path)
    assert back.origin == Origin(**{**{name: getattr(ORIGIN, name) for name in ORIGIN.__struct_fields__},
                                    "made": {"packages": {"numpy": "2.4.6"}}})  # fmt: skip


def test_it_is_a_file_of_settings_for_config(tmp_path):
    path = tmp_path / "settings.toml"
    write_settings(path, CHOSEN)
    config = build_config(path, {"seed": 3})
    assert config == build_config(None, {**CHOSEN.settings, "seed": 3})
    assert (config.lr, config.options, config.tasks) == (0.001, {"alpha": 0.1}, 20)  # the last one by the preset
    assert tomllib.loads(path.read_text())["provenance"]["runs"] == ORIGIN.runs


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[provenance]", "[other]", "is not a file of chosen settings: .* for a plain file of settings take --config"),
        ("cold-settings/1", "cold-settings/9", "is not a file of chosen settings"),
        ("acc = 81.25", 'acc = "high"', r"has a wrong entry in \[provenance\]: Expected `float`"),
        ("lr = 0.001", "lr = -1", "lr must be > 0"),
        ("lr = 0.001", "learning_rate = 1", "unknown setting"),
        ("lr = 0.001", "lr = ", "it is not valid TOML"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, old, new, words):
    path = tmp_path / "settings.toml"
    write_settings(path, CHOSEN)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ColdError, match=words):
        read_settings(path)
    assert list(find_settings([tmp_path])) == []


def test_files_are_found_at_any_depth_and_others_are_passed_over(tmp_path):
    for name in ("a/settings.toml", "b/c/mine.toml"):
        write_settings(tmp_path / name, CHOSEN)
    (tmp_path / "b" / "study.toml").write_text("title = 'a study'\n")
    found = [one.source for one in find_settings([tmp_path, tmp_path / "none"])]
    assert found == [str(tmp_path / "a/settings.toml"), str(tmp_path / "b/c/mine.toml")]
