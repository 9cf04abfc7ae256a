"""Tasks of many parameters in few dimensions, where nothing but distances matters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..quadratics import Quadratics
from ..tasks import Tasks
from .setting import Setting

MANY = 6  #: parameters per optimum from which fewer dimensions save time; below it nothing is changed


def in_few_dimensions(tasks: Tasks, setting: Setting) -> tuple[Tasks, Setting]:
    """The same tasks and start up to a rigid motion, in the space that x_0 and all optima span.

    If every Hessian is a multiple of the identity, models never leave that space, and losses, gradients, angles, the
    smallest ball and the ideal problem depend on distances alone. Where there are few tasks with many parameters, this
    makes them much smaller. Matrices, samples and rules that may look at coordinates stay as they are.
    """
    same = tasks.phi_hat is tasks.phi
    count = tasks.T * (1 if same else 2)
    if not tasks.phi.isotropic or tasks.samples is not None or callable(setting.reference) or tasks.d < MANY * count:
        return tasks, setting
    start = np.zeros(tasks.d) if setting.w0 is None else np.asarray(setting.w0)
    whole = tasks.phi.optima if same else np.concatenate([tasks.phi.optima, tasks.phi_hat.optima], axis=-2)
    gaps = whole - np.broadcast_to(start, (*tasks.streams, tasks.d))[..., None, :]
    basis = np.linalg.qr(gaps.swapaxes(-1, -2))[0]  # (..., d, count)
    small = gaps @ basis

    def moved(losses: Quadratics, optima: np.ndarray) -> Quadratics:
        return Quadratics(optima, losses.hessians, losses.offsets)

    phi = moved(tasks.phi, small[..., : tasks.T, :])
    hat = phi if same else moved(tasks.phi_hat, small[..., tasks.T :, :])
    return Tasks(phi, hat, tasks.name), replace(setting, w0=None)
