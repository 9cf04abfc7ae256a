from __future__ import annotations
from dataclasses import dataclass
import numpy as np
@dataclass(frozen=True)
class Ball:
    center: np.ndarray
    radius: float
def project_on_ball(w, center, radius):
    gap = w - center
    n = np.sqrt(np.vecdot(gap, gap))[..., None]
    return np.where(n > radius, center + gap * (radius / np.maximum(n, 1e-300)), w)
def minimise_on_ball(A,b,center,radius): raise NotImplementedError
