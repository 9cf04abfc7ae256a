"use strict";
// The method on quadratic tasks 1/2 |w - a_t|^2, as coldtheory.simulate runs it. Plain functions, no page needed.
//
//   settings   { V, eta, delta, steps, reference: "previous"|"best"|"stored", weights: "mean"|"sum"|"none",
//                controller: a name in controllers.js, parameters: its numbers }
//              eta null is 1/(2 alpha_t)
//
// Rows of the result: w has T+1 (x_0 .. x_T, x_0 the origin), series have T. Q has T+1 (Q_k[t], k = 1..T), or none
// without `history`.

const FAR = 10; // an expansive run this many data radii away has diverged

// `world` is made by worldOf from the optima.
function simulate(world, settings, history = true) {
  const { T, d, centred, centre } = world;
  const { V, delta, steps, reference, weights } = settings;
  const rule = CONTROLLERS[settings.controller ?? "queue"], best = reference === "best";
  const run = emptyRun(T, d, history);
  const x = centre.map((c) => -c);
  const dx = new Float64Array(d);
  const kept = []; // what the controller keeps of every past task
  const lost = new Float64Array(T); // hatPhi_k(x_t) - hatPhi_k(x_k), the forgetting of every past task
  const above = new Float64Array(best ? T : 0); // the same with the best model so far in the place of x_k
  const excess = { previous: new Float64Array(T), best: above, stored: lost }[reference]; // over the reference
  let pairs = 0;
  for (let t = 0; t < T; t++) {
    const past = Math.max(t, 1);
    const share = weights === "mean" ? 1 / past : weights === "sum" ? 1 : 0;
    if (t > 0) kept.push(rule.start(excess[t - 1] - delta));
    const before = weigh(world, settings, kept, (k) => excess[k] - delta);
    const alpha = V + share * before.total;
    const eta = settings.eta === null ? 0.5 / alpha : settings.eta;
    if (rule.always) {
      descend(world, settings, { t, x, dx, kept, excess, share, eta });
    } else {
      const moved = progress(alpha, eta, steps);
      for (let i = 0; i < d; i++) dx[i] = ((V * centred[t * d + i] + share * before.pull[i]) / alpha - x[i]) * moved;
    }
    run.grad_sq_before[t] = gapSquare(centred, t, x, d);
    run.Qbar[t] = before.total / past;
    run.alpha[t] = alpha;
    run.eta[t] = eta;
    const level = levelOf(dx, x, d);
    let squares = 0, cross = 0, queues = 0;
    for (let k = 0; k < (best ? T : t); k++) {
      const grow = level - dot(centred, k * d, dx, 0, d);
      if (k < t) {
        const g = excess[k] + grow - delta;
        squares += g * g;
        cross += kept[k].Q * g;
        kept[k] = rule.update(settings.parameters, kept[k], g);
        queues += kept[k].Q * kept[k].Q;
        lost[k] += grow;
        pairs += lost[k];
        run.max_forgetting = Math.max(run.max_forgetting, lost[k]);
        if (history) run.Q[(t + 1) * T + k] = kept[k].Q;
      }
      if (best) above[k] = t === 0 ? 0 : Math.max(above[k] + grow, 0);
    }
    for (let i = 0; i < d; i++) x[i] += dx[i];
    run.grad_sq_after[t] = gapSquare(centred, t, x, d);
    run.Delta[t] = squares / (2 * past);
    run.cross[t] = cross;
    run.lyapunov[t + 1] = queues / (2 * past);
    for (let i = 0; i < d; i++) run.w[(t + 1) * d + i] = x[i] + centre[i];
  }
  run.avg_forgetting = pairs / Math.max((T * (T - 1)) / 2, 1);
  run.lostAt = settings.eta === null && !rule.always ? 0 : divergesAt(run, world, rule.always);
  run.diverged = run.lostAt > 0;
  return run;
}

// The weights of the past tasks whose constraints are given, their sum, and sum_k weight_k a_k.
function weigh({ d, centred }, { controller, parameters }, kept, constraint) {
  const rule = CONTROLLERS[controller ?? "queue"];
  const pull = new Float64Array(d);
  let total = 0;
  for (let k = 0; k < kept.length; k++) {
    const weight = rule.weight(parameters, kept[k], constraint(k));
    if (weight === 0) continue;
    total += weight;
    for (let i = 0; i < d; i++) pull[i] += weight * centred[k * d + i];
  }
  return { total, pull };
}

// Gradient steps one by one, with the weights of every iterate: dx becomes the way from x to the last of them.
function descend(world, settings, { t, x, dx, kept, excess, share, eta }) {
  const { d, centred } = world, { V, delta, steps } = settings;
  dx.fill(0);
  for (let j = 0; j < steps; j++) {
    const level = levelOf(dx, x, d);
    const { total, pull } = weigh(world, settings, kept, (k) => excess[k] + level - dot(centred, k * d, dx, 0, d) - delta);
    for (let i = 0; i < d; i++) {
      const y = x[i] + dx[i];
      dx[i] -= eta * (V * (y - centred[t * d + i]) + share * (total * y - pull[i]));
    }
  }
}

// 1/2 |x + dx|^2 - 1/2 |x|^2
const levelOf = (dx, x, d) => dot(dx, 0, x, 0, d) + 0.5 * dot(dx, 0, dx, 0, d);

// f = 1 - (1 - eta c)^J, the share of the way to the minimiser that J gradient steps go.
function progress(curvature, eta, steps) {
  const z = eta * curvature;
  return z < 0.5 ? -Math.expm1(steps * Math.log1p(-z)) : 1 - Math.pow(1 - z, steps);
}

function emptyRun(T, d, history) {
  const run = { T, d, w: new Float64Array((T + 1) * d), Q: new Float64Array(history ? (T + 1) * T : 0) };
  const perTask = ["grad_sq_before", "grad_sq_after", "Qbar", "Delta", "alpha", "eta", "cross"];
  for (const name of perTask) run[name] = new Float64Array(T);
  run.lyapunov = new Float64Array(T + 1);
  run.lostAt = run.avg_forgetting = 0;
  run.max_forgetting = T > 1 ? -Infinity : 0;
  run.diverged = false;
  return run;
}

// Optima (T x d, row by row) around their mean: differences of losses then lose no digits to a far origin.
function worldOf(optima, T, d) {
  const centre = new Float64Array(d);
  for (let t = 0; t < T; t++) for (let i = 0; i < d; i++) centre[i] += optima[t * d + i] / T;
  const centred = new Float64Array(T * d);
  for (let t = 0; t < T; t++) for (let i = 0; i < d; i++) centred[t * d + i] = optima[t * d + i] - centre[i];
  const radius = Math.sqrt(Math.max(largestSquare(centred, T, d), dot(centre, 0, centre, 0, d)));
  return { T, d, optima, centred, centre, radius };
}

function dot(a, atA, b, atB, n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += a[atA + i] * b[atB + i];
  return sum;
}

function gapSquare(optima, t, x, d) {
  let sum = 0;
  for (let i = 0; i < d; i++) {
    const gap = x[i] - optima[t * d + i];
    sum += gap * gap;
  }
  return sum;
}

function largestSquare(rows, T, d) {
  let largest = 0;
  for (let t = 0; t < T; t++) largest = Math.max(largest, dot(rows, t * d, rows, t * d, d));
  return largest;
}

// The first task that leaves the model far outside the data (or no number), if a step was expansive, which is not asked
// where the weights change with every iterate; 0 if none does.
function divergesAt(run, { centre, radius }, always) {
  let steepest = 0;
  for (let t = 0; t < run.T; t++) steepest = Math.max(steepest, run.eta[t] * run.alpha[t]);
  if (steepest <= 2 && !always) return 0;
  for (let t = 1; t <= run.T; t++) {
    for (let i = 0; i < run.d; i++) {
      if (!(Math.abs(run.w[t * run.d + i] - centre[i]) <= FAR * radius)) return t;
    }
  }
  return 0;
}

// The optima of a stream that drifts by `slope` over its T tasks: fixed_t + (t/T) slope.
function optimaOf(stream, T, d) {
  const optima = stream.fixed.slice(0, T * d);
  for (let t = 0; t < T; t++) for (let i = 0; i < d; i++) optima[t * d + i] += ((t + 1) / T) * stream.slope[i];
  return optima;
}

if (typeof module !== "undefined") module.exports = { simulate, worldOf, progress, optimaOf, dot };
