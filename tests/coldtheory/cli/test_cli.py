"""The command line as a person meets it: output, exit codes, one-line errors."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer.main
from rich.cells import cell_len
from typer.testing import CliRunner

from coldtheory.cli import app

QUICK = ("--T", "15", "--d", "3", "--seeds", "0-1", "--engine", "serial")


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *words: CliRunner().invoke(app, list(words))


def test_sweep_prints_a_table_that_fits_a_terminal(call):
    done = call("sweep-V", "--regime", "all", "--V", "10:1000:6log", *QUICK, "--fit", "10:1000")
    assert done.exit_code == 0
    for word in ("low", "high", "conflict", "grad² before", "queue Q̄", "D_Φ", "slope of", "≤½"):
        assert word in done.stdout
    assert max(cell_len(line) for line in done.stdout.splitlines()) <= 80
    assert "…" not in done.stdout


def test_sweep_json_is_a_list_of_cells(call):
    done = call("sweep-V", "--regime", "low", "--V", "50,200", *QUICK, "--json")
    rows = json.loads(done.stdout)
    assert [(row["V"], row["seed"]) for row in rows] == [(50.0, 0), (50.0, 1), (200.0, 0), (200.0, 1)]
    assert all(row["regime"] == "low" and row["avg_grad_sq_before"] > 0 for row in rows)


@pytest.mark.parametrize(
    ("command", "option", "values"),
    [
        ("sweep-delta", "--delta", "0,1e-3"),
        ("sweep-eta", "--eta", "1e-4,4e-4"),
        ("sweep-steps", "--steps", "1,3"),
        ("sweep-memory", "--memory-per-task", "1,5"),
        ("sweep-eta-factor", "--eta", "auto:0.25,0.5"),
        ("sweep-controller", "--controller", "nupi:kappa_p=0.1,1,nu=0.5"),
    ],
)
def test_sister_sweeps(call, command, option, values):
    done = call(command, "--regime", "high", option, values, *QUICK, "--json")
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)) == 4


def test_a_schedule_from_a_file_is_known_by_its_factors(call, tmp_path):
    """Two files with the same factors are one schedule, and the rows of one are found for the other."""
    (tmp_path / "one.txt").write_text("1\n2\n4\n")
    (tmp_path / "two.csv").write_text("1.0, 2.0, 4.0\n")
    options = (
        "--T",
        "3",
        "--d",
        "2",
        "--eta",
        "auto:0.9",
        "--controller",
        "yu-neely",
        "--reference",
        "stored",
        "--json",
    )
    rows = [
        json.loads(
            call("sweep-V", "--V", "5", "--seeds", "0-0", "--engine", "serial", "--V-schedule", name, *options).stdout
        )
        for name in (str(tmp_path / "one.txt"), str(tmp_path / "two.csv"), "list:1,2,4")
    ]
    assert rows[0] == rows[1] == rows[2]
    assert rows[0][0]["V_schedule"] == "list:1.0,2.0,4.0"
    told = json.loads(call("simulate", "--V", "5", "--regime", "high", "--V-schedule", "list:1,2,4", *options).stdout)
    assert told["avg_forgetting"] == pytest.approx(rows[0][0]["avg_forgetting"])
    assert (told["eta"], told["eta_factor"], told["controller"]) == ("auto", 0.9, "yu-neely")


def test_sweep_T(call):
    done = call("sweep-T", "--T", "5,10", "--d", "3", "--seeds", "0-0", "--engine", "serial", "--json")
    assert [row["T"] for row in json.loads(done.stdout)] == [5, 10]


def test_own_file_and_loky(call, tmp_path):
    np.savez(tmp_path / "mine.npz", optima=np.random.default_rng(0).normal(size=(3, 8, 2)))
    done = call("sweep-V", "--regime", "mine.npz", "--V", "1,10", "--jobs", "2", "--json")
    assert len(json.loads(done.stdout)) == 6


def test_results_ls_and_rm(call):
    assert "no results" in call("results", "ls").stdout
    call("sweep-V", "--V", "5,10", *QUICK)
    (entry,) = json.loads(call("results", "ls", "--json").stdout)
    assert entry["rows"] == 4
    assert entry["name"] in call("results", "ls").stdout
    assert call("results", "rm", "nonsense").exit_code == 2
    assert call("results", "rm").exit_code == 2
    assert call("results", "rm", entry["name"]).exit_code == 0
    assert json.loads(call("results", "ls", "--json").stdout) == []


def test_results_export(call):
    call("sweep-V", "--V", "5,10", *QUICK)
    (entry,) = json.loads(call("results", "ls", "--json").stdout)
    name = entry["name"]
    rows = json.loads(call("sweep-V", "--V", "5,10", *QUICK, "--json").stdout)
    assert f"wrote {len(rows)} rows" in call("results", "export", name).stdout
    with Path(f"{name}.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert {(float(row["V"]), int(row["seed"]), row["avg_Qbar"]) for row in table} == {
        (row["V"], row["seed"], str(row["avg_Qbar"])) for row in rows
    }
    assert json.loads(table[0]["source"]) == rows[0]["source"]
    assert table[0]["time"]
    assert call("results", "export", name, "--format", "csv", "--out", "-").stdout == Path(f"{name}.csv").read_text()
    again = Path("again") / f"{name}.json"  # what JSON is: the format of earlier versions, read like the present one
    assert call("results", "export", name, "--format", "json", "--out", str(again)).exit_code == 0
    assert json.loads(call("sweep-V", "--V", "5,10", *QUICK, "--json", "--out", "again").stdout) == rows
    assert sorted(path.name for path in Path("again").iterdir()) == [again.name, "sweeps"]
    for wrong in (("nonsense",), (name, "--format", "xml"), (name, "--format", "parquet", "--out", "-")):
        assert call("results", "export", *wrong).exit_code == 2


def test_results_export_to_parquet(call):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet'")
    rows = json.loads(call("sweep-V", "--V", "5,10", "--eta", "auto", *QUICK, "--json").stdout)
    (entry,) = json.loads(call("results", "ls", "--json").stdout)
    assert call("results", "export", entry["name"], "--format", "parquet").exit_code == 0
    table = parquet.read_table(f"{entry['name']}.parquet").to_pylist()
    for name in ("key", "V", "eta", "seed", "T", "avg_Qbar", "step_half", "memory", "window"):
        assert sorted(str(row[name]) for row in table) == sorted(str(row[name]) for row in rows)


def test_results_export_without_pyarrow(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    call("sweep-V", "--V", "5,10", *QUICK)
    (entry,) = json.loads(call("results", "ls", "--json").stdout)
    done = call("results", "export", entry["name"], "--format", "parquet")
    assert done.exit_code == 2
    assert "pip install 'cold-continual[parquet]'" in " ".join(done.stderr.split())
    assert not list(Path().glob("*.parquet"))


def test_results_keys_explains_every_key_of_a_row(call):
    (row,) = json.loads(
        call("sweep-V", "--V", "5", "--T", "4", "--seeds", "0-0", "--engine", "serial", "--json").stdout
    )
    keys = json.loads(call("results", "keys", "--json").stdout)
    assert set(row) - {"schema", "provenance"} == set(keys)
    assert keys["avg_Qbar"].split(",")[0] in call("results", "keys").stdout.replace("\n", " ")


def test_simulate_summarises_and_saves(call, tmp_path):
    done = call("simulate", "--V", "100", "--T", "12", "--d", "3", "--save", "run.npz")
    assert done.exit_code == 0
    assert "avg_grad_sq_before" in done.stdout
    with np.load(tmp_path / "run.npz") as kept:
        assert kept["w"].shape == (13, 3)
        assert kept["Q"].shape == (13, 12)
        about = json.loads(str(kept["about"]))
    assert about["config"]["V"] == 100.0
    assert "commit" in about["provenance"]
    assert json.loads(call("simulate", "--json").stdout)["avg_grad_sq_after"] > 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("sweep-V", "--V", "0,10"), "V must be finite and > 0"),
        (("sweep-V", "--V=-5"), "V must be finite and > 0"),
        (("sweep-V", "--V", "nan"), "V must be finite"),
        (("sweep-V", "--V", "ten"), "cannot read --V"),
        (("sweep-V", "--V", "10:1000:0log"), "cannot read --V"),
        (("sweep-V", "--delta=-1"), "delta must be finite and >= 0"),
        (("sweep-V", "--delta", "1,2"), "use: coldtheory sweep delta"),
        (("sweep-V", "--regime", "hihg"), "did you mean high"),
        (("sweep-V", "--regime", "nothere.npz"), "no file nothere.npz"),
        (("sweep-V", "--seeds", "3-1"), "--seeds takes whole numbers"),
        (("sweep-V", "--T", "0"), "at least 1"),
        (("sweep-V", "--T", "1.5"), "whole number"),
        (("sweep-V", "--fit", "50"), "--fit"),
        (("sweep-V", "--jobs", "0"), "jobs must be"),
        (("sweep-V", "--scheduler", "tcp://127.0.0.1:1"), "--engine dask"),
        (("sweep-V", "--window", "3"), "reference='best'"),
        (("sweep-memory", "--memory-per-task", "500"), "between 1 and n=100"),
        (("sweep-eta-factor", "--eta", "1e-3"), "takes --eta auto:GRID"),
        (("sweep-controller", "--controller", "leaky"), "a grid for one of its parameters"),
        (("sweep-V", "--controller", "leeky"), "did you mean leaky"),
        (("sweep-V", "--V-schedule", "nothere.txt"), "cannot read nothere.txt"),
        (("sweep-V", "--V-schedule", "power:x"), "cannot read the schedule"),
        (("simulate", "--eta", "auto:x"), "cannot read --eta auto"),
        (("simulate", "--controller", "augmented", "--solver", "exact"), "goes with solver='gd'"),
        (("sweep-steps", "--steps", "1.5"), "whole number"),
        (("sweep-V", "--V", "1e5,1e6", "--T", "20", "--seeds", "0-0", "--engine", "serial"), "every run diverged"),
        (("simulate", "--V", "6000"), "largest stable eta there is 0.000333"),
        (("simulate", "--seed=-1"), "seed must be"),
        (("simulate", "--regime", "all"), "one regime"),
        (("simulate", "--points", "5", "--spread", "1e308"), "spread must be >= 0 and <= 1e+100"),
        (("simulat",), "No such command 'simulat'. Did you mean 'simulate'? see"),
        (("--nothing",), "No such option: --nothing; see"),
        (("simulate", "--nothing", "1"), "No such option: --nothing"),
        (("simulate", "--V"), "Option '--V' requires an argument; see --help"),
        (("simulate", "--seed", "x"), "Invalid value for '--seed'"),
        (("results", "list"), "No such command 'list'"),
        (("results", "export"), "Missing argument"),
        (("simulate", "x" * 5000), "xxx...; see"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(call, words, problem):
    done = call(*words)
    assert done.exit_code == 2
    complaint = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert len(complaint) == 1
    assert problem in complaint[0]
    assert "Traceback" not in done.output


def test_damaged_and_unwritable_folders(call, tmp_path):
    call("sweep-V", "--V", "5,10", *QUICK)
    (path,) = Path("results").glob("*.sqlite")
    path.write_bytes(path.read_bytes()[:5000])
    done = call("sweep-V", "--V", "5,10", *QUICK)
    assert done.exit_code == 2
    assert "damaged" in done.stderr
    assert "damaged" in call("results", "ls").stdout
    (tmp_path / "plainfile").write_text("")
    done = call("sweep-V", "--V", "5,10", *QUICK, "--out", "plainfile")
    assert done.exit_code == 2
    assert "choose another folder" in done.stderr


def test_every_command_has_help_with_an_example():
    group = typer.main.get_command(app)
    listing = CliRunner().invoke(app, ["--help"]).stdout
    for name in group.list_commands(None):
        listed = re.search(rf"^│ {name} ", listing, re.M) is not None
        assert listed == (not name.startswith("sweep-")), name  # second names of `sweep` are not listed
        command = group.get_command(None, name)
        parts = (
            [[name, part] for part in command.list_commands(None)] if hasattr(command, "list_commands") else [[name]]
        )
        for words in parts:
            shown = CliRunner().invoke(app, [*words, "--help"]).stdout
            assert "Example:" in shown or "Examples:" in shown, words


def test_import_needs_no_torch():
    program = (
        "import sys\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'torch': raise ImportError('torch was imported')\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "import coldtheory.cli, coldtheory.sweep, paper_checks\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_installed_script_answers():
    script = Path(sys.executable).with_name("coldtheory")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip()
    bad = subprocess.run([script, "sweep-V", "--regime", "hihg"], capture_output=True, text=True, check=False)
    assert bad.returncode == 2
    assert bad.stderr == "error: unknown regime 'hihg'; did you mean high?\n"


@pytest.mark.parametrize(
    ("axis", "option", "given", "values"),
    [
        ("V", "--V", "5,10", [5.0, 10.0]),
        ("delta", "--delta", "0,1e-3", [0.0, 1e-3]),
        ("eta-factor", "--eta", "auto:0.25,0.75", [0.25, 0.75]),
        ("noise", "--noise", "0,0.1", [0.0, 0.1]),
        ("reference", "--reference", "previous,stored", ["previous", "stored"]),
        ("weights", "--weights", "mean,none", ["mean", "none"]),
        ("solver", "--solver", "gd,exact", ["gd", "exact"]),
        ("V-schedule", "--V-schedule", "constant,geometric:8,power:.5", [None, "geometric:8.0", "power:0.5"]),
        ("controller", "--controller", "queue,nupi:kappa_i=1,kappa_p=2", [None, "nupi:kappa_i=1.0,kappa_p=2.0,nu=0.0"]),
        ("controller", "--controller", "leaky:a=1e-3:0.1:2log", ["leaky:a=0.001", "leaky:a=0.1"]),
    ],
)  # fmt: skip
def test_one_command_sweeps_any_setting(call, axis, option, given, values):
    common = ("--T", "8", "--d", "3", "--seeds", "0-0", "--engine", "serial")
    done = call("sweep", axis, option, given, *common, "--json")
    assert done.exit_code == 0, done.output
    assert [row[axis.replace("-", "_")] for row in json.loads(done.stdout)] == values
    shown = call("sweep", axis, option, given, *common)
    assert shown.exit_code == 0, shown.output


def test_short_names_and_the_one_command_share_their_rows(call):
    options = ("--V", "5,10", *QUICK, "--json")
    assert json.loads(call("sweep-V", *options).stdout) == json.loads(call("sweep", "V", *options).stdout)


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        (("sweep", "nothing"), "unknown setting to sweep 'nothing'"),
        (("sweep", "reference", "--reference", "prevoius"), "did you mean previous?"),
        (("sweep", "V", "--reference", "previous,best"), "unknown reference"),
        (("sweep", "controller", "--controller", "leaky"), "several names"),
    ],
)
def test_sweeps_say_what_is_wrong(call, typed, problem):
    done = call(*typed)
    assert done.exit_code == 2
    assert problem in " ".join(done.stderr.split())
