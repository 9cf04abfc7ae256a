"""What the text says about the theory, against the statements and proofs themselves."""

from __future__ import annotations

import numpy as np

from coldtheory.claims import Finding, Verdict
from coldtheory.paper import fact, facts, paper, statements
from paper_checks import _evidence as e
from paper_checks import claim
from paper_checks.text_contradictions import same_value

TOY = "Theoretical Validation"
THEORY = "Gradient-based Optimization"


def current_task_share(V: float, queue: float) -> float:
    """Where the minimiser of V (w-1)^2/2 + Q w^2/2 lies between the past optimum 0 and the current optimum 1."""
    return V / (V + queue)


@claim(
    id="text-v-direction",
    label="subsec:exp_theoryvalidation",
    section=TOY,
    statement="Larger V favours stability at the expense of plasticity.",
    recorded="false",
    explain="""
        V multiplies the loss of the current task in eq:dpp_opt_problem, so a larger V weighs the past less. For one
        past task hatPhi_1 = w^2/2 with queue Q and a current task Phi = (w-1)^2/2 the minimiser is V/(V+Q), which
        goes to the current optimum as V grows. All other places of the paper say the same (large V: plasticity, O(V)
        queues). The margin is minus the increase of that share from V = 1 to V = 100 at Q = 10.""",
)
def v_direction() -> Finding:
    """Compute where the minimiser lies for two values of V, and compare what the text says at each place."""
    low, high = current_task_share(1.0, 10.0), current_task_share(100.0, 10.0)
    computed = "plasticity" if high > low else "stability"
    places = {name: fact(name).value for name in ("v-toy", "v-theory", "v-queue", "v-supplement")}
    agreeing = sum(value == computed for value in places.values())
    text = (
        f"share of the current optimum at Q=10: {low:.2f} (V=1) to {high:.2f} (V=100), i.e. {computed}; {agreeing} "
        f"of {len(places)} places agree, the toy section says {places['v-toy']}"
    )
    return Finding("holds" if places["v-toy"] == computed else "false", low - high, text, places)


@claim(
    id="text-toy-algorithm",
    label="fig:theory_plots",
    section=TOY,
    statement="The toy figures show COLD (Case 1), to which Corollary 1 applies.",
    recorded="false",
    explain="""The aim and the caption name COLD, but the run is said to be COLD-ORACLE, i.e. Case 2, to which
        Theorem 4 and both corollaries do not apply.""",
)
def toy_algorithm() -> Finding:
    """Compare the algorithm named in the caption with the one that was run."""
    return same_value("toy-aim", "toy-caption", "toy-run")


@claim(
    id="text-toy-steps",
    label="subsec:exp_theoryvalidation",
    section=TOY,
    statement="The toy runs the update that the corollaries analyse (one gradient step per task).",
    recorded="holds with correction",
    explain="""The toy takes 3 steps per task. A footnote says that one step shows the same trend, so the correction is
        to use J = 1, or bounds for J steps. The limitations also say that several steps per task are not studied.""",
)
def toy_steps() -> Finding:
    """Compare the number of steps in the toy with that of the corollaries."""
    return same_value("theory-steps", "toy-steps", "multi-step-not-studied", otherwise="holds with correction")


@claim(
    id="text-thm4-case",
    label="thm:avg_queue_bound_case2",
    section=THEORY,
    statement="Theorem 4 is stated, announced and proved for the same reference model.",
    recorded="holds with correction",
    explain="""
        Statement: Case 1 (previous model). The lead-in names COLD-ORACLE and the proof says Case 2, while the
        formula it uses, reference = w_{t-1} for all k, is Case 1 by definition. The label of the theorem says
        case2, that of the
        proof's section case1. Read Case 1 everywhere.""",
)
def thm4_case() -> Finding:
    """Compare the cases that the statement, the lead-in and the proof name."""
    return same_value("thm4-statement", "thm4-lead-in", "thm4-proof", otherwise="holds with correction")


@claim(
    id="text-queue-weights",
    label="eq:dpp_opt_problem",
    section="Proposed Algorithm",
    statement="The objective weighs the constraint of task k in the same way wherever it is used.",
    recorded="false",
    explain="""
        Main text (drift lemma, objective, gradient step): weight Q_k[t-1]. Smoothness constant and all proofs: weight
        Q_k[t-1]/(t-1). The Lyapunov function carries 1/(2(t-1)), so the drift bound that follows from it is the mean
        form; with the sum form the minimiser is different and the smoothness constant is t-1 times larger in its
        queue part. Results proved for one form do not transfer to the other without a factor t-1.""",
)
def queue_weights() -> Finding:
    """Group the places of the paper by the weight that they use."""
    places = [f for name, f in facts().items() if name.startswith("weights-")]
    by_weight: dict[str, list[str]] = {}
    for f in places:
        by_weight.setdefault(str(f.value), []).append(f.label)
    text = "; ".join(f"{weight}: {', '.join(labels)}" for weight, labels in sorted(by_weight.items()))
    return Finding("holds" if len(by_weight) == 1 else "false", None, text, by_weight)


@claim(
    id="text-proof-slips",
    label="app:queue_stability",
    section="Theoretical Appendix",
    statement="The words of the proofs describe what the formulas do.",
    recorded="holds with correction",
    explain="""
        Slips that a reader can correct, each with what is printed and what is meant: the comparator of Theorem 1 (the
        ideal problem, not the algorithm's), the divisor in Theorem 2 (epsilon = delta - delta'), the objective and
        the descent inequality in Theorem 3 (the queues are missing; one eta too many), the reason for the last
        step of Theorem 4
        (Delta hatPhi_k(w, w) = -delta, not optimality) and the symbol in Corollary 2.""",
)
def proof_slips() -> Finding:
    """List what is printed and what is meant at each slip."""
    slips = {name: f for name, f in facts().items() if name.startswith("slip-")}
    wrong = {name: f.value for name, f in slips.items() if f.value["printed"] != f.value["meant"]}
    listed = "; ".join(f"{slips[name].label}: {v['printed']} for {v['meant']}" for name, v in wrong.items())
    return Finding("holds with correction" if wrong else "holds", None, listed or "no slip on record", wrong)


@claim(
    id="text-algorithm-lines",
    label="alg:COLD",
    section="Proposed Algorithm",
    statement="References to steps of Algorithm 1 point to its optimisation step.",
    recorded="false",
    explain="The box has 7 numbered lines, the optimisation is line 6; the text calls it step 8 once and step 6 once.",
)
def algorithm_lines() -> Finding:
    """Compare the cited steps with the numbered lines of the box."""
    box = fact("algorithm-box").value
    cited = [fact(name).value for name in ("step-reference-exact", "step-reference-gd")]
    right = all(step == box["optimisation_line"] for step in cited)
    text = (
        f"the text cites steps {', '.join(map(str, cited))}; the optimisation is line {box['optimisation_line']} of "
        f"{box['lines']}"
    )
    return Finding("holds" if right else "false", None, text)


@claim(
    id="text-algorithm-queue-update",
    label="alg:COLD",
    section="Proposed Algorithm",
    statement="Algorithm 1 contains all that its guarantees are about.",
    recorded="holds with correction",
    explain="""No line of the box updates the queues, so as printed every Q_k stays 0 and the method is plain
        fine-tuning. The update eq:queue_update must follow line 6. Only Q_1 is initialised; all Q_k[0] = 0 is meant
        (text).""",
)
def algorithm_queue_update() -> Finding:
    """Count the lines of the box that update a queue."""
    count = fact("algorithm-box").value["queue_update_lines"]
    text = f"{count} lines of the box update the queues; eq:queue_update has to be added after the optimisation step"
    return Finding("holds" if count else "holds with correction", None, text)


@claim(
    id="text-delta-zero",
    label="alg:COLD",
    section="Proposed Algorithm",
    statement="delta = 0 is allowed.",
    recorded="holds with correction",
    explain="""The algorithm runs with delta = 0, but its guarantees do not cover it: Theorem 2 divides by delta -
        delta' with delta' > 0, Theorem 4 and Corollaries 1 and 2 divide by delta.""",
)
def delta_zero() -> Finding:
    """Compare the smallest allowed delta with the statements that divide by it."""
    smallest = float(fact("delta-zero").value)
    used = min(r.delta for r in paper().hyperparameters)
    text = (
        f"smallest allowed delta {smallest:g} makes the right sides of Theorem 4 and both corollaries infinite; "
        f"smallest used {used:g}"
    )
    return Finding("holds" if smallest > 0 else "holds with correction", smallest, text)


@claim(
    id="text-no-dual-updates",
    label="sec:exp",
    section="Conclusions",
    statement="The virtual queues need no dual-variable updates.",
    recorded="false",
    explain="""
        Dual ascent for constraints g_k(w) <= 0 moves a multiplier to max(lambda_k + s g_k, 0). With step s = 1 and
        g_k = hatPhi_k(w) - hatPhi_k(ref) - delta this is eq:queue_update, and the objective V Phi + sum Q_k g_k is V
        times the Lagrangian with multipliers Q_k/V. The evidence takes the simulated queues of HIGH and CONFLICT,
        and repeats them by dual ascent on the losses of the same models. The margin is the largest relative difference
        minus 1e-6.""",
)
def no_dual_updates() -> Finding:
    """Repeat simulated queues by projected dual ascent, and compare."""
    off = 0.0
    for regime in ("high", "conflict"):
        run = e.toy(regime)
        constraint = np.where(np.tri(run.T, k=-1, dtype=bool), run.increments - run.delta[..., None, None], 0.0)
        multiplier = np.zeros_like(run.Q[..., 0, :])
        for t in range(run.T):
            multiplier = np.clip(multiplier + constraint[..., t, :], 0.0, None)  # a step of size 1 up the Lagrangian
            off = max(off, float(np.abs(multiplier - run.Q[..., t + 1, :]).max() / run.largest_loss.max()))
    text = f"simulated queues and projected dual ascent with step 1 differ by at most {off:.1e} of the largest loss"
    return Finding("false" if off < 1e-6 else "holds", off - 1e-6, text)


@claim(
    id="text-no-algorithm-can",
    label="sec:exp",
    section="Conclusions",
    statement="""The results show that no algorithm has low regret and negligible forgetting under large variation,
        and that COLD is optimal there.""",
    recorded="false",
    explain="""A statement about all algorithms, or optimality, needs a lower bound on what any algorithm incurs.
        Every theorem, lemma and corollary of the paper bounds a quantity of COLD from above. Parts of it are true all
        the same, by theorems that the paper lacks: with two kinds of task no model is good at both, and COLD's models
        are Pareto-optimal for every V (pareto); but where the ideal problem is feasible, a method without a trade-off
        exists, under any variation (no-tradeoff). It stays false: the paper's results do not show it, and as a
        statement about all streams it is not true. The margin is minus the number of missing lower bounds (one).""",
)
def no_algorithm_can() -> Finding:
    """Count the statements of the paper that are lower bounds."""
    below = [s.name for s in statements() if s.bounds_from != "above"]
    text = (
        f"{len(below)} of {len(statements())} statements are lower bounds ({', '.join(below) or 'none'}); upper "
        "bounds cannot show impossibility or optimality"
    )
    return Finding("holds" if below else "false", None if below else -1.0, text)


@claim(
    id="text-every-task",
    label="sec:exp",
    section="Conclusions",
    statement="The performance and forgetting bounds hold at every task.",
    recorded="holds with correction",
    explain="""The theorems and corollaries bound (1/T) sums over tasks, for every T, and not the loss, gradient or
        queue of a single task. (The O(V) part of Theorem 4 is per task.) Correct: at every horizon T, on average.""",
)
def every_task() -> Finding:
    """Count the statements that bound an average over tasks."""
    main = [s for s in statements() if s.name.startswith(("Theorem", "Corollary"))]
    averaged = [s.name for s in main if s.average_over_tasks]
    text = f"{len(averaged)} of {len(main)} theorems and corollaries bound an average over tasks: {', '.join(averaged)}"
    return Finding("holds" if not averaged else "holds with correction", None, text)


@claim(
    id="text-variation-in-all",
    label="sec:intro",
    section="Introduction",
    statement="Both the performance bounds and the queue bounds are expressed through task variation.",
    recorded="holds with correction",
    explain="""Theorem 1 bounds the loss gap by (1/(VT)) sum Delta_t, in which no sup|Phi_t - Phi_{t-1}| occurs:
        Delta_t measures the run of the algorithm. The other theorems and the corollaries do have a variation term.""",
)
def variation_in_all() -> Finding:
    """List the statements without a variation term."""
    main = [s for s in statements() if s.name.startswith(("Theorem", "Corollary"))]
    without = [s.name for s in main if not s.task_variation]
    text = (
        f"without a variation term: {', '.join(without) or 'none'} ({len(main) - len(without)} of {len(main)} have one)"
    )
    verdict: Verdict = "holds" if not without else "false" if len(without) == len(main) else "holds with correction"
    return Finding(verdict, None, text, {"without": without})


@claim(
    id="text-nonconvex",
    label="sec:exp",
    section="Conclusions",
    statement="Non-convex objectives are covered (introduction) and left to future work (conclusion).",
    recorded="holds with correction",
    explain="""Only smoothness is assumed (assump:smoothness), so the introduction is right and the conclusion's item
        is not.""",
)
def nonconvex() -> Finding:
    """Compare what the introduction and the conclusion say."""
    return same_value("nonconvex-novelty", "nonconvex-future", otherwise="holds with correction")


@claim(
    id="text-ideal-feasible",
    label="sec:cl_prob_form",
    section="Problem Formulation",
    statement="Some delta' makes the ideal problem feasible; a later section shows it.",
    recorded="holds with correction",
    explain="""
        No section shows it, and the sentence before the footnote says the opposite. It is true when hatPhi_k is
        bounded on W: delta' = sup_W hatPhi_k - inf_W hatPhi_k (e.g. l r^2/2 by lemm:losses_boundedby_const, r the
        largest distance to a stationary minimiser) admits every w of W.""",
)
def ideal_feasible() -> Finding:
    """Compare the footnote with the sentence before it."""
    return same_value("delta-prime-footnote", "delta-prime-text", otherwise="holds with correction")


@claim(
    id="text-fixed-rate-experiments",
    label="tab:hyperparams_1",
    section="Hyperparameter Settings",
    statement="The experiments run the analysed method, gradient descent with a fixed step on full losses.",
    recorded="false",
    explain="""False and not merely not applicable: the sentence is about what was run. The benchmark runs use ADAM
        or SGD with momentum, mini-batches and 5 epochs per task; no statement of
        the paper covers that update, so the theory neither predicts nor is tested by the tables.""",
)
def fixed_rate_experiments() -> Finding:
    """Count the optimisers of the listed runs."""
    analysed = str(fact("fixed-rate").value)
    used = [r.optimizer for r in paper().hyperparameters]
    counts = ", ".join(f"{name} {used.count(name)}" for name in sorted(set(used)))
    outside = [name for name in used if name != analysed]
    text = f"optimisers of the {len(used)} listed runs: {counts}; {len(used) - len(outside)} use plain {analysed}"
    return Finding("false" if outside else "holds", None, text)
