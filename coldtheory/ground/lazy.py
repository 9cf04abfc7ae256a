"""Names of a package that are loaded when somebody asks for them, so that importing the package costs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def load_when_asked(package: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` (PEP 562) of a package whose public names are in its modules: module -> names.

    A type checker reads the imports in the other branch instead:

        if TYPE_CHECKING:
            from .tasks import Tasks, make_tasks
        else:
            __getattr__ = load_when_asked(__name__, {"tasks": ("Tasks", "make_tasks")})
    """
    home = {name: module for module, found in names.items() for name in found}

    def __getattr__(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{home[name]}", package), name)
        setattr(sys.modules[package], name, value)  # so that the next access finds it
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    sys.modules[package].__dict__["__dir__"] = __dir__  # a shell or an editor offers the names before they are loaded
    return __getattr__
