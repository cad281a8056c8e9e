// SPDX-License-Identifier: MIT
/**
 * WordPiece: from the left, always the longest piece that the vocabulary has.
 *
 * Schuster and Nakajima 2012; the cut is that of BERT (Devlin et al. 2019, arXiv:1810.04805). A
 * piece that continues a word is marked by ## in the vocabulary. A word with a part that has no
 * piece is lost as a whole: one [UNK].
 */

export class WordPiece {
  /**
   * @param {object} model The part `model` of a file of the library `tokenizers`: `vocab` (token →
   *   id), `unk_token`, `continuing_subword_prefix`, `max_input_chars_per_word`.
   */
  constructor({ vocab, unk_token: unknown, continuing_subword_prefix: mark,
    max_input_chars_per_word: longest }) {
    Object.assign(this, { unknown, mark, longest });
    this.ids = new Map(Object.entries(vocab));
    this.unknownId = vocab[unknown];
  }

  /**
   * Cut a word.
   * @param {string} word
   * @returns {{text: string, id: number, name: string}[]} Its pieces, as they stand in the word and
   *   as they stand in the vocabulary; an unknown word is one piece.
   */
  cut(word) {
    const tries = this.tries(word);
    if (!tries.length || tries.at(-1).id === undefined) {
      return [{ text: word, id: this.unknownId, name: word }];
    }
    return tries.map(({ text, id }, i) => ({ text, id, name: (i ? this.mark : "") + text }));
  }

  /**
   * Show the tries.
   * @param {string} word
   * @returns {{text: string, id: number|undefined, missing: string[]}[]} For each place that was
   *   reached: the longest piece that begins there and its id, and the longer ones that are not in
   *   the vocabulary, with their marks. Without an id: no piece fits, not even one character.
   *   Empty when the word has more characters than the vocabulary allows.
   */
  tries(word) {
    const characters = [...word];
    const tries = [];
    let start = characters.length > this.longest ? characters.length : 0;
    while (start < characters.length) {
      const found = this.longestPiece(characters, start);
      tries.push(found);
      if (found.id === undefined) break;
      start += [...found.text].length;
    }
    return tries;
  }

  longestPiece(characters, start) {
    const missing = [];
    for (let end = characters.length; end > start; end--) {
      const text = characters.slice(start, end).join("");
      const piece = (start ? this.mark : "") + text;
      if (this.ids.has(piece)) return { text, id: this.ids.get(piece), missing };
      missing.push(piece);
    }
    return { text: characters.slice(start).join(""), id: undefined, missing };
  }
}
