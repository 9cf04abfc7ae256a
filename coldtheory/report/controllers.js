"use strict";
// How the weight of a past task follows from its constraint g: the formulas of coldtheory.controllers, one past task at
// a time. Each keeps Q and, for nupi, xi; `p` holds the parameters.

const CONTROLLERS = {
  queue: { update: (p, kept, g) => ({ Q: Math.max(kept.Q + g, 0) }) },
  leaky: { update: (p, kept, g) => ({ Q: Math.max((1 - p.a) * kept.Q + g, 0) }) },
  nupi: {
    update(p, kept, g) {
      const xi = p.nu * kept.xi + (1 - p.nu) * g;
      return { Q: Math.max(kept.Q + p.kappa_i * g + p.kappa_p * (xi - kept.xi), 0), xi };
    },
  },
  "yu-neely": {
    start: (g) => ({ Q: Math.max(-g, 0) }),
    weight: (p, kept, g) => Math.max(kept.Q + g, 0),
    update: (p, kept, g) => ({ Q: Math.max(-g, kept.Q + g) }),
  },
  augmented: {
    always: true, // the constraint enters the weight at every iterate
    weight: (p, kept, g) => Math.max(kept.Q + p.c * g, 0),
    update: (p, kept, g) => ({ Q: Math.max(kept.Q + p.c * g, 0) }),
  },
};
for (const rule of Object.values(CONTROLLERS)) {
  rule.start ??= () => ({ Q: 0, xi: 0 });
  rule.weight ??= (p, kept) => kept.Q;
}

// "a=0.1" as { a: 0.1 }; null unless these are the parameters of the defaults, with numbers.
function readParameters(text, defaults) {
  const given = { ...defaults };
  for (const part of text.split(",").filter((p) => p.trim() !== "")) {
    const [name, value] = part.split("=").map((p) => p.trim());
    if (!Object.hasOwn(defaults, name) || !value || !(Number(value) >= 0) || !Number.isFinite(Number(value))) return null;
    given[name] = Number(value);
  }
  for (const share of ["a", "nu"]) if (given[share] > 1) return null;
  return given;
}

const parameterText = (parameters) => Object.entries(parameters).map(([name, value]) => `${name}=${value}`).join(",");

