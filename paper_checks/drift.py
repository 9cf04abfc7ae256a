"""Section "Proposed Algorithm": the drift lemma, the reference models, and the queues themselves."""

from __future__ import annotations

import numpy as np

from coldtheory.bounds import evaluate
from coldtheory.claims import Finding
from paper_checks import _evidence as e
from paper_checks import claim

SECTION = "Proposed Algorithm"


@claim(
    id="lemma1",
    label="lem:upperBoundLem",
    section=SECTION,
    statement="Lemma 1: the drift is at most Delta_t plus the (weighted) sum of Q_k[t-1] times increment.",
    recorded="holds with correction",
    explain=e.explanation(
        "lemma1",
        "The margin is the least relative slack of the corrected form (0: it is tight). z3 proves the mean form for up "
        "to 8 past tasks: coldtheory certify --only lemma1.",
    ),
)
def lemma1() -> Finding:
    """Evaluate the corrected form on all runs, and replay the instance that breaks the main text."""
    return e.mended(e.replayed("lemma1_main_text"), e.tally("lemma1", "corrected", e.descents()))


@claim(
    id="lemma1-main-text",
    label="lem:upperBoundLem",
    section=SECTION,
    statement="Lemma 1 as the main text prints it: drift <= Delta_t + sum_k Q_k[t-1] d_k[t].",
    recorded="false",
    explain="""
        The Lyapunov function carries 1/(2(t-1)), so the mixed products carry 1/(t-1). Without it the right
        side is too small when the queues shrink fast. With two past tasks, Q = (1, 0) and d = (-3/4, 0), the
        drift is -31/64, the right side 9/64 - 3/4 = -39/64. In runs of the algorithm it happens all the time:
        the evidence counts runs of LOW, HIGH, CONFLICT and of random tasks in which it fails at some t.
        Enough for it: (t-2) S_t >= -Lyap[t-1]. The margin is the relative slack of the stored instance.""",
)
def lemma1_main_text() -> Finding:
    """Replay the stored instance, and count the other runs that break the printed form."""
    found = e.tally("lemma1", "printed", e.descents())
    return e.refuted(
        e.replayed("lemma1_main_text_exact"), f"fails in {found.violated} of {found.applicable} other runs"
    )


@claim(
    id="lemma1-appendix",
    label="lem:upperBoundLem",
    section="Theoretical Appendix",
    statement="Lemma 1 as the appendix proves it: drift <= Delta_t + (1/(t-1)) sum_k Q_k[t-1] d_k[t].",
    recorded="holds",
    explain="""
        max(x, 0)^2 <= x^2 for x = Q_k[t-1] + d_k[t], summed over k < t and divided by 2(t-1). The old squares make up
        (t-2)/(t-1) Lyap[t-1] because the newest queue Q_{t-1}[t-1] is 0; the paper's proof does not say that it needs
        this. One may even subtract Lyap[t-1]/(t-1) on the right, and with the squares that max(., 0) cuts off it is an
        identity. True for any models. The margin is the least relative slack.""",
)
def lemma1_appendix() -> Finding:
    """Evaluate the form with 1/(t-1), and the identity behind it, on all runs."""
    identity = e.tally("lemma1", "identity", e.descents())
    return e.supported(e.tally("lemma1", "appendix", e.descents()), f"as an identity: {identity}")


@claim(
    id="lemma1-data-dependent",
    label="lem:upperBoundLem",
    section=SECTION,
    statement="Keeping Delta_t as it is makes Theorem 4 tighter than the constant of the classical analysis would.",
    recorded="holds",
    explain="""
        The classical constant bounds d_k[t]^2/2 once and for all: with d between -(l r^2/2 + delta) and l r^2/2 it is
        (l r^2/2 + delta)^2/2 (r the largest distance of W from a stationary minimiser). That it is larger than Delta_t
        is certain; whether it matters is not, as the variation term may hide both. The evidence is by how much Theorem
        4's right side grows with the constant, at the toy settings. Tighter is taken to mean by at least a tenth in
        some regime for every V. The margin is the growth there minus 1.1.""",
)
def data_dependent() -> Finding:
    """Measure by how much the classical constant enlarges Theorem 4's right side at the toy settings."""
    ratio = {}
    for regime in e.REGIMES:
        facts = e.toy(regime)
        constant = 0.5 * (0.5 * facts.l * facts.r**2 + facts.delta) ** 2
        bound = evaluate("thm4", "corrected", facts)
        swapped = bound.rhs + (constant * (facts.T - 1) / facts.T - facts.Delta.mean(axis=-1)) / facts.delta
        ratio[regime] = float((swapped / bound.rhs).min())
    margin = max(ratio.values()) - 1.1
    text = "Theorem 4 with the constant / as it is, at least " + ", ".join(
        f"{v:.4g} ({k.upper()})" for k, v in ratio.items()
    )
    return Finding("holds" if margin > 0 else "false", margin, text, ratio)


@claim(
    id="case2-reference",
    label="eq:ref_model",
    section="Problem Formulation",
    statement="The best past model is not worse than w_k: hatPhi_k(ref_{t,k}) <= hatPhi_k(w_k) for all k < t.",
    recorded="holds",
    explain="""
        w_k is one of the candidates w_1..w_{t-1}. Checked on the queues that the simulator kept: each must have grown
        by at least hatPhi_k(x_t) - hatPhi_k(w_k) - delta, which a worse reference would not give (a rolling window
        that has lost w_k breaks it). The margin is 1e-9 plus the least excess over that, in units of the largest
        loss.""",
)
def case2_reference() -> Finding:
    """Compare the increments of Case 2 queues with those that w_k as the reference would give."""
    least = np.inf
    for facts in e.descents(reference="best"):
        T = facts.T
        own = np.diagonal(facts.hat[..., 1:, :], axis1=-2, axis2=-1)[..., None, :]  # hatPhi_k(x_k)
        asked = facts.Q[..., :-1, :] + facts.hat[..., 1:, :] - own - facts.delta[..., None, None]
        excess = np.where(np.tri(T, k=-1, dtype=bool), facts.Q[..., 1:, :] - np.maximum(asked, 0.0), 0.0)
        least = min(least, float((excess / facts.largest_loss[..., None, None]).min()))
    text = f"least excess of a queue over what w_k as its reference would give: {least:.2g} of the largest loss"
    return Finding("holds" if least >= -1e-9 else "false", least + 1e-9, text)


@claim(
    id="case2-window",
    label="eq:ref_model",
    section="Problem Formulation",
    statement="With a rolling window of past models the analysis of Case 2 still applies.",
    recorded="holds",
    explain="""
        The text asks that the window contain the empirical minimiser. Even that is not needed for the
        gradient bound: its proof uses only that each queue grows by at most l r^2/2 per task. The evidence
        evaluates the corrected Theorem 3 and the drift lemma on random tasks with windows of 1, 2 and 4
        models. The margin is the least relative slack.""",
)
def case2_window() -> Finding:
    """Evaluate Theorem 3 and the drift lemma on runs with windows of 1, 2 and 4 models."""
    batches = [e.mixed(w, "best", window) for w in ("mean", "sum") for window in (1, 2, 4)]
    drift = e.tally("lemma1", "corrected", batches)
    return e.supported(e.tally("thm3", "corrected", batches), f"drift lemma: {drift}")


@claim(
    id="queue-lindley",
    label="eq:queue_update",
    section=SECTION,
    statement="In Case 1 a queue is the rise of its loss: max_s [hatPhi_k(x_t) - hatPhi_k(x_s) - (t-s) delta].",
    recorded="holds",
    explain=e.explanation(
        "lindley",
        "Not in the paper; it is what makes its Case 1 queue bounds loose. The margin is the least relative slack of "
        "the identity, read in both directions. Proved by z3 for t-k up to 3: coldtheory certify --only lindley.",
    ),
)
def lindley() -> Finding:
    """Evaluate the identity in both directions on Case 1 runs."""
    batches = e.descents(reference="previous")
    reverse = e.tally("lindley", "reverse", batches)
    text = f"read backwards: {reverse}"
    found = e.tally("lindley", "identity", batches)
    return e.supported(e.Tally(found.runs, found.applicable, found.violated + reverse.violated, found.slack), text)


@claim(
    id="queue-bounded",
    label="eq:queue_update",
    section=SECTION,
    statement="In Case 1 every queue is at most l r^2/2, whatever V, eta and the algorithm are.",
    recorded="holds",
    explain="""
        From the identity queue-lindley: Q_k[t] <= hatPhi_k(x_t) - min_s hatPhi_k(x_s) <= l r^2/2 with r the
        largest distance of W from a stationary minimiser. Stronger than the paper's O(V), and without delta
        in the denominator. In Case 2 the bound is (t-k) l r^2/2. The margin is the least relative slack.""",
)
def bounded() -> Finding:
    """Evaluate the a-priori bound on all descents, and measure how much of it the queues of the toy use."""
    largest = {
        r: float((e.toy(r).Q.max(axis=(-2, -1)) / (0.5 * e.toy(r).l * e.toy(r).r ** 2)).max()) for r in e.REGIMES
    }
    text = "largest Q_k/(l r^2/2): " + ", ".join(f"{v:.2g} ({k.upper()})" for k, v in largest.items())
    return e.supported(e.tally("lindley", "a_priori", e.descents()), text, largest)
