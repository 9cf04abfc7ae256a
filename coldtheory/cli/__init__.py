"""The command line: `coldtheory --help`."""

from .app import app, main

__all__ = ["app", "main"]
