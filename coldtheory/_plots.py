"""Pictures that a run or a piece of advice draws of itself: plain arrays in, a figure out.

The colours are those of all other figures (`coldtheory.figures.style`), whose machinery is for pictures that are stored
with their data. matplotlib is loaded when something is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .ground.checks import shown
from .ground.errors import ColdError
from .ground.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, GREY = "#0173b2", "#de8f05", "#029e73", "0.35"
_KINDS = (".png", ".pdf", ".svg")
_DPI, _NOTEBOOK_DPI = 220, 130
_SHOWN = 400  # at most this many queues are drawn; more lines would not show more
_RC = {
    "font.size": 7.5, "axes.titlesize": 8, "axes.labelsize": 7.5, "xtick.labelsize": 6.5, "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5, "legend.frameon": False, "axes.spines.top": False, "axes.spines.right": False,
    "lines.linewidth": 1.2, "axes.linewidth": 0.7, "svg.hashsalt": "coldtheory",
}  # fmt: skip


def draw_run(
    Q: np.ndarray, before: np.ndarray, after: np.ndarray, title: str, path: Path | str | None = None
) -> Figure:
    """One run: its queues Q (T+1, T), and the squared gradients (T,) before and after each task."""
    with _style():
        figure, (upper, lower) = _panels(2, 1, height=3.4, sharex=True)
        t = np.arange(len(Q))
        ever = np.flatnonzero(Q.max(axis=0) > 0)
        drawn = ever[np.linspace(0, len(ever) - 1, min(len(ever), _SHOWN)).round().astype(int)]
        _lines(upper, t, Q, drawn)
        upper.set_ylabel("queue $Q_k[t]$")
        upper.set_title(f"{title}: {len(ever)} of {Q.shape[1]} queues ever fill", loc="left")
        lower.plot(t[1:], before, color=BLUE, label="before the task, at $x_{t-1}$")
        lower.plot(t[1:], after, color=ORANGE, linestyle=(0, (4, 1.5)), label="after it, at $x_t$")
        lower.set(xlabel="task $t$", ylabel=r"$\|\nabla\Phi_t\|^2$")
        if min(before.min(), after.min()) > 0:
            lower.set_yscale("log")
        figure.legend(*lower.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return _finished(figure, path)


def _lines(ax: Axes, t: np.ndarray, Q: np.ndarray, drawn: np.ndarray) -> None:
    """One line per queue, from its own task on, coloured by the task."""
    import matplotlib as mpl  # noqa: PLC0415

    colors = mpl.colormaps["viridis"]
    for k in drawn:
        ax.plot(t[k + 1 :], Q[k + 1 :, k], color=colors(k / max(Q.shape[1] - 1, 1)), linewidth=0.7, alpha=0.8)
    bar = ax.figure.colorbar(mpl.cm.ScalarMappable(mpl.colors.Normalize(1, Q.shape[1]), colors), ax=ax, pad=0.01)
    bar.set_label("queue of task $k$")


def draw_sweep(
    x: np.ndarray,
    curves: Mapping[str, np.ndarray],
    name: str,
    title: str,
    marks: Mapping[str, float] | None = None,
    path: Path | str | None = None,
) -> Figure:
    """Several settings: each curve (streams, settings) over x in a panel of its own; marks are vertical lines."""
    with _style():
        figure, axes = _panels(1, len(curves), height=2.3)
        for ax, (label, values), color in zip(axes, curves.items(), (BLUE, ORANGE, GREEN), strict=False):
            for one in values if len(values) <= 20 else ():
                ax.plot(x, one, color=color, linewidth=0.5, alpha=0.35)
            ax.plot(x, values.mean(axis=0), color=color, marker="o", markersize=2.5)
            ax.set(xlabel=name, title=label)
            if (x > 0).all() and len(x) > 1:
                ax.set_xscale("log")
            if np.nanmin(values) > 0:
                ax.set_yscale("log")
                _plain_if_narrow(ax)
            _mark(ax, marks or {})
        if marks:
            figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
        return _finished(figure, path)


def _plain_if_narrow(ax: Axes) -> None:
    """Numbers such as 0.2 where a logarithmic axis has too few powers of ten."""
    import matplotlib as mpl  # noqa: PLC0415

    low, high = ax.get_ylim()
    ax.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    if np.floor(np.log10(high)) - np.ceil(np.log10(low)) < 1:
        ax.yaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
        ax.yaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))


def _mark(ax: Axes, marks: Mapping[str, float]) -> None:
    for (words, at), dashes in zip(marks.items(), ("--", ":", "-."), strict=False):
        ax.axvline(at, color=GREY, linestyle=dashes, linewidth=0.9, label=words)


def _style() -> AbstractContextManager[None]:
    import matplotlib as mpl  # noqa: PLC0415

    return mpl.rc_context(_RC)  # type: ignore[arg-type]


def _panels(rows: int, columns: int, *, height: float, **more: Any) -> tuple[Figure, Sequence[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(6.75, height), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **more).ravel()


def _finished(figure: Figure, path: Path | str | None) -> Figure:
    """Lay the figure out, show it in a notebook, and write it if a path is given."""
    vars(figure)["_repr_png_"] = lambda: _content(figure, "png", dpi=_NOTEBOOK_DPI)
    if path is not None:
        check_ending(path)
        write_atomically(Path(path), _content(figure, Path(path).suffix[1:]))
    return figure


def check_ending(path: Path | str) -> None:
    """Raises unless a picture can have this name."""
    if Path(path).suffix not in _KINDS:
        raise ColdError(f"a picture must end in {', '.join(_KINDS)}, got {shown(str(path))}")


def _content(figure: Figure, kind: str, dpi: int = _DPI) -> bytes:
    out = io.BytesIO()
    with _style():
        figure.savefig(out, format=kind, dpi=dpi)
    return out.getvalue()
