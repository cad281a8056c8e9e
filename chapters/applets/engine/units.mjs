// SPDX-License-Identifier: MIT
/** The two vocabularies that need no thought: characters, and the bytes of UTF-8. */

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
