"""Which files a module's results can depend on: a digest of the module and of all that it imports.

Imports are read from the source text, and nothing is imported or run. An import inside a function counts. Some imports
of a package's __init__ count only for the names that are asked of the package: those that only a type checker sees, as
packages here load such names when they are asked for, and all of an __init__ that does nothing but pass names on. The
data files (TOML) beside a module belong to it if its code names such a file.
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
    """What a module imports, as pairs (module, name); an empty name means the module itself."""

    always: list[tuple[str, str]] = field(default_factory=list)
    by_name: dict[str, tuple[str, str]] = field(default_factory=dict)  #: imports that count only for users of the name
    data: bool = False  #: whether it names a data file


class Code:
    """The source of some packages as it is now.

    packages  : names of importable packages; other modules (numpy, ...) are ignored
    leave_out : parts of these packages that no result depends on, as beginnings of module names
    apart     : modules that do not count only because their package's __init__ imports them; their users note them
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
        """Return the digest of a module and all that it imports, directly or not; empty for an unknown module."""
        if module not in self._digests:
            self._digests[module] = self._digest(module) if module in self._files else ""
        return self._digests[module]

    def closure(self, module: str) -> list[str]:
        """Return the module and all that it imports within the packages, directly or not, by name."""
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
        for folder in {self._files[name][0].parent for name in files if self._read_imports(name).data}:
            files |= dict(self._data.get(folder, ()))
        total = hashlib.sha256()
        for name, content in sorted(files.items()):
            total.update(name.encode() + b"\0" + content + b"\0")
        return total.hexdigest()[:16]

    def _imported(self, module: str) -> Iterator[str]:
        """The modules that a module imports itself, and names that are no modules, which nobody will find."""
        for source, name in self._read_imports(module).always:
            for target in self._asked(source, name):
                if not (target in self._apart and module == target.rpartition(".")[0]):
                    yield target

    def _asked(self, source: str, name: str) -> Iterator[str]:
        """`from source import name`: the source, the name if it is a module, and where the source has it from."""
        yield source
        if name:
            yield f"{source}.{name}"
        passed_on = self._read_imports(source).by_name if source in self._files else {}
        for known in passed_on if name == "*" else {name} & passed_on.keys():
            where = passed_on[known]
            if where[0] == source:
                yield f"{source}.{where[1]}"
            else:
                yield from self._asked(*where)

    def _read_imports(self, module: str) -> _Imports:
        if module not in self._imports:
            path, content = self._files[module]
            init = path.name == "__init__.py"
            package = module if init else module.rpartition(".")[0]
            self._imports[module] = _imports_of(content, package, init=init)
        return self._imports[module]


def _imports_of(source: bytes, package: str, *, init: bool) -> _Imports:
    found = _Imports()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return found  # its own text still counts
    told = {id(line.value) for line in ast.walk(tree) if isinstance(line, ast.Expr)}  # docstrings
    words = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told)
    found.data = any(isinstance(word, str) and word.endswith(_DATA) for word in words)
    passes_on = init and all(_is_import(line) or _is_text(line) for line in tree.body)
    for node, typing_only in _statements(tree, typing_only=False):
        if isinstance(node, ast.Import):
            found.always += [(alias.name, "") for alias in node.names]
            continue
        base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        target = ".".join(filter(None, (*base, node.module)))
        for alias in node.names:
            if typing_only or passes_on:
                found.by_name[alias.asname or alias.name] = (target, alias.name)
            else:
                found.always.append((target, alias.name))
    return found


def _is_import(line: ast.stmt) -> bool:
    return isinstance(line, ast.Import | ast.ImportFrom)


def _is_text(line: ast.stmt) -> bool:
    """A docstring, or `__all__`."""
    assigned = line.targets if isinstance(line, ast.Assign) else []
    names = [target.id for target in assigned if isinstance(target, ast.Name)]
    return names == ["__all__"] or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))


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
