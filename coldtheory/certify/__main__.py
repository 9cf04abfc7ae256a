"""`python -m coldtheory.certify [--size full] [--only lemma1] [--json]`: run the certificates."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from ..errors import ColdError
from . import Record, WorstCase, certificates, to_json


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line a record; 0 if all hold, 1 if one does not, 2 for bad input or a missing solver."""
    parser = argparse.ArgumentParser(prog="python -m coldtheory.certify", description=__doc__)
    parser.add_argument("--size", choices=("small", "full"), default="small")
    parser.add_argument("--only", nargs="+", metavar="ID", help="ids, or how they begin")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        records = certificates(options.size, options.only)
    except ColdError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps([to_json(record) for record in records], indent=1))
    else:
        print("\n".join(_line(record) for record in records))
    return 0 if all(record.holds for record in records) else 1


def _line(record: Record) -> str:
    if isinstance(record, WorstCase):
        tight = ", tight" if record.tight else ""
        found = f"worst {record.worst_case:.7g}, bound {record.bound:.7g}, ratio {record.ratio:.4f}{tight}"
    else:
        found = ", ".join(f"{k}={v}" for k, v in record.model.items()) if record.model else record.size
    return f"{'ok  ' if record.holds else 'FAIL'} {record.id:<38} {record.kind:<11} {record.seconds:6.2f} s  {found}"


if __name__ == "__main__":
    raise SystemExit(main())
