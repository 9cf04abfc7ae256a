"""Claims about who is best: ranks, leads and bold type, all from the printed numbers."""

from __future__ import annotations

import math

import numpy as np

from coldtheory.claims import Finding, Verdict
from coldtheory.paper import PrintedResult, ResultsTable, paper
from paper_checks import claim

SECTION = "Comparison with Baselines"
OURS = ("COLD", "COLD-ORACLE")


def main_table() -> ResultsTable:
    """The main results table, tab:merged_main."""
    return paper().table("tab:merged_main")


def show(setting: tuple[str, int]) -> str:
    """A setting (dataset, memory) in a few characters, for evidence."""
    return f"{setting[0].removeprefix('split-')} M={setting[1]}"


def all_columns() -> list[tuple[PrintedResult, ...]]:
    """Each setting once: the six of the main table, and PMNIST, which only the supplement has."""
    return [table.column(setting) for table in (main_table(), paper().table("tab:pmnist")) for setting in table.columns]


def of(column: tuple[PrintedResult, ...], method: str) -> PrintedResult:
    """The cell of a method in a column."""
    return next(cell for cell in column if cell.method == method)


def rank(column: tuple[PrintedResult, ...], method: str) -> int:
    """1 plus the number of methods with a larger printed ACC."""
    return 1 + sum(cell.acc > of(column, method).acc for cell in column)


@claim(
    id="tab-oracle-highest",
    label="tab:merged_main",
    section=SECTION,
    statement="COLD-ORACLE has the highest ACC on all benchmarks and memory budgets.",
    recorded="false",
    explain="""For each setting the largest printed ACC is found; the six settings of tab:merged_main and PMNIST
        (tab:pmnist) are all the benchmarks the paper reports. The margin is COLD-ORACLE's smallest lead, in points.""",
)
def oracle_highest() -> Finding:
    """Compute COLD-ORACLE's lead over the best other method in every setting."""
    leads = {}
    for column in all_columns():
        rival = max((c for c in column if c.method != "COLD-ORACLE"), key=lambda c: c.acc)
        leads[show(rival.setting)] = (of(column, "COLD-ORACLE").acc - rival.acc, rival)
    lost = {name: (lead, rival) for name, (lead, rival) in leads.items() if lead < 0}
    smallest = min(lead for lead, _ in leads.values())
    data = {name: {"lead": lead, "rival": rival.method} for name, (lead, rival) in leads.items()}
    if not lost:
        return Finding(
            "holds", smallest, f"best in all {len(leads)} settings, smallest lead {smallest:.2f} points", data
        )
    listed = "; ".join(
        f"{name}: {rival.method} {rival.acc:.2f} leads by {-lead:.2f}" for name, (lead, rival) in lost.items()
    )
    return Finding("false", smallest, f"not the highest in {len(lost)} of {len(leads)} settings: {listed}", data)


@claim(
    id="tab-cold-second",
    label="tab:merged_main",
    section=SECTION,
    statement="COLD has the second-best ACC in most settings of the main table.",
    recorded="false",
    explain="""The rank of COLD is 1 + the number of methods with a larger printed ACC. 'Most' is read as more than
        half, and a first place counts in favour. The margin is (number of settings with rank <= 2)
        minus half of the settings, minus one half.""",
)
def cold_second() -> Finding:
    """Compute the rank of COLD in every setting of the main table."""
    ranks = {show(s): rank(main_table().column(s), "COLD") for s in main_table().columns}
    good = sum(r <= 2 for r in ranks.values())
    margin = good - len(ranks) / 2 - 0.5  # exactly half is not most
    text = (
        f"ranks {', '.join(map(str, ranks.values()))}: exactly second in {sum(r == 2 for r in ranks.values())}, at "
        f"least second in {good} of {len(ranks)}"
    )
    return Finding("holds" if margin > 0 else "false", margin, text, {"ranks": ranks})


@claim(
    id="tab-best-of-both",
    label="tab:merged_main",
    section="Abstract",
    statement="In every setting the better of COLD and COLD-ORACLE has a larger mean ACC than every baseline.",
    recorded="holds",
    explain="""The abstract's 'consistently superior accuracy', read for the framework as a whole and for mean values.
        Whether the leads exceed the spread over seeds is the claim tab-lead-beyond-noise.""",
)
def best_of_both() -> Finding:
    """Compute the lead of the better of the two methods over the best baseline in every setting."""
    leads = {}
    for column in all_columns():
        ours = max(c.acc for c in column if c.method in OURS)
        leads[show(column[0].setting)] = ours - max(c.acc for c in column if c.method not in OURS)
    smallest = min(leads, key=lambda name: leads[name])
    text = f"leads in points: {', '.join(f'{n} {v:+.2f}' for n, v in leads.items())}; smallest at {smallest}"
    return Finding("holds" if leads[smallest] > 0 else "false", leads[smallest], text, {"leads": leads})


def welch(first: PrintedResult, second: PrintedResult, runs: int) -> tuple[float, float]:
    """Welch's t and its two-sided p for two printed means and standard deviations over `runs` seeds."""
    a, b = ((cell.acc_sd or 0.0) ** 2 / runs for cell in (first, second))
    t = (first.acc - second.acc) / math.sqrt(a + b)
    freedom = (a + b) ** 2 * (runs - 1) / (a**2 + b**2)
    # P(|X| > |t|) by the midpoint rule in the angle x = sqrt(nu) tan(u), where the density is cos(u)^(nu-1).
    edges = np.linspace(0.0, np.pi / 2, 20_001)
    middle = (edges[1:] + edges[:-1]) / 2
    density = np.cos(middle) ** (freedom - 1)
    beyond = middle > math.atan(abs(t) / math.sqrt(freedom))
    return t, float(density[beyond].sum() / density.sum())


@claim(
    id="tab-lead-beyond-noise",
    label="tab:main_1",
    section="Abstract",
    statement="""The lead of the better of COLD and COLD-ORACLE over the best baseline exceeds the spread over the three
        seeds (5 % level) in every setting.""",
    recorded="false",
    explain="""
        The paper calls the accuracy consistently superior. With means and standard deviations over 3 runs (supplement)
        Welch's t test compares the winner with the best baseline: t = (difference of means)/sqrt(s1^2/3 + s2^2/3), with
        the Welch-Satterthwaite degrees of freedom. The margin is 0.05 minus the largest two-sided p. ER has no printed
        standard deviation, but is the best baseline nowhere. Picking the best of two own methods and of many baselines
        would call for a correction that makes the result weaker still.""",
)
def lead_beyond_noise() -> Finding:
    """Apply Welch's t test to the winner and the best baseline in every setting."""
    p_values = {}
    for table in (t for t in paper().results if t.place == "supplement"):
        for setting in table.columns:
            column = table.column(setting)
            ours = max((c for c in column if c.method in OURS), key=lambda c: c.acc)
            rival = max((c for c in column if c.method not in OURS), key=lambda c: c.acc)
            t, p = welch(ours, rival, paper().seeds)
            p_values[show(setting)] = p if t > 0 else 1.0
    clear = [name for name, p in p_values.items() if p < 0.05]
    worst = max(p_values.values())
    text = f"beyond noise in {len(clear)} of {len(p_values)} settings ({', '.join(clear) or 'none'}); p: " + ", ".join(
        f"{name} {p:.2g}" for name, p in p_values.items()
    )
    return Finding("holds" if worst < 0.05 else "false", 0.05 - worst, text, {"p": p_values})


@claim(
    id="tab-plugins-inferior",
    label="fig:baselines",
    section=SECTION,
    statement="CBA and REFRESH stay below COLD-ORACLE in ACC in every setting of the main table.",
    recorded="holds",
    explain="""Means only, as printed in tab:merged_main; the margin is the smallest lead in points, to be read against
        standard deviations of 1 to 2 points (tab:main_2).""",
)
def plugins_inferior() -> Finding:
    """Compute COLD-ORACLE's lead over CBA and REFRESH in every setting."""
    leads = {}
    for setting in main_table().columns:
        column = main_table().column(setting)
        for rival in ("CBA", "REFRESH"):
            leads[f"{rival} {show(setting)}"] = of(column, "COLD-ORACLE").acc - of(column, rival).acc
    closest = min(leads, key=lambda name: leads[name])
    text = (
        f"COLD-ORACLE leads in {sum(v > 0 for v in leads.values())} of {len(leads)} comparisons; closest: {closest}, "
        f"{leads[closest]:+.2f} points"
    )
    return Finding("holds" if leads[closest] > 0 else "false", leads[closest], text, {"leads": leads})


@claim(
    id="tab-forgetting-marginal",
    label="tab:merged_main",
    section=SECTION,
    statement="""The forgetting of COLD-ORACLE is only sometimes, and then marginally, above that of stability-biased
        methods.""",
    recorded="false",
    explain="""'Sometimes' is read as: in some settings no method forgets less. For every setting of the main table the
        lowest printed F is compared with COLD-ORACLE's. The margin is minus the largest excess of F.""",
)
def forgetting_marginal() -> Finding:
    """Compare COLD-ORACLE's F with the lowest printed F in every setting."""
    excess = {}
    for setting in main_table().columns:
        column = [c for c in main_table().column(setting) if c.forgetting is not None]
        lowest = min(c.forgetting for c in column if c.forgetting is not None)
        oracle = of(tuple(column), "COLD-ORACLE").forgetting
        assert oracle is not None
        excess[show(setting)] = (oracle, lowest)
    beaten = [name for name, (own, lowest) in excess.items() if lowest < own]
    worst = max(excess, key=lambda name: excess[name][0] - excess[name][1])
    own, lowest = excess[worst]
    text = (
        f"a method forgets less in {len(beaten)} of {len(excess)} settings; largest excess: {worst}, F {own:g} "
        f"against {lowest:g}"
    )
    return Finding(
        "false" if len(beaten) == len(excess) else "holds", lowest - own, text, {"oracle_and_lowest": excess}
    )


@claim(
    id="tab-ewc-limited-forgetting",
    label="fig:baselines",
    section=SECTION,
    statement="EWC forgets little (less than plain fine-tuning) but is inaccurate.",
    recorded="holds with correction",
    explain="""EWC is compared with Fine-tune, dataset by dataset. A method made against forgetting should forget
        less; the sentence is written beside a CIFAR100 figure, where it is right, but it is stated for the
        method in general. The margin is the least gain where it is right.""",
)
def ewc_forgets_little() -> Finding:
    """Compare the F of EWC with that of Fine-tune on every dataset."""
    gains = {}
    for setting in main_table().columns:
        column = main_table().column(setting)
        ewc, plain = of(column, "EWC").forgetting, of(column, "Fine-tune").forgetting
        if ewc is None or plain is None:
            continue
        gains[setting[0]] = (plain - ewc, ewc, plain)
    worse = {name: g for name, g in gains.items() if g[0] < 0}
    text = "; ".join(
        f"{name.removeprefix('split-')}: EWC F {e:g}, Fine-tune F {f:g}" for name, (_, e, f) in gains.items()
    )
    verdict: Verdict = "false" if len(worse) == len(gains) else "holds with correction" if worse else "holds"
    kept = [gain for gain, _, _ in gains.values() if verdict != "holds with correction" or gain >= 0]
    return Finding(verdict, min(kept), text, {"worse_on": sorted(worse)})


@claim(
    id="tab-pmnist-both-best",
    label="tab:pmnist",
    section="Additional experiments",
    statement="On PMNIST both methods exceed 91 % and forget least of all.",
    recorded="holds",
    explain="Read off tab:pmnist; the margin is the smaller of (lowest own ACC - 91)/100 and the lead in F.",
)
def pmnist_both_best() -> Finding:
    """Read ACC and F off the PMNIST table."""
    column = paper().table("tab:pmnist").column(("pmnist", 5000))
    lowest_acc = min(c.acc for c in column if c.method in OURS)
    own = max(c.forgetting for c in column if c.method in OURS and c.forgetting is not None)
    rival = min(c.forgetting for c in column if c.method not in OURS and c.forgetting is not None)
    margin = min((lowest_acc - 91) / 100, rival - own)
    text = f"lowest own ACC {lowest_acc:.2f} %, own F at most {own:g}, best baseline F {rival:g}"
    return Finding("holds" if margin > 0 else "false", margin, text)


@claim(
    id="tab-bold-is-best",
    label="tab:main_1",
    section="Additional Experimental Results",
    statement="Bold type marks the best entry of a column.",
    recorded="false",
    explain="""In each results table every bold entry must be the best of its column (largest ACC, smallest F), and
        where a quantity is bold somewhere in a table, the best entry of each column must be bold. Ties are all
        best.""",
)
def bold_is_best() -> Finding:
    """Compare every bold entry with the best of its column."""
    wrong, missing = [], []
    for table in paper().results:
        for setting in table.columns:
            column = table.column(setting)
            top = max(c.acc for c in column)
            low = min((c.forgetting for c in column if c.forgetting is not None), default=None)
            wrong += [
                f"{table.label} ACC {c.acc:g} of {c.where}, best {top:g}" for c in column if c.acc_bold and c.acc < top
            ]
            wrong += [
                f"{table.label} F {c.forgetting:g} of {c.where}, best {low:g}"
                for c in column
                if c.forgetting_bold and c.forgetting is not None and low is not None and c.forgetting > low
            ]
            missing += [f"{table.label} ACC {c.acc:g} of {c.where}" for c in column if c.acc == top and not c.acc_bold]
    text = (
        f"{len(wrong)} bold entries are not the best: {'; '.join(wrong) or 'none'}; {len(missing)} best ACC not "
        f"bold: {'; '.join(missing) or 'none'}"
    )
    return Finding("false" if wrong or missing else "holds", None, text, {"wrong": wrong, "missing": missing})


@claim(
    id="tab-er-missing",
    label="tab:main_1",
    section="Additional Experimental Results",
    statement="""The supplementary tables give the full comparison of the main table, for the same methods as the
        baseline lists.""",
    recorded="false",
    explain="""Method sets of tab:merged_main, tab:main_1 and tab:main_2 and of the two baseline lists
        (text-baseline-list) must coincide, since the supplement is announced as the same comparison with standard
        deviations.""",
)
def er_missing() -> Finding:
    """Compare the method sets of the main table and of the supplementary ones."""
    main = set(main_table().methods)
    missing = {label: sorted(main - set(paper().table(label).methods)) for label in ("tab:main_1", "tab:main_2")}
    lost = sorted({method for methods in missing.values() for method in methods})
    text = f"in the main table but in no supplementary one: {', '.join(lost)}" if lost else "the method sets coincide"
    return Finding("false" if lost else "holds", None, text, missing)
