"""Draw which sub-package imports which, from the code: `python docs/import_graph.py` writes docs/import_graph.svg.

A box is a sub-package, or a group of modules that lie directly in a package. Such modules are grouped from the bottom
up: a group is as large as it can be without importing anything above it. All imports count, those inside functions and
those for type checkers too. Boxes stand by rank: each above all that it imports. Lines that follow from others are left
out of the drawing; the picture's metadata hold all nodes and edges, and a test compares these with the code. A line
that goes against the direction is drawn in red.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = Path(__file__).with_suffix(".svg")
PACKAGES = ("coldtheory", "cold", "paper_checks")  # from the bottom to the top
_FILL = {"coldtheory": "#dcecf7", "cold": "#fdebd6", "paper_checks": "#e2f2e1"}
_LINE = {"coldtheory": "#2b7bba", "cold": "#c9700f", "paper_checks": "#3a8f3a"}

Edge = tuple[str, str]


@dataclass(frozen=True)
class Graph:
    """Nodes from low to high, each with the modules that it stands for; an edge (a, b) says that a imports b."""

    nodes: Mapping[str, tuple[str, ...]]
    edges: frozenset[Edge]

    def as_json(self) -> dict[str, object]:
        return {"nodes": dict(sorted(self.nodes.items())), "edges": sorted(self.edges)}


def read_graph(root: Path = ROOT) -> Graph:
    """The graph of the code below a folder that holds the packages."""
    files = {_module(path, root): path for name in PACKAGES for path in sorted((root / name).rglob("*.py"))}
    imports = {(module, found) for module, path in files.items() for found in _imports(module, path, files)}
    units = {module: unit for module in files if (unit := _unit(module))}
    between = {(units[a], units[b]) for a, b in imports if a in units and b in units and units[a] != units[b]}
    groups = _grouped(sorted(set(units.values())), between, root)
    home = {unit: name for name, members in groups.items() for unit in members}
    edges = {(home[a], home[b]) for a, b in between if home[a] != home[b]}
    return Graph(groups, frozenset(edges))


def _module(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _unit(module: str) -> str | None:
    """The sub-package or own module that a module belongs to; a package's `__init__` only hands on what others have."""
    parts = module.split(".")
    return None if len(parts) == 1 or parts[1] == "__main__" else ".".join(parts[:2])


def _imports(module: str, path: Path, files: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom):
            base = _base(module, path, node)
            for alias in node.names:
                yield from _resolved(base, alias.name, files)


def _base(module: str, path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])


def _resolved(base: str, name: str, files: Mapping[str, Path]) -> Iterator[str]:
    """The module that an import reaches: a module by its name, or the one from which a package takes the name."""
    if f"{base}.{name}" in files:
        yield f"{base}.{name}"
    elif base in PACKAGES and base in files:
        for node in ast.walk(ast.parse(files[base].read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
                yield _base(base, files[base], node)
    elif base in files:
        yield base


def _grouped(units: list[str], between: set[Edge], root: Path) -> dict[str, tuple[str, ...]]:
    """Sub-packages alone, own modules in as few groups as the order allows; from the bottom up."""
    needs = {unit: {b for a, b in between if a == unit} for unit in units}
    inner = {unit for unit in units if (root / unit.replace(".", "/")).is_dir()}
    groups: dict[str, tuple[str, ...]] = {}
    placed: set[str] = set()
    while len(placed) < len(units):
        before = len(placed)
        for unit in sorted(inner - placed):
            if needs[unit] <= placed:
                groups[unit] = (unit,)
                placed.add(unit)
        if len(placed) > before:
            continue
        for package in PACKAGES:
            closed = {unit for unit in units if unit.startswith(f"{package}.")} - inner - placed
            while closed and (stuck := {unit for unit in closed if not needs[unit] <= placed | closed}):
                closed -= stuck
            if closed:
                groups[_group_name(package, groups)] = tuple(sorted(closed))
                placed |= closed
                break
        else:  # a cycle: what is left is placed as it comes, and drawn with red lines
            unit = min(
                sorted(set(units) - placed),
                key=lambda one: (PACKAGES.index(one.split(".")[0]), len(needs[one] - placed)),
            )
            groups[unit] = (unit,)
            placed.add(unit)
    return groups


def _group_name(package: str, groups: Mapping[str, tuple[str, ...]]) -> str:
    return f"{package} ({1 + sum(name.startswith(f'{package} (') for name in groups)})"


def drawn_edges(graph: Graph) -> list[Edge]:
    """The edges without those that follow from others."""
    targets = {node: {b for a, b in graph.edges if a == node} for node in graph.nodes}

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for found in targets[todo.pop()] - seen:
                seen.add(found)
                todo.append(found)
        return seen

    behind = {node: reached(node) for node in graph.nodes}
    return sorted(
        (a, b)
        for a, b in graph.edges
        if not any(b in behind[other] and a not in behind[other] for other in targets[a] - {b})
    )


def rows(graph: Graph) -> list[list[str]]:
    """Nodes by rank, the lowest first; a package begins above all of the one before it."""
    rank: dict[str, int] = {}
    bottom = 0
    for package in PACKAGES:
        own = [node for node in graph.nodes if re.split(r"[. ]", node)[0] == package]
        for node in own:  # in an order in which everything comes after what it imports
            below = [rank[b] for a, b in graph.edges if a == node and b in rank and b in own]
            rank[node] = max([bottom, *(level + 1 for level in below)])
        bottom = max([bottom, *(rank[node] + 1 for node in own)])
    return [[node for node in graph.nodes if rank[node] == level] for level in range(bottom)]


def against(graph: Graph) -> list[Edge]:
    """Imports of something that stands as high or higher."""
    order = {node: level for level, nodes in enumerate(rows(graph)) for node in nodes}
    return [(a, b) for a, b in sorted(graph.edges) if order[a] <= order[b]]


def svg(graph: Graph) -> str:
    """The picture: boxes in rows, the lowest at the bottom."""
    width, gap, line = 900, 38, 15
    levels = rows(graph)
    place: dict[str, tuple[float, float, float, float]] = {}  # centre x, top, width, height
    top = 20.0
    for rank, level in reversed(list(enumerate(levels))):
        aside = (
            75 * (-1) ** rank if len(level) == 1 else 0
        )  # boxes one above the other would hide the lines behind them
        order = sorted(level, key=lambda node: _pull(node, graph, place))
        height = max(len(_label(node, graph)) for node in level) * line + 14
        sizes = {node: (_text_width(_label(node, graph)), len(_label(node, graph)) * line + 12) for node in order}
        space = max(8.0, (width - sum(w for w, _ in sizes.values())) / (len(order) + 1))
        left = space + aside
        for node, (w, h) in sizes.items():
            place[node] = (left + w / 2, top, w, h)
            left += w + space
        top += height + gap
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top:.0f}"',
        'font-family="sans-serif" font-size="12">',
        f"<title>Imports between sub-packages</title><metadata>{escape(json.dumps(graph.as_json()))}</metadata>",
        f'<rect width="{width}" height="{top:.0f}" rx="8" fill="#ffffff"/>',
    ]
    for a, b in drawn_edges(graph):
        (x1, y1, _, h1), (x2, end, _, _) = place[a], place[b]
        start, against = y1 + h1, end <= y1
        bend = max(24.0, abs(end - start) / 2)
        path = f"M{x1:.0f},{start:.0f} C{x1:.0f},{start + bend:.0f} {x2:.0f},{end - bend:.0f} {x2:.0f},{end:.0f}"
        stroke = (
            'stroke="#d01c1c" stroke-width="2.5"' if against else f'stroke="{_LINE[_package(a)]}" stroke-width="1.3"'
        )
        parts.append(f'<path d="{path}" fill="none" stroke-opacity="0.55" {stroke}/>')
    for node, (x, y, w, h) in place.items():
        size = f'x="{x - w / 2:.0f}" y="{y:.0f}" width="{w:.0f}" height="{h:.0f}"'
        parts.append(f'<rect {size} rx="5" fill="{_FILL[_package(node)]}" stroke="{_LINE[_package(node)]}"/>')
        for i, text in enumerate(_label(node, graph)):
            weight = ' font-weight="bold"' if i == 0 else ""
            at = f'x="{x:.0f}" y="{y + 17 + i * line:.0f}"'
            parts.append(f'<text {at} text-anchor="middle" fill="#1a1a1a"{weight}>{escape(text)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _package(node: str) -> str:
    return re.split(r"[. ]", node)[0]


def _label(node: str, graph: Graph) -> list[str]:
    """The name; below a group the names of its modules, a few to a line."""
    members = graph.nodes[node]
    if members == (node,):
        return [node]
    names = [member.split(".")[1] for member in members]
    lines = [""]
    for name in names:
        longer = f"{lines[-1]} {name}".strip()
        if len(longer) > 46 and lines[-1]:
            lines.append(name)
        else:
            lines[-1] = longer
    return [_package(node), *lines]


def _text_width(lines: list[str]) -> float:
    return max(len(words) for words in lines) * 7.0 + 20


def _pull(node: str, graph: Graph, place: Mapping[str, tuple[float, float, float, float]]) -> float:
    """The mean position of those that import the node: boxes stand below their users."""
    users = [place[a][0] for a, b in graph.edges if b == node and a in place]
    return sum(users) / len(users) if users else 0.0


def stored_graph(path: Path = PICTURE) -> dict[str, object]:
    """Nodes and edges as the committed picture has them."""
    text = path.read_text(encoding="utf-8").split("<metadata>")[1].split("</metadata>")[0]
    stored: dict[str, object] = json.loads(text.replace("&quot;", '"').replace("&amp;", "&"))
    return stored


def main() -> None:
    graph = read_graph()
    PICTURE.write_text(svg(graph), encoding="utf-8")
    upwards = against(graph)
    print(f"{PICTURE.name}: {len(graph.nodes)} boxes, {len(graph.edges)} imports between them")
    for a, b in upwards:
        print(f"  against the direction: {a} imports {b}")
    sys.exit(1 if upwards else 0)


if __name__ == "__main__":
    main()
