"""Section "Gradient-based Optimization": the corollaries, and what a bounded queue says about the constraint."""

from __future__ import annotations

import numpy as np

from coldtheory import from_optima, make_tasks, simulate
from coldtheory.bounds import evaluate, facts_of, follow
from coldtheory.claims import Finding, Verdict
from coldtheory.measures import rho_bar
from paper_checks import _evidence as e
from paper_checks import claim

SECTION = "Gradient-based Optimization"


@claim(
    id="cor1",
    label="thm:GDCOLD",
    section=SECTION,
    statement="""Corollary 1 (Case 1): Theorem 3's bound with the queues replaced by (D_Phi/(eta V)) r^2 l/(V delta) and
        (r^2 l/(delta eta T V^2)) sum_t Delta_t.""",
    recorded="holds with correction",
    explain=e.explanation(
        "cor1",
        "The correction is the mean of the queues in the update (cor1-mean); with the printed sum it is false "
        "(open-cor1-sum). The margin is the least relative slack of the form for mean weights.",
    ),
)
def cor1() -> Finding:
    """Evaluate the form for mean weights, and replay the instance that breaks the printed one."""
    return e.mended(e.replayed("cor1_sum"), e.tally("cor1", "mean", e.descents("mean", "previous")))


@claim(
    id="cor1-mean",
    label="thm:GDCOLD",
    section=SECTION,
    statement="Corollary 1 as printed for the update of the proofs, with the mean of the queues.",
    recorded="holds",
    explain="""
        True, although the printed derivation does not give it (cor1-derivation): if r^2 l >= 2 delta it follows
        from Theorem 3', else no queue fills. Even the part r^2 l/(V delta) of the variation term can be left out.
        The margin is the least relative slack.""",
)
def cor1_mean() -> Finding:
    """Evaluate the printed inequality with mean weights, and the form without its r^2 l part."""
    sharp = e.tally("cor1", "sharp", e.descents(reference="previous"))
    found = e.tally("cor1", "mean", e.descents("mean", "previous"))
    return e.supported(found, f"without the r^2 l/(V delta) part, mean and sum weights: {sharp}")


@claim(
    id="cor1-derivation",
    label="thm:GDCOLD",
    section=SECTION,
    statement="Corollary 1 is what one gets by putting Theorem 4 into Theorem 3.",
    recorded="false",
    explain="""
        Theorem 3's last term is (r^2 l/(eta T V^2)) sum_t Qbar[t-1]. With Theorem 4, (1/T) sum Qbar <= V
        D/delta + ..., the variation part becomes

            (r^2 l/(eta V^2)) V D/delta = (D/(eta V)) (r^2 l/delta),

        not (D/(eta V)) (r^2 l/(V delta)): a factor V is lost, and Theorem 4's missing V Phi_1(x_1)/(T delta)
        with it. The evidence substitutes at the toy settings and compares the two variation terms. The margin
        is 1 minus that ratio at V = 1000.""",
)
def cor1_derivation() -> Finding:
    """Substitute Theorem 4 into Theorem 3 at the toy settings, and compare the variation terms."""
    facts = e.toy("high")
    printed, right = (evaluate("cor1", form, facts) for form in ("printed", "corrected"))
    name = "variation through the queues"
    ratio = (right.terms[name] / printed.terms[name]).mean(axis=0)
    text = "substituted / printed variation term: " + ", ".join(
        f"{r:.4g} (V={v:g})" for r, v in zip(ratio, e.TOY_V, strict=True)
    )
    same = bool(np.allclose(ratio, 1.0))
    return Finding("holds" if same else "false", float(1.0 - ratio[-1]), text, {"ratio": ratio, "V": e.TOY_V})


@claim(
    id="cor2-gradient",
    label="cor:case1_final_result",
    section=SECTION,
    statement="Corollary 2, gradient: O(1/T + D_Phi + rho_bar/V + Delta_bar/(delta V)), eta = O(1/V), delta > delta'.",
    recorded="holds",
    explain=e.explanation(
        "cor2_gradient",
        "With explicit constants and less: no 1/delta, and delta > delta' is not needed. The margin is the least "
        "relative slack of the explicit form.",
    ),
)
def cor2_gradient() -> Finding:
    """Evaluate the form with explicit constants, and compute the factor that the printed O hides."""
    facts = e.toy("low"), e.toy("high")
    hidden = [float((f.r**2 * f.l / (f.V * f.delta))[..., 2].mean()) for f in facts]
    text = (
        f"the printed derivation hides r^2 l/(V delta) = {hidden[0]:.2g} (LOW), {hidden[1]:.2g} (HIGH) at V=200 in O(D)"
    )
    return e.supported(e.tally("cor2_gradient", "corrected", e.descents(reference="previous")), text)


@claim(
    id="cor2-queue",
    label="cor:case1_final_result",
    section=SECTION,
    statement="Corollary 2, queue: the average queue is O(V D_Phi/delta).",
    recorded="false",
    explain=e.explanation(
        "cor2_queue",
        "No constant before V D/delta helps, as D may be 0. The margin is the relative slack of the stored instance.",
    ),
)
def cor2_queue() -> Finding:
    """Replay the stored instance with D = 0, and evaluate the form with all three terms."""
    found = e.tally("cor2_queue", "corrected", e.descents(reference="previous"))
    return e.refuted(e.replayed("cor2_queue"), f"D = 0 there; with all three terms: {found}")


@claim(
    id="cor2-large-t",
    label="cor:case1_final_result",
    section=SECTION,
    statement="When D_Phi is negligible, a larger number of tasks makes the gradient average smaller.",
    recorded="holds",
    explain="""
        With equal tasks it would hold by construction: all terms of Theorem 3 but Phi_1/(T V eta) vanish. So the tasks
        differ by noise of s.d. 1e-3 around one optimum at distance 1.4: D is small but not 0, and the average could
        level off. The margin is the log-log slope over T = 50..800 with its sign changed, minus 0.5.""",
)
def cor2_large_t() -> Finding:
    """Fit the slope of the average gradient over T on nearly equal tasks."""
    lengths = np.array([50, 100, 200, 400, 800])
    noise = 1e-3 * np.random.default_rng(0).normal(size=(int(lengths[-1]), 2))
    runs = [simulate(1.0 + noise[:T], V=50.0) for T in lengths]
    average = np.array([float(run.avg_grad_sq_before) for run in runs])
    slope = float(np.polyfit(np.log(lengths), np.log(average), 1)[0])
    queue = max(float(run.Qbar.max()) for run in runs)
    text = f"nearly equal tasks: slope over T {slope:.2f}, largest Qbar {queue:.2g}"
    return Finding("holds" if slope < -0.5 else "false", -slope - 0.5, text)


@claim(
    id="cor2-larger-variation",
    label="cor:case1_final_result",
    section=SECTION,
    statement="Task variation dominates both the gradient bound and the average queue bound.",
    recorded="holds with correction",
    explain="""
        The shares of the variation term in the corrected Theorem 3 and Theorem 4, at the toy's settings V = 10..1000.
        Correct: where tasks drift (LOW and HIGH). Where they conflict the conflict and queue terms of Theorem 3 take
        over. The margin is the smallest share in LOW and HIGH minus 1/2.""",
)
def variation_dominates() -> Finding:
    """Compute the share of the variation term in Theorems 3 and 4 at the toy settings."""
    share = {}
    for regime in e.REGIMES:
        for id in ("thm3", "thm4"):
            bound = evaluate(id, "corrected", e.toy(regime))
            share[f"{id} {regime.upper()}"] = float((bound.terms["variation"] / bound.rhs).min())
    margin = min(v for k, v in share.items() if "CONFLICT" not in k) - 0.5
    always = min(share.values()) > 0.5
    text = "smallest share of the variation term: " + ", ".join(f"{v:.0%} ({k})" for k, v in share.items())
    verdict: Verdict = "false" if margin <= 0 else "holds" if always else "holds with correction"
    return Finding(verdict, margin, text, share)


@claim(
    id="cor1-alignment",
    label="thm:GDCOLD",
    section=SECTION,
    statement="Sustained negative alignment rho_{t,-} goes with longer virtual queues.",
    recorded="holds",
    explain="""
        The three regimes at V = 200 alone would decide nothing: CONFLICT was made for long queues. So streams are added
        whose neighbouring optima are equally far apart, and which go straight on, turn at random, or go back and
        forth. Within each group rho_bar (closed form over the smallest W) and the average queue must be ordered alike.
        The margin is the smallest log10 step of the queue between neighbours in that order.""",
)
def alignment() -> Finding:
    """Compare the order of the alignment with the order of the average queue within two groups of streams."""
    rho, queue = {}, {}
    for regime in e.REGIMES:
        run = simulate(make_tasks(regime, range(2)), V=200.0)
        rho[regime], queue[regime] = float(rho_bar(run).mean()), float(run.avg_Qbar.mean())
    rng = np.random.default_rng(0)
    turns = rng.normal(size=(30, 2))
    ways = {
        "straight": np.tile([1.0, 0.0], (30, 1)),
        "random": turns / np.linalg.norm(turns, axis=1, keepdims=True),
        "back": np.where(np.arange(30) % 2, 1.0, -1.0)[:, None] * [1.0, 0.0],
    }
    for name, way in ways.items():
        run = simulate(np.cumsum(way, axis=0), V=1.0, eta="auto", delta=1e-3, steps=1)
        rho[name], queue[name] = float(rho_bar(run)), float(run.avg_Qbar)
    orders = [sorted(group, key=lambda r: rho[r]) for group in (e.REGIMES, tuple(ways))]
    text = "rho_bar, average queue: " + ", ".join(f"{rho[r]:.3g}, {queue[r]:.2g} ({r})" for o in orders for r in o)
    margin = min(float(np.diff(np.log10([queue[r] for r in order])).min()) for order in orders)
    return Finding("holds" if margin > 0 else "false", margin, text, {"rho_bar": rho, "queue": queue})


@claim(
    id="constraint",
    label="par:bounded-average-queue",
    section=SECTION,
    statement="A bounded average queue implies that the average constraint is satisfied asymptotically.",
    recorded="holds with correction",
    explain=e.explanation(
        "constraint",
        "For an asymptotic form: if the average of Qbar stays bounded, the mean increment over past tasks is at most "
        "delta + e for infinitely many t, for every e > 0 (otherwise the queues would grow linearly). There is no "
        "O(1/t) rate at a fixed t. In Case 1 the double average holds with O(1/T) for every V, as no queue exceeds l "
        "r^2/2; it compares with the method's own last model, so it does not limit forgetting. The margin is the "
        "least relative slack of the double average (0: it is tight).",
    ),
)
def constraint() -> Finding:
    """Evaluate the double average on all runs, and replay the instance that breaks the printed step."""
    return e.mended(e.replayed("constraint_step"), e.tally("constraint", "corrected", e.descents()))


@claim(
    id="constraint-step",
    label="par:bounded-average-queue",
    section=SECTION,
    statement="(1/(t-1)) sum_k (hatPhi_k(w_t) - hatPhi_k(w_{t-1}) - delta) <= Q_k[t-1]/(t-1).",
    recorded="false",
    explain="""
        A queue adds up over time, this sum runs over past tasks; and the index is one too early: Q_k[t-1]
        does not know w_t yet. Read in its favour, with the newest value of the largest queue, three tasks are
        enough to break it; with the printed index two are. The margin is the relative slack of the stored
        instance.""",
)
def constraint_step() -> Finding:
    """Replay the stored instances for both indices, and count the other runs that break the step."""
    other = e.replayed("constraint_index_exact")
    found = e.tally("constraint", "printed", e.descents(reference="previous"))
    text = f"with the printed index {other}; fails in {found.violated} of {found.applicable} other runs"
    return e.refuted(e.replayed("constraint_step_exact"), text)


@claim(
    id="constraint-premise",
    label="par:bounded-average-queue",
    section=SECTION,
    statement="Q_k[t-1] >= Q_k[t-2] + hatPhi_k(w_t) - hatPhi_k(w_{t-1}).",
    recorded="false",
    explain="""
        eq:queue_update gives Q_k[t] >= Q_k[t-1] + hatPhi_k(w_t) - hatPhi_k(w_{t-1}) - delta: the printed line
        is one index early and has lost delta. It fails whenever a queue rests: with the right index but
        without delta, equal models and a queue of 1/2 that delta = 1/2 empties (z3: coldtheory certify --only
        bounded_queue.premise). The evidence counts, over Case 1 runs, how often each version fails. The
        margin is minus the share of pairs that break it.""",
)
def constraint_premise() -> Finding:
    """Count over Case 1 runs how often the printed line and the corrected one fail."""
    pairs = index = right = 0
    for facts in e.descents("mean", "previous"):
        past = np.tri(facts.T, k=-1, dtype=bool)[2:]
        now = facts.increments[..., 2:, :]
        slack = 1e-12 * (1.0 + facts.largest_loss[..., None, None])
        printed = facts.Q[..., 2:-1, :] - facts.Q[..., 1:-2, :] - now
        correct = facts.Q[..., 3:, :] - facts.Q[..., 2:-1, :] - now + facts.delta[..., None, None]
        pairs += int(past.sum()) * int(np.prod(facts.lead))
        index += int(((printed < -slack) & past).sum())
        right += int(((correct < -slack) & past).sum())
    text = f"fails for {index / pairs:.0%} of {pairs} triples (run, k, t); with Q_k[t], Q_k[t-1] and - delta: {right}"
    return Finding("false" if index else "holds", -index / pairs, text, {"broken": index, "corrected": right})


@claim(
    id="constraint-each-queue",
    label="par:bounded-average-queue",
    section=SECTION,
    statement="If Qbar[t-1] is bounded for all t, then so is Q_k[t-1] for each k.",
    recorded="false",
    explain="""
        Qbar averages t-1 queues, so one of them may grow like t. Case 2 with models that alternate between
        the optimum of task 1 and a point at distance sqrt(2): memory losses of the other tasks are 0, so Q_1
        rises by almost 1 at every second task, while Qbar = Q_1/(t-1) stays near 1/2. (In Case 1 every queue
        is bounded anyway, queue-bounded.) The margin is minus the growth of Q_1 from T = 50 to T = 200
        divided by that of Qbar.""",
)
def constraint_each_queue() -> Finding:
    """Follow prescribed models for which the mean queue stays bounded while one queue grows."""
    single, mean = [], []
    for T in (50, 200):
        models = np.zeros((T + 1, 1))
        models[2::2] = np.sqrt(2.0)
        flat = np.r_[1.0, np.zeros(T - 1)]
        tasks = from_optima(np.zeros((T, 1)), np.zeros(T), memory_optima=np.zeros((T, 1)), memory_hessians=flat)
        facts = facts_of(follow(tasks, models, V=1.0, delta=1e-3, reference="best"))
        single.append(float(facts.Q[-1, 0]))
        mean.append(float(facts.Qbar[-1]))
    grown, averaged = single[1] / single[0], mean[1] / mean[0]
    verdict: Verdict = "false" if grown > 2.0 and averaged < 1.2 else "holds"
    text = f"T = 50, 200: Q_1 = {single[0]:.3g}, {single[1]:.3g} while Qbar = {mean[0]:.3g}, {mean[1]:.3g}"
    return Finding(verdict, -grown / averaged, text)
