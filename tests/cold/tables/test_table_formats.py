"""One sheet in every format, and `cold table` as a command."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cold.cli.app import app
from cold.tables.formats import comma_separated, escaped, latex, markdown
from cold.tables.make import sheets
from cold.tables.wanted import final_runs
from tests.cold.tables.made_rows import finish, tune, write_row

STORED = Path(__file__).parents[3] / "runs" / "split-cifar10"


def call(*words, code=0):
    done = CliRunner().invoke(app, ["table", *words], env={"COLUMNS": "250"})
    assert done.exit_code == code, done.output + str(done.exception)
    return done


@pytest.fixture
def filled(tiny, table, tmp_path):
    """ER without tuning is best in accuracy, the upper bound stands above it; all else is missing."""
    numbers = {"er-plain": ([80.0, 82.0, 84.0], 0.2), "joint": ([99.0, 98.0, 97.0], 0.0)}
    for key, (accuracies, drop) in numbers.items():
        row = next(row for row in tiny.rows if row.key == key)
        for cell, acc in zip(final_runs(tiny, row, {}), accuracies, strict=True):
            write_row(cell, tmp_path, acc, drop)
    return table


@pytest.fixture
def ranked(filled, tiny, tmp_path):
    """COLD, too, worse in accuracy and better in forgetting; its row is tuned, so its choice is stored as well."""
    tune(tiny, "cold", tmp_path, 60.0, 50.0, 70.0, 50.0)
    finish(tiny, "cold", tmp_path, {"lr": 1e-3, "V": 10.0}, [70.0, 71.0, 75.0], [0.01, 0.02, 0.03])
    return filled


def test_markdown(ranked):
    text = markdown(sheets(ranked(), "cold table tiny")[0])
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") - line.count("\\|") for line in table}) == 1
    assert "| ER, plain\\_1 | 3 | **82.00 ± 2.00** | – | 0.2000 ± 0.0000 | – | – | preset |" in table
    assert (
        "| COLD | 3 | 72.00 ± 2.65 | – | **0.0200 ± 0.0100** | – | +10.00 [+7.52, +12.48] | delta 0, V 10.0, lr 0.001 |"
        in table
    )
    assert "| Joint | 3 | 98.00 ± 1.00 | – | – | – | -16.00 [-23.45, -8.55] | preset |" in table
    assert "<summary>missing: 4 runs</summary>" in text
    assert "<!-- cold table tiny; 13 runs of commits c0ffeec0ffee -->" in text


def test_latex(ranked):
    text = latex(sheets(ranked(), "cold table tiny")[0])
    body = [line for line in text.splitlines() if not line.startswith("%")]
    rows = [line for line in body if line.endswith(r"\\")]
    assert len({len(re.findall(r"(?<!\\)&", line)) for line in rows}) == 1
    assert r"ER, plain\_1 & 3 & \textbf{82.00 $\pm$ 2.00} & -- & 0.2000 $\pm$ 0.0000 & -- & -- & preset \\" in rows
    assert not re.search(r"(?<!\\)[%_#]", "\n".join(body))
    assert "\n".join(body).isascii()
    for name in ("table", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1
    assert "".join(body).count("$") % 2 == 0


def test_every_special_character_is_escaped():
    assert escaped(r"50 % & a_b # {x} ~ ^ \ $ ± λ") == (
        r"50 \% \& a\_b \# \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \$ $\pm$ $\lambda$"
    )


def test_csv_has_full_digits_and_its_origin(ranked):
    text = comma_separated(sheets(ranked(), "cold table tiny")[0])
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert any("13 runs of commits c0ffeec0ffee" in line for line in comments)
    assert sum(line.startswith("# missing: cold run") for line in comments) == 4
    rows = list(csv.DictReader(io.StringIO(text[text.index("method,") :])))
    cold = next(row for row in rows if row["method"] == "COLD")
    assert (float(cold["ACC %"]), float(cold["ACC % sd"])) == pytest.approx((72.0, 7**0.5))
    assert float(cold["best − row low"]) == pytest.approx(10 - 4.302653 / 3**0.5, abs=1e-5)
    assert next(row for row in rows if row["method"] == "Joint")["F"] == ""


def test_terminal_and_json_say_the_same(ranked, tmp_path):
    words = ("tiny", "--terms", "tiny.toml", "--runs", str(tmp_path))
    text = call(*words).stdout
    assert re.search(r"ER, plain_1 +3 +82\.00 ± 2\.00", text)
    assert "4 runs are missing; --run makes them, or:" in text
    data = json.loads(call(*words, "--json").stdout)
    rows = {row["row"]: row for row in data["comparisons"][0]["rows"]}
    assert (rows["er-plain"]["acc_mean"], rows["er-plain"]["best"], rows["joint"]["best"]) == (82.0, True, False)
    assert rows["cold"]["settings"] == {"delta": 0, "V": 10.0, "lr": 0.001}
    assert [one["validation_acc"] for one in rows["cold"]["tried"]] == [60.0, 50.0, 70.0, 50.0]
    assert len(data["missing"]) == 4
    assert data["provenance"]["packages"]


def test_chosen_rows_on_other_seeds(ranked, tmp_path):
    """What is stored counts, what the further seeds lack is named; a row reduced to a seed of its own keeps that."""
    words = ("tiny", "--terms", "tiny.toml", "--runs", str(tmp_path), "--rows", "cold,er-plain,er-short")
    data = json.loads(call(*words, "--seeds", "1-3", "--json").stdout)
    rows = {row["row"]: row for row in data["comparisons"][0]["rows"]}
    assert list(rows) == ["cold", "er-plain", "er-short"]
    assert rows["cold"]["acc"] == {"1": 71.0, "2": 75.0}
    assert [line.split("--seed ")[1].split()[0] for line in data["missing"] if "validation" not in line] == ["3", "3"]
    assert "# cold table tiny --rows cold,er-plain,er-short; " in call(*words, "--format", "csv").stdout
    text = call(*words[:-1], "cold,er-plain", "--seeds", "0-2", "--format", "markdown").stdout
    assert "to the runner-up, COLD: +10.00 [+7.52, +12.48] points" in text


def test_missing_prints_commands_only(filled, tmp_path):
    done = call("tiny", "--terms", "tiny.toml", "--runs", str(tmp_path), "--missing")
    lines = done.stdout.splitlines()
    assert len(lines) == len(set(lines)) == 6
    assert all(line.startswith("cold run --dataset synthetic ") for line in lines)
    assert "more commands can be named" in done.stderr


def test_printed_numbers_keep_their_digits(tmp_path):
    """A table without any run still has the paper's column."""
    text = call("pmnist", "--runs", str(tmp_path), "--format", "markdown").stdout
    assert "| EWC | 0 of 3 | – | 69.49 ± 1.40 | – | 0.26 ± 0.03 |" in text
    assert "| DER | 0 of 3 | – | 78.72 ± 0.14 | – | 0.10 ± 0.0008 |" in text
    assert "**91.26 ± 0.22**" in text


@pytest.mark.parametrize(("name", "sheets_of_it", "rows"), [("main", 3, 17), ("m-large", 3, 17), ("m-small", 3, 17)])
def test_tables_of_full_size(tmp_path, name, sheets_of_it, rows):
    text = call(name, "--runs", str(tmp_path), "--format", "csv").stdout
    blocks = text.split("method,")[1:]
    assert len(blocks) == sheets_of_it
    for block in blocks:
        assert sum(bool(line) and not line.startswith("#") for line in block.splitlines()) == rows + 1
    assert "reduced:" not in text  # no runs of a reduced size in this folder


def test_reduced_runs_stand_in_columns_of_their_own():
    """Stored runs of Split-CIFAR10 at a reduced size: beside the columns of full size, which stay empty."""
    text = call("main", "--format", "csv", "--runs", str(STORED)).stdout
    rows = list(csv.DictReader(io.StringIO(text[text.index("method,") :])))
    cold = next(row for row in rows if row["method"] == "COLD")
    assert float(cold["reduced: ACC %"]) == pytest.approx(76.62, abs=0.005)
    assert (cold["ACC %, M = 600"], cold["paper ACC %, M = 600"]) == ("", "84.9")


def test_complexity_and_hyperparameters(tmp_path):
    text = call("complexity", "--format", "markdown").stdout
    assert "| EWC | b\\*C + t\\*d | b\\*C + d | t\\*d | 2\\*d |" in text
    assert "| COLD-ORACLE | (b+t\\*m)\\*C | (b + m)\\*C |" in text
    stored = {"methods": [{"name": "er", "measured": {"step_ms": [1.25, 1.5], "stored": [64, 128]}}]}
    path = tmp_path / "methods.json"
    path.write_text(json.dumps(stored))
    assert "| 1.25 | 1.50 | 64 | 128 |" in call("complexity", "--format", "markdown", "--measured", str(path)).stdout
    text = call("hyperparams", "--format", "markdown").stdout
    assert text.count("every entry is what") == 2
    assert "| delta | 2 | 0.3 | 0.5 | 2 | 1 | 2 | 2 |" in text


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("maim",), "did you mean main"),
        (("pmnist", "--kind", "fair"), "kind"),
        (("pmnist", "--kind", "published"), "pmnist-10k has one"),
        (("pmnist", "--format", "word"), "format"),
        (("complexity", "--run"), "needs no runs"),
        (("complexity", "--seeds", "1"), "needs no runs"),
        (("pmnist", "--rows", "er,cald"), "did you mean cold"),
        (("pmnist", "--seeds", "5-3"), "--seeds takes whole numbers"),
        (("pmnist", "--seeds", "99-101"), "seed 100 has chosen the settings"),
        (("complexity", "--measured", "nowhere.json"), "cannot read nowhere.json"),
        (("tiny", "--terms", "nowhere.toml"), "cannot read nowhere.toml"),
        (("broken", "--terms", "broken.toml"), "does not follow its schema at broken: KeyError('title')"),
    ],
)
def test_bad_input_is_one_line(words, part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.toml").write_text('[benchmark.broken]\nequal = ["er"]\n')
    done = call(*words, code=2)
    assert part in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_tables_need_no_torch(tmp_path):
    """Neither the package nor the command, from the parser to the last format."""
    code = (
        "import sys; from cold.cli.app import app\n"
        "calls = [['pmnist', '--format', form] for form in ('terminal', 'markdown', 'latex', 'csv', 'json')]\n"
        "for words in (*calls, ['main', '--missing'], ['complexity'], ['hyperparams']):\n"
        "    try: app(['table', *words])\n"
        "    except SystemExit as done: assert done.code == 0\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
