// SPDX-License-Identifier: MIT
/**
 * Attention masks as questions: may query t look at key s? And how many pairs may.
 *
 * The same masks as `pretrain.masks`, position by position; a test compares the two.
 */
import { bidirectional, causal } from "./models.mjs";

/**
 * The masks that a reader can choose. Each has the `name` of its control, what its number n means
 * (`counts`, none when it needs none), `allows(length, n)`, which gives the mask as a function
 * (t, s), and `formula(length, n)`, which counts the allowed pairs, as `[text, number]`.
 */
export const MASKS = {
  causal: {
    name: "causal (GPT)",
    allows: () => causal,
    formula: (T) => ["T (T + 1) / 2", (T * (T + 1)) / 2],
  },
  bidirectional: {
    name: "bidirectional (BERT)",
    allows: () => bidirectional,
    formula: (T) => ["T × T", T * T],
  },
  prefix: {
    name: "prefix of n, then causal",
    counts: "Length n of the prefix",
    allows: (_, n) => (t, s) => s <= t || s < n,
    formula: (T, n) => ["T (T + 1) / 2 + n (n − 1) / 2", (T * (T + 1) + n * (n - 1)) / 2],
  },
  padding: {
    name: "padding: the last n are filler",
    counts: "Number n of padded places",
    allows: (T, n) => (_, s) => s < T - n,
    formula: (T, n) => ["T (T − n)", T * (T - n)],
  },
  "causal-padding": {
    name: "causal and padding",
    counts: "Number n of padded places",
    allows: (T, n) => (t, s) => s <= t && s < T - n,
    formula: (T, n) => ["T (T + 1) / 2 − n (n + 1) / 2", (T * (T + 1) - n * (n + 1)) / 2],
  },
  "encoder-decoder": {
    name: "encoder and decoder (T5), source of n",
    counts: "Length n of the source",
    allows: (_, n) => (t, s) => (t < n ? s < n : s < n || s <= t),
    formula: (T, n) => ["n × n + (T − n) n + (T − n)(T − n + 1) / 2",
      n * n + (T - n) * n + ((T - n) * (T - n + 1)) / 2],
  },
};

/**
 * Count the pairs that a mask allows, one by one.
 * @param {(t: number, s: number) => boolean} allows
 * @param {number} length T queries and T keys.
 * @returns {number}
 */
export function countAllowed(allows, length) {
  let n = 0;
  for (let t = 0; t < length; t++) n += keysOf(allows, length, t).length;
  return n;
}

/** The positions, from 0, that query t may look at. */
export function keysOf(allows, length, t) {
  return Array.from({ length }, (_, s) => s).filter((s) => allows(t, s));
}

/**
 * Which part of an encoder-decoder a pair belongs to, when both are drawn as one matrix.
 * @param {number} n Length of the source.
 * @param {number} t Query.
 * @param {number} s Key.
 * @returns {string} "encoder", "cross" or "decoder".
 */
export function partOf(n, t, s) {
  if (t < n) return "encoder";
  return s < n ? "cross" : "decoder";
}

/**
 * Say positions in words: runs of three and more are joined.
 * @param {number[]} positions From 0, rising.
 * @returns {string} Such as "1 to 4 and 6", counted from 1.
 */
export function inWords(positions) {
  const runs = [];
  for (const position of positions) {
    const last = runs.at(-1);
    if (last && position === last[1] + 1) last[1] = position;
    else runs.push([position, position]);
  }
  const parts = runs.flatMap(([from, to]) =>
    to - from > 1 ? [`${from + 1} to ${to + 1}`] : from === to ? [from + 1] : [from + 1, to + 1]);
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
