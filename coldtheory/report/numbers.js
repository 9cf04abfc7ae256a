"use strict";
// Numbers that a person types: read strictly, and a line with the remedy for what is none.

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

// What is wrong with a text in a number field, "" if nothing is. `limits` is { least, most, whole, example }.
function numberProblem(name, text, { least, most, whole, example }) {
  const word = text.trim(), kind = whole ? "a whole number" : "a number";
  const remedy = `type ${kind} from ${plainNumber(least)} to ${plainNumber(most)}, such as ${plainNumber(example)}`;
  if (word === "") return `${name} is empty: ${remedy}.`;
  if (/^[+-]?\d+,\d+$/.test(word)) return `${name}: “${word}” has a comma; write ${word.replace(",", ".")}.`;
  if (!NUMBER.test(word)) return `${name}: “${shortened(word)}” is not a number; ${remedy}.`;
  const value = Number(word);
  if (value < least || value > most) return `${name}: ${shortened(word)} is too ${value < least ? "small" : "large"}; ${remedy}.`;
  return whole && !Number.isInteger(value) ? `${name}: ${shortened(word)} is not a whole number; ${remedy}.` : "";
}

const shortened = (text) => (text.length > 24 ? `${text.slice(0, 24)}…` : text);

// 1e-6 and 1e9 as one types them; what is neither large nor small with all its digits.
function plainNumber(value) {
  return value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)
    ? value.toExponential().replace("e+", "e")
    : String(value);
}
