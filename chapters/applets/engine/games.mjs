// SPDX-License-Identifier: MIT
/**
 * The rules of the games: a reader bets on what is hidden before a model's answer is shown, and
 * both pay in bits. Nothing here draws.
 */

/** What the first, the second and the third guess get of the probability 1. */
export const TRIES = [1 / 2, 1 / 4, 1 / 8];

/**
 * Bet by guesses, as the exercises of Chapter 1 do.
 * @param {string[]} guesses At most three, the surest first; an empty one leaves its share to all.
 * @returns {Map<string, number>} What each guess gets; one that is named twice gets both shares.
 * @throws {RangeError} There are too many guesses.
 */
export function sharesOfTries(guesses) {
  if (guesses.length > TRIES.length) {
    throw new RangeError(`expected at most ${TRIES.length} guesses, got ${guesses.length}`);
  }
  const shares = new Map();
  guesses.forEach((guess, i) => {
    if (guess) shares.set(guess, (shares.get(guess) ?? 0) + TRIES[i]);
  });
  return shares;
}

/**
 * Read a word that a reader typed; marks before and after it do not count.
 * @param {string} typed
 * @returns {{shown: string, word: string}} As it was typed, and as the vocabulary would have it.
 * @throws {RangeError} It is not one word.
 */
export function readWord(typed) {
  const shown = typed.replace(/^[\s\p{P}]+|[\s\p{P}]+$/gu, "") || typed.trim();
  if (!/^\p{L}[\p{L}\p{M}'’-]*$/u.test(shown)) {
    throw new RangeError(shown ? `Expected one word, got “${shown}”.` : "Type a word first.");
  }
  return { shown, word: shown.toLowerCase().replaceAll("’", "'") };
}

/**
 * Say how sure somebody is who pays so many bits: as one who picks from so many things alike.
 * @param {number} bits
 * @returns {string} Such as "one in 4.0".
 */
export function oneIn(bits) {
  const count = 2 ** bits;
  return `one in ${count < 9.95 ? count.toFixed(1) : Math.round(count).toLocaleString("en")}`;
}

/**
 * Leave out the halves of words at both ends of a window of text.
 * @param {{left: string, right: string}} window
 * @returns {{left: string, right: string}} With an ellipsis where something went.
 */
export function wholeWords({ left, right }) {
  return { left: left.replace(/^\S*\s/, "… "), right: right.replace(/\s\S*$/, " …") };
}

/**
 * Look up what the model would have paid for a word.
 * @param {{vocabulary: string}} data As fill_blank.json has it.
 * @param {{words: string}} item One of its items: bits in tenths, a byte for each word.
 * @param {string} word
 * @returns {number|undefined} Bits; undefined when the vocabulary has no such word.
 */
export function bitsOfWord({ vocabulary }, item, word) {
  const at = vocabulary.split(" ").indexOf(word);
  return at < 0 ? undefined : atob(item.words).charCodeAt(at) / 10;
}

/**
 * Bet by points, as in Chapter 5. One point must be left for what nobody thought of.
 * @param {Map<string, number>} points Whole numbers.
 * @param {number} nPoints How many there are.
 * @returns {Map<string, number>} What each character gets of the probability 1.
 * @throws {RangeError} A number is no number of points, or nothing is left.
 */
export function sharesOfPoints(points, nPoints) {
  const wrong = [...points.values()].find((value) => !(Number.isInteger(value) && value >= 0));
  if (wrong !== undefined) throw new RangeError(`expected whole points, got ${wrong}`);
  const spent = total([...points.values()]);
  if (spent >= nPoints) {
    throw new RangeError(`expected at most ${nPoints - 1} points, got ${spent}`);
  }
  return new Map([...points].map(([token, value]) => [token, value / nPoints]));
}

/**
 * What the truth costs. What was not bet is shared equally by all tokens, named ones included.
 * @param {Map<string, number>} shares Of the probability 1, less than 1 in all.
 * @param {string} truth
 * @param {number} nTokens Number of tokens that could stand there.
 * @returns {number} Bits.
 */
export function cost(shares, truth, nTokens) {
  const rest = 1 - total([...shares.values()]);
  return -Math.log2((shares.get(truth) ?? 0) + rest / nTokens);
}

/** The sum of numbers. */
export function total(numbers) {
  return numbers.reduce((a, b) => a + b, 0);
}

/** The mean of numbers, of which there is at least one. */
export function mean(numbers) {
  return total(numbers) / numbers.length;
}

/**
 * How far from 0 a Student t of so many degrees of freedom goes, in a share of all cases.
 *
 * With t = sqrt(n) tan(a) its density becomes cos(a)^(n - 1), which a plain sum integrates.
 * @param {number} nFree Degrees of freedom, at least 1.
 * @param {number} [confidence] The share of the cases.
 * @returns {number} 2.201 for 11 degrees and 95 %.
 */
export function studentQuantile(nFree, confidence = 0.95) {
  const nSteps = 20_000;
  const step = Math.PI / 2 / nSteps;
  const weights = Float64Array.from(
    { length: nSteps }, (_, i) => Math.cos((i + 0.5) * step) ** (nFree - 1));
  let missing = confidence * weights.reduce((a, b) => a + b, 0);
  let i = 0;
  while (missing > weights[i]) missing -= weights[i++];
  return Math.sqrt(nFree) * Math.tan((i + missing / weights[i]) * step);
}

/**
 * The mean difference of two players over the same questions, and its 95 % interval.
 * @param {number[]} mine Bits, question by question; at least two.
 * @param {number[]} theirs Bits of the other player.
 * @returns {{mean: number, low: number, high: number}} Of mine - theirs, by Student's t.
 * @throws {RangeError} The lists do not belong together.
 */
export function meanDifference(mine, theirs) {
  if (mine.length < 2 || mine.length !== theirs.length) {
    throw new RangeError(`expected two or more pairs, got ${mine.length} and ${theirs.length}`);
  }
  const gaps = mine.map((value, i) => value - theirs[i]);
  const middle = mean(gaps);
  const variance = total(gaps.map((gap) => (gap - middle) ** 2)) / (gaps.length - 1);
  const reach = studentQuantile(gaps.length - 1) * Math.sqrt(variance / gaps.length);
  return { mean: middle, low: middle - reach, high: middle + reach };
}

/** Write a number with one digit and a sign: +1.2, −0.4. */
export function signed(number) {
  const digits = Math.abs(number).toFixed(1);
  return `${Number(digits) === 0 ? "" : number < 0 ? "−" : "+"}${digits}`;
}

/**
 * Say who won, and how little that proves.
 * @param {number[]} mine The reader's bits, question by question; at least two.
 * @param {number[]} theirs The model's.
 * @param {string} model Its name.
 * @param {string} unit What a question asks for, such as "word".
 * @returns {string}
 */
export function verdict(mine, theirs, model, unit) {
  const { mean: gap, low, high } = meanDifference(mine, theirs);
  const count = `${mine.length} ${unit}s`;
  const winner = gap === 0 ? "A draw" : gap < 0 ? "You won" : `${model} won`;
  const won = `${winner}: you paid ${total(mine).toFixed(1)} bits for ${count}, ` +
    `${model} ${total(theirs).toFixed(1)}. `;
  const interval = `You minus ${model} is ${signed(gap)} bits a ${unit} in the mean, ` +
    `95 % interval ${signed(low)} to ${signed(high)}. `;
  const proof = low <= 0 && high >= 0
    ? `The interval holds 0: ${count} do not tell who is the better reader.`
    : `The interval leaves out 0, but ${count} are few, and another draw may say otherwise.`;
  return won + interval + proof;
}
