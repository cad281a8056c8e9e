// SPDX-License-Identifier: MIT
/** The tokeniser of the character models: one id for each character, special tokens in front. */
import { characterTokens } from "./units.mjs";

export class CharTokenizer {
  /** @param {{specials: string[], characters: string[]}} state As Python's `to_dict` gives it. */
  constructor({ specials, characters }) {
    this.specials = specials;
    this.tokens = [...specials, ...characters];
    this.ids = new Map(this.tokens.map((token, id) => [token, id]));
  }

  /** Id of a special token such as "[MASK]"; undefined when there is none. */
  id(token) {
    return this.ids.get(token);
  }

  /** Whether an id stands for a special token and not for text. */
  isSpecial(id) {
    return id < this.specials.length;
  }

  /** The characters of a text that have no id, each once. */
  unknown(text) {
    return [...new Set(text)].filter((c) => !this.ids.has(c));
  }

  /**
   * @param {string} text
   * @returns {number[]} One id for each character.
   * @throws {Error} Names the characters that the models do not know.
   */
  encode(text) {
    const unknown = this.unknown(text);
    if (unknown.length) {
      throw new Error(`These models do not know ${unknown.map((c) => `“${c}”`).join(", ")}.`);
    }
    return Array.from(text, (c) => this.ids.get(c));
  }

  /**
   * Cut a text of any kind into pieces.
   * @param {string} text
   * @returns {{text: string, start: number, id: number|undefined}[]} Each character and its place in
   *   UTF-16 units; without id: not on the list.
   */
  pieces(text) {
    return characterTokens(text, this.ids);
  }

  /** The text of ids; special tokens are written as they are called. */
  decode(ids) {
    return ids.map((id) => this.tokens[id]).join("");
  }
}
