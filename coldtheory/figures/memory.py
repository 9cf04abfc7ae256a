"""The memory's error against its size and against the number of tasks, and what it does to real forgetting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..bounds import evaluate, facts_of
from ..bounds.energy import pairs
from ..quadratics import Array
from ..simulation import Run, simulate
from ..tasks import Tasks, with_sampled_points
from . import style as s
from .table import Table, Tell, counted, quiet

_CASES = {"previous": "Case 1", "stored": "Case 3"}


def memory_sizes(
    *, sizes: Sequence[int], n: int, T: int, seeds: int, V: float, delta: float, p: float, tell: Tell = quiet
) -> Table:
    """For every memory size and seed: the error of the memories, its bounds, and real forgetting in Cases 1 and 3."""
    rows = []
    for M in counted(list(sizes), tell):
        tasks = _alternating(T, n, M, seeds)
        found = _errors(simulate(tasks, V=V, delta=delta, solver="exact"), p)
        for reference in _CASES:
            found |= _forgotten(tasks, reference, V, delta, p)
        rows += [
            {"M": M, "seed": i, **{name: float(values[i]) for name, values in found.items()}} for i in range(seeds)
        ]
    return Table.of(rows)


def memory_lengths(*, lengths: Sequence[int], n: int, m: int, seeds: int, p: float, tell: Tell = quiet) -> Table:
    """The mean and the largest error of memories of one size, against the number of tasks."""
    rows = []
    for T in counted(list(lengths), tell):
        found = _errors(simulate(_alternating(T, n, m, seeds), V=1.0), p)
        rows += [
            {"T": T, "seed": i, **{name: float(values[i]) for name, values in found.items()}} for i in range(seeds)
        ]
    return Table.of(rows)


def _alternating(T: int, n: int, m: int, seeds: int) -> Tasks:
    """Samples around two centres, (1, 0) and (-1, 0), that take turns."""
    centres = np.zeros((seeds, T, 2))
    centres[..., 0] = np.where(np.arange(T) % 2, -1.0, 1.0)
    return with_sampled_points("alternating", range(seeds), centres, n=n, m=m)


def _errors(run: Run, p: float) -> dict[str, Array]:
    """Measured errors and bounds; the mean over the T - 1 past tasks, and the largest."""
    facts = facts_of(run)
    every, mean = (evaluate("memory_size", form, facts, p=p) for form in ("proved", "average"))
    always, K = evaluate("memory_size", "always", facts), run.tasks.T - 1
    bound = (mean.rhs - mean.terms["task variation"]) * run.tasks.T / K
    return {
        "error": every.lhs.sum(axis=-1) / K, "expected": every.terms["expected error"].sum(axis=-1) / K, "bound": bound,
        "always": always.rhs.sum(axis=-1) / K, "largest": every.lhs.max(axis=-1),
        "largest_bound": every.rhs.max(axis=-1),
    }  # fmt: skip


def _forgotten(tasks: Tasks, reference: Any, V: float, delta: float, p: float) -> dict[str, Array]:
    """Mean over all pairs of Phi_k(x_t) - Phi_k(x_k), the tasks' own losses, and in Case 3 what is proved of it.

    It exceeds the memory's forgetting by at most twice the memory's error.
    """
    run = simulate(tasks, V=V, delta=delta, solver="exact", reference=reference)
    T, count = tasks.T, pairs(tasks.T)[-1]
    after = np.stack([tasks.phi.at(x[:, None]) for x in np.moveaxis(run.w[:, 1:], 1, 0)], axis=1)  # (seeds, t, k)
    own = np.diagonal(after, axis1=1, axis2=2)[:, None, :]
    found = {f"forgetting_{reference}": ((after - own) * np.tri(T, k=-1)).sum(axis=(1, 2)) / count}
    if reference == "stored":
        facts = facts_of(run)
        star = np.zeros((tasks.streams[0], T, tasks.d))
        prime = 0.5 * np.square(tasks.phi_hat.optima).sum(axis=-1).max(axis=-1) * (1 + 1e-9)
        bound = evaluate("forgetting_uniform", "sharp", facts, delta_prime=prime, w_star=star)
        error = evaluate("memory_size", "proved", facts, p=p).rhs
        found["forgetting_bound"] = bound.rhs[:, -1] + 2.0 * (error * np.arange(T - 1, -1, -1)).sum(axis=-1) / count
    return found


def draw_memory_size(tables: Mapping[str, Table]) -> Figure:
    """Error against M, error against T, and forgetting against M."""
    sizes, lengths = tables["memory_sizes"], tables["memory_lengths"]
    figure, axes = s.panels(3, height=2.9)
    left, middle, right = axes[0]
    _against_size(left, sizes)
    _against_length(middle, lengths)
    _forgetting(right, sizes)
    handles = [
        Line2D([], [], color="black", marker="o", label="measured"),
        Line2D([], [], color="black", linestyle="--", label="proved, with probability 0.95"),
        Line2D([], [], color="black", linestyle=":", label="expected, proved"),
        Line2D([], [], color=s.GREY, linestyle="-.", label="holds for every draw"),
        *(Line2D([], [], color=s.CASE_COLOR[r], label=words) for r, words in _CASES.items()),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    s.letter([left, middle, right])
    return s.finish(figure)


def _against_size(ax: Axes, table: Table) -> None:
    M, error = table.grid("M", "error")
    part = error.max(axis=0) > 0  # a memory of all samples makes no error: no place on a logarithmic axis
    color = s.PALETTE[0]
    s.band(ax, M[part], error[:, part], color=color, marker="o")
    for name, line in (("bound", "--"), ("expected", ":")):
        ax.plot(M[part], table.grid("M", name)[1].mean(axis=0)[part], color=color, linestyle=line)
    ax.plot(M[part], table.grid("M", "always")[1].mean(axis=0)[part], color=s.GREY, linestyle="-.")
    s.loglog(ax, "memory size M", r"mean of $\sup_W|\Phi_k-\hat\Phi_k|$")
    ax.set_title("error against M")


def _against_length(ax: Axes, table: Table) -> None:
    for name, bound, color, words in (
        ("error", "bound", s.PALETTE[0], "mean over the tasks"),
        ("largest", "largest_bound", s.PALETTE[1], "largest over the tasks"),
    ):
        T, values = table.grid("T", name)
        s.band(ax, T, values, color=color, marker="o", label=words)
        ax.plot(T, table.grid("T", bound)[1].mean(axis=0), color=color, linestyle="--")
    s.loglog(ax, "number of tasks T", r"$\sup_W|\Phi_k-\hat\Phi_k|$")
    ax.set_title("error against T")
    ax.set_ylim(top=3.0 * ax.get_ylim()[1])
    ax.legend(loc="upper left")


def _forgetting(ax: Axes, table: Table) -> None:
    for reference in _CASES:
        M, values = table.grid("M", f"forgetting_{reference}")
        s.band(ax, M, values, color=s.CASE_COLOR[reference], marker="o")
    bound = table.grid("M", "forgetting_bound")[1].mean(axis=0)
    ax.plot(M, bound, color=s.CASE_COLOR["stored"], linestyle="--")
    s.loglog(ax, "memory size M", r"mean of $\Phi_k(x_t)-\Phi_k(x_k)$")
    ax.set_title("real forgetting against M")
