"""Which kernels a run computes with: beside the code and the settings, they decide how its sums are rounded."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_info

#: Environment variables that choose kernels other than those made for the processor.
FORCED = ("ATEN_CPU_CAPABILITY", "OPENBLAS_CORETYPE", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA")
_CPU = Path("/proc/cpuinfo")


def kernels(device: torch.device) -> dict[str, Any]:
    """Processor, libraries and their choices as plain JSON; runs whose entries are equal should give equal bits.

    On a GPU its name and the versions of CUDA and cuDNN count, and bits repeat only with `--deterministic`.
    """
    found: dict[str, Any] = {
        "processor": _processor(),
        "aten": torch.backends.cpu.get_cpu_capability(),
        "mkl": _version(r"Math Kernel Library Version (\S+)"),
        "onednn": _version(r"MKL-DNN v(\S+)"),
        "openblas": sorted({str(one["architecture"]) for one in threadpool_info() if "architecture" in one}),
        "threads": torch.get_num_threads(),
        "forced": {name: os.environ[name] for name in FORCED if name in os.environ},
    }
    if device.type == "cuda":
        cudnn: Any = torch.backends.cudnn
        found |= {"gpu": torch.cuda.get_device_name(device), "cuda": torch.version.cuda, "cudnn": cudnn.version()}
    return found


def _version(pattern: str) -> str | None:
    """The version of a library that torch reports; None if torch was built without it."""
    match = re.search(pattern, torch.__config__.show())
    return None if match is None else match[1].partition("-")[0]


def _processor() -> str:
    """Vendor, name, family and model; libraries choose their kernels by these and by what the processor can do."""
    try:
        lines = _CPU.read_text(encoding="utf-8", errors="replace").split("\n\n", 1)[0].splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    told = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    name = told.get("model name", platform.machine())
    return f"{name}, family {told.get('cpu family', '?')}, model {told.get('model', '?')}"
