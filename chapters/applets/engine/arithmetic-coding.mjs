// SPDX-License-Identifier: MIT
/**
 * Arithmetic coding with whole numbers of any size: `encode` and `decode` of chapter 8, cut into
 * steps that can be looked at. Tests compare both with Python's.
 */
import { row, softmax } from "./tensors.mjs";

const SCALE = 2 ** 16; // what probabilities are rounded to, as counts

/**
 * Round probabilities to counts of about SCALE in all, none below 1.
 * @param {ArrayLike<number>} probs V numbers that sum to 1.
 * @returns {number[]} Both sides must compute them in the same way, to the last count.
 */
export function countsOf(probs) {
  return Array.from(probs, (p) => Math.floor(p * SCALE) + 1);
}

/** The counts for the scores (V,) of a model whose first `nSpecial` ids are no text. */
export function countsOfScores(scores, nSpecial) {
  return countsOf(softmax(scores.subarray(nSpecial)));
}

/** The counts before the first symbol, where nothing is predicted: all alike. */
export function alike(nSymbols) {
  return Array(nSymbols).fill(1);
}

/** A piece of the line from 0 to 1: it begins at low / whole and is width / whole wide. */
export class Interval {
  constructor(low = 0n, width = 1n, whole = 1n) {
    Object.assign(this, { low, width, whole });
  }

  /**
   * Cut the interval in proportion to counts, and keep the piece of one symbol.
   * @param {number[]} counts One for each symbol, in order.
   * @param {number} symbol From 0.
   * @returns {Interval}
   */
  keep(counts, symbol) {
    const total = BigInt(sum(counts));
    return new Interval(this.low * total + this.width * BigInt(sum(counts.slice(0, symbol))),
      this.width * BigInt(counts[symbol]), this.whole * total);
  }

  /** In which piece does a point lie? The symbol that `keep` was told. */
  find({ code, nBits }, counts) {
    const total = BigInt(sum(counts));
    const n = BigInt(nBits);
    const point = Number((code * this.whole * total - ((this.low * total) << n)) / (this.width << n));
    let symbol = 0;
    for (let below = counts[0]; below <= point; below += counts[symbol]) symbol += 1;
    return symbol;
  }

  /** The smallest number of binary digits that is sure to name a point of the interval. */
  get nBits() {
    return bitLength(upTo(this.whole, this.width) - 1n);
  }

  /** The first such point. */
  get point() {
    const n = this.nBits;
    return { code: upTo(this.low << BigInt(n), this.whole), nBits: n };
  }

  /** Binary digits after “0.” with which all points of the interval begin. */
  get fixedDigits() {
    const n = this.nBits;
    const first = digitsOf({ code: (this.low << BigInt(n)) / this.whole, nBits: n });
    const last = digitsOf({ code: upTo((this.low + this.width) << BigInt(n), this.whole) - 1n, nBits: n });
    let nSame = 0;
    while (nSame < n && first[nSame] === last[nSame]) nSame += 1;
    return first.slice(0, nSame);
  }

  /** Where a point lies inside, from 0 to 1. */
  placeOf({ code, nBits }) {
    const inside = code * this.whole - (this.low << BigInt(nBits));
    return Number((inside << 20n) / (this.width << BigInt(nBits))) / 2 ** 20;
  }
}

/**
 * Code symbols.
 * @param {number[]} symbols From 0.
 * @param {number[][]} counts Those for each place.
 * @returns {{steps: {before: Interval, counts: number[], symbol: number, bits: number, after: Interval}[],
 *   code: bigint, nBits: number}} The steps, and the point of the last interval: its digits are the code.
 */
export function encode(symbols, counts) {
  let before = new Interval();
  const steps = symbols.map((symbol, place) => {
    const own = counts[place];
    const step = { before, counts: own, symbol, bits: Math.log2(sum(own) / own[symbol]),
      after: before.keep(own, symbol) };
    before = step.after;
    return step;
  });
  return { steps, ...before.point };
}

/** Finds one symbol after the other, from a code alone. */
export class Decoder {
  /** @param {{code: bigint, nBits: number}} point */
  constructor(point) {
    this.point = point;
    this.interval = new Interval();
    this.symbols = [];
  }

  /** Find the next symbol. @param {number[]} counts For it, as the encoder had them. */
  take(counts) {
    const symbol = this.interval.find(this.point, counts);
    this.interval = this.interval.keep(counts, symbol);
    this.symbols.push(symbol);
    return symbol;
  }
}

/** Write a code as its binary digits. */
export function digitsOf({ code, nBits }) {
  return nBits ? code.toString(2).padStart(nBits, "0") : "";
}

/** Turn one digit of a code around. */
export function flipped({ code, nBits }, digit) {
  return { code: code ^ (1n << BigInt(nBits - 1 - digit)), nBits };
}

/** A GPT's counts for every place of a text; what stayed the same since the last text is kept. */
export class CountReader {
  /** @param {{model: GPT, tokenizer: CharTokenizer}} loaded */
  constructor({ model, tokenizer }) {
    this.model = model;
    this.nSpecial = tokenizer.specials.length;
    this.first = alike(tokenizer.tokens.length - this.nSpecial);
    this.cache = model.makeCache();
    this.ids = [];
    this.rows = []; // after the first, the first two, … ids
  }

  /**
   * @param {number[]} ids T ids, none special.
   * @returns {number[][]} T rows: before the first id, and after each but the last.
   */
  read(ids) {
    const asked = ids.slice(0, -1);
    let known = 0;
    while (known < Math.min(asked.length, this.ids.length) && asked[known] === this.ids[known]) known += 1;
    if (known < asked.length) {
      for (const layer of this.cache) layer.cut(known);
      const scores = this.model.forward(asked.slice(known), { cache: this.cache });
      const fresh = asked.slice(known).map((_, t) => countsOfScores(row(scores, t), this.nSpecial));
      this.rows = [...this.rows.slice(0, known), ...fresh];
      this.ids = asked;
    }
    return ids.map((_, place) => (place ? this.rows[place - 1] : this.first));
  }
}

function sum(numbers) {
  return numbers.reduce((a, b) => a + b, 0);
}

/** Divide and round up. */
function upTo(number, divisor) {
  return (number + divisor - 1n) / divisor;
}

function bitLength(number) {
  return number ? number.toString(2).length : 0;
}
