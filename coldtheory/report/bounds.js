"use strict";
// The bounds of the theory on one run of simulator.js, next to what was measured (L = l = 1). Each is one form of a
// statement of coldtheory.bounds, named by `form`. D, r and the conflicts are read off the models of the run.

function boundsOf({ optima }, run, settings) {
  const { T } = run;
  const { V, delta, reference, weights } = settings;
  const first = reference === "previous";
  const s = summaryOf(run);
  const sums = sumsOf(optima, run, weights, first);
  const eta = Math.min(...run.eta);
  const over = 2 / eta; // 2/eta of Theorem 3, and its exact form for the sharper one
  const exact = s.eta_alpha_max < 2 ? 1 / (eta * (1 - 0.5 * s.eta_alpha_max)) : NaN;
  const start = 0.5 * run.grad_sq_before[0], end = 0.5 * run.grad_sq_after[T - 1];
  const lyapunov = run.lyapunov[T] * (weights === "sum" ? Math.max(T - 1, 1) : 1);
  const inside = V * (start - end + sums.variation) + sums.Delta - lyapunov - delta * sums.queues - sums.ageing;
  const lost = run.diverged ? "the run diverged" : null;
  const drives = weights !== "none" ? null : "the queues do not drive the model";
  const plain = (settings.controller ?? "queue") === "queue" ? null : "needs the plain queue";
  const case1 = first ? null : "needs the previous model as reference";
  const above = (limit, ok) => (ok ? null : `needs η ${limit}/αₜ at every task`);
  return {
    D_phi_trajectory: sums.variation / T,
    r: Math.sqrt(sums.r2),
    list: [
      {
        id: "thm3", form: "thm3 trajectory", name: "Theorem 3", of: "average gradient² before",
        measured: s.avg_grad_sq_before,
        bound: ((over / V) * (start + sums.variation) + (sums.r2 / V) * sums.capped +
          (0.5 * over * sums.r2 * sums.queues) / (V * V)) / T,
        missing: lost || plain || drives || above("≤ 1", s.eta_alpha_max <= 1 + 1e-12),
      },
      {
        id: "thm3_sharp", form: "thm3_sharp sharp", name: "Theorem 3′, sharper", of: "average gradient² before",
        measured: s.avg_grad_sq_before, bound: ((exact * inside) / (V * V) + (2 / V) * sums.weighted) / T,
        missing: lost || plain || case1 || drives || above("< 2", s.eta_alpha_max < 2),
      },
      {
        id: "thm4", form: "thm4 trajectory", name: "Theorem 4, corrected", of: "average queue", measured: s.avg_Qbar,
        bound: (V * (sums.variation + 0.5 * run.grad_sq_after[0]) + s.Delta_bar * T) / (T * delta),
        missing: lost || plain || case1 || drives || above("≤ 2", s.eta_alpha_max <= 2 + 1e-12),
      },
      {
        id: "by_lindley", form: "thm4 by_lindley", name: "Lindley", of: "average queue", measured: s.avg_Qbar,
        bound: sums.rise / T, missing: lost || plain || case1,
      },
      {
        id: "largest", form: first ? "lindley corrected" : "lindley a_priori", name: first ? "Lindley" : "(T−1) r²/2",
        of: "largest queue", measured: s.Q_max, bound: first ? sums.highest : 0.5 * sums.r2 * (T - 1), missing: lost || plain,
      },
    ],
  };
}

// Averages over the tasks, and the largest queue and step.
function summaryOf(run) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / run.T;
  let eta_alpha_max = 0, Q_max = 0;
  for (let t = 0; t < run.T; t++) eta_alpha_max = Math.max(eta_alpha_max, run.eta[t] * run.alpha[t]);
  for (let i = 0; i < run.Q.length; i++) Q_max = Math.max(Q_max, run.Q[i]);
  return {
    avg_grad_sq_before: mean(run.grad_sq_before), avg_grad_sq_after: mean(run.grad_sq_after),
    avg_Qbar: mean(run.Qbar), Delta_bar: mean(run.Delta), Q_max, eta_alpha_max,
    avg_forgetting: run.avg_forgetting, max_forgetting: run.max_forgetting,
  };
}

// The sums over t (and k < t) that the bounds are made of. Here t counts from 0, so that t is the number of past tasks.
function sumsOf(optima, run, weights, first) {
  const { T } = run;
  const gain = (t) => (weights === "mean" ? 1 : weights === "sum" ? t : 0);
  const sums = { variation: 0, Delta: 0, queues: 0, ageing: 0, capped: 0, weighted: 0, rise: 0, highest: 0, r2: 0 };
  const lowest = new Float64Array(T).fill(Infinity); // of each past loss since its own task
  for (let t = 0; t <= T; t++) {
    const past = Math.max(t, 1), share = gain(t) / past, oldest = Math.max(t - 1, 0);
    const seen = lookBack(optima, run, t, lowest);
    sums.r2 = Math.max(sums.r2, 2 * seen.farthest);
    sums.highest = Math.max(sums.highest, seen.highest);
    if (t === T) break;
    if (t > 0) sums.variation += 0.5 * Math.abs(run.grad_sq_before[t] - run.grad_sq_after[t - 1]);
    sums.Delta += gain(t) * run.Delta[t];
    sums.queues += gain(t) * run.Qbar[t];
    if (weights === "mean") sums.ageing += run.lyapunov[t] / past;
    sums.capped += (first ? Math.min(oldest, 1) : oldest) * share * seen.conflict;
    sums.weighted += share * seen.weighted;
    sums.rise += seen.rise / past;
  }
  return sums;
}

// At the model x_t: how far the optima are, how the next task's gradient meets those of the past, and how far each
// past loss is above its lowest value since its task.
function lookBack(optima, run, t, lowest) {
  const { T, d, w, Q } = run;
  const seen = { farthest: 0, conflict: 0, weighted: 0, rise: 0, highest: 0 };
  const x = t * d, next = Math.min(t, T - 1) * d;
  for (let k = 0; k < T; k++) {
    let inner = 0, loss = 0;
    for (let i = 0; i < d; i++) {
      const gap = w[x + i] - optima[k * d + i];
      inner += (w[x + i] - optima[next + i]) * gap;
      loss += gap * gap;
    }
    loss *= 0.5;
    if (loss > seen.farthest) seen.farthest = loss;
    if (k >= t) continue;
    if (inner < 0) {
      seen.conflict -= inner;
      seen.weighted -= Q[t * T + k] * inner;
    }
    if (loss < lowest[k]) lowest[k] = loss;
    seen.rise += loss - lowest[k];
    seen.highest = Math.max(seen.highest, loss - lowest[k]);
  }
  return seen;
}

if (typeof module !== "undefined") module.exports = { boundsOf, summaryOf };
