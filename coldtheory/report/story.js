"use strict";
// The animated picture of the idea: a model in the plane, three kinds of tasks in turn, and the queues of past tasks.
// What moves is a run of simulator.js; the hollow dot is the same run with the queues off.

const STORY = {
  V: 1, delta: 0.6, eta: null, steps: 8, reference: "stored", weights: "mean", controller: "queue", parameters: {},
};
const KINDS = [{ at: [0, 1], css: "k1" }, { at: [-0.87, -0.5], css: "k2" }, { at: [0.87, -0.5], css: "k3" }];
const STORY_TASKS = 12;
const TASK_SECONDS = 2.6;

function storyRuns() {
  const T = STORY_TASKS;
  const world = worldOf(Float64Array.from(Array.from({ length: T }, (_, t) => KINDS[t % 3].at).flat()), T, 2);
  const queued = simulate(world, STORY), free = simulate(world, { ...STORY, weights: "none" });
  return { T, queued, free, lost: [queued, free].map((run) => meanForgetting(world, run)) };
}

// The mean of Phi_k(x_t) - Phi_k(x_k) over all pairs k < t so far, by the number of tasks done.
function meanForgetting({ optima }, { T, w }) {
  const loss = (k, t) => 0.5 * ((w[2 * t] - optima[2 * k]) ** 2 + (w[2 * t + 1] - optima[2 * k + 1]) ** 2);
  const means = [0];
  for (let t = 1, sum = 0; t <= T; t++) {
    for (let k = 0; k < t - 1; k++) sum += loss(k, t) - loss(k, k + 1);
    means.push(sum / Math.max((t * (t - 1)) / 2, 1));
  }
  return means;
}

const eased = (share) => (share <= 0 ? 0 : share >= 1 ? 1 : share * share * (3 - 2 * share));

function startStory() {
  const byId = (id) => document.getElementById(id);
  const svg = byId("story-plane"), play = byId("story-play");
  const story = storyRuns(), { T } = story;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let clock = still.matches ? T : 0; // in tasks: 2.5 is the middle of the third
  let playing = !still.matches, visible = false, before = null, scene = null;

  function frame(time) {
    if (!playing || !visible) return (before = null);
    if (before !== null) clock += (time - before) / 1000 / TASK_SECONDS;
    if (clock > T + 1) clock = 0; // one task's time to look at the end
    before = time;
    draw();
    requestAnimationFrame(frame);
  }

  function set(now) {
    playing = now;
    play.textContent = playing ? "Pause" : "Play";
    before = null;
    if (playing) requestAnimationFrame(frame);
  }

  function draw() {
    scene.draw(Math.min(clock, T));
    svg.dataset.clock = clock.toFixed(3);
    const done = Math.min(Math.floor(clock), T), words = storyWords(clock, T);
    if (byId("story-said").textContent !== words) byId("story-said").textContent = words;
    const [queued, free] = story.lost.map((means) => short(means[done], 2));
    const told = done < 2 ? "The hollow dot shows the same model with its queues off."
      : `Mean forgetting after ${done} tasks: ${queued} with queues, ${free} without (hollow dot).`;
    if (byId("story-lost").textContent !== told) byId("story-lost").textContent = told;
  }

  play.addEventListener("click", () => {
    if (!playing && clock >= T) clock = 0;
    set(!playing);
  });
  for (const [id, by] of [["story-back", -1], ["story-next", 1]]) {
    byId(id).addEventListener("click", () => {
      set(false);
      clock = Math.min(T, Math.max(0, (by > 0 ? Math.floor(clock) : Math.ceil(clock)) + by));
      draw();
    });
  }
  still.addEventListener("change", () => still.matches && set(false));
  new IntersectionObserver(([entry]) => {
    visible = entry.isIntersecting;
    if (visible && playing) requestAnimationFrame(frame);
  }).observe(svg);
  let width = 0;
  new ResizeObserver(() => {
    if (svg.parentElement.clientWidth === width) return;
    width = svg.parentElement.clientWidth;
    scene = storyScene(svg, story, Math.max(width, 240));
    draw();
  }).observe(svg.parentElement);
  set(playing);
}

function storyWords(clock, T) {
  const t = Math.floor(clock) + 1, phase = clock - Math.floor(clock);
  if (clock >= T) return `After ${T} tasks the queues hold the model between the three kinds of tasks.`;
  if (phase < 0.2) return `Task ${t} begins: its loss is smallest at its point.`;
  if (phase < 0.72) {
    return t < 3 ? `Task ${t} pulls with weight V; no queue holds the model back.`
      : `Task ${t} pulls with weight V (solid line), and past tasks pull back with their queues (dashed lines).`;
  }
  return t === 1 ? "Task 1 is learnt; its queue starts at zero." : "Each past loss that rose by more than δ makes its queue longer.";
}

// The picture for a width in pixels; draw(clock) moves what moves.
function storyScene(svg, { T, queued, free }, width) {
  const beside = width >= 560, side = beside ? Math.min(width * 0.56, 400) : Math.min(width, 340);
  const unit = side / 4.1, middle = { x: side / 2, y: unit * 2.15 };
  const at = (x, y) => [middle.x + unit * x, middle.y - unit * y];
  const bars = beside
    ? { left: side + 34, right: width - 8, top: 40, bottom: side - 44 }
    : { left: 34, right: width - 8, top: side + 40, bottom: side + 150 };
  const height = beside ? side : side + 192;
  const most = Math.max(...queued.Q), step = (bars.right - bars.left) / (T - 1);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const rings = KINDS.map(({ at: [x, y], css }) => {
    const [cx, cy] = at(x, y);
    return `<circle class="ring ${css}" cx="${cx}" cy="${cy}" r="${unit * Math.sqrt(2 * STORY.delta)}"/>`;
  });
  const pulls = KINDS.map(({ css }) => `<line class="pull ${css}"/>`);
  const points = KINDS.map(({ at: [x, y], css }, i) => {
    const [cx, cy] = at(x, y), out = i === 0 ? [0, -13] : [0, 24];
    const names = Array.from({ length: T / 3 }, (_, n) => i + 1 + 3 * n).join(", ");
    return `<circle class="point ${css}" cx="${cx}" cy="${cy}" r="6"/>` +
      `<text class="halo" x="${cx + out[0]}" y="${cy + out[1]}" text-anchor="middle">tasks ${names}</text>`;
  });
  const queues = Array.from({ length: T - 1 }, (_, k) =>
    `<rect class="bar ${KINDS[k % 3].css}" x="${bars.left + step * (k + 0.14)}" width="${step * 0.72}" y="${bars.bottom}" height="0"/>` +
    `<text class="tick" x="${bars.left + step * (k + 0.5)}" y="${bars.bottom + 16}" text-anchor="middle">${k + 1}</text>`);
  svg.innerHTML = `<text class="tick" x="${middle.x}" y="${middle.y + unit * 1.62 + 16}" text-anchor="middle">on its circle the loss of a task is δ</text>${rings.join("")}${pulls.join("")}` +
    `<path class="trail"/>${points.join("")}<circle class="ghost" r="7"/><circle class="model" r="7"/>` +
    `<text class="row" x="${bars.left}" y="${bars.top - 16}">queues Q<tspan class="low" dy="3">k</tspan></text>` +
    `<path class="axis" d="M${bars.left} ${bars.top - 4}V${bars.bottom}H${bars.right}"/>${queues.join("")}` +
    `<text class="tick" x="${bars.left - 6}" y="${bars.bottom + 4}" text-anchor="end">0</text>` +
    `<text class="tick" x="${bars.left - 6}" y="${bars.top + 4}" text-anchor="end">${short(most, 2)}</text>` +
    `<text class="name" x="${(bars.left + bars.right) / 2}" y="${bars.bottom + 36}" text-anchor="middle">past task k</text>`;
  const find = (css) => [...svg.querySelectorAll(css)];
  const [model] = find(".model"), [ghost] = find(".ghost"), [trail] = find(".trail");
  const lines = find(".pull"), rects = find(".bar"), dots = find(".point");

  function place(run, t, share) {
    const next = Math.min(t + 1, T);
    const mix = (i) => run.w[2 * t + i] + (run.w[2 * next + i] - run.w[2 * t + i]) * share;
    return at(mix(0), mix(1));
  }

  function draw(clock) {
    const t = Math.min(Math.floor(clock), T), phase = t < T ? clock - t : 1;
    const moved = eased((phase - 0.2) / 0.5), filled = eased((phase - 0.72) / 0.22);
    const here = place(queued, t, t < T ? moved : 0);
    moveTo(model, here);
    moveTo(ghost, place(free, t, t < T ? moved : 0));
    const path = Array.from({ length: t }, (_, s) => at(queued.w[2 * (s + 1)], queued.w[2 * (s + 1) + 1]));
    trail.setAttribute("d", path.length ? `M${[...path, here].map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}` : "");
    const pulling = t < T && phase < 0.72;
    lines.forEach((line, i) => {
      const now = pulling && t % 3 === i;
      let weight = now ? STORY.V : 0;
      if (pulling) for (let k = i; k < t; k += 3) weight += queued.Q[t * T + k] / t;
      const [x, y] = at(...KINDS[i].at);
      line.setAttribute("x1", here[0]);
      line.setAttribute("y1", here[1]);
      line.setAttribute("x2", x);
      line.setAttribute("y2", y);
      line.style.strokeWidth = 5 * Math.min(weight, 2);
      line.classList.toggle("new", now);
      dots[i].classList.toggle("now", t < T && t % 3 === i);
    });
    rects.forEach((rect, k) => {
      const old = queued.Q[t * T + k], next = t < T ? queued.Q[(t + 1) * T + k] : old;
      const tall = ((old + (next - old) * filled) / most) * (bars.bottom - bars.top);
      rect.setAttribute("y", bars.bottom - tall);
      rect.setAttribute("height", tall);
    });
  }
  return { draw };
}

function moveTo(circle, [x, y]) {
  circle.setAttribute("cx", x);
  circle.setAttribute("cy", y);
}
