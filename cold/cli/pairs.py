"""NAME=VALUE, as options of a method, of data or of a batch system are given."""

from __future__ import annotations

import json
from typing import Any

from coldtheory.errors import ColdError


def pair(word: str) -> tuple[str, Any]:
    """The name, and the value as JSON or else as a bare word.

    >>> pair("passes=3"), pair("form=mini-batch")
    (('passes', 3), ('form', 'mini-batch'))
    """
    name, equals, text = word.partition("=")
    if not equals or not name:
        raise ColdError(f"cannot read {word!r}: give NAME=VALUE")
    try:
        return name, json.loads(text)
    except json.JSONDecodeError:
        return name, text
