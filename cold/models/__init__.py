"""Networks with one head per task, or one for all."""

from .build import MODELS, build_model, default_model, model_bytes
from .networks import HeadedModel

__all__ = ["MODELS", "HeadedModel", "build_model", "default_model", "model_bytes"]
