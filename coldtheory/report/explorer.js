"use strict";
// The explorer: controls on one side, a simulation and its pictures on the other.

const CURVE = [1, 3, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000];
const LABELLED = new Set([10, 50, 200, 1000, 5000]);
const SLIDERS = {
  V: { low: 0, high: 3.7, log: true }, delta: { low: -9, high: 1, log: true }, eta: { low: -5, high: -2, log: true },
  steps: { low: 1, high: 10 }, T: { low: 2 }, // as many tasks as the page carries
};
const LIMITS = { V: [1e-6, 1e9], delta: [1e-15, 1e6], eta: [1e-12, 10], steps: [1, 1000], T: [2] };

// The examples, each told by how it differs from the paper's setting, which the page carries.
function presetsOf(paper) {
  const usual = { ...paper, regime: "high", reference: "previous", weights: "mean", controller: "queue", parameters: {} };
  return {
    paper: usual,
    conflict: { ...usual, regime: "conflict", V: 50, eta: 1e-4, reference: "best" },
    wild: { ...usual, V: 3000, eta: 9e-4 },
    tight: { ...usual, regime: "conflict", eta: null, delta: 0.01, steps: 1 },
  };
}

function startExplorer() {
  const root = document.getElementById("explorer");
  const data = JSON.parse(document.getElementById("streams").textContent);
  const streams = Object.fromEntries(
    Object.entries(data.streams).map(([name, s]) => [name, { fixed: decode(s.fixed), slope: decode(s.slope) }]),
  );
  SLIDERS.T.high = LIMITS.T[1] = data.T;
  const presets = presetsOf(data.paper);
  const state = { ...presets.paper, seed: data.seeds[0], log: false, cursor: null };
  const byId = (id) => document.getElementById(id);
  const readable = ["plot-gradient", "plot-queue", "plot-mean"].map(byId);
  let curve = { key: "", points: [] };
  let waiting = 0, redraws = 0, now = null, spoken = 0;

  function compute() {
    const world = worldOf(optimaOf(streams[`${state.regime}/${state.seed}`], state.T, data.d), state.T, data.d);
    const run = simulate(world, state);
    const { V, log, cursor, ...rest } = state;
    const key = JSON.stringify(rest);
    if (key !== curve.key) curve = { key, points: CURVE.map((v) => point(world, { ...state, V: v })) };
    now = { state: { ...state }, run, summary: summaryOf(run), bounds: boundsOf(world, run, state) };
    root.now = now; // for tests and the curious
  }

  function point(world, settings) {
    const run = simulate(world, settings, false);
    const { avg_Qbar, avg_grad_sq_before } = summaryOf(run);
    const label = LABELLED.has(settings.V);
    return { V: settings.V, queue: avg_Qbar, gradient: avg_grad_sq_before, diverged: run.diverged, label };
  }

  function draw() {
    const { run, summary, bounds } = now;
    if (run.diverged) drawNothing(run);
    else drawRun(run, summary);
    const here = { V: state.V, queue: summary.avg_Qbar, gradient: summary.avg_grad_sq_before, diverged: run.diverged };
    tradeoffChart(byId("plot-tradeoff"), curve.points, here);
    boundsChart(byId("plot-bounds"), bounds.list);
    showNumbers(now, state);
    showCursor(run, state, readable);
    if (byId("numbers").open) showTable(run);
  }

  function drawRun(run, summary) {
    const series = [{ values: run.grad_sq_before, css: "c-before" }, { values: run.grad_sq_after, css: "c-after" }];
    seriesChart(byId("plot-gradient"), series, state.T, "‖∇Φₜ‖²", state.cursor);
    const box = heatmapFrame(byId("plot-queue"), state.T, state.cursor);
    placeCanvas(byId("heat"), box);
    drawHeatmap(byId("heat"), run, summary.Q_max, state.log);
    const means = [{ values: run.Qbar, css: "c-queue" }];
    seriesChart(byId("plot-mean"), means, state.T, "mean queue Q̄[t−1]", state.cursor, { height: 190, log: false });
    byId("bar-low").textContent = state.log ? `≤ ${short(summary.Q_max * 1e-4, 2)}` : "0";
    byId("bar-high").textContent = short(summary.Q_max);
  }

  function drawNothing(run) {
    const words = `diverged at task ${run.lostAt}`;
    blankChart(byId("plot-gradient"), 260, words);
    blankChart(byId("plot-queue"), heatmapHeight(byId("plot-queue")), words);
    blankChart(byId("plot-mean"), 190, words);
    drawHeatmap(byId("heat"), emptyRun(1, 1, true), 0, false);
    byId("bar-low").textContent = byId("bar-high").textContent = "–";
  }

  function redraw(since) {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      const start = performance.now();
      compute();
      draw();
      const end = performance.now();
      root.dataset.redraws = ++redraws;
      root.dataset.work = end - start;
      root.dataset.latency = end - (since ?? start);
      byId("speed").textContent = `simulated and drawn in ${(end - start).toFixed(0)} ms`;
      clearTimeout(spoken);
      spoken = setTimeout(() => (byId("said").textContent = sentence(now, state)), 400);
    });
  }

  connectControls(state, presets, redraw);
  connectController(state, data.controllers, redraw);
  for (const plot of readable) connectCursor(plot, state, () => now && !now.run.diverged && draw());
  byId("numbers").addEventListener("toggle", () => now && byId("numbers").open && showTable(now.run));
  colourBar(byId("bar"));
  let width = 0;
  new ResizeObserver(() => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    forgetWidths();
    redraw();
  }).observe(root);
}

function decode(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Float64Array(bytes.buffer); // the numbers are little-endian, as every browser's are
}

// The number at a slider's position, with three digits, so that what is shown is what is simulated.
function fromPosition(name, position) {
  return SLIDERS[name].log ? +Math.pow(10, position).toPrecision(3) : Math.round(position);
}

function toPosition(name, value) {
  return SLIDERS[name].log ? Math.log10(value) : value;
}

function connectControls(state, presets, redraw) {
  const byId = (id) => document.getElementById(id);
  byId("settings").addEventListener("submit", (event) => event.preventDefault());
  function show(but) {
    for (const name of Object.keys(SLIDERS)) {
      const slider = byId(name), box = byId(`${name}-number`), value = state[name];
      slider.disabled = box.disabled = value === null;
      if (value !== null && slider !== but) slider.value = toPosition(name, value);
      slider.ariaValueText = value === null ? "automatic" : String(value);
      if (box !== but) box.value = value === null ? "" : value;
      if (box !== but) box.setCustomValidity("");
    }
    for (const name of ["regime", "seed", "reference", "weights", "controller"]) byId(name).value = state[name];
    showParameters(state);
    byId("eta-auto").checked = state.eta === null;
    byId("log").checked = state.log;
  }
  for (const [name, { low, high, log }] of Object.entries(SLIDERS)) {
    const slider = byId(name), box = byId(`${name}-number`);
    Object.assign(slider, { min: low, max: high, step: log ? 0.01 : 1 });
    slider.addEventListener("input", (event) => {
      state[name] = fromPosition(name, slider.valueAsNumber);
      show(slider);
      redraw(event.timeStamp);
    });
    box.addEventListener("input", (event) => {
      const value = Number(box.value), [least, most] = LIMITS[name];
      const good = box.value.trim() !== "" && value >= least && value <= most && (log || Number.isInteger(value));
      box.setCustomValidity(good ? "" : `${log ? "a number" : "a whole number"} from ${least} to ${most}`);
      if (!good) return;
      state[name] = value;
      show(box);
      redraw(event.timeStamp);
    });
    box.addEventListener("change", () => box.checkValidity() || show());
  }
  for (const name of ["regime", "seed", "reference", "weights"]) {
    byId(name).addEventListener("change", (event) => {
      state[name] = name === "seed" ? Number(event.target.value) : event.target.value;
      redraw(event.timeStamp);
    });
  }
  byId("eta-auto").addEventListener("change", (event) => {
    state.eta = event.target.checked ? null : fromPosition("eta", byId("eta").valueAsNumber);
    show();
    redraw(event.timeStamp);
  });
  byId("log").addEventListener("change", (event) => {
    state.log = event.target.checked;
    redraw(event.timeStamp);
  });
  for (const button of document.querySelectorAll("[data-preset]")) {
    button.addEventListener("click", (event) => {
      Object.assign(state, presets[button.dataset.preset], { cursor: null });
      show();
      redraw(event.timeStamp);
    });
  }
  show();
}

function showParameters(state) {
  const box = document.getElementById("parameters");
  box.value = parameterText(state.parameters);
  box.disabled = box.value === "";
  box.setCustomValidity("");
}

// `defaults` has every controller's parameters, as coldtheory.controllers sets them.
function connectController(state, defaults, redraw) {
  const select = document.getElementById("controller"), box = document.getElementById("parameters");
  select.addEventListener("change", (event) => {
    Object.assign(state, { controller: select.value, parameters: { ...defaults[select.value] } });
    showParameters(state);
    redraw(event.timeStamp);
  });
  box.addEventListener("input", (event) => {
    const parameters = readParameters(box.value, defaults[state.controller]);
    box.setCustomValidity(parameters ? "" : `give ${parameterText(defaults[state.controller])} with numbers of your own`);
    if (!parameters) return;
    state.parameters = parameters;
    redraw(event.timeStamp);
  });
  box.addEventListener("change", () => box.checkValidity() || showParameters(state));
}

// Pointing at a chart, or the arrow keys in it, choose a task whose numbers are then shown.
function connectCursor(svg, state, draw) {
  svg.addEventListener("pointermove", (event) => {
    if (!svg.taskAt) return;
    state.cursor = svg.taskAt(event.clientX - svg.getBoundingClientRect().left);
    draw();
  });
  svg.addEventListener("pointerleave", () => {
    state.cursor = null;
    draw();
  });
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -1e9, End: 1e9 }[event.key];
    if (event.key !== "Escape" && by === undefined) return;
    event.preventDefault();
    const from = state.cursor ?? (by > 0 ? 0 : state.T + 1);
    state.cursor = event.key === "Escape" ? null : Math.min(state.T, Math.max(1, from + by));
    draw();
  });
}
