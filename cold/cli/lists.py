"""Values by commas, as seeds and rows are given."""

from __future__ import annotations

from coldtheory.errors import ColdError


def words_of(text: str) -> list[str]:
    """Each once, in their order.

    >>> words_of("er, cold,er")
    ['er', 'cold']
    """
    return list(dict.fromkeys(word.strip() for word in text.split(",")))


def seeds_of(text: str) -> list[int]:
    """Whole numbers, and ranges of them with both ends.

    >>> seeds_of("6,7,8"), seeds_of("0-3,8")
    ([6, 7, 8], [0, 1, 2, 3, 8])
    """
    found: list[int] = []
    for word in words_of(text):
        first, dash, last = word.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isdecimal() for end in ends) or int(ends[0]) > int(ends[1]):
            raise ColdError(f"--seeds takes whole numbers by commas, such as 6,7,8 or 0-8, got {text!r}")
        found += range(int(ends[0]), int(ends[1]) + 1)
    return list(dict.fromkeys(found))
