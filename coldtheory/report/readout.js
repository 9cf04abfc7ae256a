"use strict";
// What the explorer says in words and numbers.

function showNumbers({ run, summary, bounds }, state, own) {
  const numbers = { ...summary, D_phi_trajectory: bounds.D_phi_trajectory, r: bounds.r };
  for (const [name, value] of Object.entries(numbers)) put(`n-${name}`, run.diverged ? null : value);
  document.getElementById("warning").textContent = warning(run, summary);
  const rows = bounds.list.map((b) => {
    const ratio = b.measured > 0 ? b.bound / b.measured : null;
    const cells = b.missing
      ? `<td class="number">${run.diverged ? "–" : short(b.measured)}</td><td colspan="2" class="note">${b.missing}</td>`
      : [b.measured, b.bound, ratio].map((v) => `<td class="number"><data value="${v}">${short(v)}</data></td>`).join("");
    return `<tr id="b-${b.id}" data-form="${b.form}"><th scope="row">${b.name} <small>${b.of}</small></th>${cells}</tr>`;
  });
  document.getElementById("bounds-rows").innerHTML = rows.join("");
  showCommand(command(state, own));
  document.getElementById("same-run-note").textContent =
    state.regime === "own" ? `, with your optima in the file ${own.name}` : "";
}

// No line breaks inside an option, nor between an option and its value.
function showCommand(line) {
  const parts = line.split(/ (?=--)/).map((words) => {
    const part = document.createElement("span");
    part.className = "whole";
    part.textContent = words;
    return part;
  });
  document.getElementById("same-run").replaceChildren(...parts.flatMap((part, at) => (at ? [" ", part] : [part])));
}

function put(id, value) {
  const element = document.getElementById(id);
  element.value = value === null ? "" : String(value);
  element.textContent = short(value, 4);
}

function warning(run, summary) {
  if (run.diverged) {
    return `The run diverged at task ${run.lostAt}: η is too large for this V, and nothing is drawn. ` +
      "Lower η or V, or let η be chosen.";
  }
  if (summary.eta_alpha_max > 1 + 1e-12) {
    return `η·αₜ reaches ${short(summary.eta_alpha_max)}, above 1: Theorem 3 says nothing about this run.`;
  }
  return "";
}

function sentence({ summary, run }, state) {
  if (run.diverged) return "The run diverged.";
  return `V ${state.V}: average gradient squared ${short(summary.avg_grad_sq_before, 4)} before and ` +
    `${short(summary.avg_grad_sq_after, 4)} after each task, average queue ${short(summary.avg_Qbar, 4)}, ` +
    `mean forgetting ${short(summary.avg_forgetting, 4)}.`;
}

function command(s, own) {
  const plain = (v) => (v === null ? "auto" : String(v));
  const tasks = s.regime === "own" ? own.name : `${s.regime} --seed ${s.seed} --T ${s.T}`;
  return `coldtheory simulate --regime ${tasks} --V ${plain(s.V)} ` +
    `--eta ${plain(s.eta)} --delta ${plain(s.delta)} --steps ${s.steps} --reference ${s.reference} --weights ${s.weights}` +
    (s.controller === "queue" ? "" : ` --controller ${[s.controller, parameterText(s.parameters)].filter(Boolean).join(":")}`);
}

// The chosen task in words, below the plot and for those who do not see it.
function showCursor(run, state, plots) {
  const t = state.cursor && Math.min(state.cursor, run.T);
  const at = (values) => short(values[t - 1], 4);
  const told = !t || run.diverged
    ? ""
    : `t = ${t}: before ${at(run.grad_sq_before)}, after ${at(run.grad_sq_after)}, ` +
      `mean queue ${at(run.Qbar)}, α ${at(run.alpha)}`;
  document.getElementById("at-task").textContent = told || "Point at a plot, or focus it and press ← →, to read one task.";
  for (const plot of plots) {
    plot.ariaValueMax = String(run.T);
    plot.ariaValueNow = String(t || 1);
    plot.ariaValueText = told || "no task chosen";
  }
}

function showTable(run) {
  const names = ["grad_sq_before", "grad_sq_after", "Qbar", "Delta", "alpha"];
  const rows = [];
  for (let t = 0; t < run.T; t++) {
    const cells = names.map((n) => `<td>${run.diverged ? "–" : run[n][t]}</td>`);
    rows.push(`<tr><th scope="row">${t + 1}</th>${cells.join("")}</tr>`);
  }
  document.getElementById("series-rows").innerHTML = rows.join("");
}
