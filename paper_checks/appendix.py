"""Section "Theoretical Appendix": the two lemmas from which every r^2 l of the paper comes."""

from __future__ import annotations

from coldtheory.claims import Finding
from paper_checks import _evidence as e
from paper_checks import claim

SECTION = "Theoretical Appendix"


@claim(
    id="gap",
    label="lemm:losses_boundedby_const",
    section=SECTION,
    statement="The optimality gap hatPhi_k(w) - hatPhi_k(v_k*) on W is at most r^2 l/2.",
    recorded="holds with correction",
    explain=e.explanation(
        "lemma_gap",
        "The margin is the least relative slack of the corrected form (0: it is tight). Exact over all smooth losses: "
        "coldtheory certify --only pep.gap.",
    ),
)
def gap() -> Finding:
    """Evaluate the corrected lemma on all runs, and replay the instance that breaks the printed one."""
    text = "correction: r the largest distance of W from a point with zero gradient"
    return e.mended(e.replayed("gap_radius"), e.tally("lemma_gap", "corrected", e.descents()), text)


@claim(
    id="gap-radius",
    label="lemm:losses_boundedby_const",
    section=SECTION,
    statement="The gap is at most r^2 l/2 with r the radius of W, as printed.",
    recorded="false",
    explain="""
        The proof uses |w - v_k*| <= r, which two points of a ball of radius r need not obey. W = [-1, 1] and
        a minimiser at its end: 2 > 1/2. In the toy W too, where no run obeys it. The margin is the relative
        slack of the instance.""",
)
def gap_radius() -> Finding:
    """Replay the stored instance, and count the runs that break the form with the radius."""
    found = e.tally("lemma_gap", "printed", e.descents("mean"))
    return e.refuted(e.replayed("gap_radius"), f"fails in {found.violated} of {found.applicable} other runs")


@claim(
    id="gap-diameter",
    label="lemm:losses_boundedby_const",
    section=SECTION,
    statement="The gap is at most r^2 l/2 with r the diameter of W.",
    recorded="false",
    explain="""
        True if every v_k* is a stationary point in W. But the minimiser over W may lie on its rim with a
        gradient that is not zero, and then the loss grows linearly from there: W = [-1, 1], loss (w-3)^2/2,
        gap 6 > 2. The proof's "gradient at v* is 0" is an assumption. The margin is the relative slack of the
        instance.""",
)
def gap_diameter() -> Finding:
    """Replay the stored instance, whose minimiser over W lies on the rim."""
    return e.refuted(e.replayed("gap_diameter"))


@claim(
    id="dpp-average",
    label="lemm:drift",
    section=SECTION,
    statement="""The average decrease of DPP_t is at most V Phi_1/(T eta) + (V/(eta T)) sum sup|Phi_{t+1} - Phi_t| +
        (r^2 l/(2 eta T)) sum Qbar[t-1].""",
    recorded="holds with correction",
    explain=e.explanation(
        "lemma_dpp",
        "Phi_{T+1}, which the printed sum contains, is read as Phi_T. The margin is the least relative slack of the "
        "corrected form. Proved by z3 for T up to 4: coldtheory certify --only drift.",
    ),
)
def dpp_average() -> Finding:
    """Evaluate the corrected lemma on all runs, and replay the instance that breaks the printed one."""
    return e.mended(e.replayed("dpp_radius"), e.tally("lemma_dpp", "corrected", e.descents()))


@claim(
    id="dpp-average-radius",
    label="lemm:drift",
    section=SECTION,
    statement="The lemma on the average DPP with r the radius of W, as printed.",
    recorded="false",
    explain="""
        It inherits the radius from the gap lemma: W = [-1, 1], a memory loss that rises from 0 to 2 and falls
        back while its queue is 3/2. The margin is the relative slack of the stored instance.""",
)
def dpp_average_radius() -> Finding:
    """Replay the stored instance that breaks the form with the radius."""
    return e.refuted(e.replayed("dpp_radius"))


@claim(
    id="dpp-average-sum",
    label="lemm:drift",
    section=SECTION,
    statement="The lemma on the average DPP for the objective as printed, with the plain sum of the queues.",
    recorded="false",
    explain="""
        With the plain sum the fall of the memory losses is weighted by sum_k Q_k = (t-1) Qbar[t-1]; the
        printed term has Qbar[t-1]. (The proof itself divides by t-1 in its first line.) The margin is the
        relative slack of the instance.""",
)
def dpp_average_sum() -> Finding:
    """Replay the stored instance, and count the runs with sum weights that break the printed form."""
    found = e.tally("lemma_dpp", "printed", e.descents("sum"))
    return e.refuted(e.replayed("dpp_sum"), f"fails in {found.violated} of {found.applicable} other runs")
