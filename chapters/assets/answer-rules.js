// SPDX-License-Identifier: MIT
// Judge an answer to an exercise as `pretrain_book.exercises` does, from a rule that it wrote.
//
// A rule (`pretrain_book.exercises.page_rules`) has parts, each with what is right, the known
// mistakes with their hints, and a hint for any other wrong answer. What is right is an expression
// of nested lists, such as ["near", ["answer"], [0.25], 0.005, 0]. Nothing here knows an exercise.
globalThis.answerRules = (() => {
  "use strict";

  /** An answer of another kind than the exercise asks for; the message is for the reader. */
  class AnswerTypeError extends Error {}

  // --- What was typed becomes a value -----------------------------------------------------------

  const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
  const THOUSANDS = /^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/;
  const BETWEEN_NUMBERS = /[\s;]+|,(?=\s)|,(?!\d{3}(?!\d))/;
  const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  /** Write a typed number as a program does: no blanks in it, 10²⁰ as a power of ten. */
  function tidy(text) {
    return text
      .trim()
      .replace(/[−–]/g, "-")
      .replace(/10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)/g, (_, digits) => `10^${[...digits].map((d) => RAISED.indexOf(d)).join("")}`)
      .replace(/(\d)\s*[×*·]\s*10\s*\^\s*/g, "$1e")
      .replace(/\s*([/^])\s*/g, "$1")
      .replace(/\s*%/g, "")
      .replace(/[[\]()]/g, " ")
      .trim();
  }

  /** Read one number: 0.25, 1/4, 1,000, 2e6, 2 × 10⁶; NaN for anything else. */
  function readNumber(text) {
    const [left, right, ...more] = text.split(/[/^]/);
    if (more.length) return NaN;
    if (right !== undefined) {
      const sides = [readNumber(left), readNumber(right)];
      return text.includes("/") ? sides[0] / sides[1] : sides[0] ** sides[1];
    }
    const plain = THOUSANDS.test(text) ? text.replaceAll(",", "") : text;
    return NUMBER.test(plain) ? Number(plain) : NaN;
  }

  /** Read the numbers of a line, or refuse it. */
  function readList(text, asks) {
    const numbers = tidy(text).split(BETWEEN_NUMBERS).filter(Boolean).map(readNumber);
    if (!numbers.every(Number.isFinite)) {
      throw new AnswerTypeError(`expected ${asks}, got text '${text.trim()}'`);
    }
    return numbers;
  }

  function shapeInWords(shape) {
    if (shape.length === 1) return `a list of ${shape[0]} numbers`;
    return `numbers of shape ${shape.join(" × ")}`;
  }

  const READERS = {
    number(text, { asks, whole }) {
      const numbers = readList(text, asks);
      const [value] = numbers;
      if (numbers.length !== 1) {
        throw new AnswerTypeError(`expected ${asks}, got a list of ${numbers.length}`);
      }
      if (whole && !Number.isInteger(value)) {
        throw new AnswerTypeError(`expected ${asks}, got ${value}`);
      }
      return value;
    },

    numbers(text, { asks, shape }) {
      const isTable = shape.length === 2;
      const lines = text.trim().split(/\n+/);
      const rows = isTable ? lines.map((line) => readList(line, asks)) : readList(text, asks);
      if (isTable && new Set(rows.map((row) => row.length)).size > 1) {
        throw new AnswerTypeError(`expected ${asks}, got rows of different lengths`);
      }
      const got = isTable ? [rows.length, rows[0].length] : [rows.length];
      if (!shape.every((length, axis) => length === null || length === got[axis])) {
        throw new AnswerTypeError(`expected ${asks}, got ${shapeInWords(got)}`);
      }
      return rows;
    },

    choice: (text) => text,

    words(text, { asks, count }) {
      const bare = text.replace(/[[\]()"'“”‘’]/g, "");
      const words = bare.split(/[,;\n]/).map((word) => word.trim()).filter(Boolean);
      if (!words.length || (count !== null && words.length !== count)) {
        throw new AnswerTypeError(`expected ${asks}, got ${words.length}`);
      }
      return words;
    },
  };

  // --- Expressions ------------------------------------------------------------------------------

  const isList = Array.isArray;
  const isSet = (value) => value instanceof Set;
  const flat = (value) => (isList(value) ? value.flat(Infinity) : [value]);

  /** Python's truth: empty sets and lists are false. */
  function isTrue(value) {
    if (isSet(value)) return value.size > 0;
    return isList(value) ? value.length > 0 : Boolean(value);
  }

  function isSame(a, b) {
    if (isSet(a)) return a.size === b.size && isSubset(a, b);
    if (!isList(a) || !isList(b)) return a === b;
    return a.length === b.length && a.every((one, place) => isSame(one, b[place]));
  }

  const isSubset = (a, b) => [...a].every((one) => b.has(one));

  /** Apply a function of two numbers element by element; a number goes with each element. */
  function each(f, a, b) {
    if (isList(a)) return a.map((one, place) => each(f, one, isList(b) ? b[place] : b));
    return isList(b) ? b.map((one) => each(f, a, one)) : f(a, b);
  }

  /** Compare two numbers, or two lists of one shape, element by element. */
  function isClose(value, target, rel, abs) {
    if (isList(value) !== isList(target)) return false;
    if (isList(value)) {
      if (value.length !== target.length) return false;
      return value.every((one, place) => isClose(one, target[place], rel, abs));
    }
    const larger = Math.max(Math.abs(value), Math.abs(target));
    return Math.abs(value - target) <= rel * larger + abs;
  }

  /** What stands at some places: an index or [start, stop] for each axis. */
  function item(value, place, ...others) {
    if (isList(place)) return value.slice(place[0], place[1] ?? undefined).map((one) => item(one, ...others));
    if (place === undefined) return value;
    return item(value.at(place), ...others);
  }

  const OPERATIONS = {
    list: (...items) => items,
    set: (value) => new Set(value),
    near: (value, targets, rel, abs) => targets.some((target) => isClose(value, target, rel, abs)),
    and: (...sides) => sides.every(isTrue),
    or: (...sides) => sides.some(isTrue),
    not: (value) => !isTrue(value),
    bool: isTrue,
    float: (value) => value,
    abs: (value) => each(Math.abs, value),
    len: (value) => (isSet(value) ? value.size : value.length),
    sum: (value) => flat(value).reduce((total, one) => total + one, 0),
    max: (value) => Math.max(...flat(value)),
    min: (value) => Math.min(...flat(value)),
    any: (value) => flat(value).some(isTrue),
    all: (value) => flat(value).every(isTrue),
    in: (one, many) => [...many].includes(one),
    "+": (a, b) => each((x, y) => x + y, a, b),
    "-": (a, b) => each((x, y) => x - y, a, b),
    "*": (a, b) => each((x, y) => x * y, a, b),
    "&": (a, b) => new Set([...a].filter((one) => b.has(one))),
    "==": (a, b) => (isList(a) && !isList(b) ? each(isSame, a, b) : isSame(a, b)),
    "!=": (a, b) => !isSame(a, b),
    "<=": (a, b) => (isSet(a) ? isSubset(a, b) : each((x, y) => x <= y, a, b)),
    "<": (a, b) => (isSet(a) ? isSubset(a, b) && a.size < b.size : each((x, y) => x < y, a, b)),
    ">=": (a, b) => each((x, y) => x >= y, a, b),
    ">": (a, b) => each((x, y) => x > y, a, b),
    item,
  };
  /** Operands from here on are data, no expressions. */
  const DATA_FROM = { near: 1, item: 1 };

  function evaluate(expression, answer) {
    if (!isList(expression)) return expression;
    const [name, ...operands] = expression;
    if (name === "answer") return answer;
    const dataFrom = DATA_FROM[name] ?? Infinity;
    const values = operands.map((one, place) => (place < dataFrom ? evaluate(one, answer) : one));
    return OPERATIONS[name](...values);
  }

  // --- The verdict ------------------------------------------------------------------------------

  /** Say what is wrong with the answer to one part; empty = it is right. */
  function feedback(part, text) {
    try {
      const value = READERS[part.kind](text, part);
      if (isTrue(evaluate(part.right, value))) return "";
      const known = part.mistakes.find(([when]) => isTrue(evaluate(when, value)));
      return known ? known[1] : part.hint;
    } catch (error) {
      if (error instanceof AnswerTypeError) return `${error.message}.`;
      throw error;
    }
  }

  const named = (names) => names.map((name) => `(${name})`).join(", ");

  /**
   * Judge the answers to an exercise.
   *
   * `given` is what was typed or chosen, by the names of the parts. Returns a line for the reader
   * and a state: "open" (nothing given), "wrong", "partly" (right so far) or "right".
   */
  function judge(rule, given) {
    const isGiven = ({ name }) => Boolean(given[name]?.trim());
    const answered = rule.parts.filter(isGiven);
    if (!answered.length) return { state: "open", line: "Write your answer first." };
    const wrong = answered
      .map(({ name, ...part }) => ({ name, hint: feedback(part, given[name]) }))
      .filter(({ hint }) => hint);
    if (wrong.length) {
      const [{ name, hint }, ...others] = wrong;
      const also = others.length ? ` Not right yet either: ${named(others.map((one) => one.name))}.` : "";
      return { state: "wrong", line: `Not yet: ${name ? `(${name}) ` : ""}${hint}${also}` };
    }
    const missing = rule.parts.filter((part) => !isGiven(part)).map(({ name }) => name);
    if (missing.length) {
      const soFar = named(answered.map(({ name }) => name));
      return { state: "partly", line: `So far right: ${soFar}. Still to answer: ${named(missing)}.` };
    }
    const rest = `What is left, ${named(rule.python)}, is checked in the notebook.`;
    return { state: "right", line: `Right. ${rule.python.length ? rest : rule.explanation}` };
  }

  return { judge };
})();
