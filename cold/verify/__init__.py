"""Stored runs are made again from their own records, compared with what is stored, and may replace it.

again    stored runs made again with their own settings
compare  bit for bit where versions and kernels are the same, else within a tolerance
"""

from .again import Again, run_again
from .compare import TOLERANCE, Verified, to_replace, verified

__all__ = ["TOLERANCE", "Again", "Verified", "run_again", "to_replace", "verified"]
