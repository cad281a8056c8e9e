// SPDX-License-Identifier: MIT
/** What becomes of a typed text that holds characters a model does not know: it is read without. */

/**
 * Strike out what a tokeniser does not know.
 * @param {import("../engine/characters.mjs").CharTokenizer} tokenizer
 * @param {string} text
 * @returns {{text: string, note: string}} The rest, and a sentence about what went; "" if nothing did.
 */
export function readable(tokenizer, text) {
  const unknown = new Set(tokenizer.unknown(text));
  if (!unknown.size) return { text, note: "" };
  const named = [...unknown].filter((c) => !/[\p{C}\p{M}\ufe0f]/u.test(c)); // what can be seen
  return {
    text: Array.from(text).filter((c) => !unknown.has(c)).join(""),
    note: `Struck out: ${named.join(" ") || "what cannot be seen"}. The model knows the letters and `
      + "the marks of the plays, and no digits.",
  };
}
