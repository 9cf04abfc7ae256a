"""Claims that only training runs can settle: one per results table, and one for the figures."""

from __future__ import annotations

from cold.studies import planned, studies
from coldtheory.paper import paper
from paper_checks.base import Finding, claim

HOW = """
The numbers are test accuracies of trained networks. They are not a consequence of any statement, so nothing short of
the same training (datasets, networks, hyper-parameters of tab:hyperparams_1 and tab:hyperparams_2, several seeds,
and the baselines' own settings, which the paper does not list) can confirm or refute them. What arithmetic can say
about them is in the claims whose ids start with tab-.
"""


def needs_training(label: str) -> Finding:
    table = paper().table(label)
    ours = sum(method.startswith("COLD") for method in table.methods)
    text = (
        f"{len(table.cells)} cells ({len(table.methods)} methods x {len(table.columns)} settings); settled by "
        f"{len(table.columns) * paper().seeds * ours} training runs of COLD and COLD-ORACLE and "
        f"{len(table.columns) * paper().seeds * (len(table.methods) - ours)} of baselines, {paper().seeds} seeds each"
    )
    return Finding("not reproducible here", None, text, {"cells": len(table.cells), "seeds": paper().seeds})


@claim(
    id="train-merged-main",
    label="tab:merged_main",
    section="Comparison with Baselines",
    statement="The accuracies and forgetting values of the main table.",
    recorded="not reproducible here",
    explain=HOW,
)
def merged_main() -> Finding:
    return needs_training("tab:merged_main")


@claim(
    id="train-pmnist",
    label="tab:pmnist",
    section="Additional experiments",
    statement="The PMNIST accuracies and forgetting values.",
    recorded="not reproducible here",
    explain=HOW,
)
def pmnist() -> Finding:
    return needs_training("tab:pmnist")


@claim(
    id="train-main-1",
    label="tab:main_1",
    section="Additional Experimental Results",
    statement="The supplementary table for the larger buffers, with standard deviations.",
    recorded="not reproducible here",
    explain=HOW,
)
def main_1() -> Finding:
    return needs_training("tab:main_1")


@claim(
    id="train-main-2",
    label="tab:main_2",
    section="Additional Experimental Results",
    statement="The supplementary table for the smaller buffers, with standard deviations.",
    recorded="not reproducible here",
    explain=HOW,
)
def main_2() -> Finding:
    return needs_training("tab:main_2")


@claim(
    id="train-figures",
    label="fig:baselines",
    section="Ablation and Sensitivity Analysis",
    statement="Curves over tasks, V, delta, M, epochs and batch size on the image benchmarks.",
    recorded="not reproducible here",
    explain=HOW + "\nThe figures come without numbers, so a rerun could be compared only by eye. What the text says of "
    "them is held against smaller runs in the claims whose ids start with trend-.",
)
def figures() -> Finding:
    runs = {run.config.run_id for study in studies() if "paper" in study.grids for run in planned(study, "paper")}
    text = (
        f"the figures print no numbers; {len(runs)} runs (cold study run all --profile paper) would draw them at the "
        "paper's size; trends in smaller runs: trend-*"
    )
    return Finding("not reproducible here", None, text, {"runs": len(runs)})
