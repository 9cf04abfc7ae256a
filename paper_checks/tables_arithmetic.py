"""Arithmetic of the results tables: what ACC and F must obey, and whether printed copies of a number agree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from coldtheory.claims import Finding
from coldtheory.paper import PrintedResult, paper
from paper_checks import claim

SECTION = "Empirical Evaluations"
IDENTITY = """
Definitions (Metrics, subsec:setup): ACC = (1/T) sum_{j<=T} a_{T,j} and
F = (1/(T-1)) sum_{j<T} f_j with f_j = max_{l<=T-1} (a_{l,j} - a_{T,j}), where a_{t,j} in [0, 1] is the accuracy on
task j after task t.

Derivation. a_{l,j} <= 1 gives f_j <= 1 - a_{T,j}, i.e. a_{T,j} <= 1 - f_j for every j < T. Summing over j < T,
sum_{j<T} a_{T,j} <= (T-1)(1-F). With a_{T,T} <= 1,

    T ACC <= (T-1)(1-F) + 1,   i.e.   ACC <= ((T-1)(1-F) + 1)/T = 1 - (T-1)F/T.

The inequality is linear in (ACC, F), so it also holds for means over seeds. Equivalently, the mean best accuracy ever
reached on the past tasks is at least (T ACC - 1)/(T-1) + F, which must not exceed 1.

Rounding. A printed number is within half a unit of its last digit; a cell counts as broken only if the most favourable
values inside that range still break the inequality. Cells that print a dash for F are left out.
"""


@dataclass(frozen=True)
class Slack:
    """A printed pair of ACC and F, the number of tasks, the bound on ACC, and how much room it leaves."""

    cell: PrintedResult
    tasks: int
    bound: float
    slack: float

    @property
    def peak(self) -> float:
        """The mean best accuracy on past tasks that the printed pair needs."""
        assert self.cell.forgetting is not None
        return (self.tasks * self.cell.acc / 100 - 1) / (self.tasks - 1) + self.cell.forgetting

    def as_data(self) -> dict[str, Any]:
        """The pair with its bound as plain data."""
        return {
            "table": self.cell.table, "method": self.cell.method, "dataset": self.cell.dataset,
            "memory": self.cell.memory, "tasks": self.tasks, "acc": self.cell.acc / 100,
            "forgetting": self.cell.forgetting, "bound": self.bound, "slack": self.slack, "needed_peak": self.peak,
        }  # fmt: skip


def slack_of(cell: PrintedResult, tasks: int) -> Slack:
    """How much room the bound leaves, after rounding in the cell's favour (negative: broken)."""
    assert cell.forgetting is not None
    share = (tasks - 1) / tasks
    bound = 1 - share * cell.forgetting
    rounding = cell.acc_rounding / 100 + share * cell.forgetting_rounding
    return Slack(cell, tasks, bound, bound - cell.acc / 100 + rounding)


def slacks(datasets: set[str], tasks: int | None = None) -> list[Slack]:
    """Slack of every printed pair; the number of tasks is that of the hyper-parameter tables unless it is given."""
    source = paper()
    found = []
    for cell in source.cells():
        if cell.forgetting is not None and cell.dataset in datasets:
            # Several printed task numbers: the smallest gives the weakest bound, so no cell is accused wrongly.
            found.append(slack_of(cell, tasks or min(source.tasks_in_tables(cell.dataset))))
    return found


def bound_finding(checked: list[Slack]) -> Finding:
    """The verdict over all checked pairs: those that break the bound, or the tightest one."""
    # A pair that main text and supplement both print with the same digits counts once.
    broken = {(s.cell.where, s.cell.acc, s.cell.forgetting): s for s in checked if s.slack < 0}
    worst = min(checked, key=lambda s: s.slack)
    data = {"cells": len(checked), "broken": [s.as_data() for s in broken.values()]}
    if not broken:
        text = (
            f"all {len(checked)} pairs obey it; tightest: {worst.cell.where}, slack {worst.slack:.4f} (T={worst.tasks})"
        )
        return Finding("holds", worst.slack, text, data)
    listed = "; ".join(
        f"{s.cell.where}: ACC {s.cell.acc / 100:.4f} > {s.bound:.4f}"
        for s in sorted(broken.values(), key=lambda s: s.slack)
    )
    needs = f"needs past tasks at {100 * worst.peak:.1f} % at their best"
    text = (
        f"{len(broken)} different pairs ({len(checked)} printed) break it beyond rounding: {listed} (the first {needs})"
    )
    return Finding("false", worst.slack, text, data)


@claim(
    id="tab-accf-bound",
    label="tab:merged_main",
    section=SECTION,
    statement="""Every printed pair (ACC, F) is possible under the paper's own definitions:
        ACC <= ((T-1)(1-F)+1)/T, with T of the hyper-parameter tables (all tables).""",
    recorded="false",
    explain=IDENTITY + "\nT is the '# Tasks' row of tab:hyperparams_1/2: 5 for CIFAR10, 20 for the other datasets.",
)
def accuracy_forgetting_bound() -> Finding:
    """Check all printed pairs with the task numbers of the hyper-parameter tables."""
    return bound_finding(slacks(set(paper().datasets)))


@claim(
    id="tab-accf-cifar100-t5",
    label="tab:merged_main",
    section=SECTION,
    statement="Every CIFAR100 pair obeys ACC <= ((T-1)(1-F)+1)/T for T = 5, the number of tasks the text gives.",
    recorded="holds",
    explain=IDENTITY
    + """
The factor (T-1)/T is 0.8 for T = 5 and 0.95 for T = 20, so the bound is weaker for fewer tasks: a table can be possible
for 5 tasks and impossible for 20. That makes this pair of claims a witness for the number of tasks actually used.""",
)
def cifar100_with_the_text_number_of_tasks() -> Finding:
    """Check the CIFAR100 pairs with T = 5."""
    tasks = paper().datasets["split-cifar100"].tasks
    return bound_finding(slacks({"split-cifar100"}, tasks))


@claim(
    id="tab-accf-cifar100-t20",
    label="tab:hyperparams_1",
    section=SECTION,
    statement="Every CIFAR100 pair obeys ACC <= ((T-1)(1-F)+1)/T for T = 20, the number of tasks the tables give.",
    recorded="false",
    explain=IDENTITY + "\nSee tab-accf-cifar100-t5 for the same pairs with T = 5.",
)
def cifar100_with_the_table_number_of_tasks() -> Finding:
    """Check the CIFAR100 pairs with T = 20."""
    return bound_finding(slacks({"split-cifar100"}, max(paper().tasks_in_tables("split-cifar100"))))


@claim(
    id="tab-accf-tiny-pmnist",
    label="tab:main_1",
    section=SECTION,
    statement="Every TinyImageNet and PMNIST pair obeys ACC <= ((T-1)(1-F)+1)/T with T = 20.",
    recorded="holds",
    explain=IDENTITY,
)
def tiny_and_pmnist_bound() -> Finding:
    """Check the TinyImageNet and PMNIST pairs with T = 20."""
    return bound_finding(slacks({"split-tinyimagenet", "pmnist"}))


def copies() -> list[tuple[PrintedResult, PrintedResult]]:
    """(main text, supplement) pairs that print the same quantity."""
    main = paper().table("tab:merged_main")
    others = [cell for table in paper().results if table.place == "supplement" for cell in table.cells]
    return [(a, b) for a in main.cells for b in others if a.method == b.method and a.setting == b.setting]


def excess(first: float, first_rounding: float, second: float, second_rounding: float) -> float:
    """By how much two printed numbers differ beyond what rounding allows (<= 0: they may be the same number)."""
    # Rounding 0.5 up or down is a matter of taste, and 1e-9 keeps binary fractions out of it.
    return abs(first - second) - (first_rounding + second_rounding) - 1e-9


@claim(
    id="tab-copies-agree",
    label="tab:main_1",
    section="Additional Experimental Results",
    statement="The supplement repeats the main table's numbers (with standard deviations): the copies agree.",
    recorded="false",
    explain="""
        tab:main_1 and tab:main_2 hold the columns of tab:merged_main again, so each main-text number has a second
        print. Two prints agree if one number can round to both: |x - y| <= half a unit of the last digit of x plus
        half a unit of the last digit of y. (0.006 and 0.01 agree; 0.004 and 0.01 do not.)""",
)
def copies_agree() -> Finding:
    """Compare each number of the main table with its copy in the supplement, up to rounding."""
    clashes, worst = [], -math.inf
    for main, other in copies():
        gaps = {"ACC": (excess(main.acc, main.acc_rounding, other.acc, other.acc_rounding), main.acc, other.acc)}
        if main.forgetting is not None and other.forgetting is not None:
            gap = excess(main.forgetting, main.forgetting_rounding, other.forgetting, other.forgetting_rounding)
            gaps["F"] = (gap, main.forgetting, other.forgetting)
        for name, (gap, x, y) in gaps.items():
            worst = max(worst, gap)
            if gap > 0:
                clashes.append(f"{name} of {main.where}: {x:g} (main) vs {y:g} ({other.table})")
        if (main.forgetting is None) != (other.forgetting is None):
            clashes.append(f"F of {main.where}: a number in one table, a dash in the other")
    data = {"pairs": len(copies()), "clashes": clashes}
    if clashes:
        return Finding(
            "false",
            -max(worst, 0.0),
            f"{len(clashes)} of {len(copies())} copied cells differ: " + "; ".join(clashes),
            data,
        )
    return Finding("holds", -worst, f"all {len(copies())} copied cells agree within rounding", data)


@claim(
    id="tab-years-agree",
    label="tab:merged_main",
    section="Additional Experimental Results",
    statement="A baseline carries the same year in every results table.",
    recorded="false",
    explain="""The year printed beside a method's name is compared across tab:merged_main, tab:pmnist, tab:main_1 and
        tab:main_2.""",
)
def years_agree() -> Finding:
    """Compare the years printed beside each method's name in all tables."""
    printed: dict[str, set[int]] = {}
    for table in paper().results:
        for method, year in table.years.items():
            printed.setdefault(method, set()).add(year)
    clashes = {method: sorted(years) for method, years in printed.items() if len(years) > 1}
    if clashes:
        listed = "; ".join(f"{method}: {' and '.join(map(str, years))}" for method, years in clashes.items())
        return Finding("false", None, f"{len(clashes)} of {len(printed)} methods have two years: {listed}", clashes)
    return Finding("holds", None, f"all {len(printed)} methods have one year", {})


@claim(
    id="tab-no-memory-methods",
    label="tab:merged_main",
    section=SECTION,
    statement="Methods without a buffer (Fine-tune, EWC) print the same numbers for both buffer sizes of a dataset.",
    recorded="holds",
    explain="""Neither method stores samples, so M cannot matter; equal numbers show that one set of runs was printed
        twice.""",
)
def methods_without_memory() -> Finding:
    """Compare the numbers of Fine-tune and EWC at both buffer sizes."""
    main = paper().table("tab:merged_main")
    differing = []
    for method in ("Fine-tune", "EWC"):
        for dataset in {dataset for dataset, _ in main.columns}:
            pairs = {(c.acc, c.forgetting) for c in main.cells if c.method == method and c.dataset == dataset}
            if len(pairs) > 1:
                differing.append(f"{method} {dataset}")
    if differing:
        return Finding(
            "false", None, f"numbers change with M for {', '.join(sorted(differing))}", {"differing": differing}
        )
    return Finding("holds", None, "Fine-tune and EWC print equal numbers for both M on all three datasets")


@claim(
    id="tab-oracle-sd-copy",
    label="tab:main_2",
    section="Additional Experimental Results",
    statement="""The standard deviation of COLD-ORACLE's CIFAR100 accuracy at M = 1k (+-0.02 points) is a spread of
        three runs.""",
    recorded="not reproducible here",
    explain="""
        ACC is in per cent and F is a fraction, so an accuracy spread normally prints 10 to 100 times larger digits than
        the spread of F beside it. In this cell both print 0.02, and every other accuracy of a trained method spreads
        several times more. A copy of the neighbouring number is likely, but only the runs can decide.""",
)
def oracle_standard_deviation() -> Finding:
    """Compare the suspicious spread with the other printed spreads."""
    cells = [c for c in paper().cells() if c.acc_sd is not None and c.forgetting_sd is not None]
    suspect = paper().table("tab:main_2").cell("COLD-ORACLE", ("split-cifar100", 1000))
    equal = [c.where for c in cells if c.acc_sd == c.forgetting_sd]
    next_smallest = min(c.acc_sd for c in cells if c.acc_sd is not None and c is not suspect)
    text = (
        f"prints {suspect.acc:g}+-{suspect.acc_sd:g} and F {suspect.forgetting:g}+-{suspect.forgetting_sd:g}; "
        f"equal digits in {len(equal)} of {len(cells)} cells; next smallest accuracy s.d. is {next_smallest:g}; "
        "three runs would settle it"
    )
    return Finding("not reproducible here", None, text, {"equal": equal, "next_smallest": next_smallest})
