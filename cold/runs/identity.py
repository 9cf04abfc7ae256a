"""When two runs are the same run: they have the same settings and saw the same data.

Settings that name a place only (device, threads) do not count, and a setting that an older version did not know has
its default. Data are compared by their fingerprint (`cold.data.images.fingerprint`), never by a path. What was written
before there were fingerprints is unrecorded: it is taken to be the same, and whoever relies on it says so.
"""

from __future__ import annotations

from ..config import comparable

__all__ = ["comparable", "same_data"]


def same_data(left: str | None, right: str | None) -> bool:
    """Whether two fingerprints may be of the same data; None, for unrecorded, agrees with all.

    >>> same_data("8f14e45fceea167a", "c9f0f895fb98ab91"), same_data(None, "c9f0f895fb98ab91")
    (False, True)
    """
    return left is None or right is None or left == right
