"""Which files a module's results can depend on: a digest of the module and of all that it imports.

Imports are read from the source text, and nothing is imported or run. An import inside a function counts; one that
only a type checker sees counts only for the name that is asked of it, because packages here load such names when they
are asked for. The data files (TOML) beside a module belong to it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

_DATA = (".toml",)


@dataclass
class _Imports:
    """What a module imports: (module, names taken from it; none for the module itself)."""

    always: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    by_name: dict[str, str] = field(default_factory=dict)  #: names that only a type checker imports -> their module


class Code:
    """The source of some packages as it is now.

    packages  : names of importable packages; other modules (numpy, ...) are not looked at
    leave_out : parts of these packages that no result depends on, as beginnings of module names
    apart     : modules that do not count just because their package's __init__ imports them; who uses one notes it
    """

    def __init__(
        self, packages: Iterable[str], *, leave_out: Collection[str] = (), apart: Collection[str] = ()
    ) -> None:
        self._files: dict[str, tuple[Path, bytes]] = {}  # module -> its file
        self._data: dict[Path, list[tuple[str, bytes]]] = {}  # folder -> data files in it
        self._leave_out, self._apart = tuple(leave_out), frozenset(apart)
        self._imports: dict[str, _Imports] = {}
        self._digests: dict[str, str] = {}
        for package in packages:
            self._read(package)

    def digest(self, module: str) -> str:
        """Of a module and all that it imports, at any distance; empty for a module that is not there."""
        if module not in self._digests:
            self._digests[module] = self._digest(module) if module in self._files else ""
        return self._digests[module]

    def closure(self, module: str) -> list[str]:
        """The module and all that it imports within the packages, at any distance, by name."""
        seen: set[str] = set()
        waiting = [module]
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self._files or name.startswith(self._leave_out):
                continue
            seen.add(name)
            parents = [name[:at] for at, letter in enumerate(name) if letter == "."]
            waiting += [*parents, *self._imported(name)]
        return sorted(seen)

    def _read(self, package: str) -> None:
        spec = find_spec(package)
        if spec is None:
            return
        if not spec.submodule_search_locations:  # one file
            path = Path(spec.origin or "")
            if path.suffix == ".py":
                self._files[package] = (path, path.read_bytes())
            return
        for root in map(Path, spec.submodule_search_locations):
            for path in sorted(root.rglob("*.py")):
                inside = path.relative_to(root).with_suffix("").parts
                name = ".".join((package, *(inside[:-1] if inside[-1] == "__init__" else inside)))
                self._files[name] = (path, path.read_bytes())
            for path in sorted(path for path in root.rglob("*") if path.suffix in _DATA):
                told = "/".join((package, *path.relative_to(root).parts))
                self._data.setdefault(path.parent, []).append((told, path.read_bytes()))

    def _digest(self, module: str) -> str:
        files = {name: self._files[name][1] for name in self.closure(module)}
        for folder in {self._files[name][0].parent for name in files}:
            files |= dict(self._data.get(folder, ()))
        total = hashlib.sha256()
        for name, content in sorted(files.items()):
            total.update(name.encode() + b"\0" + content + b"\0")
        return total.hexdigest()[:16]

    def _imported(self, module: str) -> Iterator[str]:
        """The modules that a module imports itself, and names that are no modules, which nobody will find."""
        for source, names in self._read_imports(module).always:
            for target in (source, *(f"{source}.{name}" for name in names)):
                if not (target in self._apart and module == target.rpartition(".")[0]):
                    yield target
            if source in self._files:
                lazily = self._read_imports(source).by_name
                yield from (lazily[name] for name in names if name in lazily)

    def _read_imports(self, module: str) -> _Imports:
        if module not in self._imports:
            path, content = self._files[module]
            package = module if path.name == "__init__.py" else module.rpartition(".")[0]
            self._imports[module] = _imports_of(content, package)
        return self._imports[module]


def _imports_of(source: bytes, package: str) -> _Imports:
    found = _Imports()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return found  # its own text still counts
    for node, typing_only in _statements(tree, typing_only=False):
        if isinstance(node, ast.Import):
            pairs: list[tuple[str, tuple[str, ...]]] = [(alias.name, ()) for alias in node.names]
        else:
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            pairs = [(".".join(filter(None, (*base, node.module))), tuple(alias.name for alias in node.names))]
        if not typing_only:
            found.always += pairs
        else:
            found.by_name |= {name: target for target, names in pairs for name in names}
    return found


def _statements(node: ast.AST, *, typing_only: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, typing_only
        elif isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            for line in child.body:
                yield from _statements(ast.Module([line], []), typing_only=True)
            for line in child.orelse:
                yield from _statements(ast.Module([line], []), typing_only=typing_only)
        else:
            yield from _statements(child, typing_only=typing_only)
