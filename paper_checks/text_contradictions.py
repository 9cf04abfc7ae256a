"""Contradictions between the text, the captions and the tables of the experiments."""

from __future__ import annotations

import math

import numpy as np

from coldtheory.claims import Finding, Verdict
from coldtheory.paper import fact, paper
from paper_checks import claim
from paper_checks.tables_arithmetic import slacks


def same_value(*ids: str, otherwise: Verdict = "false") -> Finding:
    """Do these places of the paper say the same? One line with what each says."""
    found = [fact(id) for id in ids]
    values = {str(f.value) for f in found}
    text = "; ".join(f"{f.label}: {f.says}" for f in found)
    data = {f.id: f.value for f in found}
    return Finding("holds" if len(values) == 1 else otherwise, None, text, data)


def largest_possible_tasks(dataset: str, limit: int = 1000) -> int:
    """The largest T for which every printed (ACC, F) pair of a dataset is possible (see tab-accf-bound)."""
    return max((tasks for tasks in range(2, limit) if all(s.slack >= 0 for s in slacks({dataset}, tasks))), default=1)


@claim(
    id="text-cifar100-tasks",
    label="supp:Exp_results",
    section="Dataset Details",
    statement="Split-CIFAR100 has 5 tasks of 20 classes.",
    recorded="false",
    explain="""
        The dataset description says 5 tasks of 20 classes; both hyper-parameter tables say 20 tasks (hence 5 classes
        each: 5*20 = 20*5 = 100, so the class count cannot decide, and a swap of the two numbers is likely). The printed
        (ACC, F) pairs are a witness: ACC <= 1 - (T-1)F/T gets harder as T grows, and the evidence names the largest T
        for which all CIFAR100 pairs are possible. The margin is -(difference of the two task numbers).""",
)
def cifar100_tasks() -> Finding:
    """Compare text and tables, and find the largest number of tasks that the printed pairs allow."""
    split = fact("cifar100-split").value
    dataset = paper().datasets["split-cifar100"]
    in_tables = sorted(paper().tasks_in_tables(dataset.key))
    agree = in_tables == [split["tasks"]] and split["tasks"] * split["classes_per_task"] == dataset.total_classes
    possible = largest_possible_tasks(dataset.key)
    text = (
        f"text: {split['tasks']} tasks of {split['classes_per_task']} classes; hyper-parameter tables: {in_tables} "
        "tasks; "
        f"the printed (ACC, F) pairs are possible for at most {possible} tasks"
    )
    margin = -float(max(abs(t - split["tasks"]) for t in in_tables))
    return Finding("holds" if agree else "false", margin, text, {"in_tables": in_tables, "largest_possible": possible})


@claim(
    id="text-task-counts",
    label="tab:hyperparams_1",
    section="Dataset Details",
    statement="For the other datasets, tasks and classes per task of the text match the tables and the class count.",
    recorded="holds",
    explain="""Where the text gives numbers: tasks times classes per task must be the number of classes of the
        dataset, and the '# Tasks' rows must agree. (PMNIST: the text gives no number of tasks.)""",
)
def task_counts() -> Finding:
    """Compare tasks times classes per task with the class count and with the tables."""
    wrong, checked = [], []
    for data in paper().datasets.values():
        if data.key == "split-cifar100" or data.tasks is None or data.classes_per_task is None:
            continue
        checked.append(data.name)
        if paper().tasks_in_tables(data.key) - {data.tasks} or data.tasks * data.classes_per_task != data.total_classes:
            wrong.append(data.name)
    text = f"{', '.join(wrong)} do not match" if wrong else f"{', '.join(checked)} match"
    return Finding("false" if wrong else "holds", None, text, {"wrong": wrong})


@claim(
    id="text-tiny-65",
    label="fig:varying_epochs_batchsize_online",
    section="Additional experiments",
    statement="On TinyImageNet, 5 epochs give about 65 % and F of 0.04 to 0.06 for COLD and COLD-ORACLE.",
    recorded="false",
    explain="""
        tab:hyperparams_1 and tab:hyperparams_2 give 5 epochs for every TinyImageNet run, so tab:merged_main
        shows that very
        setting at two buffer sizes. 'About 65' is read as 64 to 66. The margin is the best printed ACC minus 64, in
        points. A larger buffer than any in the tables could explain the figure, but none is named.""",
)
def tiny_sixty_five() -> Finding:
    """Compare the text's numbers with the TinyImageNet cells at 5 epochs."""
    said = fact("tiny-epochs").value
    runs = {(r.method, r.memory) for r in paper().runs("split-tinyimagenet") if r.epochs == said["epochs"]}
    cells = [
        c
        for c in paper().table("tab:merged_main").cells
        if c.dataset == "split-tinyimagenet" and (c.method, c.memory) in runs
    ]
    low, high = said["forgetting"]
    fitting = [
        c for c in cells if c.forgetting is not None and low <= c.forgetting <= high and abs(c.acc - said["acc"]) <= 1
    ]
    listed = ", ".join(f"{c.method} M={c.memory} {c.acc:g}/{c.forgetting:g}" for c in cells)
    best = max(c.acc for c in cells)
    both = {c.method for c in fitting} >= {"COLD", "COLD-ORACLE"}
    text = f"tables at {said['epochs']} epochs (ACC/F): {listed}; {len(fitting)} of {len(cells)} fit"
    return Finding("holds" if both else "false", best - (said["acc"] - 1), text)


@claim(
    id="text-memory-sweep",
    label="fig:memory_delta",
    section="Ablation and Sensitivity Analysis",
    statement="The sweeps over stored samples per task use one range.",
    recorded="holds with correction",
    explain="""The main text (CIFAR100) goes from 50 to 500 per task, the supplement (CIFAR10, TinyImageNet) lists 50
        to 400. The two are about different datasets, so both can be right; but then the trend above 400 is
        shown for CIFAR100 only.""",
)
def memory_sweep() -> Finding:
    """Compare the two printed ranges of the sweep."""
    return same_value("memory-sweep-main", "memory-sweep-supplement", otherwise="holds with correction")


@claim(
    id="text-best-v",
    label="fig:varying_V",
    section="Ablation and Sensitivity Analysis",
    statement="V = 100 is the best choice on Split-CIFAR100 for both methods.",
    recorded="not reproducible here",
    explain="""The tables' CIFAR100 runs, which the text calls tuned, use other values of V, all below 100. Powers of
        ten may be all that the sweep tried; only runs can tell.""",
)
def best_v() -> Finding:
    """List the values of V in the tables' CIFAR100 runs."""
    used = {f"{r.method} M={r.memory}": r.V for r in paper().runs("split-cifar100")}
    listed = ", ".join(f"{name} V={v:g}" for name, v in used.items())
    text = (
        f"ablation: V={fact('best-v').value:g}; tuned runs of the tables: {listed}; a sweep of V on CIFAR100 would "
        "settle it"
    )
    return Finding("not reproducible here", None, text, {"used": used})


@claim(
    id="text-delta-effect",
    label="fig:delta_coldeff",
    section="Ablation and Sensitivity Analysis",
    statement="""A larger delta lowers average accuracy and raises forgetting (main text); it helps the current task
        and hurts past ones (supplement).""",
    recorded="holds with correction",
    explain="""
        The two sentences differ in tone (a surprise, a trade-off) but not in logic: 'current task' and 'average' are
        different quantities. If delta raises each task's accuracy when learnt by x and lowers final accuracy of past
        tasks by y, then ACC changes by (x - (T-1)y)/T, which is negative as soon as y > x/(T-1). They do contradict
        each other on forgetting only if one said less and the other more; both say more. What needs correction is
        the main text's reason, that metrics and theory differ: the ordinary trade-off explains it.""",
)
def delta_effect() -> Finding:
    """Compute an example in which both sentences are true."""
    main, supplement = fact("delta-main").value, fact("delta-supplement").value
    tasks = max(r.tasks for r in paper().hyperparameters)
    gain, loss = 0.05, 0.01  # an example in which both sentences are true
    change = (gain - (tasks - 1) * loss) / tasks
    compatible = main["forgetting"] == supplement["forgetting"] and change < 0
    text = (
        f"both say forgetting gets {main['forgetting']}; current task {gain:+.0%} and past tasks {-loss:+.0%} give "
        f"ACC {100 * change:+.2f} points at T={tasks}, so both can be true"
    )
    return Finding("holds with correction" if compatible else "false", None, text)


@claim(
    id="text-single-parameter",
    label="sec:intro",
    section="Introduction",
    statement="The stability-plasticity trade-off is tuned through the single parameter V.",
    recorded="holds with correction",
    explain="""The supplement describes delta as a second control of the same trade-off, and the tables tune both:
        the evidence counts the distinct values. V is the single parameter once delta is given.""",
)
def single_parameter() -> Finding:
    """Count the distinct values of V and delta in the tables."""
    knobs = [*fact("single-knob").value, *fact("delta-knob").value]
    deltas, vs = (sorted({getattr(r, name) for r in paper().hyperparameters}) for name in ("delta", "V"))
    text = (
        f"controls named: {', '.join(knobs)}; the tables use {len(vs)} values of V ({vs[0]:g} to {vs[-1]:g}) and "
        f"{len(deltas)} of delta ({deltas[0]:g} to {deltas[-1]:g})"
    )
    single = len(set(knobs)) == 1 or len(deltas) == 1
    return Finding("holds" if single else "holds with correction", None, text)


@claim(
    id="text-baseline-list",
    label="subsec:largescale_evaluation",
    section="Comparison with Baselines",
    statement="The baseline lists name all baselines of the main table, lettered without a gap.",
    recorded="false",
    explain="""Both lists (main text and supplement) are compared with the rows of tab:merged_main and with the
        alphabet.""",
)
def baseline_list() -> Finding:
    """Compare both lists with the rows of the main table and with the alphabet."""
    baselines = {m for m in paper().table("tab:merged_main").methods if not m.startswith("COLD")}
    problems = []
    for name in ("main-baselines", "supplement-baselines"):
        said = fact(name).value
        missing = sorted(baselines - set(said["methods"]))
        span = {chr(c) for c in range(ord(said["letters"][0]), ord(said["letters"][-1]) + 1)}
        skipped = sorted(span - set(said["letters"]))
        if missing or skipped:
            problems.append(
                f"{name}: without {', '.join(missing) or 'nothing'}, skips letter {', '.join(skipped) or 'none'}"
            )
    return Finding("false" if problems else "holds", None, "; ".join(problems) or "both lists are complete")


@claim(
    id="text-replay-noise",
    label="fig:memory_delta",
    section="Ablation and Sensitivity Analysis",
    statement="The noise of the replay gradient scales as O(1/M).",
    recorded="holds with correction",
    explain="""
        The supplement says that the mean SQUARE is O(1/M); the noise itself is then O(1/sqrt(M)). Sampling supports the
        supplement: the mean of m numbers drawn without replacement from n has variance (s^2/m)(n-m)/(n-1), whose root
        falls like m^(-1/2) for m << n. The evidence is the log-log slope of that root between m = 10 and 1000,
        n = 10^6.""",
)
def replay_noise() -> Finding:
    """Compute the exponent of the noise for sampling without replacement."""
    n, small, large = 1e6, 10.0, 1000.0
    root = [math.sqrt((n - m) / (n - 1) / m) for m in (small, large)]
    slope = math.log(root[1] / root[0]) / math.log(large / small)
    main, supplement = fact("noise-main").value, fact("noise-supplement").value
    text = f"noise exponent: main text {main:g}, supplement {supplement:g}, sampling without replacement {slope:.3f}"
    verdict: Verdict = (
        "holds" if abs(main - slope) < 0.05 else "holds with correction" if abs(supplement - slope) < 0.05 else "false"
    )
    return Finding(verdict, None, text)


@claim(
    id="text-references-merge",
    label="fig:baselines_supple",
    section="Additional experiments",
    statement="As M grows, the best past model and the previous model become equivalent references.",
    recorded="false",
    explain="""
        A large buffer makes hatPhi_k equal to Phi_k; it does not make Phi_k equal at different models. Example with
        a perfect memory (hatPhi = Phi): Phi_k(w) = (w - a_k)^2/2, a = (0, 1), models w_1 = 0 and w_2 = 1/2 (half a
        step towards a_2). For task 1 at t = 3 the best past model is w_1 with loss 0, the previous one w_2 with loss
        1/8: the two constraints differ by 1/8 however large M is. The margin is minus that difference.""",
)
def references_merge() -> Finding:
    """Compute both reference losses for two quadratic tasks with a perfect memory."""
    models, optimum = np.array([0.0, 0.5]), 0.0
    losses = 0.5 * (models - optimum) ** 2
    gap = float(losses[-1] - losses.min())
    text = (
        f"two quadratic tasks, perfect memory: reference loss of task 1 is {losses[-1]:g} (previous model) against "
        f"{losses.min():g} (best model)"
    )
    return Finding("false" if gap > 0 else "holds", -gap, text)


@claim(
    id="text-best-model-owner",
    label="fig:baselines_supple",
    section="Additional experiments",
    statement="With a small buffer it is COLD whose best-model reference helps.",
    recorded="holds with correction",
    explain="""Algorithm 1 gives the best past model to COLD-ORACLE and the previous model to COLD; read ORACLE for
        COLD.""",
)
def best_model_owner() -> Finding:
    """Compare the text with the references that Algorithm 1 gives to the two methods."""
    return same_value("best-model-owner-note", "best-model-owner-algorithm", otherwise="holds with correction")


@claim(
    id="text-accuracy-index",
    label="subsec:setup",
    section="Experimental Setup",
    statement="ACC averages a_{T,j} over j = 1..T, where a_{t,j} is defined for j < t.",
    recorded="holds with correction",
    explain="""The sum uses a_{T,T}, which the definition (j < t) leaves out; j <= t is meant. The bound ACC <=
        ((T-1)(1-F)+1)/T uses a_{T,T} <= 1.""",
)
def accuracy_index() -> Finding:
    """Compare the range of j in the definition with the range in its use."""
    said = fact("accuracy-index").value
    defined, used = said["last_index_defined_minus_t"], said["last_index_used_minus_t"]
    text = f"defined up to j = t{defined:+d}, used up to j = t{used:+d}"
    return Finding("holds" if used <= defined else "holds with correction", None, text)
