"""Theory figures: one file each, with a function `draw(tables)` that returns a matplotlib figure."""
