// SPDX-License-Identifier: MIT
/** Which characters span corruption cuts out. As `pretrain.span_corruption`. */

/** Round to the nearest whole number, a half to the even one, as Python does. */
function roundEven(x) {
  const down = Math.floor(x);
  const rest = x - down;
  if (rest !== 0.5) return rest < 0.5 ? down : down + 1;
  return down + (down % 2);
}

/**
 * How many characters are cut out, and in how many spans.
 * @param {number} length At least 2.
 * @param {number} share Share that is cut out, in (0, 1).
 * @param {number} meanLength Mean length of a span, at least 1.
 * @returns {{nNoise: number, nSpans: number}}
 */
export function countSpans(length, share, meanLength) {
  const nNoise = Math.min(Math.max(roundEven(share * length), 1), length - 1);
  const nSpans = Math.min(Math.max(roundEven(nNoise / meanLength), 1), length - nNoise);
  return { nNoise, nSpans };
}

/** Cut a row of items into segments that are not empty, all ways equally likely. */
function randomSegments(nItems, nSegments, next) {
  const order = Array.from({ length: nItems - 1 }, (_, i) => ({ cut: i + 1, key: next() }));
  order.sort((a, b) => a.key - b.key);
  const cuts = order.slice(0, nSegments - 1).map(({ cut }) => cut).sort((a, b) => a - b);
  return [...cuts, nItems].map((end, i) => end - (i ? cuts[i - 1] : 0));
}

/**
 * Draw the spans: kept and cut runs in turn, a kept one first.
 * @param {number} length At least 2.
 * @param {number} share
 * @param {number} meanLength
 * @param {() => number} next Gives the next random number in [0, 1).
 * @returns {[number, number][]} Start and end of each span, end excluded.
 */
export function randomSpans(length, share, meanLength, next) {
  const { nNoise, nSpans } = countSpans(length, share, meanLength);
  const kept = randomSegments(length - nNoise, nSpans, next);
  const cut = randomSegments(nNoise, nSpans, next);
  let at = 0;
  return cut.map((n, i) => {
    const start = at + kept[i];
    at = start + n;
    return [start, at];
  });
}
