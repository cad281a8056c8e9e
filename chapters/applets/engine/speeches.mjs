// SPDX-License-Identifier: MIT
/** The rules of a game with two versions of a speech. Nothing here draws. */

/**
 * Which version a model chooses: the one that costs it fewer bits.
 * @param {number[]} bits One for each version.
 * @returns {number} Its place.
 */
export function choiceOf(bits) {
  return bits.indexOf(Math.min(...bits));
}

/**
 * The lines that stand elsewhere in the other version.
 * @param {string} first
 * @param {string} second The same lines in another order.
 * @returns {string[]}
 */
export function swappedLines(first, second) {
  const other = second.split("\n");
  return first.split("\n").filter((line, i) => line !== other[i]);
}
