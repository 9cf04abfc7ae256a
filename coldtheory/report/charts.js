"use strict";
// Small SVG charts: scales, axes, lines. Sizes are CSS pixels, so that text stays readable at any width.

function scale(low, high, from, to, log) {
  const f = log ? Math.log10 : (v) => v;
  const a = f(low), span = f(high) - a || 1;
  const at = (v) => from + ((f(v) - a) / span) * (to - from);
  return { at, low, high, log, ticks: log ? logTicks(low, high) : linearTicks(low, high) };
}

function linearTicks(low, high, about = 5) {
  const raw = (high - low) / about || 1;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
  return ticks;
}

// Powers of ten; below three decades also their double and fivefold; within one decade like a linear axis.
function logTicks(low, high, most = 6) {
  const a = Math.floor(Math.log10(low)), b = Math.ceil(Math.log10(high));
  const within = (v) => v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9);
  if (high / low < 3) return linearTicks(low, high, 4).filter((v) => v > 0 && within(v));
  const fine = high / low < 1000;
  const steps = high / low < 12 ? [1, 2, 3, 5, 7] : fine ? [1, 2, 5] : [1];
  const every = fine ? 1 : Math.ceil((b - a) / most);
  const ticks = [];
  for (let e = a; e <= b; e += every) for (const m of steps) ticks.push(+`${m}e${e}`);
  return ticks.filter(within);
}

// Limits of a log axis around positive numbers, with some air.
function logRange(values) {
  const good = values.filter((v) => v > 0 && Number.isFinite(v));
  if (!good.length) return [0.1, 10];
  const low = Math.min(...good), high = Math.max(...good);
  const air = Math.pow(high / low, 0.06) * 1.15;
  return [low / air, high * air];
}

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// 0.0345, 1.2·10⁻⁵, 1500: few characters.
function short(value, digits = 3) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e5 && size >= 1e-3) return String(+value.toPrecision(digits)).replace("-", "−");
  const [number, power] = value.toExponential(digits - 1).split("e");
  return `${String(+number).replace("-", "−")}·10${String(+power).replace(/./g, (c) => RAISED[c])}`;
}

const tickText = (value) => short(value, 6).replace(/^1·/, "");

function axes(box, x, y, xName, yName) {
  const parts = [];
  for (const v of y.ticks) {
    const p = y.at(v);
    parts.push(`<line class="grid" x1="${box.left}" x2="${box.right}" y1="${p}" y2="${p}"/>`);
    parts.push(`<text class="tick" x="${box.left - 7}" y="${p + 4}" text-anchor="end">${tickText(v)}</text>`);
  }
  for (const v of x.ticks) {
    const p = x.at(v);
    parts.push(`<line class="axis" x1="${p}" x2="${p}" y1="${box.bottom}" y2="${box.bottom + 4}"/>`);
    parts.push(`<text class="tick" x="${p}" y="${box.bottom + 17}" text-anchor="middle">${tickText(v)}</text>`);
  }
  parts.push(`<path class="axis" d="M${box.left} ${box.top}V${box.bottom}H${box.right}"/>`);
  const middle = (box.left + box.right) / 2;
  parts.push(`<text class="name" x="${middle}" y="${box.bottom + 35}" text-anchor="middle">${xName}</text>`);
  parts.push(`<text class="name" x="2" y="${box.top - 12}">${yName}</text>`);
  return parts.join("");
}

function linePath(xs, ys, x, y) {
  let path = "", pen = false;
  for (let i = 0; i < xs.length; i++) {
    const good = Number.isFinite(ys[i]) && (!y.log || ys[i] > 0) && Number.isFinite(xs[i]) && (!x.log || xs[i] > 0);
    if (good) path += `${pen ? "L" : "M"}${x.at(xs[i]).toFixed(2)} ${y.at(ys[i]).toFixed(2)}`;
    pen = good;
  }
  return path;
}

// Asking for a width in the middle of drawing makes the browser lay the page out, so it is asked once per page width.
let widths = new WeakMap();

function forgetWidths() {
  widths = new WeakMap();
}

function widthOf(svg) {
  if (!widths.has(svg)) widths.set(svg, Math.max(svg.parentElement.clientWidth, 200));
  return widths.get(svg);
}

function frame(svg, height) {
  const width = widthOf(svg);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  return { left: 54, right: width - 12, top: 30, bottom: height - 42, width, height };
}

// In place of a chart whose numbers mean nothing.
function blankChart(svg, height, words) {
  const box = frame(svg, height);
  svg.innerHTML = `<rect class="blank" x="1" y="1" width="${box.width - 2}" height="${height - 2}" rx="8"/>` +
    `<text class="name" x="${box.width / 2}" y="${height / 2}" text-anchor="middle">${words}</text>`;
}

// Tasks along an axis from `left` to `right`, with ticks at whole tasks.
function taskScale(T, left, right, edge) {
  const x = scale(1 - edge, T + edge, left, right, false);
  x.ticks = [...new Set([1, ...linearTicks(1, T)])].filter((v) => v >= 1 && Number.isInteger(v));
  if (x.ticks.length > 1 && Math.abs(x.at(x.ticks[1]) - x.at(x.ticks[0])) < 24) x.ticks.splice(1, 1);
  return x;
}

function taskUnder(x, T) {
  const [a, b] = [x.at(1), x.at(2)];
  return (px) => Math.min(T, Math.max(1, Math.round(1 + (px - a) / (b - a))));
}

// Series over t: [{ values, css }], and a cursor at one task.
function seriesChart(svg, series, T, yName, cursor, { height = 260, log = true } = {}) {
  const box = frame(svg, height);
  const all = series.flatMap((s) => Array.from(s.values));
  const x = taskScale(T, box.left, box.right, 0.5);
  const top = Math.max(...all.filter(Number.isFinite), 0);
  const y = log ? scale(...logRange(all), box.bottom, box.top, true) : scale(0, top * 1.05 || 1, box.bottom, box.top, false);
  if (!log) y.ticks = linearTicks(0, top * 1.05 || 1, 3);
  const ts = Array.from({ length: T }, (_, i) => i + 1);
  let inner = axes(box, x, y, "task t", yName);
  for (const s of series) inner += `<path class="line ${s.css}" d="${linePath(ts, s.values, x, y)}"/>`;
  if (cursor) {
    const p = x.at(cursor);
    inner += `<line class="cursor" x1="${p}" x2="${p}" y1="${box.top}" y2="${box.bottom}"/>`;
    for (const s of series) {
      const v = s.values[cursor - 1];
      if (Number.isFinite(v) && (!log || v > 0)) inner += `<circle class="dot ${s.css}" cx="${p}" cy="${y.at(v)}" r="4"/>`;
    }
  }
  svg.innerHTML = inner;
  svg.taskAt = taskUnder(x, T);
}

// The V-curve: points { V, queue, gradient }, and the present one.
function tradeoffChart(svg, points, now) {
  const height = 300;
  const good = (p) => p.queue > 0 && p.gradient > 0 && !p.diverged;
  const largest = Math.max(0, ...points.filter(good).map((p) => p.queue));
  const shown = points.filter((p) => good(p) && p.queue > 1e-3 * largest);
  const all = good(now) ? [...shown, now] : shown;
  if (!all.length) return blankChart(svg, height, "no setting with a queue to show");
  const box = frame(svg, height);
  const x = scale(...logRange(all.map((p) => p.queue)), box.left, box.right - 40, true); // room for a label
  const y = scale(...logRange(all.map((p) => p.gradient)), box.bottom, box.top, true);
  let inner = axes(box, x, y, "average queue", "average gradient², before");
  const places = shown.map((p) => ({ x: x.at(p.queue), y: y.at(p.gradient), p }));
  inner += `<path class="line c-curve" d="${linePath(shown.map((p) => p.queue), shown.map((p) => p.gradient), x, y)}"/>`;
  for (const place of places) inner += `<circle class="dot c-curve" data-v="${place.p.V}" cx="${place.x}" cy="${place.y}" r="2.5"/>`;
  places.forEach((place, i) => (inner += place.p.label ? curveLabel(places, i, box) : ""));
  if (good(now)) inner += `<circle class="now" data-v="${now.V}" cx="${x.at(now.queue)}" cy="${y.at(now.gradient)}" r="7"/>`;
  svg.innerHTML = inner;
}

// "V = 100" beside its point, across the curve, on the side away from the curve's middle.
function curveLabel(places, i, box) {
  const here = places[i], from = places[Math.max(i - 1, 0)], to = places[Math.min(i + 1, places.length - 1)];
  const middle = { x: 0, y: 0 };
  for (const place of places) {
    middle.x += place.x / places.length;
    middle.y += place.y / places.length;
  }
  let nx = -(to.y - from.y), ny = to.x - from.x;
  const length = Math.hypot(nx, ny) || 1;
  const side = nx * (here.x - middle.x) + ny * (here.y - middle.y) < 0 ? -1 : 1;
  nx *= side / length;
  ny *= side / length;
  const anchor = nx > 0.35 ? "start" : nx < -0.35 ? "end" : "middle";
  const half = anchor === "middle" ? 24 : 0;
  const px = Math.min(Math.max(here.x + 13 * nx, box.left + 4 + half), box.right + 8 - half);
  const py = Math.min(Math.max(here.y + 13 * ny + 4, box.top + 4), box.bottom - 5);
  return `<text class="tick halo" x="${px}" y="${py}" text-anchor="${anchor}">V = ${here.p.V}</text>`;
}

// Measured value and bound on one log axis, one row per bound.
function boundsChart(svg, list) {
  const step = 42, box = frame(svg, 52 + step * list.length);
  const good = list.filter((b) => !b.missing && b.bound > 0);
  const x = scale(...logRange(good.flatMap((b) => [b.measured, b.bound])), 14, box.right, true);
  let inner = "";
  for (const v of good.length ? x.ticks : []) {
    inner += `<line class="grid" x1="${x.at(v)}" x2="${x.at(v)}" y1="8" y2="${box.bottom + 12}"/>`;
    inner += `<text class="tick" x="${x.at(v)}" y="${box.bottom + 29}" text-anchor="middle">${tickText(v)}</text>`;
  }
  list.forEach((b, i) => {
    const y = 40 + step * i;
    const note = b.missing ? `${b.of} · ${b.missing}` : b.of;
    inner += `<text class="row halo" x="14" y="${y - 15}">${b.name} <tspan class="tick">${note}</tspan></text>`;
    if (b.missing || !(b.bound > 0)) return;
    const to = x.at(b.bound);
    const from = b.measured > 0 ? x.at(b.measured) : 14;
    inner += `<line class="span" x1="${from}" x2="${to}" y1="${y}" y2="${y}"/>`;
    inner += `<circle class="dot c-before" cx="${from}" cy="${y}" r="5"/>`;
    inner += `<path class="bound" d="M${to} ${y - 8}V${y + 8}"/>`;
  });
  svg.innerHTML = inner;
}
