"use strict";
// Light or dark, links to folded parts, and whether there is a font for mathematics.

// A link to a part that is folded, or inside a folded one, unfolds it.
function startFolds() {
  function unfold() {
    const target = location.hash.length > 1 && document.getElementById(decoded(location.hash.slice(1)));
    if (!target) return;
    target.dispatchEvent(new CustomEvent("wanted", { bubbles: true })); // filters that hide it step back
    for (let part = target; part; part = part.parentElement) if (part instanceof HTMLDetailsElement) part.open = true;
    const told = target.matches("tr.claim") && target.querySelector("details");
    if (told) told.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  unfold();
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a percent sign that encodes nothing
  }
}

function startTheme() {
  const button = document.getElementById("theme");
  const names = ["auto", "light", "dark"];
  function show(name) {
    document.documentElement.dataset.theme = name;
    button.textContent = `Colours: ${name}`;
  }
  button.addEventListener("click", () => {
    const next = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length];
    show(next);
    remember("cold-theme", next);
  });
  const kept = recall("cold-theme");
  show(names.includes(kept) ? kept : "auto");
}

// Whether an index is moved down at all: browsers take the distance from a font for mathematics, if there is one.
function startMath() {
  const probe = document.createElement("p");
  probe.innerHTML = "<math><msub><mi>x</mi><mi>x</mi></msub></math>";
  document.body.append(probe);
  const [base, index] = [...probe.querySelectorAll("mi")].map((e) => e.getBoundingClientRect());
  document.documentElement.classList.toggle("no-math-font", index.bottom - base.bottom < 0.08 * base.height);
  probe.remove();
}

function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // private windows keep nothing
  }
}

function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
