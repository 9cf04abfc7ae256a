"use strict";
// Sliders, number fields and lists, and what they say to something that cannot be.

const SLIDERS = {
  V: { low: 0, high: 3.7, log: true }, delta: { low: -9, high: 1, log: true }, eta: { low: -5, high: -2, log: true },
  steps: { low: 1, high: 10 }, T: { low: 2 }, // as many tasks as the page carries
};
const LIMITS = {
  V: { least: 1e-6, most: 1e9, example: 200 }, delta: { least: 1e-15, most: 1e6, example: 0.01 },
  eta: { least: 1e-12, most: 10, example: 4e-4 }, steps: { least: 1, most: 1000, example: 3, whole: true },
  T: { least: 2, whole: true },
};
const SYMBOLS = { V: "V", delta: "δ", eta: "η", steps: "J", T: "T" };

// The number at a slider's position, with three digits, so that what is shown is what is simulated.
function fromPosition(name, position) {
  return SLIDERS[name].log ? +Math.pow(10, position).toPrecision(3) : Math.round(position);
}

function toPosition(name, value) {
  return SLIDERS[name].log ? Math.log10(value) : value;
}

// Gives the function that shows the state. `switched` is called when the tasks are other ones than before.
function connectControls(state, presets, redraw, switched) {
  const byId = (id) => document.getElementById(id);
  byId("settings").addEventListener("submit", (event) => event.preventDefault());
  function show(but) {
    const own = state.regime === "own";
    byId("T").max = Math.max(LIMITS.T.most, own ? state.T : 0);
    for (const name of Object.keys(SLIDERS)) {
      const slider = byId(name), box = byId(`${name}-number`), value = state[name];
      slider.disabled = box.disabled = value === null || (name === "T" && own);
      if (value !== null && slider !== but) slider.value = toPosition(name, value);
      slider.ariaValueText = value === null ? "automatic" : String(value);
      if (box !== but) box.value = value === null ? "" : value;
      if (box !== but) complain(name, "");
    }
    for (const name of ["regime", "seed", "reference", "weights", "controller"]) byId(name).value = state[name];
    byId("seed").disabled = own;
    showParameters(state);
    byId("eta-auto").checked = state.eta === null;
    byId("log").checked = state.log;
  }
  for (const [name, { low, log }] of Object.entries(SLIDERS)) {
    const slider = byId(name), box = byId(`${name}-number`);
    Object.assign(slider, { min: low, max: SLIDERS[name].high ?? LIMITS[name].most, step: log ? 0.01 : 1 });
    slider.addEventListener("input", (event) => {
      state[name] = fromPosition(name, slider.valueAsNumber);
      show(slider);
      redraw(event.timeStamp);
    });
    box.addEventListener("input", (event) => {
      const problem = numberProblem(SYMBOLS[name], box.value, LIMITS[name]);
      complain(name, problem && `${problem} Until then it stays ${state[name]}.`);
      if (problem) return;
      state[name] = Number(box.value);
      show(box);
      redraw(event.timeStamp);
    });
    box.addEventListener("change", () => {
      if (!box.checkValidity()) box.value = state[name]; // the complaint stays until something good is typed
      box.setCustomValidity("");
    });
  }
  for (const name of ["regime", "seed", "reference", "weights"]) {
    byId(name).addEventListener("change", (event) => {
      state[name] = name === "seed" ? Number(event.target.value) : event.target.value;
      if (name === "regime") switched();
      redraw(event.timeStamp);
    });
  }
  byId("eta-auto").addEventListener("change", (event) => {
    state.eta = event.target.checked ? null : fromPosition("eta", byId("eta").valueAsNumber);
    show();
    redraw(event.timeStamp);
  });
  byId("log").addEventListener("change", (event) => {
    state.log = event.target.checked;
    redraw(event.timeStamp);
  });
  for (const button of document.querySelectorAll("[data-preset]")) {
    button.addEventListener("click", (event) => {
      Object.assign(state, presets[button.dataset.preset], { cursor: null });
      show();
      redraw(event.timeStamp);
    });
  }
  show();
  return show;
}

// One line below a field, and the field marked; "" takes both away.
function complain(name, problem) {
  const box = document.getElementById(`${name}-number`) ?? document.getElementById(name);
  box.setCustomValidity(problem);
  document.getElementById(`${name}-complaint`).textContent = problem;
}

function showParameters(state) {
  const box = document.getElementById("parameters");
  box.value = parameterText(state.parameters);
  box.disabled = box.value === "";
  complain("parameters", "");
}

// `defaults` has every controller's parameters, as coldtheory.controllers sets them.
function connectController(state, defaults, redraw) {
  const select = document.getElementById("controller"), box = document.getElementById("parameters");
  select.addEventListener("change", (event) => {
    Object.assign(state, { controller: select.value, parameters: { ...defaults[select.value] } });
    showParameters(state);
    redraw(event.timeStamp);
  });
  box.addEventListener("input", (event) => {
    const parameters = readParameters(box.value, defaults[state.controller]);
    const wanted = parameterText(defaults[state.controller]);
    complain("parameters", parameters ? "" : `“${shortened(box.value)}” cannot be read; type ${wanted} with numbers of your own.`);
    if (!parameters) return;
    state.parameters = parameters;
    redraw(event.timeStamp);
  });
  box.addEventListener("change", () => {
    if (!box.checkValidity()) box.value = parameterText(state.parameters);
    box.setCustomValidity("");
  });
}
