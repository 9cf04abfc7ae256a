"""How each method looks in every figure: a colour, a marker and a line of its own, by its name in the catalogue.

Methods that build on one another often nearly coincide, such as DER and DER++. The later one has gaps in its line, a
hollow and larger mark, and lies on top, so the earlier one shows through.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from coldtheory.figures import style as s

from ..catalogue import canonical

_DASHED, _DOTTED, _MIXED = (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.2, 1, 1.2))


class _Look(NamedTuple):
    color: str
    marker: str
    line: Any = "-"

    def style(self, *, thick: bool) -> dict[str, Any]:
        """Arguments of `Axes.plot`."""
        below = self.line == "-"
        return {
            "color": self.color, "marker": self.marker, "linestyle": self.line, "linewidth": 1.5 if thick else 0.9,
            "markersize": 2.6 if below else 4.2, "fillstyle": "full" if below else "none", "markeredgewidth": 0.8,
            "zorder": 2.0 if below else 2.2,
        }  # fmt: skip


#: The methods of the paper that this project is about: their lines are the thick ones.
OURS = {
    "cold": _Look(s.PALETTE[0], "o"),
    "cold-oracle": _Look(s.PALETTE[3], "s", _DASHED),
    "cold-distill": _Look("#ae017e", "*", _MIXED),
}
LOOKS = {
    **OURS,
    "finetune": _Look("#6b6b6b", "X"),
    "ewc": _Look("#029e73", "^"),
    "ewc-online": _Look("#8fd6a8", "2", _DASHED),
    "gem": _Look("#7b3f00", "1"),
    "agem": _Look("#cc78bc", "d", _DASHED),
    "mer": _Look("#a3b1ff", "<"),
    "gdumb": _Look("#b5b5b5", "h"),
    "er": _Look("#ca9161", "p"),
    "er-ace": _Look("#ff9ca5", "H", _DASHED),
    "cls-er": _Look("#0b4d3c", "3", _MIXED),
    "der": _Look("#b8a000", ">"),
    "derpp": _Look("#39b6f0", "P", _DASHED),
    "star": _Look("#f5a400", "4", _MIXED),
    "refresh": _Look("#00b3a8", "D", _DOTTED),
    "cba": _Look("#5e3c99", "8", _DOTTED),
    "nccl": _Look("#6a8f00", "v", _DOTTED),
    "joint": _Look("#000000", "_", _DOTTED),
}
_OTHER = _Look("#4a2a6a", "x", _MIXED)  # a method of the user's own


def look(method: str) -> dict[str, Any]:
    """The line of a method, the same in every figure, as arguments of `Axes.plot`."""
    name = method if method in LOOKS else canonical(method)
    return LOOKS.get(name, _OTHER).style(thick=name in OURS)
