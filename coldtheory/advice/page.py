"""Advice on tasks in plain words: every sentence is made of numbers of the `Advice`."""

from __future__ import annotations

import numpy as np

from ..bounds import evaluate
from .answer import Advice
from .balance import avg_seen_loss
from .data import data_of, mean_over_streams
from .portrait import QUANTITIES
from .text import Page, Part, Table, percent, shown
from .verdicts import Remedy, Ruling, Verdict

_GRADIENT = "average squared gradient"
_CHANCE = "memory_size"  # it holds with probability 0.95, so it may fail without being false


def page_of(advice: Advice) -> Page:
    """The whole page."""
    with np.errstate(all="ignore"):  # the numbers of a run that diverged are shown as a dash
        parts = [_tasks(advice), _which_V(advice), _steps(advice), _queues(advice), _holds(advice)]
        parts += [_changes(advice)] if any(one.outcome == "not applicable" for one in advice.rulings) else []
        parts += [_own(advice)] if advice.own else []
        return Page(_answer(advice), parts, data_of(advice))


# ---------------------------------------------------------------------------------------------------------------------
# The answer


def _answer(advice: Advice) -> list[tuple[str, str]]:
    return [
        ("V", _answer_V(advice)),
        ("step size", _answer_step(advice)),
        ("queues", _answer_queues(advice)),
        ("guarantee", _answer_guarantee(advice)),
        ("forgetting", _answer_forgetting(advice)),
    ]


def _answer_V(advice: Advice) -> str:
    balance = advice.balance
    best, seen = shown(balance.V), shown(balance.V_seen)
    if advice.given_V is not None:
        return f"{shown(advice.V)} judged; advised {best} for the next task, {seen} for all seen"
    if balance.at_end == "low":
        return f"{seen} for all tasks seen; none helps the next task ({balance.how})"
    return f"{best} for the next task ({balance.how}), {seen} for all tasks seen"


def _answer_step(advice: Advice) -> str:
    setting = advice.setting
    if setting.solver == "exact":
        return "none: the objective of each task is minimised exactly"
    if isinstance(setting.eta, str):
        return "eta = auto keeps eta alpha_t at 1/2, as Theorem 3 is printed"
    eta, theorem, stable = float(setting.eta), advice.eta_theorem or 0.0, advice.eta_stable or 0.0
    limits = f"(Theorem 3: {shown(theorem)}; descent: {shown(stable)})"
    words = "is safe" if eta <= theorem else "descends" if eta <= stable else "is too large"
    return f"eta = {shown(eta)} {words} {limits}"


def _answer_queues(advice: Advice) -> str:
    queues = advice.queues
    if advice.setting.weights == "none":
        return "have no weight, as you asked"
    if advice.diverged:
        return "not judged: the run diverges at this V"
    if queues.act == "stay empty":
        return "stay empty: no task is ever forgotten by more than delta"
    if queues.act == "hardly act":
        return f"hardly act: they change the gradient by {percent(abs(queues.gradient))}"
    now, idle = advice.avg_forgetting, advice.avg_forgetting - queues.forgetting
    return f"act: gradient {_signed(queues.gradient)}, forgetting {shown(now)} instead of {shown(idle)}"


def _signed(share: float) -> str:
    return percent(share) if share < 0 else f"+{percent(share)}"


def _answer_guarantee(advice: Advice) -> str:
    of_gradient = [one for one in advice.rulings if one.about == _GRADIENT]
    holding = [one for one in of_gradient if one.outcome == "holds"]
    if not holding:
        return f"none for the gradient: {_missing(of_gradient[0].main).partition(';')[0].rstrip('.')}"
    first = holding[0]
    sharpest = min((one.sharpest.bound for one in holding if one.sharpest.bound is not None), default=None)
    return (
        f"{_name(first.title)}: gradient at most {shown(first.main.bound)} (sharpened {shown(sharpest)}), measured "
        f"{shown(first.main.measured)}"
    )


def _answer_forgetting(advice: Advice) -> str:
    if advice.diverged:
        return "not judged: the run diverges at this V"
    words = f"{shown(advice.avg_forgetting)} on average"
    by_name = {one.statement: one for one in advice.rulings}
    promised, counted = by_name["forgetting"], by_name["creeping"]
    if promised.outcome == "holds":
        return f"{words}, promised at most {shown(promised.sharpest.bound)}"
    if counted.outcome == "holds":
        return f"{words}; at most {shown(counted.main.bound)} by its queues, no guarantee"
    return f"{words}; no theorem bounds it for such a run"


def _name(title: str) -> str:
    """The part of a title that names the statement.

    >>> _name("Theorem 3: average squared gradient, gradient descent")
    'Theorem 3'
    """
    return title.partition(":")[0]


# ---------------------------------------------------------------------------------------------------------------------
# The parts


def _tasks(advice: Advice) -> Part:
    tasks, conflict = advice.tasks, advice.conflict
    streams = f" in each of {len(tasks.phi.optima)} streams; all numbers are means over them" if tasks.streams else ""
    words = f"{tasks.T} tasks with {tasks.d} parameter{'s' * (tasks.d > 1)}{streams}."
    if conflict.worst is None:
        words += " At the models of this run no two tasks have gradients that point against each other."
    else:
        words += (
            f" At the models of this run the gradients of {percent(conflict.share)} of all pairs of tasks point "
            f"against each other; the mean cosine is {shown(conflict.cosine, 2)}. Task {conflict.worst[0]} conflicts "
            f"most, with task {conflict.worst[1]}."
        )
    rows = tuple((name, shown(advice.quantities[name]), QUANTITIES[name]) for name in QUANTITIES)
    return Part("Your tasks", [words, Table(("quantity ", "value", "meaning "), rows)])


def _which_V(advice: Advice) -> Part:
    balance, setting = advice.balance, advice.setting
    found = f"V = {shown(balance.V)} has the least average squared gradient before a task, the left side of Theorem 3."
    if balance.how == "closed form":
        product = float(setting.eta) * balance.V
        found += (
            " It is known in closed form: these tasks have one Hessian in common, and in a sweep over "
            f"{len(balance.sweep.V)} values of V the queues change the gradient by at most {percent(_off(advice))}. "
            f"Only eta V matters then: with another eta take V = {shown(product)}/eta."
        )
    else:
        found += (
            f" It was found by a sweep from {shown(balance.low)} to {shown(balance.high)}; the closed form does not "
            f"apply, since {balance.why}."
        )
    found += {
        "low": " This is the smallest V that was tried: x_0 is as well prepared for each task as any later model.",
        "high": f" This is the largest V {_why_largest(advice)}.",
        "": "",
    }[balance.at_end]
    seen = (
        f"V = {shown(balance.V_seen)} has the least loss on all tasks seen so far: what their own training left, plus "
        "what was forgotten since. Take it if old tasks count as much as the next one."
    )
    return Part("Which V", [found, seen, _by_bound(advice), _tradeoff(advice)])


def _why_largest(advice: Advice) -> str:
    return "for which eta alpha_t stays below 1" if advice.setting.fixed_step else "that was tried"


def _off(advice: Advice) -> float:
    balance = advice.balance
    assert balance.closed_form is not None
    gradient = balance.sweep.avg_grad_sq_before
    mean = gradient.mean(axis=0) if gradient.ndim > 1 else gradient
    use = balance.allowed & (balance.closed_form > 0)
    return float(np.abs(mean / np.where(use, balance.closed_form, 1.0) - 1.0)[use].max(initial=0.0))


def _by_bound(advice: Advice) -> str:
    """Where the right side of Theorem 3 is smallest, which is another question."""
    sweep = advice.balance.sweep
    bound = evaluate("thm3", "trajectory", sweep)
    rhs, lhs = (
        mean_over_streams(one, len(sweep.V)) for one in (np.where(bound.applicable, bound.rhs, np.inf), bound.lhs)
    )
    if not np.isfinite(rhs).any():
        return "Theorem 3 applies at no V of the sweep, so its right side recommends none."
    best = int(rhs.argmin())
    return (
        f"The right side of Theorem 3, read at the models, is smallest at V = {shown(float(sweep.V[best]))}: there it "
        f"is {shown(float(rhs[best]))}, and the gradient {shown(float(lhs[best]))}."
    )


def _tradeoff(advice: Advice) -> Table:
    """A few V around the advised ones."""
    balance = advice.balance
    marks = {} if advice.given_V is None else {advice.given_V: "(yours)"}
    marks[balance.V_seen] = "all tasks seen"
    marks[balance.V] = "the next task" if balance.V_seen != balance.V else "both"
    low, high = max(min(marks) / 10, balance.low), min(max(marks) * 10, max(balance.high, *marks))
    grid = [v for v in np.geomspace(low, high, 5) if all(abs(np.log(v / mark)) > 0.2 for mark in marks)]
    V = np.array(sorted({*(float(f"{v:.2g}") for v in grid), *marks}))
    run = advice.setting.run(advice.tasks, V)
    columns = {
        "gradient": run.avg_grad_sq_before, "forgetting": run.avg_forgetting, "loss on seen": avg_seen_loss(run),
        "queue": run.avg_Qbar,
    }  # fmt: skip
    if advice.setting.solver == "gd":
        columns["eta alpha"] = (run.eta * run.alpha).max(axis=-1)
    means = [mean_over_streams(values, len(V)) for values in columns.values()]
    rows = tuple(
        (shown(v), *(shown(float(values[i])) for values in means), marks.get(v, "")) for i, v in enumerate(V.tolist())
    )
    return Table(("V", *columns, "best for "), rows)


def _steps(advice: Advice) -> Part:
    setting = advice.setting
    if setting.solver == "exact":
        words = "Each task's objective is minimised exactly: no step size is chosen."
    elif isinstance(setting.eta, str):
        eta = advice.run.eta
        ends = f"from {shown(float(eta.max()))} down to {shown(float(eta.min()))}"
        words = f"eta_t = 1/(2 alpha_t) follows the queues, {ends}."
    else:
        reach = float((advice.run.eta * advice.run.alpha).max())
        words = (
            f"With V = {shown(advice.V)} and eta = {shown(float(setting.eta))} the largest eta alpha_t is "
            f"{shown(reach)}. Theorem 3 asks for at most 1, so eta may be {shown(advice.eta_theorem)}; it is "
            f"printed with half of that. Beyond 2, at eta = {shown(advice.eta_stable)}, a step may climb."
        )
    return Part("Step size", [words])


def _queues(advice: Advice) -> Part:
    queues, run = advice.queues, advice.run
    if advice.diverged:
        return Part("Queues", ["The run diverges at this V; with a smaller one, or a smaller eta, they can be judged."])
    words = (
        f"{shown(queues.filled)} of {advice.tasks.T} queues ever fill; the longest reaches {shown(queues.longest)}, "
        f"and the average is {shown(float(np.mean(run.avg_Qbar)))}. They make at most {percent(queues.share)} of the "
        "curvature of a task's objective. Against a run in which they have no weight they change the average squared "
        f"gradient by {percent(queues.gradient)} and the mean forgetting by {shown(queues.forgetting)}."
    )
    if queues.act != "act":
        words += f" At no V of the sweep do they change the gradient by more than {percent(queues.most)}"
        if advice.setting.weights == "mean" and queues.with_sum is not None:
            words += f"; with sum weights they would change it by {percent(queues.with_sum)} at this V"
        words += "."
    else:
        words += f" They act most at V = {shown(queues.most_at)}, where the gradient changes by {percent(queues.most)}."
    return Part("Queues", [words])


def _holds(advice: Advice) -> Part:
    rows = tuple(_holding(one) for one in advice.rulings if one.outcome != "not applicable")
    violated = [one.statement for one in advice.rulings if one.outcome == "violated"]
    broken = [name for name in violated if name != _CHANCE]
    words = (
        f"At V = {shown(advice.V)}; times: the bound over what was measured; sharpest: the smallest bound of all forms "
        "of a statement. One about every queue or pair of tasks is shown where it is closest. More on one of them: "
        "coldtheory check --explain thm3"
    )
    blocks: list[str | Table] = [
        words,
        Table(("statement ", "bounds ", "measured", "bound", "times", "sharpest"), rows),
    ]
    if broken:
        blocks.append(
            f"Violated, although all premises are met: {', '.join(broken)}. That should not be: please report it."
        )
    if _CHANCE in violated:
        blocks.append("The bound on the memory's error is exceeded, which has a probability of 0.05.")
    return Part("What holds", blocks)


def _holding(one: Ruling) -> tuple[str, ...]:
    return (
        one.statement, one.about, shown(one.main.measured), shown(one.main.bound), shown(one.main.times),
        shown(one.sharpest.bound) if one.sharpest.form != one.main.form else "",
    )  # fmt: skip


def _changes(advice: Advice) -> Part:
    rows = tuple(
        (one.statement, _missing(one.main) + _remedy(advice.remedies.get(one.statement), one))
        for one in advice.rulings
        if one.outcome == "not applicable"
    )
    words = "What the others miss, and a setting with which each applies at the same V, where one was found and run."
    return Part("What does not apply yet", [words, Table(("statement ", "why, and what to change "), rows)])


def _missing(one: Verdict) -> str:
    reasons = dict.fromkeys(miss.words for miss in one.missed)
    return f"{'; '.join(reasons)}." if reasons else "a side of it is not a finite number."


def _remedy(found: Remedy | None, one: Ruling) -> str:
    if found is None:
        return ""
    texts = {name: value if isinstance(value, str) else shown(value) for name, value in found.changes.items()}
    changes = " and ".join(f"{name} = {text}" for name, text in texts.items())
    outcome = "it holds" if found.verdict.outcome == "holds" else "it applies and is violated"
    return (
        f" With {changes} {outcome}: {one.about} {shown(found.verdict.measured)}, at most {shown(found.verdict.bound)}."
    )


def _own(advice: Advice) -> Part:
    rows = tuple(
        (one.form, one.outcome, shown(one.measured), shown(one.bound), "; ".join(m.premise for m in one.missed))
        for one in advice.own
    )
    first = advice.own[0]
    words = (
        f"{first.title.rstrip('.')}: on these tasks at V = {shown(advice.V)}. To look for a violation elsewhere: "
        f"coldtheory challenge {first.statement}"
    )
    return Part("Your statement", [words, Table(("form ", "outcome ", "measured", "bound", "missed premises "), rows)])
