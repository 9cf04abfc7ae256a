from tests.cold.tables.conftest import tiny

__all__ = ["tiny"]  # the comparisons of a tiny benchmark
