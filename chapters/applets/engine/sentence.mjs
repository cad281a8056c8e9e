// SPDX-License-Identifier: MIT
/** A sentence as a reader sees it, words or letters, and as a model reads it, ids. */
import { graphemes } from "./units.mjs";

const ENDS_IN_WORD = /[\p{L}\p{N}\p{M}'’]$/u;
const BEGINS_IN_WORD = /^[\p{L}\p{N}\p{M}'’]/u;

/**
 * Cut a sentence into what can be hidden.
 * @param {object} tokenizer
 * @param {string} text
 * @param {{byWord: boolean, most: number}} options Whether pieces of one word stay together, and how
 *   many ids the model reads.
 * @returns {{text: string, start: number, end: number, ids: number[], isUnread: boolean}[]} Parts in
 *   order, with their places in the text. What is unread has no ids: characters that the model lacks,
 *   and all that stands behind the last id that fits. No part ends inside of what a reader sees as one
 *   character, such as an emoji of several code points.
 */
export function partsOf(tokenizer, text, { byWord, most }) {
  const parts = [];
  const insides = placesInside(text);
  for (const piece of tokenizer.pieces(text)) {
    const last = parts.at(-1);
    const end = piece.start + piece.text.length;
    const own = { text: text.slice(piece.start, end), start: piece.start, end, ids: [piece.id] };
    if (last && (insides.has(own.start) || (byWord && isOneWord(last, own)))) {
      Object.assign(last, { text: last.text + own.text, end: own.end, ids: [...last.ids, piece.id] });
    } else {
      parts.push(own);
    }
  }
  let nRead = 0;
  return parts.map((part) => {
    const isUnread = part.ids.includes(undefined) || nRead + part.ids.length > most;
    if (part.ids.includes(undefined)) return { ...part, ids: [], isUnread };
    nRead = isUnread ? Infinity : nRead + part.ids.length; // what follows does not fit either
    return { ...part, ids: isUnread ? [] : part.ids, isUnread };
  });
}

/** The places of a text at which a reader sees no new character begin. */
function placesInside(text) {
  const places = new Set();
  let at = 0;
  for (const character of graphemes(text)) {
    for (let i = 1; i < character.length; i++) places.add(at + i);
    at += character.length;
  }
  return places;
}

function isOneWord(left, right) {
  return left.end === right.start && ENDS_IN_WORD.test(left.text) && BEGINS_IN_WORD.test(right.text);
}

/**
 * Where the parts stand among the ids.
 * @param {{ids: number[]}[]} parts
 * @param {number} nBefore How many ids stand before the sentence.
 * @returns {[number, number][]} First and last place of each, the last one excluded.
 */
export function placesOfParts(parts, nBefore) {
  let at = nBefore;
  return parts.map(({ ids }) => [at, at += ids.length]);
}

/**
 * Carry marked places of a text over to the text after an edit.
 * @param {Set<number>} marks Places, in UTF-16 units.
 * @param {string} before
 * @param {string} after
 * @returns {Set<number>} Those before the first difference stay, those behind the last one move.
 */
export function movedMarks(marks, before, after) {
  const most = Math.min(before.length, after.length);
  let nSame = 0;
  while (nSame < most && before[nSame] === after[nSame]) nSame += 1;
  let nEnd = 0;
  while (nEnd < most - nSame && before.at(-1 - nEnd) === after.at(-1 - nEnd)) nEnd += 1;
  const shift = after.length - before.length;
  return new Set([...marks].flatMap((place) => {
    if (place < nSame) return [place];
    return place >= before.length - nEnd ? [place + shift] : [];
  }));
}
