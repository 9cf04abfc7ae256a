"""Tables that fit a terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..ground.statistics import Spread
from ..store import Row
from ..summary import loglog_slope, mean_over_seeds, smallest_at

_TITLES = {"avg_grad_sq_before": "grad² before", "avg_grad_sq_after": "grad² after", "avg_Qbar": "queue Q̄"}


def print_sweep(rows: Sequence[Row], axis: str, between: tuple[float, float] | None) -> None:
    """One line a value of the axis (means over seeds), then slopes and the turning point."""
    console = Console()
    seeds = len({row["seed"] for row in rows})
    console.print(f"[bold]{rows[0]['regime']}[/], {seeds} seed{'s' if seeds > 1 else ''}: {_fixed(rows[0], axis)}")
    table = Table(pad_edge=False, box=None, header_style="bold", padding=(0, 1, 0, 0))
    for name in (axis, *_TITLES.values(), "Δ̄", "ρ̄", "D_Φ", "η·α", "step"):
        table.add_column(name, justify="right", no_wrap=True)
    for value in sorted({row[axis] for row in rows}, key=_as_number):
        here = [row for row in rows if row[axis] == value]
        spread = [_mean_text(mean_over_seeds(here, name)) for name in _TITLES]
        plain = [
            _short(mean_over_seeds(here, name).mean, digits=2)
            for name in ("Delta_bar", "rho_bar", "D_phi", "eta_alpha_max")
        ]
        table.add_row(_short(value), *spread, *plain, _step_text(here))
    console.print(table)
    console.print("[dim]± s.e. over seeds; D_Φ and ρ̄ over the smallest ball around optima and models;[/]")
    console.print("[dim]η·α is the largest over t; step ≤½: η ≤ 1/(2α_t) in every run, ≤1: η ≤ 1/α_t;[/]")
    console.print("[dim]slopes are log-log, with their 95 % interval over seeds[/]")
    console.print(f"[dim]{_tolerance_text(rows)}[/]")
    where = "" if between is None else f", {axis} in [{between[0]:g}, {between[1]:g}]"
    for name, words in _TITLES.items():
        slope = loglog_slope(rows, axis, name, between)
        if slope is not None:
            interval = f"[{slope.low:+.3f}, {slope.high:+.3f}]"
            console.print(f"slope of {words}{where}: [bold]{slope.slope:+.3f}[/] {escape(interval)}")
    turning = smallest_at(rows, axis, "avg_grad_sq_before")
    if turning is not None:
        console.print(f"{_TITLES['avg_grad_sq_before']} is smallest at {axis} = {turning.mean:.4g} ± {turning.se:.2g}")
    console.print()


def _tolerance_text(rows: Sequence[Row]) -> str:
    """Whether delta leaves room for the ideal problem, as Theorems 1 and 2 ask."""
    met = sum(row["delta"] > row["delta_min"] for row in rows)
    which = "in every run" if met == len(rows) else "in no run" if met == 0 else f"in {met} of {len(rows)} runs"
    smallest = mean_over_seeds(rows, "delta_min").mean
    return f"δ > δ′, the premise of Theorems 1 and 2: {which} (smallest feasible δ′: {_short(smallest)})"


def _as_number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.inf


def _fixed(row: Row, axis: str) -> str:
    """The settings that do not vary."""
    names = [n for n in ("T", "d", "memory", "V", "eta", "delta", "steps") if n != axis and row[n] is not None]
    numbers = ", ".join(f"{name}={_short(row[name])}" for name in names)
    return f"{numbers}, {row['reference']}/{row['weights']}" + (", exact" if row["solver"] == "exact" else "")


def _mean_text(value: Spread) -> str:
    if value.n == 0:
        return "–"
    return _short(value.mean) + (f"±{_short(value.se, digits=1)}" if value.n > 1 else "")


def _short(value: object, digits: int = 3) -> str:
    """Few characters: 0.0123, 1.2e-5, 1500."""
    if not isinstance(value, int | float):
        return str(value)
    if math.isnan(value):
        return "–"
    if value == int(value) and abs(value) < 1e5:
        return f"{value:g}"
    return re.sub(r"e([+-])0+", r"e\1", f"{value:.{digits}g}").replace("e+", "e")


def _step_text(rows: Sequence[Row]) -> str:
    diverged = sum(row["diverged"] for row in rows)
    if diverged:
        return f"{diverged} div."
    if all(row["step_half"] for row in rows):
        return "≤½"
    return "≤1" if all(row["step_one"] for row in rows) else ">1"
