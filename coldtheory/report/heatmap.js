"use strict";
// The queues as a picture: task t along, queue k up. Colours go from dark blue to yellow (cividis-like) and keep
// their order for every kind of colour vision.

const SHADES = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115],
  [138, 134, 120], [165, 156, 116], [195, 179, 105], [225, 204, 85], [254, 232, 56],
];

function shade(share) {
  const at = Math.min(Math.max(share, 0), 1) * (SHADES.length - 1);
  const i = Math.min(Math.floor(at), SHADES.length - 2);
  return SHADES[i].map((from, c) => from + (SHADES[i + 1][c] - from) * (at - i));
}

const TABLE = Uint8ClampedArray.from({ length: 256 * 3 }, (_, i) => shade(Math.floor(i / 3) / 255)[i % 3]);

// One pixel per queue; the browser enlarges it. Queues that do not exist yet (k >= t) stay transparent.
function drawHeatmap(canvas, run, largest, log) {
  const { T, Q } = run;
  canvas.width = canvas.height = T;
  const image = new ImageData(T, T);
  const data = image.data;
  const decades = 4;
  for (let t = 1; t <= T; t++) {
    for (let k = 1; k < t; k++) {
      const q = Q[t * T + k - 1];
      let share = largest > 0 ? q / largest : 0;
      if (log) share = share > 0 ? 1 + Math.log10(share) / decades : 0;
      const from = 3 * Math.round(255 * Math.min(Math.max(share, 0), 1));
      const at = 4 * ((T - k) * T + t - 1);
      for (let c = 0; c < 3; c++) data[at + c] = TABLE[from + c];
      data[at + 3] = 255;
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

const heatmapHeight = (svg) => Math.min(widthOf(svg), 480);

function heatmapFrame(svg, T, cursor) {
  const height = heatmapHeight(svg);
  const box = { ...frame(svg, height), top: 30, bottom: height - 24 };
  const x = taskScale(T, box.left, box.right, 0.5);
  const y = taskScale(T, box.bottom, box.top, 0.5);
  let inner = axes(box, x, y, "", "queue of task k").replace(/<line class="grid"[^>]*>/g, "");
  if (cursor) {
    inner += `<line class="cursor" x1="${x.at(cursor)}" x2="${x.at(cursor)}" y1="${box.top}" y2="${box.bottom}"/>`;
  }
  svg.innerHTML = inner;
  svg.taskAt = taskUnder(x, T);
  return box;
}

function placeCanvas(canvas, box) {
  Object.assign(canvas.style, {
    left: `${box.left}px`, top: `${box.top}px`,
    width: `${box.right - box.left}px`, height: `${box.bottom - box.top}px`,
  });
}

function colourBar(canvas) {
  canvas.width = 128;
  canvas.height = 1;
  const image = new ImageData(128, 1);
  for (let i = 0; i < 128; i++) image.data.set([...shade(i / 127), 255], 4 * i);
  canvas.getContext("2d").putImageData(image, 0, 0);
}
