// SPDX-License-Identifier: MIT
/**
 * Dividing a budget of compute: three rules, and a law of the loss.
 *
 * Hoffmann et al. 2022 (arXiv:2203.15556) with the constants of Besiroglu et al. 2024
 * (arXiv:2404.10102); the slope of Kaplan et al. 2020 (arXiv:2001.08361). No constant stands here:
 * the build reads them from the cells of chapter 13. C is in operations (FLOPs), N in parameters, D
 * in tokens, the loss in nats per token, and C = 6 N D throughout.
 */

const PER_WEIGHT = 6; // operations for each parameter and token in training, see the chapter
const SECONDS_A_DAY = 86_400;

export class ScalingRules {
  /** @param {object} said As `book_pages.weight.scaling_rules` reads it in chapter 13. */
  constructor({ refitted, tokens_per_parameter: ratio, kaplan, speed, fitted }) {
    Object.assign(this, { law: refitted, ratio, kaplan, speed, fitted });
  }

  /**
   * Ask every rule.
   * @param {number} flops The budget C.
   * @returns {{name: string, n: number, d: number}[]} A constant number of tokens a parameter, the
   *   refitted law, Kaplan's slope through the chapter's anchor.
   */
  advise(flops) {
    const { parameters, flops: anchor, slope } = this.kaplan;
    return [
      { name: "constant", n: Math.sqrt(flops / (PER_WEIGHT * this.ratio)) },
      { name: "refitted", n: this.bestSize(flops) },
      { name: "kaplan", n: parameters * (flops / anchor) ** slope },
    ].map(({ name, n }) => ({ name, n, d: this.tokens(n, flops) }));
  }

  /** The N with the lowest loss for a budget, by the refitted law. */
  bestSize(flops) {
    const { a, alpha, b, beta } = this.law;
    const ratio = ((alpha * a) / (beta * b)) ** (1 / (alpha + beta));
    return ratio * (flops / PER_WEIGHT) ** (beta / (alpha + beta));
  }

  /** The loss of n parameters after d tokens, by the refitted law. */
  loss(n, d) {
    const { e, a, alpha, b, beta } = this.law;
    return e + a / n ** alpha + b / d ** beta;
  }

  /** The tokens that a budget leaves for n parameters. */
  tokens(n, flops) {
    return flops / (PER_WEIGHT * n);
  }

  /** The loss of n parameters with all the tokens that a budget leaves, by the refitted law. */
  lossOfSplit(n, flops) {
    return this.loss(n, this.tokens(n, flops));
  }

  /** The lowest loss that a budget can buy, by the refitted law. */
  lowestLoss(flops) {
    return this.lossOfSplit(this.bestSize(flops), flops);
  }

  /**
   * Compare a training with the best division of its budget.
   * @param {number} n Parameters.
   * @param {number} d Tokens.
   * @returns {{flops: number, ratio: number, loss: number, lowest: number, share: number}} C, D/N,
   *   the loss, the lowest loss for the same C, and the share of C that would have bought this loss
   *   in the best division. Both losses without the floor E fall as one power of C.
   */
  judge(n, d) {
    const flops = PER_WEIGHT * n * d;
    const { e, alpha, beta } = this.law;
    const [loss, lowest] = [this.loss(n, d), this.lowestLoss(flops)];
    const power = (alpha + beta) / (alpha * beta);
    const share = Math.min(1, ((lowest - e) / (loss - e)) ** power);
    return { flops, ratio: d / n, loss, lowest, share };
  }

  /** Days that a budget takes at so many operations a second. */
  days(flops, speed = this.speed) {
    return flops / speed / SECONDS_A_DAY;
  }

  /** Where a budget lies: -1 below the range in which the law was fitted, 0 inside, 1 above. */
  side(flops) {
    const [low, high] = this.fitted;
    return Number(flops > high) - Number(flops < low);
  }
}

/**
 * Operations that machines do.
 * @param {object} machines Their number, the hours, the operations a second of one at best, and the
 *   share of these that is reached, from 0 to 1.
 * @returns {number}
 */
export function machineFlops({ count, hours, speed, share }) {
  return count * hours * 3600 * speed * share;
}

/**
 * Read a number that somebody typed, such as 5.76e23, 70 billion, 8e9 or 1,000,000.
 * @param {string} text
 * @param {[number, number]} [limits] The smallest and the largest that make sense here.
 * @param {string} [unit] Of the limits, such as "FLOPs".
 * @returns {number}
 * @throws {RangeError} It is no number above zero or outside of the limits; the message says what
 *   was expected.
 */
export function readNumber(text, limits = [0, Infinity], unit = "") {
  const names = { thousand: 1e3, million: 1e6, billion: 1e9, trillion: 1e12 };
  const plain = text.trim().replace(/(?<=\d)[,\s](?=\d{3}(?!\d))/g, ""); // between groups of digits
  const found = /^(\d+\.?\d*(?:e[+-]?\d+)?)\s*([a-z]+)?$/i.exec(plain);
  const times = found?.[2] ? names[found[2].toLowerCase()] : 1;
  const number = found && times ? Number(found[1]) * times : NaN;
  if (!(number > 0 && number < Infinity)) {
    throw new RangeError(
      `Expected a number above 0, such as 5.76e23 or 70 billion, got “${text.slice(0, 30)}${text.length > 30 ? "…" : ""}”.`);
  }
  return checked(number, limits, unit);
}

/** Give back a number that lies between two limits; refuse another as `readNumber` does. */
export function checked(number, [low, high], unit) {
  if (number >= low && number <= high) return number;
  throw new RangeError(`Expected ${short(low)} to ${short(high)} ${unit}, got ${short(number)}: `
    + "the rules say nothing beyond.");
}

/** Write a number as people say it, with two digits: 91 million, 1.4 trillion, 2.1e17. */
export function written(number) {
  const rounded = Number(number.toPrecision(2));
  if (rounded < 1e3) return String(rounded);
  if (rounded < 1e6) return rounded.toLocaleString("en");
  for (const [size, name] of [[1e9, "million"], [1e12, "billion"], [1e15, "trillion"]]) {
    const parts = rounded / (size / 1e3);
    if (parts < 1e3) return `${parts < 10 ? parts.toFixed(1) : Math.round(parts)} ${name}`;
  }
  return short(number);
}

/** Write a number of operations: 5.8e23. */
export function short(number) {
  return number.toExponential(1).replace("e+", "e");
}
