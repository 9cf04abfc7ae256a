"""What can be told of a picture without eyes: labels, sizes of type, and whether a legend lies over data.

The figure has to be laid out (`style.settle`).
"""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.patches import Circle
from matplotlib.text import Text


def panels(figure):
    return [ax for ax in figure.axes if ax.axison and ax.get_label() != "<colorbar>"]


def unlabelled(figure):
    """Panels whose axis has neither a label of its own nor a neighbour's (shared with its row or column)."""
    found = []
    for ax in panels(figure):
        place = ax.get_subplotspec()
        row = [other for other in panels(figure) if _same_line(place, other.get_subplotspec(), "rowspan")]
        column = [other for other in panels(figure) if _same_line(place, other.get_subplotspec(), "colspan")]
        if not any(other.get_ylabel() for other in row) or not any(other.get_xlabel() for other in column):
            found.append(ax.get_title(loc="left"))
    return found


def legends_over_data(figure):
    """Panels in which a point of a drawn line lies inside the legend, or the figure's legend over any panel."""
    found = []
    for ax in panels(figure):
        boxes = [legend.get_window_extent() for legend in [ax.get_legend()] if legend is not None]
        for line in ax.lines:
            points = (
                ax.transData.transform(np.column_stack(line.get_data())) if line.get_transform() == ax.transData else []
            )
            dense = _dense(np.asarray(points))
            found += [ax.get_title(loc="left") for box in boxes if _inside(box, dense)]
    outer = [legend.get_window_extent() for one in (figure, *figure.subfigs) for legend in one.legends]
    found += [
        ax.get_title(loc="left") for ax in panels(figure) for box in outer if box.overlaps(ax.get_window_extent())
    ]
    return found


def smallest_type(figure):
    return min(text.get_fontsize() for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible())


def outside(figure):
    """Texts that reach beyond the picture's edge; ticks beyond the axis are never drawn, so they do not count."""
    edge = figure.bbox
    ticks = {
        id(tick)
        for ax in figure.axes
        for tick in (*ax.get_xticklabels(which="both"), *ax.get_yticklabels(which="both"))
    }
    found = []
    for text in figure.findobj(Text):
        if text.get_text().strip() and text.get_visible() and id(text) not in ticks:
            box = text.get_window_extent()
            if box.x0 < edge.x0 - 1 or box.x1 > edge.x1 + 1 or box.y0 < edge.y0 - 1 or box.y1 > edge.y1 + 1:
                found.append(text.get_text())
    return found


def notes_over_neighbours(figure):
    """Notes of one panel that lie over another panel or a colour bar."""
    return [
        note.get_text()
        for ax in figure.axes
        for note in ax.texts
        for other in figure.axes
        if other is not ax and note.get_text() and note.get_window_extent().overlaps(other.get_window_extent())
    ]


def clipped(figure):
    """Panels in which a line, a band or a circle reaches beyond the limits of an axis."""
    found = []
    for ax in panels(figure):
        points = [np.column_stack(line.get_data()) for line in ax.lines if line.get_transform() == ax.transData]
        points += [path.vertices for one in ax.collections if _is_band(one) for path in one.get_paths()]
        points += [
            np.array(circle.center) + circle.radius * np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])
            for circle in ax.patches
            if isinstance(circle, Circle)
        ]
        for one in points:
            known = np.asarray(one, dtype=float)
            inside = ax.transAxes.inverted().transform(ax.transData.transform(known[np.isfinite(known).all(axis=1)]))
            if len(inside) and (inside.min() < -1e-6 or inside.max() > 1 + 1e-6):
                found.append(ax.get_title(loc="left"))
    return found


def _is_band(collection):
    return isinstance(collection, PolyCollection)


def _same_line(left, right, name):
    return left.get_gridspec() is right.get_gridspec() and getattr(left, name) == getattr(right, name)


def _dense(points):
    """Points along the line too: a legend may lie between two of them."""
    if len(points) < 2:
        return points.reshape(-1, 2)
    share = np.linspace(0.0, 1.0, 20)[None, :, None]
    return (points[:-1, None] * (1 - share) + points[1:, None] * share).reshape(-1, 2)


def _inside(box, points):
    x, y = points[:, 0], points[:, 1]
    return bool(((x > box.x0 + 1) & (x < box.x1 - 1) & (y > box.y0 + 1) & (y < box.y1 - 1)).any())
