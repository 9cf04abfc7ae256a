"""Claims about the buffer size M: whether more memory helps, and whether the two methods then come closer."""

from __future__ import annotations

from coldtheory.claims import Finding
from coldtheory.paper import PrintedResult, paper
from paper_checks import claim
from paper_checks.tables_ranking import OURS, SECTION, main_table


def buffer_pairs(method: str) -> list[tuple[PrintedResult, PrintedResult]]:
    """(small buffer, large buffer) per dataset of the main table."""
    table = main_table()
    pairs = []
    for dataset in dict.fromkeys(dataset for dataset, _ in table.columns):
        sizes = sorted(memory for name, memory in table.columns if name == dataset)
        pairs.append((table.cell(method, (dataset, sizes[0])), table.cell(method, (dataset, sizes[-1]))))
    return pairs


@claim(
    id="tab-gap-shrinks",
    label="fig:memory_delta",
    section="Ablation and Sensitivity Analysis",
    statement="The performance gap between COLD-ORACLE and COLD shrinks as M grows.",
    recorded="false",
    explain="""The gap is ACC(COLD-ORACLE) - ACC(COLD) at the two buffer sizes of each dataset (tab:merged_main).
        'Shrinks' means a smaller absolute value. The sentence is about a sweep shown in a figure, but the tables are
        the only numbers in print, and it is stated without limits. The margin is the number of datasets where it
        shrinks minus the number of datasets.""",
)
def gap_shrinks() -> Finding:
    """Compare the gap at the two buffer sizes of each dataset."""
    gaps = {}
    for (c_small, c_large), (o_small, o_large) in zip(buffer_pairs("COLD"), buffer_pairs("COLD-ORACLE"), strict=True):
        gaps[c_small.dataset] = (o_small.acc - c_small.acc, o_large.acc - c_large.acc)
    shrinking = [name for name, (small, large) in gaps.items() if abs(large) < abs(small)]
    text = f"shrinks on {len(shrinking)} of {len(gaps)} datasets: " + ", ".join(
        f"{name.removeprefix('split-')} {small:+.2f} -> {large:+.2f}" for name, (small, large) in gaps.items()
    )
    return Finding(
        "holds" if len(shrinking) == len(gaps) else "false", float(len(shrinking) - len(gaps)), text, {"gaps": gaps}
    )


@claim(
    id="tab-memory-helps-ours",
    label="fig:memory_delta",
    section="Ablation and Sensitivity Analysis",
    statement="For COLD and COLD-ORACLE, on all datasets, a larger buffer raises ACC and lowers F.",
    recorded="false",
    explain="""The two buffer sizes of each dataset in tab:merged_main are compared. Rounded ties count in favour.
        Note that the two columns of a dataset mostly differ in more than M (optimiser, step size, V, delta or batch
        size, see tab:hyperparams_1 and tab:hyperparams_2), so the tables cannot isolate the effect of M either way.""",
)
def memory_helps_ours() -> Finding:
    """Compare ACC and F of both methods at the two buffer sizes of each dataset."""
    against, confounded = [], 0
    for method in OURS:
        for small, large in buffer_pairs(method):
            if large.acc < small.acc:
                against.append(f"ACC of {method} {small.dataset} {small.acc:g} -> {large.acc:g}")
            if large.forgetting is not None and small.forgetting is not None and large.forgetting > small.forgetting:
                against.append(f"F of {method} {small.dataset} {small.forgetting:g} -> {large.forgetting:g}")
            runs = {r.memory: r for r in paper().runs(small.dataset, method)}
            settings = {
                (r.learning_rate, r.optimizer, r.V, r.delta, r.task_batch_size)
                for r in (runs[small.memory], runs[large.memory])
            }
            confounded += len(settings) > 1
    text = (
        f"{'; '.join(against) or 'ACC rises and F falls everywhere'} ({confounded} of 6 comparisons change other "
        "settings than M too)"
    )
    return Finding("false" if against else "holds", None, text, {"against": against, "confounded": confounded})


@claim(
    id="tab-memory-helps-all",
    label="tab:merged_main",
    section=SECTION,
    statement="No replay method of the main table loses accuracy when its buffer grows.",
    recorded="false",
    explain="""What one expects of a buffer (the text after thm:queue_stability: more memory, lower deviation). Every
        method with different numbers for the two buffer sizes of a dataset is compared. The margin is the
        worst change of ACC in
        points.""",
)
def memory_helps_all() -> Finding:
    """Compare the ACC of every replay method at the two buffer sizes of each dataset."""
    changes, rises = {}, {}
    for method in main_table().methods:
        for small, large in buffer_pairs(method):
            name = f"{method} {small.dataset.removeprefix('split-')}"
            changes[name] = large.acc - small.acc
            if small.forgetting is not None and large.forgetting is not None:
                rises[name] = large.forgetting - small.forgetting
    losers = {name: change for name, change in changes.items() if change < 0}
    worst, highest = min(changes.values()), max(rises, key=lambda name: rises[name])
    text = (
        f"ACC falls in {len(losers)} of {len(changes)} pairs: "
        f"{', '.join(f'{n} {c:+.2f}' for n, c in losers.items()) or 'none'}; largest rise of F: {highest} "
        f"{rises[highest]:+.2f}"
    )
    return Finding("false" if losers else "holds", worst, text, {"losers": losers})
