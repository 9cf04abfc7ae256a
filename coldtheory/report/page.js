"use strict";
// The verdict table's filters, and light or dark.

function startFilters() {
  const text = document.getElementById("find");
  if (!text) return;
  const section = document.getElementById("section");
  const chips = [...document.querySelectorAll(".chip")];
  const claims = [...document.querySelectorAll("tr.claim")];
  const count = document.getElementById("count");

  function apply() {
    const chosen = new Set(chips.filter((c) => c.ariaPressed === "true").map((c) => c.dataset.verdict));
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const claim of claims) {
      const fits =
        (!chosen.size || chosen.has(claim.dataset.verdict)) &&
        (!section.value || claim.dataset.section === section.value) &&
        words.every((word) => claim.dataset.text.includes(word));
      claim.hidden = !fits;
      shown += fits;
    }
    count.textContent = `${shown} of ${claims.length} claims`;
    document.getElementById("nothing").hidden = shown > 0;
  }

  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.ariaPressed = String(chip.ariaPressed !== "true");
      apply();
    });
  }
  text.addEventListener("input", apply);
  section.addEventListener("change", apply);
  document.getElementById("clear").addEventListener("click", () => {
    text.value = section.value = "";
    for (const chip of chips) chip.ariaPressed = "false";
    apply();
  });
  const unfold = document.getElementById("unfold");
  unfold.addEventListener("click", () => {
    const open = unfold.ariaExpanded !== "true";
    unfold.ariaExpanded = String(open);
    unfold.textContent = open ? "Fold all" : "Unfold all";
    for (const fold of document.querySelectorAll("tr.claim details")) fold.open = open;
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      text.focus();
    }
  });
  apply();
}

// A link to a folded part unfolds it.
function startFolds() {
  function unfold() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  }
  addEventListener("hashchange", unfold);
  unfold();
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
