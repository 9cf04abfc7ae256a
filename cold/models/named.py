"""Networks that a user names: a factory in the user's own package, or a model of timm.

    package.module:factory     called with the shape of a sample if it takes an argument; gives a module of features
    timm:NAME                  the model of that name without its classifier, its weights drawn from the run's seed
    timm:NAME@FILE             the same with the weights of a safetensors file

A name is code that runs with all rights of the user. It is taken from the command line or from a file that the user
names, never from a result (docs/trust.md). Nothing is ever downloaded.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

from safetensors.torch import load as load_safetensors
from torch import nn

from coldtheory.ground.errors import ColdError
from coldtheory.ground.reading import read_bytes

TIMM = "timm:"
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def is_named(name: str) -> bool:
    """Whether a model's name says what to import; all others are built in.

    >>> [is_named(name) for name in ("mlp-256", "timm:resnet18", "my_package.nets:small")]
    [False, True, True]
    """
    return ":" in name


def named_module(name: str, shape: tuple[int, ...]) -> nn.Module:
    """The module of features that a user's name stands for, for samples of a shape."""
    if name.startswith(TIMM):
        return _of_timm(*name.removeprefix(TIMM).partition("@")[::2], shape)
    if not _DOTTED.fullmatch(name):
        raise ColdError(f"cannot read the model {name[:80]!r}: give package.module:factory or timm:NAME")
    return _of_factory(name, shape)


def _of_factory(name: str, shape: tuple[int, ...]) -> nn.Module:
    path, _, factory = name.partition(":")
    here = str(Path.cwd())
    sys.path.append(here)  # as `python -m` has it: a module beside the user's own scripts is found
    try:
        made = getattr(importlib.import_module(path), factory, None)
    except Exception as error:  # a user's own module may fail in any way
        raise ColdError(f"cannot import {path} for the model {name}: {_reason(error)}") from None
    finally:
        sys.path.remove(here)
    if not callable(made):
        raise ColdError(f"{path} has no function or class {factory} that makes a network")
    try:
        module = made(shape) if _takes_one(made) else made()
    except Exception as error:
        raise ColdError(f"{name} made no network for samples of shape {shape}: {_reason(error)}") from None
    if not isinstance(module, nn.Module):
        raise ColdError(f"{name} must give a torch module, got {type(module).__name__}")
    return module


def _takes_one(made: Any) -> bool:
    try:
        parameters = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):  # of a builtin
        return False
    return any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in parameters)


def _of_timm(name: str, file: str, shape: tuple[int, ...]) -> nn.Module:
    if len(shape) != 3:
        raise ColdError(f"timm:{name} takes images (channels, height, width), this benchmark has shape {shape}")
    try:
        timm = importlib.import_module("timm")
    except ImportError as error:
        raise ColdError(f"timm cannot be imported ({_reason(error)}); pip install 'cold-continual[timm]'") from None
    try:
        module: nn.Module = timm.create_model(name, pretrained=False, num_classes=0, in_chans=shape[0])
    except Exception as error:  # whatever error an unknown name or a wrong size causes
        raise ColdError(f"timm has no model {name!r} for images of shape {shape}: {_reason(error)}") from None
    if file:
        _load(module, Path(file).expanduser(), name)
    return module


def _load(module: nn.Module, path: Path, name: str) -> None:
    """The weights of a file; those of its classifier are left out, all others must be there."""
    if path.suffix != ".safetensors":
        raise ColdError(f"weights are read from .safetensors files only, which can run no code; got {path}")
    try:
        stored = load_safetensors(read_bytes(path))
        missing = module.load_state_dict(stored, strict=False).missing_keys
    except ColdError:
        raise
    except Exception as error:  # of safetensors or torch, for a damaged file or other shapes
        raise ColdError(f"the weights {path} do not fit timm:{name}: {_reason(error)}") from None
    if missing:
        raise ColdError(f"the weights {path} do not fit timm:{name}: {len(missing)} are missing, such as {missing[0]}")


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
