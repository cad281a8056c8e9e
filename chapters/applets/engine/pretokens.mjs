// SPDX-License-Identifier: MIT
/**
 * The first cut: a text into words that no token crosses, as a vocabulary's file defines it.
 *
 * The files are those of the Hugging Face library `tokenizers`. Two of its cuts are here, and three
 * ways to make a word plainer, all that the book's own vocabularies need; a file that asks for more
 * is refused.
 *
 * A word is `{text, start}`; places count UTF-16 units, as JavaScript's strings do.
 */

/**
 * Get the first cut of a vocabulary.
 * @param {{normalizer: object|null, pre_tokenizer: object}} state The vocabulary's file.
 * @returns {(text: string) => {text: string, start: number}[]}
 * @throws {Error} The file asks for a kind that is not here.
 */
export function firstCut({ normalizer, pre_tokenizer }) {
  const cut = cutOf(pre_tokenizer);
  const steps = (normalizer?.type === "Sequence" ? normalizer.normalizers : [normalizer ?? []]).flat();
  const plain = steps.map(({ type }) => {
    if (!Object.hasOwn(PLAINER, type)) {
      throw new Error(`expected no normalizer but ${Object.keys(PLAINER)}, got ${type}`);
    }
    return PLAINER[type];
  });
  if (!plain.length) return cut;
  return (text) => cut(text)
    .map((word) => ({ ...word, text: plain.reduce((found, step) => step(found), word.text) }))
    .filter((word) => word.text);
}

/** Each character by itself: a word's last sigma is no other letter to the library. */
const PLAINER = {
  NFD: (word) => word.normalize("NFD"),
  Lowercase: (word) => Array.from(word, (character) => character.toLowerCase()).join(""),
  StripAccents: (word) => word.replace(/\p{Mn}/gu, ""),
};

function cutOf(cut) {
  if (cut?.type === "BertPreTokenizer") return bertWords;
  if (cut?.type === "Split" && cut.behavior === "Isolated" && !cut.invert && cut.pattern.Regex) {
    return matches(cut.pattern.Regex);
  }
  throw new Error(`expected the cut BertPreTokenizer or Split, got ${JSON.stringify(cut)}`);
}

/**
 * Cut at every match of a pattern. Each match is a word, and so is what lies between two.
 * @param {string} pattern Written for the library. Its `\s` is Unicode's white space, which
 *   JavaScript's is not quite.
 * @returns {(text: string) => {text: string, start: number}[]}
 */
export function matches(pattern) {
  const expression = new RegExp(pattern.replaceAll("\\s", "\\p{White_Space}"), "gu");
  return (text) => {
    const words = [];
    let end = 0;
    const add = (start, stop) => {
      if (stop > start) words.push({ text: text.slice(start, stop), start });
    };
    for (const found of text.matchAll(expression)) {
      add(end, found.index);
      end = found.index + found[0].length;
      add(found.index, end);
    }
    add(end, text.length);
    return words;
  };
}

/**
 * Cut as BERT does: white space goes, and every mark is a word of its own.
 * @param {string} text
 * @returns {{text: string, start: number}[]}
 */
export function bertWords(text) {
  const words = [];
  let open = null; // the word that is being read
  let place = 0;
  for (const character of text) {
    const isMark = isPunctuation(character);
    if (isMark || /\p{White_Space}/u.test(character)) open = null;
    else if (open) open.text += character;
    else words.push(open = { text: character, start: place });
    if (isMark) words.push({ text: character, start: place });
    place += character.length;
  }
  return words;
}

const MARKS = /[!-/:-@[-`{-~\p{P}\u166d\u{111c9}]/u;
// The library's table of marks is that of Unicode 8. These became marks later, or came later; the
// two at the end of MARKS are none any more.
const LATER_MARKS = new RegExp("["
  + "\\u061d\\u09fd\\u0a76\\u0c77\\u0c84\\u1b4e\\u1b4f\\u1b7d-\\u1b7f\\u2e43-\\u2e4f\\u2e52-\\u2e5d"
  + "\\u{10d6e}\\u{10ead}\\u{10ed0}\\u{10f55}-\\u{10f59}\\u{10f86}-\\u{10f89}\\u{113d4}-\\u{113d8}"
  + "\\u{1144b}-\\u{1144f}\\u{1145a}-\\u{1145d}\\u{11660}-\\u{1166c}\\u{116b9}\\u{1183b}"
  + "\\u{11944}-\\u{11946}\\u{119e2}\\u{11a3f}-\\u{11a46}\\u{11a9a}-\\u{11aa2}\\u{11b00}-\\u{11b09}"
  + "\\u{11be1}\\u{11c41}-\\u{11c45}\\u{11c70}\\u{11c71}\\u{11ef7}\\u{11ef8}\\u{11f43}-\\u{11f4f}"
  + "\\u{11fff}\\u{12ff1}\\u{12ff2}\\u{16d6d}-\\u{16d6f}\\u{16e97}-\\u{16e9a}\\u{16fe2}\\u{1e5ff}"
  + "\\u{1e95e}\\u{1e95f}]", "u");

function isPunctuation(character) {
  return MARKS.test(character) && !LATER_MARKS.test(character);
}
