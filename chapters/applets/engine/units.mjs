// SPDX-License-Identifier: MIT
/** The two vocabularies that need no thought, characters and the bytes of UTF-8; and what a reader sees as one. */

/**
 * Split a text into what a reader sees as one character: an emoji of several code points is one.
 * @param {string} text
 * @returns {string[]}
 */
export function graphemes(text) {
  if (!Intl.Segmenter) return Array.from(text);
  return Array.from(new Intl.Segmenter("en").segment(text), ({ segment }) => segment);
}

/**
 * Keep the beginning of a text, and cut no character that a reader sees as one.
 * @param {string} text
 * @param {number} longest In UTF-16 units.
 * @returns {string}
 */
export function beginning(text, longest) {
  if (text.length <= longest) return text;
  let kept = "";
  for (const character of graphemes(text.slice(0, longest + 64))) {
    if (kept.length + character.length > longest) break;
    kept += character;
  }
  return kept;
}

/**
 * Join unknown tokens that are parts of one visible character, so that no picture cuts an emoji.
 * @param {{text: string, start: number, isUnknown: boolean}[]} tokens In the order of the text.
 * @param {string} text The text that was cut.
 * @returns {object[]} The tokens, each with `count`, the number of tokens that it stands for.
 */
export function uncut(tokens, text) {
  const owner = graphemes(text).flatMap((one, i) => Array(one.length).fill(i));
  const joined = [];
  for (const token of tokens) {
    const last = joined.at(-1);
    if (last?.isUnknown && token.isUnknown && owner[last.start] === owner[token.start]) {
      last.text += token.text;
      last.count += 1;
    } else {
      joined.push({ ...token, count: 1 });
    }
  }
  return joined;
}

/**
 * Cut a text into characters.
 * @param {string} text
 * @param {Map<string, number>} ids The characters that have an id.
 * @returns {{text: string, id: number|undefined, start: number}[]} Without id: not on the list.
 */
export function characterTokens(text, ids) {
  let start = 0;
  return Array.from(text, (character) => {
    const token = { text: character, id: ids.get(character), start };
    start += character.length;
    return token;
  });
}

/**
 * Cut a text into bytes.
 * @param {string} text
 * @returns {{text: string, id: number, start: number, name: string}[]} One for each byte: the
 *   character that it belongs to, its number, and how to write it: the character itself where it is
 *   one byte, else such as \xf0.
 */
export function byteTokens(text) {
  const encoder = new TextEncoder();
  let start = 0;
  return Array.from(text).flatMap((character) => {
    const bytes = Array.from(encoder.encode(character));
    const tokens = bytes.map((id) => ({ text: character, id, start,
      name: bytes.length > 1 ? `\\x${id.toString(16)}` : character }));
    start += character.length;
    return tokens;
  });
}
