"""Trained weights as a file that can run no code."""

from __future__ import annotations

from safetensors.torch import save
from torch import nn


def model_bytes(model: nn.Module) -> bytes:
    """The weights as safetensors."""
    data: bytes = save({name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()})
    return data
