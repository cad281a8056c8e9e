// SPDX-License-Identifier: MIT
// What a reader answered, kept in this browser alone: quizzes and exercises, page by page.
//
// Keys of localStorage, one for each page on which something was answered:
//
//   pretrain-book:practice:04_gpt    PAGE is the page's file name without ".html"
//
// Value, as JSON: how many questions and exercises the page has, and the last answer to each that
// was tried. `answer` is an option's letter or, for an exercise, what stood in its fields by name.
//
//   {"total": 4, "given": {"quiz-gpt-shift": {"answer": "B", "right": true}}}
//
// Another script on the page may ask `practiceMemory.counts("04_gpt")` for
// {page, total, answered, right}, list the pages with `practiceMemory.pages()`, and listen on
// `document` for the event "practice", whose detail are the new counts of this page. Where the
// browser keeps nothing, answers last until the page is left.
globalThis.practiceMemory = (() => {
  "use strict";
  const PREFIX = "pretrain-book:practice:";
  const here = decodeURIComponent(location.pathname).split("/").at(-1).replace(/\.html$/, "") || "index";
  const unkept = new Map(); // in place of localStorage, where that is forbidden or full
  let total = 0;

  /** Values by keys, as localStorage has them; a text that is no record counts as none. */
  function read(page = here) {
    const key = PREFIX + page;
    try {
      const { total, given } = JSON.parse(unkept.get(key) ?? localStorage.getItem(key));
      return { total: Number(total) || 0, given: { ...given } };
    } catch {
      return { total: 0, given: {} };
    }
  }

  function write(given) {
    const key = PREFIX + here;
    const text = JSON.stringify({ total, given });
    try {
      if (Object.keys(given).length) localStorage.setItem(key, text);
      else localStorage.removeItem(key);
      unkept.delete(key);
    } catch {
      unkept.set(key, text);
    }
    document.dispatchEvent(new CustomEvent("practice", { detail: counts() }));
  }

  /** How many of a page's questions there are, were answered, and were answered rightly. */
  function counts(page = here) {
    const record = read(page);
    const given = Object.values(record.given);
    return {
      page,
      total: page === here ? total : record.total,
      answered: given.length,
      right: given.filter((one) => one?.right === true).length,
    };
  }

  /** The pages on which something was answered. */
  function pages() {
    try {
      const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
      return keys.map((key) => key.slice(PREFIX.length)).sort();
    } catch {
      return [...unkept.keys()].map((key) => key.slice(PREFIX.length));
    }
  }

  /** Say "2 of 4 right on this page" at each question, once something was answered. */
  function showScore() {
    const { answered, right } = counts();
    const words = answered ? `${right} of ${total} right on this page` : "";
    for (const score of document.querySelectorAll(".practice-score")) score.textContent = words;
  }

  document.addEventListener("practice", showScore);
  document.addEventListener("DOMContentLoaded", showScore);

  return {
    counts,
    pages,
    /** Say that this page has so many questions more. */
    expect: (number) => void (total += number),
    /** The kept answer to one question: {answer, right}, or undefined. */
    given: (id) => read().given[id],
    /** Keep an answer, in place of an earlier one. */
    keep: (id, answer, right) => write({ ...read().given, [id]: { answer, right } }),
    /** Forget the answer to one question. */
    forget(id) {
      const { [id]: _, ...others } = read().given;
      write(others);
    },
  };
})();
