"""The theory's statements, typeset, and the formulas of what the explorer computes."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..bounds import Statement
from ..bounds.own import LABEL
from .mathml import paragraphs, scrolled, typeset

_MODEL = (
    (
        "Task $t$ has the loss below, and the memory sees the same one. The model $x_t$ is found from $x_{t-1}$ by $J$ "
        "gradient steps of size $\\eta$ on the drift-plus-penalty function; the queues then note what was lost.",
        r"\Phi_t(w)=\tfrac12\|w-a_t\|^2,\qquad \mathrm{DPP}_t(w)=V\,\Phi_t(w)+\sum_{k<t}\beta_k\,\Phi_k(w)",
    ),
    (
        "Queue $k$ grows when task $k$ gets worse than its reference, the previous model, the best one so far or the "
        "one at the end of task $k$, by more than the tolerance. A controller other than the queue has its own rule.",
        r"Q_k[t]=\max\{\,Q_k[t-1]+\Phi_k(x_t)-\Phi_k(\mathrm{ref}_{t,k})-\delta,\;0\,\}",
    ),
    (
        "The weights are the mean, the sum, or nothing; $\\bar{Q}[t-1]$ is the mean queue, $\\alpha_t$ the curvature.",
        r"\beta_k=\frac{Q_k[t-1]}{t-1}\;\text{or}\;Q_k[t-1]\;\text{or}\;0,\qquad \alpha_t=V+\sum_{k<t}\beta_k",
    ),
    (
        "Theorem 3. Here and below the variation $D$ is the mean change of the loss at the models, $r$ the largest "
        "distance of a model from an optimum, $\\rho_t$ the conflict of gradients at $x_{t-1}$. For mean weights "
        "$f_t=1$, and $c_t$ is $\\frac{1}{t-1}$ with the previous model as reference, $\\frac{t-2}{t-1}$ with any "
        "other; for the sum all of them are $t-1$ times as large.",
        r"\frac1T\sum_{t}\|\nabla\Phi_t(x_{t-1})\|^2\le\frac{2\Phi_1(x_0)}{\eta VT}+\frac{2D}{\eta V}"
        r"+\frac{r^2}{VT}\sum_t c_t\rho_t+\frac{r^2}{\eta V^2T}\sum_t f_t\bar{Q}[t-1]",
    ),
    (
        "Theorem 3′, sharper, with the previous model as reference: no $r$, and the exact constant "
        "$\\gamma=1/(1-\\frac12\\max_t\\eta\\alpha_t)$ in place of 2. Only mean weights have the last sum in braces.",
        r"\frac1T\sum_{t}\|\nabla\Phi_t(x_{t-1})\|^2\le\frac{\gamma}{\eta V^2T}\Bigl\{V[\Phi_1(x_0)-\Phi_T(x_T)]+VTD"
        r"+\sum_t f_t\Delta_t-f_T\mathcal{L}[T]-\delta\sum_t f_t\bar{Q}[t-1]-\sum_t\frac{\mathcal{L}[t-1]}{t-1}\Bigr\}"
        r"+\frac{2}{VT}\sum_t\sum_{k<t}\beta_k\max\{0,-\nabla\Phi_t\cdot\nabla\Phi_k\}",
    ),
    (
        "Theorem 4 with the term of the first task that the printed form leaves out.",
        r"\frac1T\sum_t\bar{Q}[t-1]\le\frac{VD}{\delta}+\frac{V\Phi_1(x_1)}{T\delta}+\frac{1}{T\delta}\sum_t\Delta_t",
    ),
    (
        "Lindley’s bound on every queue with the previous model as reference: for all $V$, $\\eta$ and $\\delta$. "
        "Averaged over the queues it bounds the mean. With any other reference $Q_k[t]\\le(t-k)\\,r^2/2$.",
        r"Q_k[t]\le\Phi_k(x_t)-\min_{k\le s\le t}\Phi_k(x_s)",
    ),
)


def model_formulas() -> str:
    """What the explorer simulates and the bounds it draws."""
    return "".join(f"<p>{typeset(words)}</p>{scrolled(latex)}" for words, latex in _MODEL)


def latex_by_label(statements: Iterable[Statement]) -> dict[str, tuple[str, str]]:
    """(id, formula) of the first statement with each of the paper's labels."""
    found: dict[str, tuple[str, str]] = {}
    for statement in statements:
        found.setdefault(statement.label, (statement.id, statement.latex))
    return found


def statement_cards(statements: Iterable[Statement]) -> str:
    """Each statement folded, its corrected formula first."""
    return "\n".join(_card(statement) for statement in statements)


def _card(statement: Statement) -> str:
    told = statement.explain
    if statement.label.startswith(LABEL):
        parts = [("Forms", ", ".join(statement.forms)), ("In words", told.correct)]
    else:
        parts = [("As printed", told.printed), ("What is wrong", told.wrong), ("Correct form", told.correct)]
    parts += [("Conventions", told.conventions), ("Proof", told.proof)]
    words = "".join(f"<h4>{name}</h4>{paragraphs(text)}" for name, text in parts if text)
    terms = "".join(f"<li><b>{typeset(name)}</b>: {typeset(text)}</li>" for name, text in told.terms.items() if text)
    words += f"<h4>Terms</h4><ul>{terms}</ul>" if terms else ""
    formula = scrolled(statement.latex) if statement.latex else ""
    return (
        f'<details class="statement" id="statement-{escape(statement.id)}"><summary><b>{typeset(statement.title)}</b>'
        f' <code>{escape(statement.label)}</code></summary><div class="explain">{formula}{words}'
        "</div></details>"
    )
