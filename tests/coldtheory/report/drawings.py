"""A figure like those of the gallery, for tests: panels that share axes, a heatmap, and a wide legend below them."""

from __future__ import annotations

from typing import Any

import numpy as np

from coldtheory.figures import Figure, Table, TableData
from coldtheory.figures import style as s

NAMES = ("one name", "another name", "a third name", "a fourth name", "a fifth name", "a sixth name")


def table() -> Table:
    rows = [{"x": x, "y": np.sin(x) + n, "name": name} for n, name in enumerate(NAMES) for x in np.linspace(0, 6, 300)]
    return Table.of(rows)


def draw(tables: dict[str, Table]) -> Any:
    figure, axes = s.panels(3, height=2.4, sharey=True)
    for name in tables["wave"].values("name"):
        one = tables["wave"].where(name=name)
        for ax in axes[0, :2]:
            ax.plot(one["x"], one["y"], label=name)
            ax.set_xlabel(r"time $t_k$")
    axes[0, 0].set_ylabel("height & <width>")
    axes[0, 2].pcolormesh(np.arange(60), np.arange(8), np.outer(np.arange(8), np.arange(60)), rasterized=True)
    s.letter(list(axes[0]))
    figure.legend(handles=axes[0, 0].get_legend_handles_labels()[0], loc="outside lower center", ncols=6)
    return s.finish(figure)


def refuse(tables: dict[str, Table]) -> Any:
    raise ZeroDivisionError("it cannot be drawn")


def figure(draw: str = "draw", id: str = "wave") -> Figure:
    data = TableData(name="wave", command="none", compute=f"{__name__}:table", config={})
    return Figure(
        id=id, label="", title="A wave", sentence="It waves.", kind="theory", data=(data,), draw=f"{__name__}:{draw}"
    )
