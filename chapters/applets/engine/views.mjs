// SPDX-License-Identifier: MIT
/**
 * What a model may see when it is asked for the first hidden token, and where its last layer looks.
 *
 * Each function returns the places that the model reads, `{text, isSeen, isAsked, share}` (share:
 * the attention weight, mean over the heads of the last layer), and a sentence.
 */
import { meanOverHeads } from "./attention.mjs";
import { placesOf, spanTask } from "./infill.mjs";

/**
 * GPT, at the place before the gap: it sees what stands to the left.
 * @param {{model: GPT, tokenizer: object}} loaded
 * @param {number[]} ids The true text.
 * @param {[number, number][]} gaps
 */
export function gptView({ model, tokenizer }, ids, gaps) {
  const [start] = gaps[0];
  const trace = [];
  model.forward(ids.slice(0, start), { trace });
  const shares = meanOverHeads(trace.at(-1), start - 1);
  const hidden = new Set(placesOf(gaps));
  const places = ids.map((id, s) => ({ text: hidden.has(s) ? "▢" : tokenizer.tokens[id],
    isSeen: s < start, isAsked: s === start, share: shares[s] ?? 0 }));
  return { places, summary: `Sees the ${start} places to the left of the gap.` };
}

/**
 * BERT, at the first mask: it sees all, and masks where letters are hidden.
 * @param {{model: BERT, tokenizer: object}} loaded
 * @param {number[]} ids The true text.
 * @param {[number, number][]} gaps
 */
export function bertView({ model, tokenizer }, ids, gaps) {
  const hidden = new Set(placesOf(gaps));
  const read = ids.map((id, s) => (hidden.has(s) ? tokenizer.id("[MASK]") : id));
  const trace = [];
  model.forward(read, { trace });
  const shares = meanOverHeads(trace.at(-1), gaps[0][0]);
  const places = read.map((id, s) => ({ text: hidden.has(s) ? "▢" : tokenizer.tokens[id],
    isSeen: true, isAsked: s === gaps[0][0], share: shares[s] }));
  const n = hidden.size;
  return { places, summary: `Sees all ${ids.length} places, ${n} of them as `
    + `${n === 1 ? "a mask" : "masks"}.` };
}

/**
 * T5's decoder, after the first sentinel: it sees all that the encoder read.
 * @param {{model: T5, tokenizer: object}} loaded
 * @param {number[]} ids The true text, in ids of T5's own tokeniser.
 * @param {[number, number][]} gaps
 */
export function t5View({ model, tokenizer }, ids, gaps) {
  const { inputs, targets } = spanTask(ids, gaps, tokenizer);
  const trace = { self: [], cross: [] };
  model.decode([tokenizer.id("[PAD]"), targets[0]], model.encode(inputs), { trace });
  const shares = meanOverHeads(trace.cross.at(-1), 1);
  const asked = inputs.indexOf(targets[0]);
  const places = inputs.map((id, s) => ({ text: nameOf(id, tokenizer), isSeen: true,
    isAsked: s === asked, share: shares[s] }));
  const n = gaps.length;
  return { places, summary: `Sees all ${inputs.length} places of its input, ${n} of them `
    + `${n === 1 ? "a sentinel" : "sentinels"}.` };
}

/** Write a token of T5 briefly: its first sentinel as ⟨0⟩, its end as ⟨end⟩. */
export function nameOf(id, tokenizer) {
  const token = tokenizer.tokens[id];
  if (token === "</s>") return "⟨end⟩";
  return token.replace(/^<extra_id_(\d+)>$/, "⟨$1⟩");
}
