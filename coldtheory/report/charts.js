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

function logTicks(low, high, most = 6) {
  const a = Math.ceil(Math.log10(low) - 1e-9), b = Math.floor(Math.log10(high) + 1e-9);
  if (b - a < 1) return linearTicks(low, high, 4).filter((v) => v >= low && v <= high && v > 0);
  const every = Math.ceil((b - a + 1) / most);
  const ticks = [];
  for (let e = a; e <= b; e += every) ticks.push(Math.pow(10, e));
  return ticks;
}

// Limits of a log axis around positive numbers, with some air.
function logRange(values) {
  const good = values.filter((v) => v > 0 && Number.isFinite(v));
  if (!good.length) return [0.1, 10];
  const low = Math.min(...good), high = Math.max(...good);
  const air = Math.pow(high / low, 0.06) * 1.15;
  return [low / air, high * air];
}

// 0.0345, 1.2e−5, 1500: few characters.
function short(value, digits = 3) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-3 ? value.toExponential(digits - 1) : String(+value.toPrecision(digits));
  return text.replace(/\.?0+e/, "e").replace("e+", "e").replace(/-/g, "−");
}

function tickText(value) {
  const exponent = Math.log10(Math.abs(value));
  if (value !== 0 && (exponent >= 5 || exponent < -3) && Math.abs(exponent - Math.round(exponent)) < 1e-9) {
    return `10<tspan dy="-5" font-size="9">${String(Math.round(exponent)).replace("-", "−")}</tspan>`;
  }
  return short(value, 6);
}

function axes(box, x, y, xName, yName) {
  const parts = [];
  for (const v of y.ticks) {
    const p = y.at(v);
    parts.push(`<line class="grid" x1="${box.left}" x2="${box.right}" y1="${p}" y2="${p}"/>`);
    parts.push(`<text class="tick" x="${box.left - 6}" y="${p + 4}" text-anchor="end">${tickText(v)}</text>`);
  }
  for (const v of x.ticks) {
    const p = x.at(v);
    parts.push(`<line class="axis" x1="${p}" x2="${p}" y1="${box.bottom}" y2="${box.bottom + 4}"/>`);
    parts.push(`<text class="tick" x="${p}" y="${box.bottom + 17}" text-anchor="middle">${tickText(v)}</text>`);
  }
  parts.push(`<path class="axis" d="M${box.left} ${box.top}V${box.bottom}H${box.right}"/>`);
  const middle = (box.left + box.right) / 2;
  parts.push(`<text class="name" x="${middle}" y="${box.bottom + 35}" text-anchor="middle">${xName}</text>`);
  parts.push(`<text class="name" x="${box.left - 48}" y="${box.top - 11}">${yName}</text>`);
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

function frame(svg, height) {
  const width = Math.max(svg.parentElement.clientWidth, 240);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  return { left: 56, right: width - 14, top: 30, bottom: height - 42, width, height };
}

// Series over t: [{ values, css }], and a cursor at one task.
function seriesChart(svg, series, T, yName, cursor) {
  const box = frame(svg, 260);
  const all = series.flatMap((s) => Array.from(s.values));
  const x = scale(1, Math.max(T, 2), box.left, box.right, false);
  const y = scale(...logRange(all), box.bottom, box.top, true);
  const ts = Array.from({ length: T }, (_, i) => i + 1);
  x.ticks = x.ticks.filter((v) => v >= 1 && Number.isInteger(v));
  let inner = axes(box, x, y, "task t", yName);
  for (const s of series) inner += `<path class="line ${s.css}" d="${linePath(ts, s.values, x, y)}"/>`;
  if (cursor) {
    const p = x.at(cursor);
    inner += `<line class="cursor" x1="${p}" x2="${p}" y1="${box.top}" y2="${box.bottom}"/>`;
    for (const s of series) {
      const v = s.values[cursor - 1];
      if (v > 0 && Number.isFinite(v)) inner += `<circle class="dot ${s.css}" cx="${p}" cy="${y.at(v)}" r="4"/>`;
    }
  }
  svg.innerHTML = inner;
  return (px) => Math.min(T, Math.max(1, Math.round(1 + ((px - box.left) / (box.right - box.left)) * (T - 1))));
}

// The V-curve: points { V, queue, gradient }, and the present one.
function tradeoffChart(svg, points, now) {
  const box = frame(svg, 300);
  const shown = points.filter((p) => p.queue > 0 && p.gradient > 0 && !p.diverged);
  const x = scale(...logRange([...shown, now].map((p) => p.queue)), box.left, box.right, true);
  const y = scale(...logRange([...shown, now].map((p) => p.gradient)), box.bottom, box.top, true);
  let inner = axes(box, x, y, "average queue", "average gradient², before");
  const path = linePath(shown.map((p) => p.queue), shown.map((p) => p.gradient), x, y);
  inner += `<path class="line c-curve" d="${path}"/>`;
  for (const p of shown) {
    const cx = x.at(p.queue), cy = y.at(p.gradient);
    inner += `<circle class="dot c-curve" cx="${cx}" cy="${cy}" r="2.5"/>`;
    if (p.label) {
      const side = cx > box.right - 60 ? `x="${cx - 7}" text-anchor="end"` : `x="${cx + 7}"`;
      inner += `<text class="tick" ${side} y="${cy - 6}">V=${p.V}</text>`;
    }
  }
  if (Number.isFinite(now.gradient) && !now.diverged) {
    const cx = now.queue > 0 ? x.at(now.queue) : box.left, cy = y.at(now.gradient);
    inner += `<circle class="now" cx="${cx}" cy="${cy}" r="7"/>`;
  }
  svg.innerHTML = inner;
}

// Measured value and bound on one log axis, a row each.
function boundsChart(svg, list) {
  const box = frame(svg, 62 + 44 * list.length);
  const good = list.filter((b) => !b.missing);
  const x = scale(...logRange(good.flatMap((b) => [b.measured, b.bound])), 14, box.right, true);
  if (x.ticks.length < 2) x.ticks = [x.low, x.high];
  let inner = "";
  for (const v of x.ticks) {
    inner += `<line class="grid" x1="${x.at(v)}" x2="${x.at(v)}" y1="8" y2="${box.bottom}"/>`;
    inner += `<text class="tick" x="${x.at(v)}" y="${box.bottom + 17}" text-anchor="middle">${tickText(v)}</text>`;
  }
  list.forEach((b, i) => {
    const y = 48 + 44 * i;
    const note = b.missing ? `not applicable: ${b.missing}` : b.of;
    inner += `<text class="row" x="14" y="${y - 16}">${b.name} <tspan class="tick">${note}</tspan></text>`;
    if (b.missing) return;
    const to = x.at(b.bound);
    const from = b.measured > 0 ? x.at(b.measured) : 14;
    inner += `<line class="span" x1="${from}" x2="${to}" y1="${y}" y2="${y}"/>`;
    inner += `<circle class="dot c-before" cx="${from}" cy="${y}" r="5"/>`;
    inner += `<path class="bound" d="M${to} ${y - 8}V${y + 8}"/>`;
  });
  svg.innerHTML = inner;
}
