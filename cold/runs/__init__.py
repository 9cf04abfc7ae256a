"""Finished runs on disk."""
