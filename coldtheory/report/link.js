"use strict";
// The setting of the explorer as a part of the page's address, so that a link brings it back:
//   #explorer:V=50&regime=conflict        what is left out is as in the paper; own optima are base64 of float64
// Whatever stands in an address is checked like what is typed.

const LINK = "#explorer:";
const LONGEST_LINK = 60000; // signs; longer addresses do not survive mail and chat programs

function linkText(state, usual, own) {
  const words = new URLSearchParams();
  for (const name of ["regime", "seed", "V", "delta", "eta", "steps", "T", "reference", "weights", "controller"]) {
    if (state[name] !== usual[name]) words.set(name, state[name] ?? "auto");
  }
  if (state.regime === "own") {
    words.delete("T");
    words.set("own", `${own.T}.${own.d}.${encode(own.optima)}`);
  }
  const parameters = parameterText(state.parameters);
  if (parameters) words.set("parameters", parameters);
  if (state.log) words.set("log", "1");
  return LINK + words;
}

// { changes, own, problem } of an address; `choices` has the values of every list, `limits` those of every number.
function readLink(hash, { choices, limits, controllers }) {
  const changes = {}, words = new URLSearchParams(hash.slice(LINK.length));
  let own = null;
  const wrong = (name, value) => ({ problem: `The link has a wrong ${name}, “${shortened(value)}”; the setting was not changed.` });
  for (const [name, value] of words) {
    if (Object.hasOwn(choices, name)) {
      if (!choices[name].includes(value)) return wrong(name, value);
      changes[name] = name === "seed" ? Number(value) : value;
    } else if (name === "eta" && value === "auto") {
      changes.eta = null;
    } else if (Object.hasOwn(limits, name)) {
      if (numberProblem(name, value, limits[name])) return wrong(name, value);
      changes[name] = Number(value);
    } else if (name === "own") {
      own = decodeOwn(value);
      if (!own) return wrong("list of optima", value);
    } else if (name === "log") {
      changes.log = value === "1";
    } else if (name !== "parameters") {
      return wrong("word", name);
    }
  }
  if ((changes.regime === "own") !== (own !== null)) return wrong("choice of tasks", "own");
  const defaults = controllers[changes.controller ?? "queue"];
  changes.parameters = readParameters(words.get("parameters") ?? "", defaults);
  if (!changes.parameters) return wrong("list of parameters", words.get("parameters"));
  return { changes, own };
}

function encode(numbers) {
  let bytes = "";
  for (const byte of new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)) bytes += String.fromCharCode(byte);
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// The optima in an address, checked by the same rules as a text; null if they are none.
function decodeOwn(text) {
  const [, T, d, code] = /^(\d{1,4})\.(\d{1,4})\.([\w-]+)$/.exec(text) ?? [];
  if (!code) return null;
  try {
    const numbers = [...decode(code.replaceAll("-", "+").replaceAll("_", "/"))];
    if (numbers.length !== T * d) return null;
    const lines = Array.from({ length: T }, (_, t) => numbers.slice(t * d, (t + 1) * d).join(","));
    const own = readOptima(lines.join("\n"));
    return own.problem ? null : { ...own, name: "my_optima.csv" };
  } catch {
    return null; // no base64, or no whole number of bytes
  }
}

// Keeps the address up to date while the setting changes; browsers refuse too many changes in a short time.
function followState(text) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      try {
        history.replaceState(null, "", text());
      } catch {
        // refused; the button still gives the link
      }
    }, 300);
  };
}

function connectCopy(text) {
  const said = document.getElementById("copied");
  document.getElementById("copy-link").addEventListener("click", async () => {
    const link = location.href.replace(/#.*$/, "") + text();
    if (link.length > LONGEST_LINK) {
      said.textContent = "Your optima are too many for a link; pass the file on instead.";
      return;
    }
    said.textContent = (await copied(link)) ? "copied" : "not copied; take it from the address bar";
    history.replaceState(null, "", text());
    setTimeout(() => (said.textContent = ""), 4000);
  });
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // the browser does not allow it here
  }
}
