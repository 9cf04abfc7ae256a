"use strict";
// Tasks of one's own: optima as CSV, read as numbers and as nothing else.

const OWN = { tasks: 300, coordinates: 100, work: 4e6, size: 1e6, largest: 1e6 }; // a page should answer at once

// { T, d, optima } of a text with one line per task, or { problem } in one line. As in coldtheory, a first line of names
// is passed over.
function readOptima(text) {
  if (text.length > OWN.size) return { problem: "This is more than a million signs: give fewer tasks or coordinates." };
  const lines = text.split(/\r\n|\n|\r/).map((line, at) => ({ at: at + 1, line: line.trim() })).filter(({ line }) => line);
  const rows = [];
  for (const { at, line } of lines) {
    const words = line.split(/\s*[,;\t]\s*/);
    const wrong = words.findIndex((word) => !NUMBER.test(word));
    if (wrong >= 0 && at === lines[0].at && words.every((word) => !NUMBER.test(word))) continue; // names of the columns
    if (wrong >= 0) {
      return { problem: `Line ${at}: “${shortened(words[wrong])}” is not a number; write numbers with a point, and commas between them.` };
    }
    const row = words.map(Number);
    if (rows.length && row.length !== rows[0].length) {
      return { problem: `Line ${at} has ${counted(row.length, "number")} and the first has ${rows[0].length}: give every task as many coordinates.` };
    }
    if (!row.every((value) => Math.abs(value) <= OWN.largest)) {
      return { problem: `Line ${at} has a number beyond ${plainNumber(OWN.largest)}: give the optima in other units.` };
    }
    rows.push(row);
  }
  const T = rows.length, d = rows[0]?.length ?? 0;
  if (T < 2) return { problem: `There ${T ? "is only one task" : "are no numbers"}: give at least two lines, one per task.` };
  if (T > OWN.tasks || d > OWN.coordinates || T * T * d > OWN.work) {
    return { problem: `${T} tasks with ${counted(d, "coordinate")} are too many for a page; use coldtheory sweep-V --regime FILE.csv.` };
  }
  return { T, d, optima: Float64Array.from(rows.flat()) };
}

const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

// A text area, a file and a place to drop one; `use` gets tasks that are good, `name` is a file's.
function connectOptima(use) {
  const byId = (id) => document.getElementById(id);
  const text = byId("own-text"), file = byId("own-file"), root = byId("explorer"), fold = byId("own");
  function take(content, name) {
    const own = readOptima(content);
    byId("own-complaint").textContent = own.problem ?? "";
    if (!own.problem) use({ ...own, name: /^[\w.-]{1,60}\.csv$/i.test(name) ? name : "my_optima.csv" });
  }
  async function open(given) {
    if (!given) return;
    fold.open = true;
    if (given.size > OWN.size) return take(" ".repeat(OWN.size + 1), "");
    text.value = await given.text();
    take(text.value, given.name);
  }
  byId("own-use").addEventListener("click", () => take(text.value, ""));
  file.addEventListener("change", () => open(file.files[0]));
  for (const kind of ["dragenter", "dragover"]) {
    root.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      root.classList.add("over");
    });
  }
  root.addEventListener("dragleave", (event) => root.contains(event.relatedTarget) || root.classList.remove("over"));
  root.addEventListener("drop", (event) => {
    root.classList.remove("over");
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    open(event.dataTransfer.files[0]);
  });
}
