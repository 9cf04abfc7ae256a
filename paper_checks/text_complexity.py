"""Claims about cost: the complexity table against the update it describes, and against the text around it."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from coldtheory.claims import Finding
from coldtheory.paper import Complexity, fact, paper
from paper_checks import claim

SECTION = "Complexity Analysis"
LABEL = "tab:complexity_comparison"


def evaluate(expression: str, values: Mapping[str, float]) -> float:
    """The value of a cost term such as "(b+m)*C": names, numbers, +, * and ** only."""

    def value(node: ast.expr) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        if isinstance(node, ast.Name):
            return values[node.id]
        if isinstance(node, ast.BinOp):
            left, right = value(node.left), value(node.right)
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.Pow):
                return float(left**right)
        raise ValueError(f"not a cost term: {expression}")

    return value(ast.parse(expression, mode="eval").body)


def rows(method: str) -> list[Complexity]:
    """The rows of the complexity table with this method name."""
    return [row for row in paper().complexity if row.method == method]


def sample_gradients(tasks_seen: int, batch: int, memory_batch: int, queues: int | None = None) -> int:
    """Sample gradients that one step of eq:batchCOLD needs: the current batch, and m for each weighted past loss."""
    return batch + memory_batch * (tasks_seen - 1 if queues is None else queues)


@claim(
    id="text-cold-cost",
    label="sec:dpp_solution_alg",
    section="Gradient-based Optimization",
    statement="A step of COLD costs O((b+m)C), where b is the batch, m the memory batch PER TASK, C a sample gradient.",
    recorded="holds with correction",
    explain="""
        It depends on the reading of m, of which the paper has two (text-meaning-of-m): false for the printed one, a
        batch per task, and right for the m of Algorithm 1. The update eq:batchCOLD, which is the same for Case 1
        and Case 2, adds Q_k[t-1] grad hatPhi_k for every
        k < t, so
        each past task with Q_k > 0 needs its own m sample gradients: b + (t-1)m per step, i.e. O((b+tm)C), the cost
        that the paper gives for COLD-ORACLE. The two cases differ in the reference model only, which enters
        the constant part
        of the objective and never its gradient. O((b+m)C) is right for another m: the size of ONE batch over all past
        tasks (Algorithm 1); then a past task is seen m/(t-1) times per step on average. The count below is made at the
        batch sizes of the hyper-parameter tables, at the last task.""",
)
def cold_cost() -> Finding:
    """Count the sample gradients of a step at the batch sizes of the tables, and compare with the formula."""
    ratios = {}
    for run in paper().runs(method="COLD"):
        b, m, t = run.task_batch_size, run.memory_batch_size, run.tasks
        claimed = evaluate(str(fact("cold-cost").value), {"b": b, "m": m, "C": 1.0, "t": t})
        ratios[f"{run.dataset} M={run.memory}"] = (sample_gradients(t, b, m), claimed)
    worst = max(ratios, key=lambda name: ratios[name][0] / ratios[name][1])
    needed, claimed = ratios[worst]
    text = (
        f"at the last task of {worst} a step needs {needed} sample gradients, the formula gives {claimed:.0f} "
        f"({needed / claimed:.1f} times too few)"
    )
    exact = all(need <= said for need, said in ratios.values())
    return Finding("holds" if exact else "holds with correction", None, text, {"needed_and_claimed": ratios})


@claim(
    id="text-two-cold-rows",
    label=LABEL,
    section=SECTION,
    statement="Each row of the complexity table names one method.",
    recorded="false",
    explain="Two rows are called COLD with different costs; the second is the cost the text gives for COLD-ORACLE.",
)
def two_cold_rows() -> Finding:
    """Look for method names on more than one row."""
    names = [row.method for row in paper().complexity]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not twice:
        return Finding("holds", None, f"{len(names)} rows, {len(names)} names")
    costs = "; ".join(f"{name}: O({') and O('.join(row.operations for row in rows(name))})" for name in twice)
    return Finding("false", None, f"the same name on several rows: {costs}", {"twice": twice})


@claim(
    id="text-oracle-cost-er",
    label="supp:Exp_results",
    section="Complexity and Scalability",
    statement="COLD-ORACLE costs as much as ER, O((b+m)C), and stores only O(T) more scalars.",
    recorded="false",
    explain="""
        The complexity table and the main text give COLD-ORACLE O((b+tm)C) computation and O(td) more storage (all past
        models). Both disagree with this paragraph, the first by the factor (b+tm)/(b+m), the second by t models of
        dimension d. The margin is 1 - (table's cost)/(this paragraph's cost) at the last task.""",
)
def oracle_cost_like_er() -> Finding:
    """Compare the table's cost of COLD-ORACLE with that of the paragraph."""
    table = max(rows("COLD"), key=lambda row: len(row.operations))
    run = max(paper().runs(method="COLD-ORACLE"), key=lambda r: r.tasks * r.memory_batch_size / r.task_batch_size)
    values = {"b": run.task_batch_size, "m": run.memory_batch_size, "t": run.tasks, "C": 1.0}
    in_table, in_text = evaluate(table.operations, values), evaluate(fact("oracle-cost-er").value["operations"], values)
    stores_models = "t*d" in table.storage
    text = (
        f"the table says O({table.operations}) and O({table.storage}): {in_table:.0f} against {in_text:.0f} sample "
        "gradients on "
        f"{run.dataset} M={run.memory}" + (", and t stored models" if stores_models else "")
    )
    same = in_table <= in_text and not stores_models
    return Finding("holds" if same else "false", 1 - in_table / in_text, text)


@claim(
    id="text-cold-storage",
    label="alg:COLD",
    section=SECTION,
    statement="COLD stores O(Mp + t) beyond the model.",
    recorded="holds with correction",
    explain="""
        Case 1 compares with the previous model, and the text after Algorithm 1 says that this model, of size d, is
        stored; the table leaves it out. Correct: O(Mp + t + d). It can be avoided: hatPhi_k(w_{t-1}) for k < t
        are t-1 scalars
        that can be computed on the whole buffer when task t-1 ends, but then they must not be re-estimated on
        batches.""",
)
def cold_storage() -> Finding:
    """Compare the printed storage with what the text says is stored."""
    printed = min((row.storage for row in rows("COLD")), key=len)
    extra = str(fact("cold-stores-model").value)
    names = {node.id for node in ast.walk(ast.parse(printed, mode="eval")) if isinstance(node, ast.Name)}
    listed = extra in names
    text = f"the table prints O({printed}); the text stores the previous model too, O({extra})"
    return Finding("holds" if listed else "holds with correction", None, text)


@claim(
    id="text-agem-dearer",
    label=LABEL,
    section=SECTION,
    statement="GEM and A-GEM are much more expensive per step than COLD.",
    recorded="false",
    explain="""
        The table prints O(mC + d) for A-GEM and O((b+m)C) for COLD. A sample gradient touches each of the d parameters,
        so C >= d and mC + d <= (m+1)C <= (b+m)C for every b >= 1: by the paper's own table A-GEM is never dearer. (The
        printed A-GEM cost lacks the current batch, bC; with it the two differ by d only.) For GEM the claim holds by
        the table: tmC alone exceeds (b+m)C once (t-1)m > b. The margin is 1 - COLD/A-GEM at C = d.""",
)
def agem_dearer() -> Finding:
    """Compare the printed costs of A-GEM and COLD at the settings of the tables."""
    ratios = []
    for run in paper().runs(method="COLD"):
        values = {"b": run.task_batch_size, "m": run.memory_batch_size, "t": run.tasks, "C": 1.0, "d": 1.0}
        cold = evaluate(min((row.operations for row in rows("COLD")), key=len), values)
        ratios.append(evaluate(rows("A-GEM")[0].operations, values) / cold)
    text = (
        f"A-GEM costs {min(ratios):.2f} to {max(ratios):.2f} times COLD by the printed terms (C = d, the dearest "
        "case for A-GEM)"
    )
    return Finding("holds" if min(ratios) > 1 else "false", 1 - 1 / max(ratios), text, {"ratios": ratios})


@claim(
    id="text-agem-full-buffer",
    label="supp:Exp_results",
    section="Complexity and Scalability",
    statement="A-GEM needs a gradient over the whole memory buffer at each step.",
    recorded="false",
    explain="""The complexity table counts a memory batch, O(mC + d), for the same method; a full pass would be O(MC
        + d). The margin is 1 - M/m at the largest buffer of the tables.""",
)
def agem_full_buffer() -> Finding:
    """Compare the buffer with the memory batch that the table counts."""
    operations = rows("A-GEM")[0].operations
    names = {node.id for node in ast.walk(ast.parse(operations, mode="eval")) if isinstance(node, ast.Name)}
    run = max(paper().hyperparameters, key=lambda r: r.memory / r.memory_batch_size)
    agree = str(fact("agem-full-buffer").value) in names
    text = (
        f"the table counts O({operations}); M/m = {run.memory / run.memory_batch_size:.0f} on {run.dataset} "
        f"M={run.memory}"
    )
    return Finding("holds" if agree else "false", 1.0 if agree else 1 - run.memory / run.memory_batch_size, text)


@claim(
    id="text-nccl-mechanism",
    label=LABEL,
    section="Related Works",
    statement="NCCL projects gradients on a feasible region, as GEM and A-GEM do.",
    recorded="false",
    explain="The complexity table and the introduction describe NCCL by adaptive learning rates, not by a projection.",
)
def nccl_mechanism() -> Finding:
    """Compare the text with the mechanism that the complexity table names."""
    mechanism = rows("NCCL")[0].mechanism
    agree = str(fact("nccl-projects").value) in mechanism.lower()
    return Finding(
        "holds" if agree else "false", None, f"the complexity table gives its mechanism as: {mechanism.lower()}"
    )


@claim(
    id="text-meaning-of-m",
    label="alg:COLD",
    section="Problem formulation, Algorithm 1, Complexity",
    statement="m denotes one quantity.",
    recorded="false",
    explain="""
        m is floor(M/T) stored samples per task in the problem setting, the size of one batch drawn from all past
        tasks in Algorithm 1, and a batch size per past task in the complexity analysis. The hyper-parameter tables
        print a fourth number, the memory batch size, which is none of floor(M/T).""",
)
def meaning_of_m() -> Finding:
    """Collect the meanings of m from the text and the tables."""
    meanings = [str(fact(name).value) for name in ("m-buffer", "m-batch", "m-per-task")]
    stored = {f"{r.dataset} M={r.memory}": r.memory // r.tasks for r in paper().hyperparameters}
    batches = sorted({r.memory_batch_size for r in paper().hyperparameters})
    distinct = len(set(meanings))
    text = (
        f"{distinct} meanings: {'; '.join(dict.fromkeys(meanings))}; floor(M/T) is {min(stored.values())} to "
        f"{max(stored.values())}, the tables' memory batch {batches}"
    )
    return Finding("holds" if distinct == 1 else "false", None, text, {"stored_per_task": stored})


@claim(
    id="text-compared-methods",
    label=LABEL,
    section=SECTION,
    statement="The complexity table covers the methods that the experiments compare.",
    recorded="holds with correction",
    explain="The method names of tab:complexity_comparison are compared with those of tab:merged_main.",
)
def compared_methods() -> Finding:
    """Compare the methods of the complexity table with those of the main table."""
    in_table = {row.method for row in paper().complexity}
    in_results = set(paper().table("tab:merged_main").methods)
    only_cost, only_results = sorted(in_table - in_results), sorted(in_results - in_table)
    same = not only_cost and not only_results
    text = (
        f"cost without results: {', '.join(only_cost) or 'none'}; results without cost: "
        f"{', '.join(only_results) or 'none'}"
    )
    return Finding(
        "holds" if same else "holds with correction", None, text, {"only_cost": only_cost, "only_results": only_results}
    )
