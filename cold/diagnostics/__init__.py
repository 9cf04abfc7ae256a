"""The quantities of the theory, measured along a real run (`cold run --diagnostics`).

Symbols are those of `coldtheory.simulation`: x_{t-1} is the model with which task t starts, x_t the one after it. Phi_t
is the mean loss of task t's training samples, hatPhi_k that of task k's samples in the memory, both over all of them,
in evaluation mode and without augmentation, each task through its own head. Nothing here draws from the run's random
streams or touches its gradients: a run with diagnostics ends with the same weights as one without.

In `result.json`, under "diagnostics" (null: not measured, or the method has no memory):

    avg_grad_sq_before  (1/T) sum_t |grad Phi_t(x_{t-1})|^2, the left side of Theorem 3
    avg_grad_sq_after   the same at x_t
    avg_grad_sq_along   the same averaged over points along the steps of each task, x_{t-1} the first of them
    Delta_bar           (1/T) sum_t Delta_t, Delta_t = 1/(2(t-1)) sum_{k<t} d_k[t]^2,
                        d_k[t] = hatPhi_k(x_t) - hatPhi_k(reference) - delta, whenever the run's own queues move
    D_phi_trajectory    (1/T) sum_{t>=2} |Phi_t(x_{t-1}) - Phi_{t-1}(x_{t-1})|, the variation at the models
    rho_bar_trajectory  (1/T) sum_t rho_{t,-}, rho_{t,-} = sum_{k<t} max(0, -<grad Phi_t, grad hatPhi_k>(x_{t-1}))
    L, l                largest |eigenvalue| of the Hessian of any Phi_t (at x_{t-1} and x_t), of any hatPhi_k (at
                        x_{t-1}), by Lanczos on Hessian-vector products: local values, so lower bounds of the paper's
    alpha_max           max_t alpha_t, alpha_t = V L + l sum_k beta_k;  eta_alpha_max: times the learning rate
    avg_Qbar            (1/T) sum_t Qbar[t-1], the queues with which the tasks start
    per_task            the terms of the averages, (T,) each
    bounds              statements of `coldtheory.bounds`: outcome "holds", "violated" or "not applicable", and which
                        premises fail; both sides and the terms where it applies
    notes               what has to be known to read the numbers of this run

In `arrays.npz`, with the prefix `diag_`: the per-task lists; hat (T+1, T), hatPhi_k(x_t), NaN before task k is stored;
products (T, T), <grad Phi_t, grad hatPhi_k>(x_{t-1}); along (T, points) and along_at (T, points), steps of the task.
"""

from .derivatives import Loss, Sampled, extreme_curvatures, gradient, value
from .measures import Measures
from .own_loop import Diagnostics
from .recorder import Recorder, Trace
from .watch import Watch

__all__ = [
    "Diagnostics",
    "Loss",
    "Measures",
    "Recorder",
    "Sampled",
    "Trace",
    "Watch",
    "extreme_curvatures",
    "gradient",
    "value",
]
