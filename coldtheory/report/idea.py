"""The problem and the method in ten sentences, for a reader who meets them for the first time."""

from __future__ import annotations

from .mathml import scrolled, typeset

#: Ten sentences in three paragraphs: the problem, the queues and their tolerance, and V.
IDEA = (
    (
        "A model learns tasks one after the other, and every new task may spoil what it has learnt before: it forgets.",
        "Continual learning asks for a model that learns each new task and still forgets no more than one allows.",
        "In the picture a task is a point in the plane, the model $x_t$ is the dot, and the loss $\\Phi_k$ of task $k$ "
        "is half the squared distance from the dot to that point, so no model can be best at all tasks.",
    ),
    (
        "The method keeps a **virtual queue** $Q_k$ for each past task $k$: a number, zero at first, that remembers "
        "how much of that task was lost.",
        "The **tolerance** $\\delta$ is the rise of a past loss that is still allowed.",
        "After every task the queue grows if its loss has risen above a reference, such as the loss just after task "
        "$k$, by more than $\\delta$; otherwise it shrinks, but never below zero.",
    ),
    (
        "Each new task is then learnt with all queues in mind: the model minimises the new loss times a **weight** "
        "$V$, plus the mean of the past losses, each times its queue.",
        "So a task that has lost much has a long queue and pulls the model back.",
        "A large $V$ learns new tasks fast and lets the queues grow long; a small $V$ keeps the old tasks and learns "
        "the new ones slowly.",
        "The paper bounds both sides of this trade-off; this page checks each of its claims and lets you change $V$, "
        "$\\delta$ and the tasks yourself.",
    ),
)
_QUEUE = r"Q_k[t]=\max\{\,Q_k[t-1]+\Phi_k(x_t)-\Phi_k(\mathrm{ref}_{t,k})-\delta,\;0\,\}"
_DPP = r"V\,\Phi_t(w)+\frac{1}{t-1}\sum_{k<t}Q_k[t-1]\,\Phi_k(w)\;\;\to\;\;\min_w"


def ten_sentences() -> str:
    """The paragraphs as HTML, with the two formulas that they put into words."""
    first, second, third = (f"<p>{' '.join(map(_shown, part))}</p>" for part in IDEA)
    return f"{first}{second}{scrolled(_QUEUE)}{third}{scrolled(_DPP)}"


def _shown(sentence: str) -> str:
    parts = sentence.split("**")
    return "".join(f"<dfn>{typeset(part)}</dfn>" if at % 2 else typeset(part) for at, part in enumerate(parts))
