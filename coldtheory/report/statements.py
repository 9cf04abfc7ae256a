"""The theory's statements, typeset, and the formulas of what the explorer computes."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..bounds import Statement
from .mathml import formula, paragraphs, typeset

_MODEL = (
    (
        "Task $t$ has the loss below, and the memory sees the same one. The model $x_t$ is found from $x_{t-1}$ by $J$ "
        "gradient steps of size $\\eta$ on the drift-plus-penalty function; the queues then note what was lost.",
        r"\Phi_t(w)=\tfrac12\|w-a_t\|^2,\qquad \mathrm{DPP}_t(w)=V\,\Phi_t(w)+\sum_{k<t}\beta_k\,\Phi_k(w)",
    ),
    (
        "Queue $k$ grows when task $k$ gets worse than its reference, the previous model or the best one so far, by "
        "more than the tolerance.",
        r"Q_k[t]=\max\{\,Q_k[t-1]+\Phi_k(x_t)-\Phi_k(\mathrm{ref}_{t,k})-\delta,\;0\,\}",
    ),
    (
        "The weights are the mean, the sum, or nothing. $\\bar{Q}[t-1]$ is the mean queue and $\\alpha_t$ the curvature.",
        r"\beta_k=\frac{Q_k[t-1]}{t-1}\;\text{or}\;Q_k[t-1]\;\text{or}\;0,\qquad \alpha_t=V+\sum_{k<t}\beta_k",
    ),
    (
        "Theorem 3 for mean weights. Here and below $D_\\Phi$ is the mean change of the loss at the models, $r$ the "
        "largest distance of a model from an optimum, $\\rho_t$ the conflict of gradients at $x_{t-1}$.",
        r"\frac1T\sum_{t}\|\nabla\Phi_t(x_{t-1})\|^2\le\frac{2\Phi_1(x_0)}{\eta VT}+\frac{2D_\Phi}{\eta V}"
        r"+\frac{r^2}{VT}\sum_t\rho_t+\frac{r^2}{\eta V^2T}\sum_t\bar{Q}[t-1]",
    ),
    (
        "Theorem 3′, sharper: previous model as reference, neither $r$ nor a Lipschitz constant.",
        r"\frac1T\sum_{t}\|\nabla\Phi_t(x_{t-1})\|^2\le\frac{2}{\eta V^2T}\Big[V(\Phi_1(x_0)-\Phi_T(x_T))+VTD_\Phi"
        r"+\sum_t\Delta_t-\mathcal{L}[T]-\delta\sum_t\bar{Q}[t-1]\Big]+\frac{2}{VT}\sum_t\sum_{k<t}\beta_k"
        r"\max\{0,-\nabla\Phi_t\cdot\nabla\Phi_k\}",
    ),
    (
        "Theorem 4 with the term of the first task that the printed form leaves out, and a bound on every queue that "
        "holds for all $V$.",
        r"\frac1T\sum_t\bar{Q}[t-1]\le\frac{VD_\Phi}{\delta}+\frac{V\Phi_1(x_1)}{T\delta}+\frac{1}{T\delta}\sum_t\Delta_t,"
        r"\qquad Q_k[t]\le\frac{r^2}{2}",
    ),
)


def model_formulas() -> str:
    """What the explorer simulates and the bounds it draws."""
    return "".join(f"<p>{typeset(words)}</p>{_scroll(latex)}" for words, latex in _MODEL)


def latex_by_label(statements: Iterable[Statement]) -> dict[str, str]:
    return {statement.label: statement.latex for statement in statements}


def statement_cards(statements: Iterable[Statement]) -> str:
    """Each statement folded, its corrected formula first."""
    return "\n".join(_card(statement) for statement in statements)


def _card(statement: Statement) -> str:
    told = statement.explain
    parts = [("As printed", told.printed), ("What is wrong", told.wrong), ("Correct form", told.correct)]
    parts += [("Conventions", told.conventions), ("Proof", told.proof)]
    words = "".join(f"<h4>{name}</h4>{paragraphs(text)}" for name, text in parts if text)
    terms = "".join(f"<li><b>{typeset(name)}</b>: {typeset(text)}</li>" for name, text in told.terms.items())
    words += f"<h4>Terms</h4><ul>{terms}</ul>" if terms else ""
    return (
        f'<details class="statement" id="statement-{escape(statement.id)}"><summary><b>{typeset(statement.title)}</b>'
        f' <code>{escape(statement.label)}</code></summary><div class="explain">{_scroll(statement.latex)}{words}'
        "</div></details>"
    )


def _scroll(latex: str) -> str:
    shown = formula(latex, block=True)
    return f'<div class="scroll" tabindex="0" role="region" aria-label="formula">{shown}</div>'
