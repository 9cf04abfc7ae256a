"use strict";
// The explorer: controls on one side, a simulation and its pictures on the other.

const CURVE = [1, 3, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000];
const LABELLED = new Set([10, 50, 200, 1000, 5000]);

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
  LIMITS.T.most = LIMITS.T.example = data.T;
  const presets = presetsOf(data.paper), usual = { ...presets.paper, seed: data.seeds[0], log: false, cursor: null };
  const state = { ...usual };
  const byId = (id) => document.getElementById(id);
  const readable = ["plot-gradient", "plot-queue", "plot-mean"].map(byId);
  let curve = { key: "", points: [] };
  let own = null, waiting = 0, redraws = 0, now = null, spoken = 0;

  function worldNow() {
    if (state.regime === "own") return worldOf(own.optima, own.T, own.d);
    return worldOf(optimaOf(streams[`${state.regime}/${state.seed}`], state.T, data.d), state.T, data.d);
  }

  function compute() {
    const world = worldNow();
    const run = simulate(world, state);
    const { V, log, cursor, ...rest } = state;
    const key = JSON.stringify(rest);
    if (key !== curve.key || curve.own !== own) {
      curve = { key, own, points: CURVE.map((v) => point(world, { ...state, V: v })) };
    }
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
    showNumbers(now, state, own);
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

  // New tasks of one's own, or none, and then a setting: what belongs together is shown together.
  function use(given, changes) {
    own = given ?? own;
    Object.assign(state, changes, { cursor: null });
    if (state.regime === "own") state.T = own.T;
    else state.T = Math.min(state.T, data.T);
    byId("regime").querySelector("[value=own]").disabled = own === null;
    show();
    redraw();
  }

  function open() {
    if (!location.hash.startsWith(LINK)) return;
    const choices = Object.fromEntries(
      ["regime", "seed", "reference", "weights", "controller"].map((name) => [name, [...byId(name).options].map((o) => o.value)]),
    );
    const { changes, own: given, problem } = readLink(location.hash, { choices, limits: LIMITS, controllers: data.controllers });
    byId("link-complaint").textContent = problem ?? "";
    if (!problem) use(given, { ...usual, ...changes });
    byId("explorer-part").scrollIntoView();
  }

  const text = () => linkText(state, usual, own);
  const follow = followState(text);
  const changed = (since) => {
    redraw(since);
    follow();
  };
  const show = connectControls(state, presets, changed, () => use(null, {}));
  connectController(state, data.controllers, changed);
  connectOptima((given) => {
    use(given, { regime: "own" });
    follow();
  });
  connectCopy(text);
  addEventListener("hashchange", open);
  open();
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
