"""When two runs are the same run: they have the same settings and saw the same data.

Settings that name a place only (device, threads) do not count, and a setting that an older version did not know has
its default. Data are compared by their fingerprint (`cold.data.images.fingerprint`), never by a path. What was written
before there were fingerprints is unrecorded: it is taken to be the same, and whoever relies on it says so.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from coldtheory.ground.errors import ColdError

from ..config import comparable


def same_run(
    stored_config: Mapping[str, Any], stored_data: str | None, config: Mapping[str, Any], data: str | None
) -> bool:
    """Whether a stored run is the one that these settings and this data would make."""
    return same_settings(stored_config, config) and same_data(stored_data, data)


def same_settings(stored: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    return comparable(stored) == comparable(config)


def same_data(stored: str | None, here: str | None) -> bool:
    """Whether two fingerprints agree; None, for unrecorded, agrees with all.

    >>> same_data("8f14e45fceea167a", "c9f0f895fb98ab91"), same_data(None, "c9f0f895fb98ab91")
    (False, True)
    """
    return stored is None or here is None or stored == here


def check_data(what: str, stored: str | None, here: str | None) -> None:
    """Raises if `what` was made from other data than is here; if it does not say, a note on stderr does."""
    if not same_data(stored, here):
        raise ColdError(
            f"{what} was made from other data (fingerprint {stored}, the data here have {here}); name the data it was "
            "made from with --data-root, or start over with --fresh"
        )
    if stored is None:
        _note_once(f"note: {what} does not record its data; it is taken to be the same as here")


@cache
def _note_once(line: str) -> None:
    print(line, file=sys.stderr)
