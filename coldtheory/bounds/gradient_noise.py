"""Noisy gradients: Theorem 3' and Theorem 4 in expectation.  Labels: new:noise_gradient, new:noise_queue.

Problem: what do mini-batches cost? The step uses grad Phi_t + xi_t, where E[xi_t] = 0 and E|xi_t|^2 <= s^2 given all
that is known before the step.

Statements (Case 1, one step per task, a constant eta with eta <= 1/alpha_t in every run; V and delta constant):

    gradient  E (1/T) sum_t |grad Phi_t(x_{t-1})|^2 <= E[right side of Theorem 3'] + eta s^2 E (1/T) sum_t alpha_t
    queue     E (1/T) sum_t Qbar[t-1] <= E[right side of Theorem 4]
                  + (eta^2 V^2 s^2/(2 delta)) E (1/T) sum_{t>=2} h_t alpha_t,     h_t = 1 (mean weights), 1/(t-1) (sum)
              where eta <= 2/alpha_t is enough

Evaluation: the expectation is the mean over the first leading axis, the streams: one stream repeated with noise of its
own each time, or streams that also differ in their tasks, as the statement holds given the tasks. Every entry along
this axis holds the mean. The two sides are subtracted run by run; the standard error of the mean of this difference is
`Bound.error`, and a run of the statement counts as violated beyond 5 standard errors (`STANDARD_ERRORS`). Premises must
hold in all runs of the mean, and there must be at least 30 of them. Without noise nothing is averaged.
"""

from __future__ import annotations

import numpy as np

from ..quadratics import Array
from ..tolerance import RTOL
from .base import Bound, Explanation, Statement, average, make
from .facts import DESCENT, Facts, Reading

_GRADIENT = ("noise_gradient", "new:noise_gradient")
_QUEUE = ("noise_queue", "new:noise_queue")
_METHOD = (*(name for name in DESCENT if name != "exact gradients"), "Case 1", "one step per task", "eta is constant")
_FEWEST = 30  # runs of a mean: below this a standard error says little
_ENOUGH = f"{_FEWEST} runs or more in the mean"


def gradient(facts: Facts) -> Bound:
    """The variation at the models."""
    return _gradient("proved", facts, "trajectory", ("eta <= 1/alpha_t",))


def gradient_ball(facts: Facts) -> Bound:
    """The variation as a supremum over each run's W."""
    return _gradient("ball", facts, "ball", ("eta <= 1/alpha_t", "models in W"))


def queue(facts: Facts) -> Bound:
    """The variation at the models."""
    return _queue("proved", facts, "trajectory", ("eta <= 2/alpha_t, or the minimiser",))


def queue_ball(facts: Facts) -> Bound:
    """The variation as a supremum over each run's W."""
    return _queue("ball", facts, "ball", ("eta <= 2/alpha_t, or the minimiser", "models in W"))


def _gradient(form: str, facts: Facts, reading: Reading, premises: tuple[str, ...]) -> Bound:
    V, eta = facts.V, facts.step
    over = 2.0 / (eta * V)
    series = {
        "variation": average(facts, over, facts.variation(reading)),
        "residual": average(facts, over / V, facts.gain * facts.Delta),
        "relief": average(facts, -over * facts.delta / V, facts.gain * facts.Qbar),
        "conflict": average(facts, 2.0 / V, facts.conflict),
        "noise": average(facts, eta * facts.noise_sq, facts.alpha),
    }
    terms = {
        "first loss": over * facts.phi_before[..., 0] / facts.T,
        "last loss": -over * facts.phi_after[..., -1] / facts.T,
        "last Lyapunov": -over / V * facts.lyapunov_end / facts.T,
    }
    size = facts.gradient_floor + over * facts.loss_floor
    return _expected(_GRADIENT, form, facts, facts.grad_sq_before.mean(axis=-1), series, terms, size, premises)


def _queue(form: str, facts: Facts, reading: Reading, premises: tuple[str, ...]) -> Bound:
    over = 1.0 / np.where(facts.delta > 0, facts.delta, np.nan)
    V, eta = facts.V, facts.step
    share = np.where(np.arange(facts.T) > 0, 1.0 / (facts.past if facts.weights == "sum" else 1.0), 0.0)
    series = {
        "variation": average(facts, over * V, share * facts.variation(reading)),
        "residual": average(facts, over, facts.Delta),
        "noise": average(facts, 0.5 * over * eta**2 * V**2 * facts.noise_sq, share * facts.alpha),
    }
    terms = {"first loss": over * V * facts.phi_after[..., 0] / facts.T * (1.0 if facts.T > 1 else 0.0)}
    size = np.nan_to_num(over) * V * facts.phi_rounding / RTOL
    return _expected(_QUEUE, form, facts, facts.avg_Qbar, series, terms, size, ("delta > 0", *premises))


def _expected(
    name: tuple[str, str],
    form: str,
    facts: Facts,
    lhs: Array,
    series: dict[str, Array],
    terms: dict[str, Array],
    size: Array,
    premises: tuple[str, ...],
) -> Bound:
    """The inequality between means over the streams; without noise the one of each run."""
    met = {"did not diverge": facts.bounded} | {one: facts.premise(one) for one in (*_METHOD, *premises)}
    if not facts.noisy:
        return make(name, form, facts, lhs, series=series, terms=terms, kind="valid", more=met,
                    magnitude=np.nan_to_num(size))  # fmt: skip
    runs = facts.streams[0] if facts.streams else 1

    def mean(values: Array) -> Array:
        """Over the streams, in every entry along their axis."""
        if not facts.streams:
            return np.asarray(values)
        return np.broadcast_to(values.mean(axis=0, keepdims=True), values.shape)

    rhs = sum(terms.values()) + sum(values.sum(axis=-1) for values in series.values())
    error: Array | float = 0.0
    if runs > 1:
        error = np.broadcast_to((lhs - rhs).std(axis=0, ddof=1, keepdims=True) / np.sqrt(runs), facts.lead)
    met = {key: np.broadcast_to(value.all(axis=0), facts.lead) for key, value in met.items()} if facts.streams else met
    return make(
        name, form, facts, mean(np.asarray(lhs)), series={key: mean(values) for key, values in series.items()},
        terms={key: mean(values) for key, values in terms.items()}, kind="valid",
        more=met | {_ENOUGH: np.asarray(runs >= _FEWEST)}, magnitude=np.nan_to_num(mean(size)), error=error,
    )  # fmt: skip


_TERMS = {
    "first loss": "start of the telescoping sum",
    "variation": "the loss changes between tasks",
    "residual": "Delta_t of Lemma 1, which holds for each run",
    "noise": "the variance of the step, times half the curvature of DPP_t",
}
_PROOF = (
    "Given what is known before the step (x_{t-1}, the queues, hence alpha_t and DPP_t), smoothness gives E DPP_t(x_t) "
    "<= DPP_t(x_{t-1}) - eta (1 - eta alpha_t/2) |grad DPP_t(x_{t-1})|^2 + alpha_t eta^2 V^2 s^2/2. Lemma 1 holds for "
    "each run, so everything else is as without noise, in expectation."
)
GRADIENT = Statement(
    id=_GRADIENT[0],
    title="Noisy gradients: average squared gradient in Case 1, in expectation",
    label=_GRADIENT[1],
    forms={"proved": gradient, "ball": gradient_ball},
    latex=r"\mathbb E\frac1T\sum_t\lVert\nabla\Phi_t(x_{t-1})\rVert^2\le\mathbb E[\text{Theorem }3']"
    r"+\eta s^2\,\mathbb E\frac1T\sum_t\alpha_t",
    explain=Explanation(
        printed="",
        wrong="",
        correct="The first statement of this file.",
        conventions="The mean is over the streams of the batch; beyond 5 standard errors it counts as violated.",
        proof=_PROOF,
        terms={
            **_TERMS,
            "last loss": "end of the telescoping sum, Phi_T(x_T)",
            "relief": "each queue is served by delta per task",
            "last Lyapunov": "the end of the telescoped drift",
            "conflict": "negative inner products of gradients, weighted by the queues themselves",
        },
    ),
    family={"T": (2, 3), "hessians": "scalar", "noise_seeds": 60},
)
QUEUE = Statement(
    id=_QUEUE[0],
    title="Noisy gradients: average queue in Case 1, in expectation",
    label=_QUEUE[1],
    forms={"proved": queue, "ball": queue_ball},
    latex=r"\mathbb E\frac1T\sum_t\bar Q[t-1]\le\mathbb E[\text{Theorem 4}]"
    r"+\frac{\eta^2V^2s^2}{2\delta}\,\mathbb E\frac1T\sum_{t\ge2}h_t\alpha_t",
    explain=Explanation(
        printed="",
        wrong="",
        correct="The second statement of this file.",
        conventions="The mean is over the streams of the batch; beyond 5 standard errors it counts as violated.",
        proof=_PROOF,
        terms=_TERMS,
    ),
    family={"T": (3, 5), "memory": True, "noise_seeds": 60},
)
