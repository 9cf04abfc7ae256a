"""A run in the place of another one of the same settings and data, whether that is packed or in a folder of its own."""

from __future__ import annotations

from msgspec.structs import replace

from coldtheory.ground.errors import ColdError

from .identity import OtherData, comparable, same_data
from .loose import only_writer, read_loose, write_result
from .packed import STEPS, all_rows, write_rows
from .schema import MODEL, RESULT, Result


def replace_run(stored: Result, new: Result) -> Result:
    """Put a new result where a stored one of the same run is, in the same form; what is there afterwards.

    Weights that were kept beside the stored one are removed, since they are not the new run's.
    """
    if stored.folder is None:
        raise ColdError(f"{stored.run_id} is not on disk, so nothing can be put in its place")
    if new.run_id != stored.run_id or comparable(new.config) != comparable(stored.config):
        raise ColdError(f"{new.run_id} is another run than {stored.folder}; nothing was replaced")
    if not same_data(stored.data, new.data):
        raise OtherData(str(stored.folder), stored.data, new.data, "")
    place = stored.folder.parent
    if (stored.folder / RESULT).exists():
        with only_writer(stored.folder):
            (stored.folder / MODEL).unlink(missing_ok=True)
            write_result(stored.folder, new)
        return read_loose(stored.folder)
    with only_writer(place):
        rows = dict(all_rows(place))
        left_out = tuple(name for name in STEPS if name in new.arrays and name in stored.dropped)
        kept = {name: array for name, array in new.arrays.items() if name not in left_out}
        rows[new.run_id] = replace(new, arrays=kept, dropped=left_out)
        write_rows(place, rows.values())
        return all_rows(place)[new.run_id]
