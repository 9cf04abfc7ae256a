"""Figures are made in three separate steps: compute a table, store it with its origin, draw it.

table      small tidy tables
style      one look for all pictures
figure     a figure and its stored data
gradient, trajectory, queues, bounds, variation, picture
           a family of figures each: the functions that compute its tables and those that draw them
swept      gradient, queues and trade-off of one stored sweep, whatever it varied; swept_pictures draws them
instance   the picture of one counterexample
catalogue  every theory figure: caption, data and their size
registry   all figures by name, those of other packages included
gallery    pictures on disk, and the page that shows them

A drawing function sees only tables, so it never simulates.
"""

from .figure import Figure, Kind, State, Stored, TableData, Wanted
from .table import Table, Tell

__all__ = ["Figure", "Kind", "State", "Stored", "Table", "TableData", "Tell", "Wanted"]
