"""A torchvision that was built for another torch does not import, for want of two operators that no test uses."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec

import torch

_STAND_IN: list[torch.library.Library] = []  # its operators go when it goes

if find_spec("torchvision") is not None:
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        _STAND_IN.append(torch.library.Library("torchvision", "DEF"))
        for operator in ("nms", "qnms"):
            _STAND_IN[0].define(f"{operator}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
