"""Training methods, one file each."""

from .base import Batch, Context, Method, all_methods, find_method

__all__ = ["Batch", "Context", "Method", "all_methods", "find_method"]
