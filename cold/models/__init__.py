"""Networks with a head a task, or one for all."""

from .build import MODELS, build_model, default_model
from .heads import HeadedModel
from .saved import model_bytes

__all__ = ["MODELS", "HeadedModel", "build_model", "default_model", "model_bytes"]
