// SPDX-License-Identifier: MIT
/**
 * Worth k times the labels: with how many labels does a reference do as well as a method? The
 * definition of chapter 8 over the hits of label_ruler.json. Nothing here draws.
 */

const DIGITS = 2; // of a number of labels between measured ones
const PARTS = 20; // stops of a slider in a power of ten

/**
 * @typedef {{n_labels: number[], n_test: number, arms: Object<string, {seeds: number[],
 *   hits: number[][], low: number[], high: number[]}>}} Study
 * @typedef {{labels: number, where: "inside"|"fewer"|"more"}} Needed
 */

/**
 * The mean accuracies of two arms over the seeds that both have, as the study compares them.
 * @param {Study} study
 * @param {string} method
 * @param {string} reference
 * @returns {{own: number[], other: number[]}} One for each number of labels.
 */
export function curvesOf({ arms, n_test: nTest }, method, reference) {
  const [own, other] = [arms[method], arms[reference]];
  const seeds = own.seeds.filter((seed) => other.seeds.includes(seed));
  const curve = (arm) => arm.hits.map((hits) =>
    seeds.reduce((sum, seed) => sum + hits[arm.seeds.indexOf(seed)], 0) / (seeds.length * nTest));
  return { own: curve(own), other: curve(other) };
}

/**
 * Read a curve between its points, which straight lines in log n join.
 * @param {number[]} nLabels Ascending.
 * @param {number[]} curve A value for each.
 * @param {number} n Not outside.
 * @returns {number}
 */
export function valueAt(nLabels, curve, n) {
  const after = Math.max(1, nLabels.findIndex((one) => one >= n));
  const [low, high] = [nLabels[after - 1], nLabels[after]];
  const share = Math.log(n / low) / Math.log(high / low);
  return curve[after - 1] + share * (curve[after] - curve[after - 1]);
}

/** The best value so far at each point of a curve. */
export function rising(curve) {
  return curve.map((_, i) => Math.max(...curve.slice(0, i + 1)));
}

/**
 * The fewest labels with which a curve reaches an accuracy, by its best value so far.
 * @param {number[]} nLabels Ascending.
 * @param {number[]} curve Accuracy at each.
 * @param {number} target
 * @returns {Needed} An end of the curve where it is there "fewer" or only with "more".
 */
export function neededLabels(nLabels, curve, target) {
  const best = rising(curve);
  const last = nLabels.length - 1;
  if (target <= best[0]) return { labels: nLabels[0], where: "fewer" };
  if (target > best[last]) return { labels: nLabels[last], where: "more" };
  const after = best.findIndex((value) => value >= target);
  const share = (target - best[after - 1]) / (best[after] - best[after - 1]);
  const labels = nLabels[after - 1] * (nLabels[after] / nLabels[after - 1]) ** share;
  return { labels, where: "inside" };
}

/**
 * How many times the labels a reference needs to match a method at n labels.
 * @param {Study} study
 * @param {string} method
 * @param {string} reference
 * @param {number} n
 * @returns {Needed & {accuracy: number, k: number}}
 */
export function worth(study, method, reference, n) {
  const { own, other } = curvesOf(study, method, reference);
  const accuracy = valueAt(study.n_labels, own, n);
  const needed = neededLabels(study.n_labels, other, accuracy);
  return { accuracy, ...needed, k: needed.labels / n };
}

/**
 * Where a slider stops: at every measured number of labels, and between two in equal steps of log n.
 * @param {number[]} nLabels
 * @returns {number[]} Whole numbers, ascending.
 */
export function stopsOf(nLabels) {
  const stops = nLabels.slice(1).flatMap((high, i) => {
    const low = nLabels[i];
    const nParts = Math.round(PARTS * Math.log10(high / low));
    return Array.from({ length: nParts }, (_, part) =>
      (part ? Number((low * (high / low) ** (part / nParts)).toPrecision(DIGITS)) : low));
  });
  return [...stops, nLabels.at(-1)];
}

/** The stop that lies nearest to a number, in log n; the first for what is no number. */
export function nearest(stops, n) {
  const far = stops.map((one) => Math.abs(Math.log(one / n)));
  const least = Math.min(...far);
  return Math.max(0, far.indexOf(least));
}

/** Write a factor: 0.72, 1.2, 15. */
export function factor(k) {
  if (k >= 9.95) return String(Math.round(k));
  return k.toFixed(k < 0.95 ? 2 : 1);
}

/** Write a number of labels that was read off a curve, with three digits: 846, 1,960. */
export function count(labels) {
  return whole(Number(labels.toPrecision(3)));
}

/** Write a whole number: 9,242. */
export function whole(number) {
  return number.toLocaleString("en");
}
