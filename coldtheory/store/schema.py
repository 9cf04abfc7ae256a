"""What a stored row must be: the types that are checked on reading, and the error for a file that has others."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from ..ground.errors import ColdError

ROW_SCHEMA = 2  #: raise it when the meaning of a row changes: old rows are then computed anew
Row = dict[str, Any]


class RowTypes(msgspec.Struct):
    """What a row of the present schema has, whatever else it has."""

    key: str
    schema: int
    source: dict[str, bool | int | float | str | None]
    regime: str
    T: int
    d: int
    seed: int
    V: float
    eta: float | Literal["auto"]
    delta: float
    steps: int
    reference: str
    weights: str
    solver: str
    noise: float
    memory: int | None
    window: int | None
    avg_grad_sq_before: float | None
    avg_grad_sq_after: float | None
    avg_Qbar: float | None
    Delta_bar: float | None
    rho_bar: float | None
    D_phi: float | None
    D_phi_trajectory: float | None
    D_phi_hull: float | None
    D_phi_hat: float | None
    eta_alpha_max: float | None
    step_half: bool
    step_one: bool
    delta_min: float | None
    diverged: bool
    # what rows have that were stored before these were known: nothing
    eta_factor: float | None = None
    controller: str | None = None
    V_schedule: str | None = None
    avg_forgetting: float | None = None
    max_forgetting: float | None = None


class _OtherSchema(msgspec.Struct):
    """What is asked of a row of another schema: it is counted, and not used."""

    key: str


class _Origin(msgspec.Struct):
    """What is asked of an entry of the provenance."""

    time: str
    commit: str | None


_row = msgspec.json.Decoder(dict[str, bool | int | float | str | dict[str, bool | int | float | str | None] | None])
_present, _other = msgspec.json.Decoder(RowTypes), msgspec.json.Decoder(_OtherSchema)
_origin, _object = msgspec.json.Decoder(_Origin), msgspec.json.Decoder(dict[str, Any])


def key_of(content: Any, schema: Any, path: Path) -> str:
    """The key of a row in JSON, when all its types were found right. `path` names the file in an error."""
    types = _decoded(_present if schema == ROW_SCHEMA else _other, content, path)
    key: str = types.key
    return key


def read_row(content: Any, path: Path) -> Row:
    """A row in JSON; values are plain, but for the source."""
    row: Row = _decoded(_row, content, path)
    return row


def read_origin(content: Any, path: Path) -> dict[str, Any]:
    """An entry of the provenance in JSON."""
    _decoded(_origin, content, path)
    return read_object(content, path)


def read_object(content: Any, path: Path) -> dict[str, Any]:
    """A JSON object as a dict; raises `ColdError` if it is something else."""
    entries: dict[str, Any] = _decoded(_object, content, path)
    return entries


def damaged(path: Path, why: object) -> ColdError:
    """The error for a file that this program did not write like that, in one line."""
    words = " ".join(str(why).split())[:200]
    remedy = f"move it away or remove it with 'coldtheory results rm {path.stem}', then run the sweep again"
    return ColdError(f"{path} is damaged ({words}); {remedy}")


def _decoded(decoder: msgspec.json.Decoder[Any], content: Any, path: Path) -> Any:
    try:
        return decoder.decode(content)
    except (msgspec.MsgspecError, RecursionError, TypeError, UnicodeError) as error:
        raise damaged(path, error) from None
