// SPDX-License-Identifier: MIT
/**
 * Three models fill the gaps of one text, and are asked what the truth costs them.
 *
 * A text is a list of ids; a gap is [start, end) in it; the gaps are in order and do not touch.
 * GPT reads only what stands left of a place, and is told how long each gap is by being stopped.
 * BERT reads both sides with one [MASK] for each hidden place. T5 reads both sides with one
 * sentinel for each gap, and itself says where the gap ends. The Python forms are in
 * `pretrain_lab.scoring`, `pretrain.evaluation` and `pretrain.generation`.
 */
import { KeyValueCache } from "./attention.mjs";
import { bits } from "./sampling.mjs";
import { row, softmax } from "./tensors.mjs";

/**
 * Join hidden places to gaps.
 * @param {Iterable<number>} places In any order.
 * @returns {[number, number][]} Start and end of each, end excluded.
 */
export function gapsOf(places) {
  const gaps = [];
  for (const place of [...places].sort((a, b) => a - b)) {
    if (gaps.length && gaps.at(-1)[1] === place) gaps.at(-1)[1] = place + 1;
    else gaps.push([place, place + 1]);
  }
  return gaps;
}

/** All places of the gaps, from left to right. */
export function placesOf(gaps) {
  return gaps.flatMap(([start, end]) => Array.from({ length: end - start }, (_, i) => start + i));
}

/** Id of the highest score; ids for which `isBarred` holds do not count. */
export function likeliest(scores, isBarred = () => false) {
  let found = -1;
  scores.forEach((score, id) => {
    if (!isBarred(id) && (found < 0 || score > scores[found])) found = id;
  });
  return found;
}

const distribution = (logits, t) => softmax(row(logits, t));

/**
 * GPT: the left side alone.
 * @param {GPT} model
 * @param {number[]} ids The true text; no gap at its start.
 * @param {[number, number][]} gaps
 * @returns {{answers: number[][], first: Float64Array, costs: number[]}} What it writes into each
 *   gap, always the likeliest, its own answers before in view; its distribution for the first
 *   hidden place; the bits of each hidden id, the true ones before in view.
 */
export function gptInfill(model, ids, gaps) {
  const logits = model.forward(ids.slice(0, gaps.at(-1)[1] - 1));
  const costs = placesOf(gaps).map((t) => bits(distribution(logits, t - 1)[ids[t]]));
  const first = distribution(logits, gaps[0][0] - 1);
  const cache = model.makeCache();
  let done = 0;
  let unread = [];
  const answers = gaps.map(([start, end]) => {
    unread.push(...ids.slice(done, start));
    done = end;
    return placesOf([[start, end]]).map(() => {
      const scores = row(model.forward(unread, { cache }), -1);
      unread = [likeliest(scores)];
      return unread[0];
    });
  });
  return { answers, first, costs };
}

/**
 * BERT: all masks at once. No hidden place knows what is written into another.
 * @param {BERT} model
 * @param {number[]} ids The true text.
 * @param {[number, number][]} gaps
 * @param {{maskId: number, isSpecial: (id: number) => boolean}} vocabulary
 * @returns {{answers: number[][], first: Float64Array, costs: number[]}} As of `gptInfill`; each
 *   cost is that of one place by itself.
 */
export function bertInfill(model, ids, gaps, { maskId, isSpecial }) {
  const logits = model.forward(masked(ids, placesOf(gaps), maskId));
  const answers = gaps.map((gap) =>
    placesOf([gap]).map((t) => likeliest(row(logits, t), isSpecial)));
  const costs = placesOf(gaps).map((t) => bits(distribution(logits, t)[ids[t]]));
  return { answers, first: distribution(logits, gaps[0][0]), costs };
}

function masked(ids, places, maskId) {
  const hidden = new Set(places);
  return ids.map((id, t) => (hidden.has(t) ? maskId : id));
}

/**
 * BERT: one mask after the other from left to right, the later ones still masked. The costs are
 * those of the true ids with the true ones before in view, so their sum is the price of all.
 * @param {BERT} model
 * @param {number[]} ids The true text.
 * @param {[number, number][]} gaps
 * @param {{maskId: number, isSpecial: (id: number) => boolean}} vocabulary
 * @param {() => Promise<boolean>|boolean} [isOver] Asked before each pass; true ends the work.
 * @returns {Promise<{answers: number[][], costs: number[]}|null>} null when it was ended.
 */
export async function bertInOrder(model, ids, gaps, { maskId, isSpecial }, isOver = () => false) {
  const places = placesOf(gaps);
  const truth = masked(ids, places, maskId);
  const written = truth.slice();
  const costs = [];
  for (const t of places) {
    if (await isOver()) return null;
    const logits = model.forward(truth);
    costs.push(bits(distribution(logits, t)[ids[t]]));
    const isSame = truth.every((id, s) => id === written[s]); // then one pass serves both
    const own = isSame ? logits : model.forward(written);
    written[t] = likeliest(row(own, t), isSpecial);
    truth[t] = ids[t];
  }
  return { answers: gaps.map(([start, end]) => written.slice(start, end)), costs };
}

/**
 * T5's exercise: what the encoder reads and what the decoder should write, as
 * `pretrain.span_corruption.corrupt_given_spans` has it.
 * @param {number[]} ids The true text.
 * @param {[number, number][]} gaps At most one fewer than there are sentinels.
 * @param {CharTokenizer} tokenizer With <extra_id_0>, <extra_id_1> ... and perhaps </s>.
 * @returns {{inputs: number[], targets: number[]}}
 * @throws {Error} More gaps than sentinels.
 */
export function spanTask(ids, gaps, tokenizer) {
  const sentinel = (n) => tokenizer.id(`<extra_id_${n}>`);
  if (sentinel(gaps.length) === undefined) {
    throw new Error(`expected fewer gaps than there are sentinels, got ${gaps.length}`);
  }
  const end = tokenizer.id("</s>") === undefined ? [] : [tokenizer.id("</s>")];
  const inputs = [];
  const targets = [];
  let done = 0;
  gaps.forEach(([start, stop], n) => {
    inputs.push(...ids.slice(done, start), sentinel(n));
    targets.push(sentinel(n), ...ids.slice(start, stop));
    done = stop;
  });
  return {
    inputs: [...inputs, ...ids.slice(done), ...end],
    targets: [...targets, sentinel(gaps.length), ...end],
  };
}

/**
 * T5: both sides, and it is not told how long a gap is.
 * @param {T5} model
 * @param {number[]} ids The true text, in ids of T5's own tokeniser.
 * @param {[number, number][]} gaps
 * @param {CharTokenizer} tokenizer
 * @returns {{answers: number[][], first: Float64Array, costs: number[], ends: number,
 *   written: number[]}} As of `gptInfill`; `ends` are the bits of the sentinels and the end, which
 *   say where the gaps end; `written` is all that the decoder wrote.
 */
export function t5Infill(model, ids, gaps, tokenizer) {
  const { inputs, targets } = spanTask(ids, gaps, tokenizer);
  const states = model.encode(inputs);
  const start = tokenizer.id("[PAD]");
  const logits = model.decode([start, ...targets.slice(0, -1)], states);
  const prices = targets.map((id, t) => bits(distribution(logits, t)[id]));
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const written = t5Write(model, states, start, {
    most: 2 * targets.length + 8, endId: tokenizer.id("</s>") ?? targets.at(-1) });
  return {
    answers: gaps.map((_, n) => writtenInto(written, tokenizer.id(`<extra_id_${n}>`), tokenizer)),
    first: distribution(logits, 1), // after the first sentinel
    costs: prices.filter((_, t) => !tokenizer.isSpecial(targets[t])),
    ends: sum(prices.filter((_, t) => tokenizer.isSpecial(targets[t]))),
    written,
  };
}

/**
 * Let T5's decoder write, always the likeliest id.
 * @param {T5} model
 * @param states (S, D), from encode.
 * @param {number} start Id that it starts from.
 * @param {{most: number, endId: number}} limits Most ids to write, and the id that ends it.
 * @returns {number[]} What it wrote, with the id that ends it.
 */
export function t5Write(model, states, start, { most, endId }) {
  const cache = model.makeCache();
  const written = [];
  let unread = start;
  while (written.length < most && unread !== endId) {
    unread = likeliest(row(model.decode([unread], states, { cache }), -1));
    written.push(unread);
  }
  return written;
}

/** The characters that stand behind a sentinel, up to the next special id. */
export function writtenInto(written, sentinel, tokenizer) {
  const after = written.indexOf(sentinel) + 1;
  if (!after) return [];
  const length = written.slice(after).findIndex((id) => tokenizer.isSpecial(id));
  return written.slice(after, length < 0 ? undefined : after + length);
}

/**
 * GPT from both sides, by Bayes' rule: every candidate is put into the one hidden place, and pays
 * for itself and for all that follows it. As `pretrain_lab.scoring.bayes_rescoring`.
 * @param {GPT} model
 * @param {number[]} ids The true text.
 * @param {number} place The hidden place, not the first.
 * @param {number[]} candidates Ids that may stand there.
 * @param {() => Promise<boolean>|boolean} [isOver] Asked before each pass; true ends the work.
 * @returns {Promise<Float64Array|null>} A probability for each candidate; null when ended.
 */
export async function gptBothSides(model, ids, place, candidates, isOver = () => false) {
  const left = model.makeCache(); // the left side is read once, and its cache copied
  const before = distribution(model.forward(ids.slice(0, place), { cache: left }), -1);
  const right = ids.slice(place + 1);
  const nats = [];
  for (const candidate of candidates) {
    if (await isOver()) return null;
    const cache = left.map((one) => Object.assign(new KeyValueCache(), one));
    let total = Math.log(before[candidate]);
    if (right.length) {
      const logits = model.forward([candidate, ...right.slice(0, -1)], { cache });
      right.forEach((id, t) => { total += Math.log(distribution(logits, t)[id]); });
    }
    nats.push(total);
  }
  return softmax(nats);
}
