"""Networks with a head a task, or one for all."""

from .build import MODELS, build_model, default_model
from .heads import HeadedModel

__all__ = ["MODELS", "HeadedModel", "build_model", "default_model"]
