"""The catalogue covers all that can be trained and loaded, answers to every spelling, and needs no torch."""

from __future__ import annotations

import inspect
import json
from dataclasses import fields

import pytest

from cold import catalogue
from cold.catalogue import BENCHMARKS, METHODS
from cold.config import RunConfig, make_config
from cold.data import load_benchmark, synthetic
from cold.data.cache import data_root
from cold.data.data_sets import DATA_SETS
from cold.methods import all_methods, find_method
from cold.studies.passes import work
from cold.tables.terms import declarations
from coldtheory.ground.errors import ColdError
from coldtheory.paper import paper
from tests.coldtheory.without_torch import run_without_torch


def test_every_class_is_of_an_entry_and_the_other_way_round():
    classes = {cls.name: cls for cls in all_methods()}
    assert set(classes) == set(METHODS)
    told = ("name", "title", "paper", "settings", "cost", "storage", "published", "uses_memory", "options")
    for name, entry in METHODS.items():
        assert find_method(name) is classes[name]
        for what in told:
            assert getattr(classes[name].as_entry(), what) == getattr(entry, what), (name, what)
    assert {name for name, cls in classes.items() if "queues" in vars(cls) or cls.__base__.__name__ == "Cold"} == {
        name for name, entry in METHODS.items() if entry.has_queues
    }


@pytest.mark.parametrize("entry", METHODS.values(), ids=lambda entry: entry.name)
def test_entries_hold_together(entry):
    assert (entry.passes_per_step[1] > 0) == (entry.uses_memory and entry.name != "gdumb")
    assert ("M*" in entry.storage) == entry.uses_memory
    assert set(entry.published) <= set(BENCHMARKS)
    assert set(entry.defaults()) == {field.name for field in fields(entry.options)}
    for settings in entry.published.values():  # what papers print can be asked for
        assert entry.options(**make_config(settings, {"method": entry.name}).options)


@pytest.mark.parametrize("entry", BENCHMARKS.values(), ids=lambda entry: entry.name)
def test_benchmarks_are_what_is_loaded(entry):
    """A data set of its own, of which the paper's file says the same; and the loaded one, where its data are here."""
    assert not entry.data or entry.data in DATA_SETS
    if entry.name in paper().datasets:
        told = paper().datasets[entry.name]
        assert (entry.title, entry.classes) == (told.name, told.total_classes)
        assert told.setting == f"{entry.scenario}-incremental"
        assert told.model.startswith("MLP" if entry.model.startswith("mlp") else "ResNet-18")
    if entry.has_preset:
        assert entry.tasks == max(paper().tasks_in_tables(entry.name))
    if entry.data and DATA_SETS[entry.data].find(data_root(None)) is None:
        return
    loaded = load_benchmark(entry.name)
    assert (len(loaded.tasks), loaded.scenario, loaded.input_shape) == (entry.tasks, entry.scenario, entry.shape)
    assert sum(loaded.head_widths) == entry.classes
    parts = loaded.tasks if entry.kind == "split" else loaded.tasks[:1]
    counted = sum(len(task.train) for task in parts), sum(len(task.test) for task in parts)
    if entry.data in ("mnist", ""):  # of the others, the data folder may hold a part
        assert counted == (entry.train, entry.test)
    else:
        assert counted <= (entry.train, entry.test)


def test_all_that_can_be_loaded_is_listed():
    listed = inspect.getdoc(load_benchmark).partition("`name`")[2].partition("`root`")[0]
    assert set(BENCHMARKS) == {word.strip() for word in listed.replace("or ", "").split(",") if "folder" not in word}
    assert {entry.data for entry in BENCHMARKS.values() if entry.data} == set(DATA_SETS)
    with pytest.raises(ColdError, match="unknown benchmark"):
        load_benchmark("split-mnistt")


def test_synthetic_images_are_as_many_as_their_entry_says():
    entry, default = BENCHMARKS["synthetic"], inspect.signature(synthetic.make).parameters
    assert entry.shape == default["shape"].default
    assert entry.classes == default["classes"].default
    for part in ("train", "test"):
        assert getattr(entry, part) == entry.classes * default[f"{part}_per_class"].default


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("der++", "derpp"), ("DER++", "derpp"), ("a-gem", "agem"), ("A-GEM", "agem"), ("joint", "joint"),
     ("Joint", "joint"), ("online EWC", "ewc-online"), ("EWC-online", "ewc-online"), ("COLD-ORACLE", "cold-oracle"),
     ("Fine-tune", "finetune"), ("ER-ACE", "er-ace")],
)  # fmt: skip
def test_methods_answer_to_every_spelling(spelling, name):
    assert catalogue.method(spelling) is METHODS[name]
    assert catalogue.method_title(spelling) == METHODS[name].title
    assert catalogue.same(spelling, name)


def test_names_are_unique_in_every_spelling():
    entries = [*METHODS.values(), *BENCHMARKS.values()]
    assert {catalogue.canonical(entry.title) for entry in entries} == {entry.name for entry in entries}


def test_benchmarks_answer_to_every_spelling():
    for entry in BENCHMARKS.values():
        for spelling in (entry.name, entry.title, entry.name.replace("-", "_").upper()):
            assert catalogue.benchmark(spelling) is entry
    assert catalogue.benchmark_title("split-cifar10-iid") == "Split-CIFAR10, near-IID"


def test_unknown_names():
    assert catalogue.method_title("mine/rule.py") == "mine/rule.py"
    assert catalogue.benchmark_title("folder:pets") == "folder:pets"
    assert not catalogue.same("er", "der")
    with pytest.raises(ColdError, match="did you mean gdumb"):
        catalogue.method("dumb")
    with pytest.raises(ColdError, match="did you mean split-cifar10"):
        catalogue.benchmark("split-cifar11")


def test_what_is_declared_elsewhere_resolves():
    told = declarations()
    for name in (*told["method"], *(variant["method"] for variant in told["variant"].values())):
        assert name in METHODS
    printed = {title for table in paper().results for title in table.methods}
    printed |= {run.method for run in paper().runs()} | {row.method for row in paper().complexity}
    for title in printed:
        assert catalogue.method(title).title == title
    assert set(paper().datasets) < set(BENCHMARKS)
    assert {catalogue.method(row.method).name for row in paper().complexity} | {"cold-oracle"} == set(
        catalogue.printed_costs()
    )


def test_settings_that_a_method_does_not_use():
    assert catalogue.unused_settings("cold") == catalogue.unused_settings("cold-oracle") == ()
    assert catalogue.unused_settings("mine/rule.py") == ()  # it may be derived from COLD
    assert set(catalogue.unused_settings("er")) <= {field.name for field in fields(RunConfig)}
    assert "V" in catalogue.unused_settings("er")


def test_methods_without_memory_are_counted_without_it():
    """Online EWC and joint training replay nothing: a step is as much work as one of fine-tuning."""
    plain = work(RunConfig(method="finetune")).units
    assert work(RunConfig(method="ewc-online")).units == work(RunConfig(method="joint")).units == plain
    assert work(RunConfig(method="er")).units > plain


def test_listing_needs_no_torch():
    code = """
import json, sys
from cold import catalogue
from cold.cli.app import app
print(json.dumps([sorted(catalogue.METHODS), [entry.defaults() for entry in catalogue.METHODS.values()]]))
for words in (['methods', '--json'], ['data', 'list', '--json']):
    try:
        app(words)
    except SystemExit as done:
        assert done.code == 0
assert 'torch' not in sys.modules
"""
    done = run_without_torch(code)
    assert done.returncode == 0, done.stderr
    listed, methods, data = map(json.loads, done.stdout.splitlines())
    assert [row["name"] for row in methods["methods"]] == listed[0] == sorted(METHODS)
    made_of = {name: row["name"] for row in data["data_sets"] for name in row["benchmarks"]}
    assert made_of == {entry.name: entry.data for entry in BENCHMARKS.values() if entry.data}
