"""The data files against the paper's LaTeX, number by number, and the loader."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from coldtheory.ground.errors import ColdError
from coldtheory.paper import reader as tables

ROOT = Path(__file__).resolve().parents[3]
RESULT_LABELS = ("tab:merged_main", "tab:pmnist", "tab:main_1", "tab:main_2")
HYPER_ROWS = {
    "Learning rate": "learning_rate",
    "Optimizer": "optimizer",
    "Epochs (default)": "epochs",
    r"\# Tasks (default)": "tasks",
    "$V$": "V",
    "Queue initialization": "queue_initialization",
    r"$\delta$-parameter": "delta",
    "Task batch size": "task_batch_size",
    "Memory batch size": "memory_batch_size",
}
DATASET_NAMES = {"Permuted-MNIST": "pmnist", "PMNIST": "pmnist"} | {
    f"Split-{name}": f"split-{name.lower()}" for name in ("CIFAR10", "CIFAR100", "TinyImageNet", "MNIST")
}


@pytest.fixture(scope="module")
def latex() -> str:
    """The paper's source without its comments."""
    place = Path(os.environ.get("COLD_PAPER", ROOT.parent / "shared" / "paper"))
    files = (
        sorted([*place.glob("*.tex"), *place.glob("*.txt")]) if place.is_dir() else [place] if place.is_file() else []
    )
    if not files:
        pytest.skip("paper source not on this machine")
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return re.sub(r"(?<!\\)%.*", "", text)


@pytest.fixture(scope="module")
def raw() -> dict[str, Any]:
    """The TOML with digits as typed."""
    return tables.read_toml(tables.HERE / "paper_tables.toml")


def environment(latex: str, label: str, names: str = r"table\*?") -> str:
    """The innermost environment that holds a label."""
    found = re.findall(rf"\\begin\{{({names})\}}(.*?)\\end\{{\1\}}", latex, flags=re.S)
    bodies: list[str] = [body for _, body in found if f"\\label{{{label}}}" in body]
    assert len(bodies) == 1, f"{label}: {len(bodies)} environments"
    return bodies[0]


def body_rows(table: str) -> list[list[str]]:
    tabular = re.search(r"\\begin\{tabular\}(.*)\\end\{tabular\}", table, flags=re.S)
    assert tabular
    return [[part.strip() for part in row.split("&")] for row in tabular.group(1).split(r"\\")]


def printed(text: str) -> list[str]:
    return re.findall(r"--|\d+(?:\.\d+)?", text.replace(r"\mathbf", ""))


def memory_size(text: str) -> int:
    number, kilo = re.fullmatch(r"([\d.]+)(k?)", text).groups()  # type: ignore[union-attr]
    return int(float(number) * (1000 if kilo else 1))


def columns_in(table: str, label: str) -> list[list[Any]]:
    """[dataset, M] of each pair of columns, from the header or, in the supplement, from the caption."""
    caption = re.search(r"\\caption\{(.*)\}", table)
    assert caption
    if label == "tab:merged_main":
        names = re.findall(r"\\multicolumn\{4\}\{c\}\{\\textbf\{(.*?)\}\}", table)
        sizes = [memory_size(size) for size in re.findall(r"\$M\$ = ([\d.]+k?)", table)]
        return [[DATASET_NAMES[names[i // 2]], size] for i, size in enumerate(sizes)]
    pairs = re.findall(r"(Split-\w+|PMNIST) \(\$M=([\d.]+)\$(k?)\)", caption.group(1))
    if not pairs:
        pairs = re.findall(r"(Split-\w+|PMNIST) \(\$M=([\d.]+)\$?(k?)\$?\)", caption.group(1))
    return [[DATASET_NAMES[name], memory_size(size + kilo)] for name, size, kilo in pairs]


@pytest.mark.parametrize("label", RESULT_LABELS)
def test_results_table_is_the_printed_one(latex: str, raw: dict[str, Any], label: str) -> None:
    table = environment(latex, label)
    entry = next(e for e in raw["results"] if e["label"] == label)
    assert entry["columns"] == columns_in(table, label)
    rows, years, bold = {}, {}, []
    for row in body_rows(table):
        name = re.search(r"\\texttt\{([^}]*)\}(?:\((\d{4})\))?", row[0])
        if len(row) < 3 or not name:
            continue
        method, year = re.fullmatch(r"(.*?)(?:-(\d{4}))?", name.group(1)).groups()  # type: ignore[union-attr]
        if year or name.group(2):
            years[method] = int(year or name.group(2))
        cells = []
        for (dataset, memory), acc, forgetting in zip(entry["columns"], row[1::2], row[2::2], strict=True):
            numbers = [*printed(acc), *printed(forgetting)]
            if len(numbers) < len(entry["fields"]):
                assert numbers[-1] == "--"
                numbers.append("--")
            cells.append(numbers)
            bold += [[method, dataset, memory, "acc"]] * (r"\mathbf" in acc or r"\textbf" in acc)
            bold += [[method, dataset, memory, "forgetting"]] * (r"\mathbf" in forgetting or r"\textbf" in forgetting)
        rows[method] = cells
    assert list(entry["rows"]) == list(rows)
    for method, cells in rows.items():
        assert [[str(number) for number in cell] for cell in entry["rows"][method]] == cells, method
    assert entry["years"] == years
    assert sorted(map(str, entry["bold"])) == sorted(map(str, bold))


@pytest.mark.parametrize("label", ["tab:hyperparams_1", "tab:hyperparams_2"])
def test_hyperparameters_are_the_printed_ones(latex: str, raw: dict[str, Any], label: str) -> None:
    table = environment(latex, label)
    entry = next(e for e in raw["hyperparameters"] if e["label"] == label)
    method = re.search(r"\\caption\{Hyperparameters used in \\texttt\{(.*?)\}", table)
    assert method
    assert entry["method"] == method.group(1)
    sizes = [int(size) for size in re.findall(r"\|\{=\}(\d+)\$", table)]
    assert [memory for _, memory in entry["columns"]] == sizes
    header = re.findall(r"(?:\\multicolumn\{2\}\{c\})?\{?\\textbf\{(Permuted-MNIST|Split-\w+)\}", table)
    expected = [DATASET_NAMES[header[0]]] + [DATASET_NAMES[name] for name in header[1:] for _ in range(2)]
    assert [dataset for dataset, _ in entry["columns"]] == expected
    seen = set()
    for row in body_rows(table):
        title = row[0].split("\n")[-1].replace(r"\midrule", "").strip()
        if title in HYPER_ROWS:
            seen.add(title)
            assert [str(value) for value in entry[HYPER_ROWS[title]]] == row[1:], title
    assert seen == set(HYPER_ROWS)


def test_complexity_is_the_printed_one(latex: str, raw: dict[str, Any]) -> None:
    def flat(expression: str) -> str:
        return expression.replace("k_prime", "k'").replace("**", "^").replace("*", "").replace(" ", "")

    rows = [row for row in body_rows(environment(latex, "tab:complexity_comparison")) if len(row) == 4][1:]
    assert len(rows) == len(raw["complexity"])
    for row, entry in zip(rows, raw["complexity"], strict=True):
        method, operations, storage, mechanism = (re.sub(r"\\hline|\\textbf|\s+", " ", part).strip() for part in row)
        assert method == f"{{{entry['method']}}}"
        assert f"$O({flat(entry['operations'])})$".replace("$", "") in operations.replace("$", "").replace(" ", "")
        wanted = "None" if entry["storage"] == "0" else f"O({flat(entry['storage'])})"
        assert wanted in storage.replace("$", "").replace(" ", "")
        assert entry["mechanism"] == mechanism
        remark = re.search(r"\$ \((.*)\)$", operations) or re.search(r"\$ \((.*)\)$", storage)
        assert bool(remark) == ("notes" in entry)
        assert remark is None or entry["notes"].endswith(remark.group(1))


def test_dataset_descriptions(latex: str) -> None:
    squeezed = " ".join(latex.split())
    said = re.findall(
        r"(Split-\w+) is [^.]*?\$(\d+)\$ (?:disjoint )?tasks, each \w+(?: of)? \$(\d+)\$ classes", squeezed
    )
    listed = [(d.name, str(d.tasks), str(d.classes_per_task)) for d in tables.paper().datasets.values() if d.tasks]
    assert said == listed
    assert f"carried out on ${tables.paper().seeds}$ multiple runs" in squeezed


def test_every_fact_is_where_it_says(latex: str) -> None:
    squeezed = re.sub(r"\s+", "", latex)
    for fact in tables.facts().values():
        assert re.sub(r"\s+", "", fact.anchor) in squeezed, fact.id
        assert f"\\label{{{fact.label}}}" in latex, fact.id
        assert len(fact.anchor.split()) <= 13, f"{fact.id}: an anchor is a few words, not a quotation"


def test_statements_are_all_listed_and_bound_from_above(latex: str) -> None:
    appendix = latex.index("\\appendix")
    found = re.findall(r"\\begin\{(theorem|lemma|corollary)\}(.*?)\\end\{\1\}", latex, flags=re.S)
    listed = {s.label: s for s in tables.statements()}
    labels = [re.search(r"\\label\{(.*?)\}", body).group(1) for _, body in found]  # type: ignore[union-attr]
    assert labels == [s.label for s in sorted(tables.statements(), key=lambda s: labels.index(s.label))]
    assert set(labels) == set(listed)
    for label, (_, body) in zip(labels, found, strict=True):
        statement = listed[label]
        assert ("appendix" in statement.name) == (latex.index(f"\\label{{{label}}}") > appendix)
        assert "\\geq" not in body, label
        assert ("\\leq" in body or "bounded by" in body or "-smooth" in body) == (statement.bounds_from == "above")
        assert ("\\frac{1}{T" in body) == statement.average_over_tasks, label
        assert ("D_" in body or "{D}_" in body or "\\sup" in body) == statement.task_variation, label


def test_algorithm_box(latex: str) -> None:
    box = environment(latex, "alg:COLD", "algorithm")
    lines = re.findall(r"\\(State|For|EndFor)\b([^\n]*)", box)
    said = tables.fact("algorithm-box").value
    assert len(lines) == said["lines"]
    assert [i for i, (_, text) in enumerate(lines, 1) if "DPP step" in text] == [said["optimisation_line"]]
    assert len(re.findall(r"Q_k\[t\]|eq:queue_update", box)) == said["queue_update_lines"]


def test_a_misprint_in_the_data_would_be_seen(latex: str, raw: dict[str, Any]) -> None:
    changed = {**raw, "results": [{**entry, "rows": {**entry["rows"]}} for entry in raw["results"]]}
    changed["results"][2]["rows"]["EWC"] = changed["results"][2]["rows"]["MER"]
    with pytest.raises(AssertionError):
        test_results_table_is_the_printed_one(latex, changed, "tab:main_1")


def test_cells_keep_the_printed_digits() -> None:
    cell = tables.paper().table("tab:main_1").cell("CBA", ("split-cifar10", 1000))
    assert (cell.acc, cell.acc_sd, cell.forgetting, cell.forgetting_sd) == (84.53, 0.44, 0.006, 0.001)
    assert cell.acc_rounding == pytest.approx(0.005)
    assert cell.forgetting_rounding == pytest.approx(0.0005)
    rounded = tables.paper().table("tab:merged_main").cell("COLD", ("split-cifar100", 1000))
    assert rounded.forgetting == 0.10
    assert rounded.forgetting_rounding == pytest.approx(0.005)  # printed 0.10, not 0.1
    assert tables.paper().table("tab:main_2").cell("GDumb", ("split-cifar100", 1000)).forgetting is None


def test_counts_and_caching() -> None:
    source = tables.paper()
    assert [len(table.cells) for table in source.results] == [84, 8, 39, 39]
    assert len(source.hyperparameters) == 14
    assert source is tables.paper()
    assert source.runs("split-cifar100", "COLD")[1].V == 10


def test_errors_name_the_problem(tmp_path: Path) -> None:
    with pytest.raises(ColdError, match=r"did you mean .*tab:main_1"):
        tables.paper().table("tab:main_3")
    with pytest.raises(ColdError, match="unknown fact"):
        tables.fact("v-toyy")
    with pytest.raises(ColdError, match="no data file"):
        tables.load_paper(tmp_path / "absent.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("[dataset", encoding="utf-8")
    with pytest.raises(ColdError, match="not valid TOML"):
        tables.load_paper(broken)
    empty = tmp_path / "empty.toml"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(ColdError, match="does not follow its schema"):
        tables.load_paper(empty)
