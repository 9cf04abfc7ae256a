"use strict";
// The claims: filtered by verdict and words. Sections with a claim that fits open while a filter is set.

function startFilters() {
  const text = document.getElementById("find");
  if (!text) return;
  const chips = [...document.querySelectorAll(".chip")];
  const count = document.getElementById("count"), unfold = document.getElementById("unfold");
  const sections = [...document.querySelectorAll("#claims .part")].map((part) => ({
    part, claims: [...part.querySelectorAll("tr.claim")], found: part.querySelector(".found"), open: false,
  }));
  const total = sections.reduce((sum, { claims }) => sum + claims.length, 0);
  let filtering = false;

  function apply() {
    const chosen = new Set(chips.filter((c) => c.ariaPressed === "true").map((c) => c.dataset.verdict));
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const before = filtering;
    filtering = chosen.size > 0 || words.length > 0;
    let shown = 0;
    for (const section of sections) {
      const fitting = section.claims.filter((claim) => {
        claim.hidden = (chosen.size > 0 && !chosen.has(claim.dataset.verdict)) ||
          !words.every((word) => claim.dataset.text.includes(word));
        return !claim.hidden;
      }).length;
      const all = section.claims.length;
      section.found.textContent = `${fitting < all ? `${fitting} of ` : ""}${all} ${all === 1 ? "claim" : "claims"}`;
      section.part.hidden = fitting === 0;
      if (filtering && !before) section.open = section.part.open;
      if (filtering) section.part.open = fitting > 0;
      else if (before) section.part.open = section.open;
      shown += fitting;
    }
    count.textContent = `${shown} of ${total} claims`;
    document.getElementById("nothing").hidden = shown > 0 || total === 0;
  }

  function clear() {
    text.value = "";
    for (const chip of chips) chip.ariaPressed = "false";
    apply();
  }

  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.ariaPressed = String(chip.ariaPressed !== "true");
      apply();
    });
  }
  text.addEventListener("input", apply);
  document.getElementById("clear").addEventListener("click", clear);
  document.getElementById("claims").addEventListener("wanted", (event) => event.target.closest("[hidden]") && clear());
  unfold.addEventListener("click", () => {
    const open = unfold.ariaExpanded !== "true";
    unfold.ariaExpanded = String(open);
    unfold.textContent = open ? "Close all sections" : "Open all sections";
    for (const { part } of sections) part.open = open;
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
