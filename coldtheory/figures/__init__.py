"""Figures in three steps kept apart: compute a table, store it with its origin, draw it.

A drawing function sees tables and nothing else, so that a plot never simulates.
"""
