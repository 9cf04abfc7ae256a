"use strict";
// What the explorer says in words and numbers.

function showNumbers({ run, summary, bounds }, state) {
  const numbers = {
    before: summary.before, after: summary.after, Qbar: summary.Qbar, Qmax: summary.Qmax,
    Delta: summary.Delta, D: bounds.D, r: bounds.r, etaAlpha: summary.etaAlpha,
  };
  for (const [name, value] of Object.entries(numbers)) put(`n-${name}`, value);
  document.getElementById("warning").textContent = warning(run, summary);
  const rows = bounds.list.map((b) => {
    const ratio = b.missing || !(b.measured > 0) ? null : b.bound / b.measured;
    const cells = b.missing
      ? `<td class="number">${short(b.measured)}</td><td colspan="2" class="note">${b.missing}</td>`
      : [b.measured, b.bound, ratio].map((v) => `<td class="number"><data value="${v}">${short(v)}</data></td>`).join("");
    return `<tr id="b-${b.id}"><th scope="row">${b.name}</th><td>${b.of}</td>${cells}</tr>`;
  });
  document.getElementById("bounds-rows").innerHTML = rows.join("");
  document.getElementById("same-run").textContent = command(state);
}

function put(id, value) {
  const element = document.getElementById(id);
  element.value = String(value);
  element.textContent = short(value, 4);
}

function warning(run, summary) {
  if (run.diverged) return "The run diverged: η is too large for this V. Lower η or V, or let η be chosen.";
  if (summary.etaAlpha > 1 + 1e-12) return "η is above 1/α_t at some task: the gradient theorems say nothing here.";
  return "";
}

function sentence({ summary, run }, state) {
  if (run.diverged) return "The run diverged.";
  return `V ${state.V}: average gradient squared ${short(summary.before, 4)} before and ${short(summary.after, 4)} ` +
    `after each task, average queue ${short(summary.Qbar, 4)}.`;
}

function command(s) {
  const plain = (v) => (v === null ? "auto" : String(v));
  return `coldtheory simulate --regime ${s.regime} --seed ${s.seed} --T ${s.T} --V ${plain(s.V)} ` +
    `--eta ${plain(s.eta)} --delta ${plain(s.delta)} --steps ${s.steps} --reference ${s.reference} --weights ${s.weights}`;
}

function showCursor(run, state) {
  const t = state.cursor && Math.min(state.cursor, run.T);
  const at = (values) => short(values[t - 1], 4);
  document.getElementById("at-task").textContent = t
    ? `t = ${t}: before ${at(run.before)}, after ${at(run.after)}, Q̄ ${at(run.Qbar)}, α ${at(run.alpha)}`
    : "Point at the plot, or focus it and press ← →, to read one task.";
}

function showTable(run) {
  const names = ["before", "after", "Qbar", "Delta", "alpha"];
  const rows = [];
  for (let t = 0; t < run.T; t++) {
    rows.push(`<tr><th scope="row">${t + 1}</th>${names.map((n) => `<td>${run[n][t]}</td>`).join("")}</tr>`);
  }
  document.getElementById("series-rows").innerHTML = rows.join("");
}
