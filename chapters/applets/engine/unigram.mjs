// SPDX-License-Identifier: MIT
/**
 * The unigram tokeniser: of all cuts of a word, the likeliest.
 *
 * Kudo 2018 (arXiv:1804.10959). Each piece has a log-probability, a cut the sum over its pieces.
 * Viterbi's algorithm finds the best cut, and with two cuts kept at every place instead of one also
 * the runner-up. Neighbouring unknown characters become one [UNK].
 */

const UNKNOWN_PENALTY = 10; // the library's: an unknown character costs this more than any piece

export class Unigram {
  /**
   * @param {object} model The part `model` of a file of the library `tokenizers`: `vocab` (pairs of
   *   token and log-probability in the order of the ids) and `unk_id`.
   * @throws {Error} The model has bytes below its characters.
   */
  constructor({ vocab, unk_id: unknownId, byte_fallback: bytes }) {
    if (bytes) throw new Error("expected a unigram model without bytes, got byte_fallback");
    this.unknownId = unknownId;
    this.pieces = new Map(vocab.map(([text, score], id) => [text, { text, id, score }]));
    this.longest = Math.max(...vocab.map(([text]) => text.length));
    this.unknownScore = Math.min(...vocab.map(([, score]) => score)) - UNKNOWN_PENALTY;
  }

  /**
   * Cut a word.
   * @param {string} word
   * @returns {{text: string, id: number}[]} The pieces of the likeliest cut.
   */
  cut(word) {
    return this.best(word)[0].pieces.map(({ text, id }) => ({ text, id }));
  }

  /**
   * Find the two likeliest cuts.
   * @param {string} word
   * @returns {{score: number, pieces: {text: string, id: number, score: number}[]}[]} The best cut
   *   and, where there is one, the second, with log-probabilities in nats.
   */
  best(word) {
    const ends = [[{ score: 0 }]]; // for every place the two best ways to it, the better one first
    for (let start = 0; start < word.length; start++) {
      if (!ends[start]) continue; // inside a character of two units
      for (const piece of this.piecesAt(word, start)) {
        const end = start + piece.text.length;
        ends[end] ??= [];
        for (const before of ends[start]) {
          keepTwo(ends[end], { score: piece.score + before.score, piece, before });
        }
      }
    }
    return ends[word.length].map((way) => ({ score: way.score, pieces: this.readBack(way) }));
  }

  /** The pieces that begin at a place; one of them is a single character, if need be unknown. */
  piecesAt(word, start) {
    const character = String.fromCodePoint(word.codePointAt(start));
    const found = [];
    if (!this.pieces.has(character)) {
      found.push({ text: character, id: this.unknownId, score: this.unknownScore });
    }
    for (let end = start + 1; end <= Math.min(word.length, start + this.longest); end++) {
      const piece = this.pieces.get(word.slice(start, end));
      if (piece) found.push(piece);
    }
    return found;
  }

  /** Follow a way back to the beginning, and join unknown neighbours. */
  readBack(way) {
    const pieces = [];
    for (; way.piece; way = way.before) {
      const [next] = pieces;
      if (way.piece.id === this.unknownId && next?.id === this.unknownId) {
        next.text = way.piece.text + next.text;
        next.score += way.piece.score;
      } else {
        pieces.unshift({ ...way.piece });
      }
    }
    return pieces;
  }
}

/** Put a way among the best two; of two equally likely ones the first that was found stays. */
function keepTwo(ways, way) {
  const place = ways.findIndex((other) => way.score > other.score);
  ways.splice(place < 0 ? ways.length : place, 0, way);
  ways.length = Math.min(2, ways.length);
}
