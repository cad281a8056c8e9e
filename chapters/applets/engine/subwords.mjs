// SPDX-License-Identifier: MIT
/**
 * A text as tokens: the first cut into words, then the cut of each word by one of three algorithms.
 *
 * Names of special tokens in a text are text, as in `pretrain_lab.tokenizers.subwords`: nobody gets
 * a mask by writing its name.
 */
import { BPE } from "./bpe.mjs";
import { firstCut } from "./pretokens.mjs";
import { Unigram } from "./unigram.mjs";
import { WordPiece } from "./wordpiece.mjs";

const ALGORITHMS = { BPE, WordPiece, Unigram };

export class Subwords {
  /**
   * @param {object} state A vocabulary's file, as the library `tokenizers` writes it.
   * @throws {Error} It asks for something that is not here; the message says for what.
   */
  constructor(state) {
    const { type } = state.model;
    if (!Object.hasOwn(ALGORITHMS, type)) {
      throw new Error(`expected BPE, WordPiece or Unigram, got ${type}`);
    }
    this.algorithm = new ALGORITHMS[type](state.model);
    this.words = firstCut(state);
    this.unknownId = this.algorithm.unknownId;
    const { vocab } = state.model;
    const named = Array.isArray(vocab) ? vocab.map(([name], id) => [name, id]) : Object.entries(vocab);
    /** Name of each id; special tokens are among them. */
    this.tokens = [];
    for (const [name, id] of named) this.tokens[id] = name;
    for (const { content, id } of state.added_tokens) this.tokens[id] = content;
    this.specials = new Map(state.added_tokens.map(({ content, id }) => [content, id]));
    this.specialIds = new Set(this.specials.values());
  }

  /** Number of ids. */
  get size() {
    return this.tokens.length;
  }

  /** Id of a special token such as "[MASK]"; undefined when there is none. */
  id(token) {
    return this.specials.get(token);
  }

  /** Whether an id stands for a special token and not for text. */
  isSpecial(id) {
    return this.specialIds.has(id);
  }

  /**
   * Cut a text of any kind into pieces.
   * @param {string} text
   * @returns {{text: string, start: number, id: number|undefined}[]} As `encode`; without id: not in
   *   the vocabulary.
   */
  pieces(text) {
    return this.encode(text).map(({ text: piece, start, id }) => ({ text: piece, start,
      id: id === this.unknownId ? undefined : id }));
  }

  /** The text of ids: WordPiece's words stand apart, pieces of other kinds bring their spaces along. */
  decode(ids) {
    const names = ids.map((id) => this.tokens[id]);
    const { mark } = this.algorithm;
    return mark ? names.join(" ").replaceAll(` ${mark}`, "") : names.join("");
  }

  /**
   * Cut a text.
   * @param {string} text
   * @returns {{text: string, id: number, start: number, name?: string}[]} What each token stands
   *   for in the text, its id, its place in UTF-16 units, and its name where that is another. White
   *   space that WordPiece drops is in none of them.
   */
  encode(text) {
    return this.words(wellFormed(text)).flatMap(({ text: word, start }) => {
      let place = start;
      return this.algorithm.cut(word).map((piece) => {
        const token = { ...piece, start: place };
        place += piece.text.length;
        return token;
      });
    });
  }
}

/** Replace halves of characters, which an input may hold for a moment, by the character U+FFFD. */
export function wellFormed(text) {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}

/**
 * What one known token holds, on average. A token that is unknown holds nothing, and white space that
 * a tokeniser drops is counted with the token after it.
 * @param {{text: string, start: number, isUnknown: boolean}[]} tokens
 * @param {string} text The text that was cut.
 * @returns {{characters: number, bytes: number, lost: number}} Characters and bytes per known
 *   token, NaN without one; and how many characters of the text are in unknown tokens.
 */
export function held(tokens, text) {
  const known = { characters: 0, bytes: 0, lost: 0 };
  let from = 0;
  for (const { text: piece, start, isUnknown } of tokens) {
    const part = text.slice(from, start + piece.length);
    if (isUnknown) {
      known.lost += countCharacters(piece);
    } else {
      known.characters += countCharacters(part);
      known.bytes += countBytes(part);
    }
    from = start + piece.length;
  }
  const count = tokens.filter(({ isUnknown }) => !isUnknown).length;
  return { characters: known.characters / count, bytes: known.bytes / count, lost: known.lost };
}

/** Number of characters (code points) of a text. */
export function countCharacters(text) {
  return [...text].length;
}

/** Number of bytes of a text in UTF-8. */
export function countBytes(text) {
  return new TextEncoder().encode(text).length;
}
