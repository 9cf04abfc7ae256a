"""What comparisons.toml declares, held against the catalogue, the stored runs' names and `cold run` itself."""

from __future__ import annotations

import shlex

import pytest
from typer.main import get_command

from cold.catalogue import BENCHMARKS as BENCHMARK_ENTRIES
from cold.catalogue import METHODS, ONLINE
from cold.cli import run as run_command
from cold.cli.app import app
from cold.tables.comparison import Choice
from cold.tables.make import names
from cold.tables.terms import benchmark, declarations, full_size, layered, published, using
from cold.tables.wanted import final_runs, tuning_run
from coldtheory.ground.errors import ColdError

BENCHMARKS = [(name, kind) for name, about in declarations()["benchmark"].items() for kind in about
              if kind in ("equal", "published")]  # fmt: skip


def every_term():
    yield from (benchmark(name, kind) for name, kind in BENCHMARKS)
    for table in declarations()["full"]["tables"]:
        for kind in ("equal", "published"):
            yield from full_size(table, kind)


def cells_of(terms):
    """One cell of every sort: final ones, and each that tuning may ask for."""
    for row in terms.rows:
        if row.absent:
            continue
        yield from final_runs(terms, row, {"lr": 3e-4} if row.tuning else {})[:1]
        if row.tuning is not None:
            parameter = row.tuning.parameter
            for settings in (parameter.start, *parameter.others) if parameter else ({},):
                yield tuning_run(terms, row, layered(settings, {"lr": row.tuning.lr[0]}))


class Built(Exception):
    """Carries the configuration out of `cold run` before it trains."""


def test_every_command_parses_back_to_its_cell(monkeypatch):
    """The real parser of `cold run`, on every command that any table may print."""
    build = run_command.build_config

    def stop(path, flags, chosen=None):
        raise Built(build(path, flags))

    monkeypatch.setattr(run_command, "build_config", stop)
    parser = get_command(app).get_command(None, "run")
    seen = set()
    for terms in every_term():
        for cell in cells_of(terms):
            if cell.run_id in seen:
                continue
            seen.add(cell.run_id)
            with pytest.raises(Built) as built:
                parser.main(shlex.split(cell.command())[2:], standalone_mode=False)
            assert built.value.args[0].run_id == cell.run_id, cell.command()
    assert len(seen) > 300


@pytest.mark.parametrize("method", METHODS)
def test_the_tuned_parameter_is_one_of_the_method(method):
    parameter, defaults = declarations()["method"].get(method, {}).get("parameter", {}), METHODS[method].defaults()
    if "option" in parameter:
        assert parameter["option"] in defaults
    if "default" in parameter:
        assert parameter["default"] == defaults[parameter["option"]]


@pytest.mark.parametrize("method", METHODS)
def test_published_settings_are_those_of_the_catalogue(method):
    """What a method's paper prints, and nothing else but what is said to be assumed or borrowed."""
    for dataset in BENCHMARK_ENTRIES:
        entry = declarations()["published"].get(dataset, {}).get(method, {})
        printed = METHODS[method].published.get(entry.get("from", dataset))
        found = published(method, dataset)
        if declarations()["method"].get(method, {}).get("unpublished"):
            assert (found.settings, found.absent) == ({}, "")
        elif printed is None:
            assert (found.settings, found.absent) == ({}, f"its authors print no settings for {dataset}")
        else:
            expected = {name: value for name, value in printed.items() if name != "memory"}
            assert not set(entry.get("assumed", {})) & set(printed), "assumed although it is printed"
            assert found.settings == layered(expected, entry.get("assumed", {}))
        others = printed is not None and METHODS[method].published_by in found.borrowed and METHODS[method].published_by
        assert bool(found.borrowed) == bool("from" in entry or "assumed" in entry or others)
        assert bool(others) == (printed is not None and method in ("er", "ewc", "ewc-online"))


def test_a_file_of_ones_own_may_say_otherwise(tmp_path):
    """Titles, flags and published settings of the file stand over those of the catalogue; what it lacks is there."""
    path = tmp_path / "own.toml"
    path.write_text("""
seeds = [0]
[method.er]
title = "my ER"
forgets = false
[published.pmnist.er]
online = true
settings = { lr = 0.5, memory = 7 }
[benchmark.mine]
title = "mine"
published = ["er", "der", "joint"]
base = { dataset = "pmnist" }
out = "runs"
""")
    with using(path):
        er, der, joint = benchmark("mine", "published").rows
    assert (er.title, er.forgets, er.bound) == ("my ER", False, False)
    assert er.fixed == {**ONLINE, "lr": 0.5}  # the memory is the table's
    assert (der.title, der.fixed["options"]["alpha"], joint.bound) == ("DER", 0.5, True)
    assert joint.absent == "its authors print no settings for pmnist"


def test_a_row_that_nothing_describes(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text("""
seeds = [0]
[benchmark.mine]
title = "mine"
equal = ["er", "gemm"]
base = { dataset = "pmnist" }
out = "runs"
""")
    with (
        using(path),
        pytest.raises(ColdError, match=r"unknown method in own.toml 'gemm'; did you mean .*gem") as caught,
    ):
        benchmark("mine", "equal")
    assert "schema" not in str(caught.value)


def test_options_are_accepted_by_the_methods():
    for terms in every_term():
        for cell in cells_of(terms):
            METHODS[cell.config.method].options(**cell.config.options)


def test_equal_terms_are_equal():
    """Optimiser, epochs, batches, memory and replayed samples of final runs are the base's, but where it is said."""
    same = ("optimizer", "epochs", "batch_size", "memory", "memory_batch", "replay", "memory_policy", "limit_train")
    for name, kind in BENCHMARKS:
        terms = benchmark(name, kind)
        if kind == "equal":
            for row in terms.rows:
                config, base = final_runs(terms, row, {})[0].config, final_runs(terms, terms.rows[0], {})[0].config
                differ = [field for field in same if getattr(config, field) != getattr(base, field)]
                assert not differ or row.reduced, (name, row.key, differ)
                if row.method in ("derpp", "refresh"):
                    assert config.options["same_draw"] is True


def test_the_budget_is_the_same_for_all():
    for terms in every_term():
        tuned = [row.tuning for row in terms.rows if row.tuning is not None]
        assert len({tuning.lr for tuning in tuned}) <= 1
        assert len({len(tuning.parameter.others) for tuning in tuned if tuning.parameter}) <= 1
        assert {tuning.settings["evaluate_on"] for tuning in tuned} <= {"validation"}


def test_the_control_searches_wider_on_the_same_runs():
    """What both tables ask for is one run: the wider search starts as the narrower one, and goes on."""
    narrow, wide = benchmark("pmnist-10k", "equal"), benchmark("adaptivity", "equal")
    assert (wide.base, wide.out, wide.tuning_out) == (narrow.base, narrow.out, narrow.tuning_out)
    assert set(narrow.seeds) < set(wide.seeds)
    for row in wide.rows:
        other = next(one for one in narrow.rows if one.key == row.key)
        assert row.fixed == other.fixed
        assert (row.tuning.lr, row.tuning.parameter.start) == (other.tuning.lr, other.tuning.parameter.start)
        extent = len(other.tuning.parameter.others)
        assert row.tuning.parameter.others[:extent] == other.tuning.parameter.others
        assert len(row.tuning.parameter.others) > extent


def test_what_must_be_there():
    """COLD's preset and every method at 10,000 images in both comparisons; the paper's rows and ER on full data."""
    methods = set(METHODS) - {"star", "cls-er", "cold-distill"}  # these came later and have tables of their own
    for kind in ("equal", "published"):
        terms = benchmark("pmnist-10k", kind)
        assert {row.method for row in terms.rows} == methods
        assert {"cold-printed", "cold-oracle-printed"} <= {row.key for row in terms.rows}
    full = {row.method for row in benchmark("pmnist", "equal").rows}
    assert {"finetune", "ewc", "agem", "der", "derpp", "nccl", "cold", "cold-oracle", "er"} <= full
    assert {row.method for row in benchmark("split-cifar10", "equal").rows} == methods
    assert {"main", "pmnist", "m-large", "m-small", "complexity", "hyperparams"} <= set(names())
    assert sum(len(terms.rows) for terms in full_size("main", "equal")) >= 84


def test_presets_are_untouched():
    terms = benchmark("pmnist", "equal")
    row = next(row for row in terms.rows if row.key == "cold-printed")
    assert final_runs(terms, row, {})[0].run_id == "pmnist-cold-s0-e15547d0"  # cold run --preset paper
    assert (row.tuning, row.fixed, row.final) == (None, {}, {})
    assert Choice({}).settings == {}
