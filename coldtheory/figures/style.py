"""One look for all figures: sizes, colours, line styles, and the helpers that keep them consistent.

No global state of matplotlib is touched: figures are made by the object interface inside an `rc_context`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
import seaborn as sns
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .table import Table

COLUMN, PAGE = 3.25, 6.75  # widths in inches
DPI = 220  # 1485 pixels across a page

_COLORBLIND: list[str] = sns.color_palette("colorblind").as_hex()
REGIME_COLOR = {"low": _COLORBLIND[0], "high": _COLORBLIND[1], "conflict": _COLORBLIND[2]}
REGIME_NAME = {"low": "LOW", "high": "HIGH", "conflict": "CONFLICT"}
METHOD_NAME = {"previous": "COLD", "best": "COLD-ORACLE", "stored": "COLD, stored reference"}
CASE_COLOR = {"previous": _COLORBLIND[3], "best": _COLORBLIND[4], "stored": _COLORBLIND[9]}  # where cases are compared
PALETTE = _COLORBLIND
BEFORE: dict[str, Any] = {"linestyle": "-"}  # the gradient at x_{t-1}
AFTER: dict[str, Any] = {"linestyle": (0, (4, 1.5))}  # the gradient at x_t
GREY = "0.35"
TERM_COLOR = {
    "variation": _COLORBLIND[3], "first loss": _COLORBLIND[4], "conflict": _COLORBLIND[9], "queues": _COLORBLIND[7],
    "residual": _COLORBLIND[8], "last loss": _COLORBLIND[5], "last Lyapunov": _COLORBLIND[6], "ageing": "0.8",
    "relief": "0.2",
}  # fmt: skip

GRADIENT = r"average $\|\nabla\Phi_t\|^2$"
GRADIENT_BEFORE = r"average $\|\nabla\Phi_t(x_{t-1})\|^2$"
QUEUE = r"average queue $\bar{Q}$"
FIT = (50.0, 200.0)  # the range of V in which the paper's text reads slopes


def rc() -> dict[Any, Any]:
    """seaborn's ticks and paper, with type that stays readable at column width."""
    return {
        **sns.axes_style("ticks"),
        **sns.plotting_context("paper"),
        "font.family": "DejaVu Sans",  # comes with matplotlib, so the letters are the same on every machine
        "mathtext.fontset": "dejavusans",
        "font.size": 7.5, "axes.labelsize": 7.5, "axes.titlesize": 8, "legend.fontsize": 6.5,
        "xtick.labelsize": 6.5, "ytick.labelsize": 6.5, "legend.title_fontsize": 6.5,
        "axes.linewidth": 0.7, "lines.linewidth": 1.2, "lines.markersize": 3.5,
        "xtick.major.width": 0.7, "ytick.major.width": 0.7, "xtick.minor.width": 0.4, "ytick.minor.width": 0.4,
        "xtick.major.size": 3, "ytick.major.size": 3, "xtick.minor.size": 1.6, "ytick.minor.size": 1.6,
        "legend.frameon": False, "legend.handlelength": 1.9, "legend.borderaxespad": 0.3, "legend.labelspacing": 0.3,
        "axes.titlepad": 4, "axes.labelpad": 2.5, "axes.prop_cycle": cycler(color=_COLORBLIND),
        "pdf.fonttype": 42, "savefig.dpi": DPI, "svg.hashsalt": "coldtheory",
    }  # fmt: skip


@contextmanager
def styled() -> Iterator[None]:
    """Within this block matplotlib draws with this project's settings."""
    with mpl.rc_context(rc()):
        yield


def new_figure(width: float = PAGE, height: float = 2.2) -> Figure:
    """An empty figure of this size, in inches."""
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def panels(columns: int, rows: int = 1, *, height: float = 2.2, width: float = PAGE, **more: Any) -> tuple[Figure, Any]:
    """A figure and its axes, always as an array (rows, columns)."""
    figure = new_figure(width, height)
    return figure, figure.subplots(rows, columns, squeeze=False, **more)


def band(
    ax: Axes,
    x: np.ndarray,
    by_seed: np.ndarray,
    *,
    color: str,
    label: str | None = None,
    gaps: bool = True,
    **line: Any,
) -> np.ndarray:
    """The mean over seeds (rows) with the range from the 10 % to the 90 % quantile; returns the mean.

    Where some seeds have no value (they diverged) nothing is drawn; with `gaps` False the others are (not yet run).
    """
    known = np.isfinite(by_seed)
    use = known.all(axis=0) if gaps else known.any(axis=0)
    x, by_seed = x[use], by_seed[:, use]
    mean = np.nanmean(by_seed, axis=0)
    ax.plot(x, mean, color=color, label=label, **line)
    if len(by_seed) > 1 and len(x):
        low, high = np.nanquantile(by_seed, [0.1, 0.9], axis=0)
        ax.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)
    return np.asarray(mean)


def heat(ax: Axes, table: Table, name: str, top: float, low: float = 0.0) -> Any:
    """A column of numbers over t (to the right) and k (upwards), from `low` to `top`; blank where there is none."""
    t, k = np.unique(table["t"]), np.unique(table["k"])
    values = np.full((len(k), len(t)), np.nan)
    values[np.searchsorted(k, table["k"]), np.searchsorted(t, table["t"])] = table[name]
    colors = mpl.colormaps["mako_r"].with_extremes(bad="white")
    return ax.pcolormesh(t, k, values, cmap=colors, vmin=low, vmax=top, shading="nearest", rasterized=True)


def heat_with_key(ax: Axes, table: Table, name: str, top: float, low: float = 0.0) -> Any:
    """The same with a key of its own beside it, which is returned."""
    mesh = heat(ax, table, name, top, low)
    return _figure(ax).colorbar(mesh, ax=ax, pad=0.02, aspect=18, ticks=mpl.ticker.MaxNLocator(4))


def say_empty(ax: Axes) -> None:
    """In the place of a heatmap of queues that never fill."""
    ax.text(0.5, 0.5, "every queue is empty", transform=ax.transAxes, ha="center", va="center", color=GREY)


def _figure(ax: Axes) -> Figure:
    figure = ax.get_figure()
    assert figure is not None
    return figure  # type: ignore[return-value]  # or a part of one, which can do the same


def name_ends(ax: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """The name of every line (x and y of its end, name, colour) to the right of the panel, one below the other.

    Lines that coincide can thus be distinguished. The limits of the y-axis have to be final.
    """
    low, high = ax.get_ylim()
    height = _figure(ax).get_figheight() * ax.get_position().height
    gap = 7.4 / 72.0 / height  # one line of type
    ordered = sorted(ends, key=lambda end: end[1])
    places = [(end[1] - low) / (high - low) for end in ordered]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + gap)
    for i in reversed(range(len(places))):
        places[i] = min(places[i], places[i + 1] - gap if i + 1 < len(places) else 1.0)
    link = {"arrowstyle": "-", "linewidth": 0.5, "relpos": (0.0, 0.5), "shrinkA": 1, "shrinkB": 2}
    for (x, y, name, color), place in zip(ordered, places, strict=True):
        ax.annotate(
            name, (x, y), xytext=(1.04, place), textcoords="axes fraction", va="center", fontsize=6, color=color,
            arrowprops={**link, "color": color}, annotation_clip=False,
        )  # fmt: skip


def cut_line(
    ax: Axes, x: np.ndarray, y: np.ndarray, *, low: float = 0.0, high: float = np.inf, color: str, **line: Any
) -> None:
    """A line on logarithmic axes without what lies outside of `low` to `high`; an arrow shows where it goes on."""
    inside = (y >= low) & (y <= high)
    log_x, log_y = np.log(x), np.log(np.maximum(y, 1e-300))
    shown = [(x[0], y[0]) if inside[0] else (np.nan, np.nan)]
    for i in range(1, len(x)):
        if inside[i] != inside[i - 1]:
            edge = high if max(y[i - 1], y[i]) > high else low
            share = (np.log(edge) - log_y[i - 1]) / (log_y[i] - log_y[i - 1])
            out = (np.exp(log_x[i - 1] + share * (log_x[i] - log_x[i - 1])), edge)
            shown.append(out)
            near = i if inside[i] else i - 1
            start = (out[0] ** 0.9 * x[near] ** 0.1, out[1] ** 0.9 * y[near] ** 0.1)  # a tenth of the way back
            arrow = {"arrowstyle": "->", "color": color, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", out, start, arrowprops=arrow)
        shown.append((x[i], y[i]) if inside[i] else (np.nan, np.nan))
    ax.plot(*np.transpose(shown), color=color, **line)


def loglog(ax: Axes, x: str, y: str) -> None:
    """Make both axes logarithmic and name them."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(x)
    ax.set_ylabel(y)


def few_ticks(ax: Axes, axis: str, values: Sequence[float]) -> None:
    """Plain numbers at the given places of a logarithmic axis that spans too little for powers of ten."""
    which = ax.xaxis if axis == "x" else ax.yaxis
    which.set_major_locator(mpl.ticker.FixedLocator(list(values)))
    which.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
    which.set_minor_formatter(mpl.ticker.NullFormatter())


def letter(axes: Sequence[Axes]) -> None:
    """(a), (b), ... before each panel's title."""
    for ax, name in zip(axes, "abcdefghijkl", strict=False):
        title = ax.get_title()
        ax.set_title("")
        ax.set_title(f"({name}) {title}" if title else f"({name})", loc="left")


def minus(text: str) -> str:
    """Numbers in text with a proper minus sign."""
    return text.replace("-", "\N{MINUS SIGN}")


def power(value: float) -> str:
    """A number as text: 0.5, 40, and 4e-7 as four times a power of ten."""
    if value == 0 or 1e-2 <= value < 1e4:
        return f"{value:g}"
    digits, exponent = f"{value:.1e}".split("e")
    factor = "" if float(digits) == 1 else rf"{float(digits):g}\cdot "
    return rf"${factor}10^{{{int(exponent)}}}$"


def finish(figure: Figure) -> Figure:
    """The last touches of a figure: frames without top and right side, and labels of logarithmic axes."""
    for ax in figure.axes:
        if ax.axison and ax.get_label() != "<colorbar>":
            sns.despine(ax=ax)
            for axis in (ax.xaxis, ax.yaxis):
                if axis.get_scale() == "log" and not isinstance(axis.get_major_locator(), mpl.ticker.FixedLocator):
                    _plain_if_narrow(axis)
    return figure


def _plain_if_narrow(axis: Axis) -> None:
    """Numbers such as 0.2 where a logarithmic axis has too few powers of ten; else only powers get a label."""
    low, high = axis.get_view_interval()
    axis.set_minor_formatter(mpl.ticker.NullFormatter())
    if np.floor(np.log10(high)) - np.ceil(np.log10(low)) < 1:
        close = high < 10.0 * low
        axis.set_major_locator(mpl.ticker.LogLocator(subs=(1.0, 2.0, 3.0, 5.0, 7.0) if close else (1.0, 2.0, 4.0)))
        axis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))


def small_print(figure: Figure, text: str) -> None:
    """A line at the upper edge that says what made the data of the picture, and their size."""
    line = figure.suptitle(text, fontsize=5.5, color=GREY, x=0.995, ha="right")
    line.set_gid("small print")


def settle(figure: Figure) -> None:
    """Lay the figure out once: each format then shows the same, whichever is written first."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def watermark(figure: Figure, text: str = "made-up data") -> None:
    """A mark across the whole picture, so that no crop of it can pass for a result."""
    figure.text(
        0.5, 0.5, text, rotation=25, fontsize=26, color="crimson", alpha=0.35, ha="center", va="center",
        weight="bold", zorder=10, in_layout=False, gid="watermark",
    )  # fmt: skip


def picture_bytes(figure: Figure, kind: str) -> bytes:
    """The picture as a file's content, the same bytes every time: no dates, no program names.

    Every time with the same versions of matplotlib and of the libraries below it, that is.
    """
    out = io.BytesIO()
    blank: dict[str, Any] = {"png": {"Software": None}, "pdf": dict.fromkeys(("Creator", "Producer", "CreationDate"))}
    with styled():
        figure.savefig(out, format=kind, dpi=DPI, metadata=blank.get(kind))
    return out.getvalue()
