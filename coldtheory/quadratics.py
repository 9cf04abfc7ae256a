"""Batches of quadratic losses, the world in which every statement of the paper can be computed.

    phi_t(w) = 1/2 (w - a_t)' H_t (w - a_t) + c_t,   t = 1..T,   H_t positive semidefinite, c_t >= 0

`H_t = h_t I` (isotropic, the fast path) is stored as the number h_t, any other H_t as a matrix.
Leading axes, written `...`, are independent streams of tasks (one per seed).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .ground.checks import numbers
from .ground.errors import ColdError

Array = NDArray[np.float64]

_PSD_RTOL = 1e-10  # eigenvalues of a PSD matrix are computed to about d * 2.2e-16 of the largest


@dataclass(frozen=True, eq=False)
class Quadratics:
    """T quadratic losses: `optima` (..., T, d), `hessians` (..., T) or (..., T, d, d), `offsets` (..., T).

    >>> phi = Quadratics.of([[0.0], [2.0]])
    >>> phi.values(np.array([[1.0]]))          # both losses at w = 1
    array([[0.5, 0.5]])
    """

    optima: Array
    hessians: Array
    offsets: Array

    @staticmethod
    def of(
        optima: ArrayLike,
        hessians: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        *,
        called: str = "Hessians",
    ) -> Quadratics:
        """Validated losses; `hessians` may be None (identity), numbers h_t, or matrices H_t. `called`: in messages."""
        a = numbers("optima", optima)
        if a.ndim < 2 or 0 in a.shape:
            raise ColdError(f"optima must have shape (T, d) or (streams, T, d) with T, d >= 1, got {a.shape}")
        lead, d = a.shape[:-1], a.shape[-1]
        h = np.ones(lead) if hessians is None else numbers(called, hessians)
        matrices = h.ndim >= 2 and h.shape[-2:] == (d, d) and (h.ndim >= 3 or lead != (d, d))
        try:
            h = np.broadcast_to(h, (*lead, d, d) if matrices else lead)
        except ValueError:
            raise _wrong_shape(called, h.shape, lead, d) from None
        if matrices:
            _check_psd(h, called)
        elif (h < 0).any():
            raise ColdError(
                f"{called} must be positive semidefinite: {_where(h < 0)} has the curvature {h[h < 0][0]:g}"
            )
        c = np.zeros(lead) if offsets is None else numbers("offsets", offsets)
        try:
            c = np.broadcast_to(c, lead)
        except ValueError:
            raise ColdError(f"offsets must have shape {lead}, one number per loss, got {c.shape}") from None
        if (c < 0).any():
            raise ColdError("offsets must be >= 0: the theorems need non-negative losses")
        return Quadratics(a, np.ascontiguousarray(h), np.ascontiguousarray(c))

    @property
    def T(self) -> int:
        """The number of losses."""
        return int(self.optima.shape[-2])

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return int(self.optima.shape[-1])

    @property
    def isotropic(self) -> bool:
        """Whether every Hessian is stored as a number, H_t = h_t I."""
        return self.hessians.ndim == self.optima.ndim - 1

    @cached_property
    def smoothness(self) -> Array:
        """The constant L (or l) of Assumption `assump:smoothness`: the largest curvature, shape (...)."""
        if self.isotropic:
            return np.asarray(self.hessians.max(axis=-1))
        return np.asarray(np.linalg.eigvalsh(self.hessians)[..., -1].max(axis=-1))

    def gradients(self, w: Array) -> Array:
        """grad phi_k(w_s) for every pair: w (..., n, d) -> (..., n, T, d)."""
        gap = w[..., :, None, :] - self.optima[..., None, :, :]
        if self.isotropic:
            return np.asarray(self.hessians[..., None, :, None] * gap)
        return np.asarray(np.einsum("...kij,...skj->...ski", self.hessians, gap))

    def values(self, w: Array) -> Array:
        """phi_k(w_s) for every pair: w (..., n, d) -> (..., n, T)."""
        gap = w[..., :, None, :] - self.optima[..., None, :, :]
        return np.asarray(0.5 * np.vecdot(gap, self.gradients(w)) + self.offsets[..., None, :])

    def at(self, w: Array) -> Array:
        """phi_t(w_t), each loss at its own point: w (..., T, d) -> (..., T)."""
        gap = w - self.optima
        return np.asarray(0.5 * np.vecdot(gap, self.gradients_at(w)) + self.offsets)

    def gradients_at(self, w: Array) -> Array:
        """grad phi_t(w_t), each loss at its own point: w (..., T, d) -> (..., T, d)."""
        gap = w - self.optima
        if self.isotropic:
            return np.asarray(self.hessians[..., None] * gap)
        return np.asarray(np.matvec(self.hessians, gap))

    def matrices(self) -> Array:
        """The Hessians as matrices (..., T, d, d), whatever their storage."""
        if self.isotropic:
            return np.asarray(self.hessians[..., None, None] * np.eye(self.d))
        return self.hessians

    def __getitem__(self, index: Any) -> Quadratics:
        """The losses along the first axis (a stream, or a slice of streams)."""
        return Quadratics(self.optima[index], self.hessians[index], self.offsets[index])


def _wrong_shape(called: str, shape: tuple[int, ...], lead: tuple[int, ...], d: int) -> ColdError:
    """For diagonals, which are the likeliest slip, the remedy too."""
    wanted = f"{called} must have shape {lead} (one number per task) or {(*lead, d, d)} (one matrix per task)"
    if shape in ((*lead, d), (d,)):
        return ColdError(f"{wanted}, got {shape}; if these are diagonals give h[..., None] * numpy.eye({d})")
    return ColdError(f"{wanted}, got {shape}; the optima have {lead[-1]} tasks with {d} parameters")


def _check_psd(h: Array, called: str) -> None:
    h = h / (np.abs(h).max(initial=0.0) or 1.0)  # no product of the largest numbers overflows
    skew = np.abs(h - h.swapaxes(-1, -2)).max(axis=(-2, -1)) > _PSD_RTOL
    if skew.any():
        raise ColdError(
            f"{called} must be symmetric: that of {_where(skew)} is not; give (H + H.T)/2 if rounding is why"
        )
    bent = np.linalg.eigvalsh(h)[..., 0] < -_PSD_RTOL
    if bent.any():
        raise ColdError(f"{called} must be positive semidefinite: that of {_where(bent)} has a negative eigenvalue")


def _where(wrong: np.ndarray) -> str:
    """The first task for which something is wrong, with its stream if there are several."""
    *stream, task = (int(i) for i in np.argwhere(wrong)[0])
    return f"task {task + 1}" + "".join(f" of stream {s}" for s in stream)
