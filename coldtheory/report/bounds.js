"use strict";
// The bounds of the theory on one run of simulator.js, next to what was measured (L = l = 1).
// D_Phi and r are read off the run: the losses' change at the models, and the largest |x_t - a_k|.

function boundsOf(optima, run, settings) {
  const { T } = run;
  const { V, delta, reference, weights } = settings;
  const first = reference === "previous";
  const gain = (t) => (weights === "mean" ? 1 : weights === "sum" ? t : 0);
  const s = summaryOf(run);
  const { weighted, plain, r2 } = conflicts(optima, run, weights, gain);
  let variation = 0, Delta = 0, queues = 0, rho = 0;
  for (let t = 0; t < T; t++) {
    if (t > 0) variation += 0.5 * Math.abs(run.before[t] - run.after[t - 1]);
    Delta += gain(t) * run.Delta[t];
    queues += gain(t) * run.Qbar[t];
    rho += (weights === "sum" && !first ? t : 1) * plain[t];
  }
  const eta = Math.min(...run.eta);
  const lyapunov = run.lyapunov[T] * (weights === "sum" ? Math.max(T - 1, 1) : 1);
  const drop = 0.5 * V * (run.before[0] - run.after[T - 1]) + V * variation;
  const sharp = (2 / eta) * (drop + Delta - lyapunov - delta * queues) + 2 * V * weighted;
  const start = (run.before[0] + 2 * variation) / (T * V * eta);
  const drives = weights !== "none" ? null : "the queues do not drive the model";
  const step = s.etaAlpha <= 1 + 1e-12 ? null : "needs η ≤ 1/α_t at every task";
  const case1 = first ? null : "needs the previous model as reference";
  const lost = run.diverged ? "the run diverged" : null;
  return {
    D: variation / T,
    r: Math.sqrt(r2),
    list: [
      {
        id: "thm3", name: "Theorem 3", of: "average gradient before", measured: s.before,
        bound: start + (r2 / (T * V)) * rho + (r2 / (eta * T * V * V)) * queues,
        missing: lost || drives || step,
      },
      {
        id: "thm3s", name: "Theorem 3′, sharper", of: "average gradient before", measured: s.before,
        bound: sharp / (T * V * V), missing: lost || case1 || drives || step,
      },
      {
        id: "thm4", name: "Theorem 4, corrected", of: "average queue", measured: s.Qbar,
        bound: (V * variation + 0.5 * V * run.after[0]) / (T * delta) + s.Delta / delta,
        missing: lost || case1 || drives || (s.etaAlpha <= 2 + 1e-12 ? null : "needs η ≤ 2/α_t at every task"),
      },
      {
        id: "lindley", name: first ? "Every queue, r²l/2" : "Every queue, (T−1)r²l/2", of: "largest queue",
        measured: s.Qmax, bound: 0.5 * r2 * (first ? 1 : Math.max(T - 1, 1)), missing: lost,
      },
    ],
  };
}

// Averages over the tasks, and the largest queue and step.
function summaryOf(run) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / run.T;
  let etaAlpha = 0, Qmax = 0;
  for (let t = 0; t < run.T; t++) etaAlpha = Math.max(etaAlpha, run.eta[t] * run.alpha[t]);
  for (let i = 0; i < run.Q.length; i++) Qmax = Math.max(Qmax, run.Q[i]);
  return {
    before: mean(run.before), after: mean(run.after), Qbar: mean(run.Qbar), Delta: mean(run.Delta), Qmax, etaAlpha,
  };
}

// sum_t sum_{k<t} beta_k max(0, -<grad Phi_t, grad hatPhi_k>(x_{t-1})), the same a task with beta_k = 1, and r^2.
function conflicts(optima, run, weights, gain) {
  const { T, d, w, Q } = run;
  const plain = new Float64Array(T);
  const g = new Float64Array(d);
  let weighted = 0, r2 = 0;
  for (let t = 0; t <= T; t++) {
    const now = Math.min(t, T - 1);
    for (let i = 0; i < d; i++) g[i] = w[t * d + i] - optima[now * d + i];
    const share = gain(now) / Math.max(now, 1);
    for (let k = 0; k < T; k++) {
      let inner = 0, square = 0;
      for (let i = 0; i < d; i++) {
        const gap = w[t * d + i] - optima[k * d + i];
        inner += g[i] * gap;
        square += gap * gap;
      }
      if (square > r2) r2 = square;
      if (k < t && t < T && inner < 0) {
        plain[t] -= inner;
        weighted -= share * Q[t * T + k] * inner;
      }
    }
  }
  return { weighted, plain, r2 };
}

if (typeof module !== "undefined") module.exports = { boundsOf, summaryOf };
