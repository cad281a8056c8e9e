// SPDX-License-Identifier: MIT
/**
 * Byte-pair encoding: cut a word by merges, in the order in which they were learned.
 *
 * Sennrich et al. 2016 (arXiv:1508.07909). Here on characters, as the book's vocabulary has it; a
 * character that the vocabulary lacks becomes one [UNK]. Left out: bytes below the characters,
 * marks at the end of a word, merges that are skipped at random.
 */

export class BPE {
  /**
   * @param {object} model The part `model` of a file of the library `tokenizers`: `vocab` (token →
   *   id), `merges` (pairs, the earliest first), `unk_token`.
   * @throws {Error} The model has a part that is not here.
   */
  constructor({ vocab, merges, unk_token: unknown, ...more }) {
    const others = ["dropout", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
      "byte_fallback", "ignore_merges"].filter((name) => more[name]);
    if (others.length) throw new Error(`expected plain BPE, got one with ${others.join(", ")}`);
    this.ids = new Map(Object.entries(vocab));
    this.ranks = new Map(merges.map((pair, rank) => [key(...pair), rank]));
    this.unknownId = vocab[unknown];
    this.nMerges = merges.length;
    /** How many merges are used, the earliest first: a smaller vocabulary is a beginning of this. */
    this.nUsed = merges.length;
  }

  /**
   * Cut a word.
   * @param {string} word
   * @returns {{text: string, id: number}[]} The pieces of the word, from left to right.
   */
  cut(word) {
    let symbols = [...word];
    for (let [next] = this.offers(symbols); next; [next] = this.offers(symbols)) {
      symbols = join(symbols, next.at);
    }
    return symbols.map((text) => ({ text, id: this.ids.get(text) ?? this.unknownId }));
  }

  /**
   * List the neighbours that a merge would join.
   * @param {string[]} symbols
   * @returns {{at: number, rank: number}[]} Place of the left one, and how many merges were learned
   *   before; the merge that comes next stands first.
   */
  offers(symbols) {
    const found = [];
    for (let at = 0; at + 1 < symbols.length; at++) {
      const rank = this.ranks.get(key(symbols[at], symbols[at + 1]));
      if (rank < this.nUsed) found.push({ at, rank });
    }
    return found.sort((a, b) => a.rank - b.rank || a.at - b.at);
  }

  /**
   * Show the way from characters to tokens.
   * @param {string} word
   * @returns {{symbols: string[], offers: {at: number, rank: number}[]}[]} One state after each
   *   merge, the characters first; the last one is offered nothing.
   */
  states(word) {
    const states = [];
    let symbols = [...word];
    for (;;) {
      const offers = this.offers(symbols);
      states.push({ symbols, offers });
      if (!offers.length) return states;
      symbols = join(symbols, offers[0].at);
    }
  }
}

/** Write two neighbours as one text; no token holds the character in between. */
function key(left, right) {
  return `${left}\u0000${right}`;
}

function join(symbols, at) {
  const joined = symbols[at] + symbols[at + 1];
  return [...symbols.slice(0, at), joined, ...symbols.slice(at + 2)];
}
