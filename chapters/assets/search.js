// SPDX-License-Identifier: MIT
/**
 * Search as one types: sections, definitions and terms, grouped by page.
 *
 * The index is a script that extensions/book_pages/links/search_index.py writes; it is loaded when a
 * search field first gets the focus, and not fetched, so that the search also works from file://.
 * Spellings meet half way: "tokenizer" finds "tokeniser", "modeling" finds "modelling".
 */
window.bookSearch = { index: null };
(() => {
  "use strict";
  const MOST = 24; // results
  const AT_ONCE = 150; // entries
  const NEAR = 0.45; // of the points of a page's best result
  const EMPTY = new Set(
    ("a an and are at be by can do does for how i in is it many much my need of on or should the " +
      "to vs versus what when which why with").split(" "),
  );
  const BONUS = { page: 1, section: 2, definition: 5, term: 4 };
  const root = document.documentElement.dataset.content_root ?? "";
  let loading = null;
  let entries = null; // of the index, prepared

  /** Bring the spellings of a word together: British and American, singular and plural. */
  function folded(word) {
    return word
      .toLowerCase()
      .replace(/[’']s$/, "")
      .replace(/iz(?=[eia])/g, "is")
      .replace(/ll(?=ing|ed|er)/g, "l")
      .replace(/our(?=s?$)/, "or")
      .replace(/([^s])s$/, (all, before) => (word.length > 3 ? before : all));
  }

  const wordsOf = (text) => (text.match(/[\p{L}\p{N}]+/gu) ?? []).map(folded);

  /** Load the index once; a promise. */
  function load() {
    loading ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = `${root}_static/search-index.js`;
      script.onload = done;
      script.onerror = failed;
      document.head.append(script);
    }).then(prepare);
    return loading;
  }

  /** Cut the entries into words, some at a time: between them the page takes what is typed. */
  async function prepare() {
    const { index } = window.bookSearch;
    const prepared = [];
    for (const [page, anchor, title, excerpt, words, kind] of index.entries) {
      const asked = kind === "page" ? index.pages[page][3] : "";
      prepared.push({
        page, anchor, title, excerpt, kind,
        named: wordsOf(`${title} ${asked}`), said: wordsOf(excerpt), others: wordsOf(words),
      });
      if (prepared.length % AT_ONCE === 0) await new Promise((done) => setTimeout(done));
    }
    entries = prepared;
  }

  /** How well a word is met in a list of words: as a whole, at a beginning, or not. */
  function met(word, list, whole, beginning) {
    if (list.includes(word)) return whole;
    return word.length > 2 && list.some((one) => one.startsWith(word)) ? beginning : 0;
  }

  /** How well an entry answers one word of the question; 0 is not at all. */
  function worth(entry, word) {
    return met(word, entry.named, 12, 7) || met(word, entry.said, 4, 2) || met(word, entry.others, 3, 1);
  }

  /** Score an entry, and count the words that are missing in it. */
  function score(entry, words) {
    let sum = 0;
    let missing = 0;
    for (const word of words) {
      const meaning = window.bookSearch.index.aliases[word];
      const parts = meaning ? wordsOf(meaning).map((part) => worth(entry, part)) : [];
      const long = parts.length && parts.every(Boolean) ? Math.max(...parts) : 0;
      const best = Math.max(worth(entry, word), long);
      if (!best) missing += 1;
      sum += best;
    }
    if (missing === words.length) return { points: 0, missing };
    const isNamed = words.every((word) => entry.named.includes(word));
    const brief = isNamed ? 6 / entry.named.length : 0; // a title of little else
    const rank = 2 * window.bookSearch.index.pages[entry.page][2];
    return { points: sum + (isNamed ? BONUS[entry.kind] + 4 : 0) + brief + rank, missing };
  }

  /** The best entries for a question, best first: with all its words, else with as many as there are. */
  function find(question) {
    const all = wordsOf(question);
    const words = all.filter((word) => !EMPTY.has(word));
    if (!words.length) return [];
    const scored = entries.map((entry) => ({ entry, ...score(entry, words) })).filter(({ points }) => points > 0);
    const fewest = scored.reduce((least, { missing }) => Math.min(least, missing), words.length);
    return scored
      .filter(({ missing }) => missing === fewest)
      .sort((a, b) => b.points - a.points)
      .filter(isNear())
      .slice(0, MOST)
      .map(({ entry }) => entry);
  }

  /** Whether a result is worth showing beside the best one of its page, which comes first. */
  function isNear() {
    const best = new Map();
    return ({ entry, points }) => {
      if (!best.has(entry.page)) best.set(entry.page, points);
      return points >= NEAR * best.get(entry.page);
    };
  }

  /** Make an element with a class and a text or children. */
  function make(name, className, ...children) {
    const element = document.createElement(name);
    if (className) element.className = className;
    element.append(...children);
    return element;
  }

  /** Draw results, grouped by page. */
  function draw(found, list) {
    const groups = new Map();
    for (const entry of found) groups.set(entry.page, [...(groups.get(entry.page) ?? []), entry]);
    list.replaceChildren(
      ...[...groups].map(([page, some]) => {
        const [address, title] = window.bookSearch.index.pages[page];
        const items = some.map((entry) => {
          const name = make("span", "search-title", entry.kind === "page" ? "The whole page" : entry.title);
          const link = make("a", "", name, make("span", "search-excerpt", entry.excerpt));
          link.href = root + address + (entry.anchor && `#${entry.anchor}`);
          return make("li", "", link);
        });
        return make("section", "", make("h2", "", title), make("ul", "", ...items));
      }),
    );
  }

  /** Let a search form answer while the reader types. */
  function furnish(form, place) {
    const input = form.querySelector("input");
    const count = make("p", "search-count");
    const list = make("div", "search-list");
    count.setAttribute("role", "status");
    list.id = form.closest("dialog") ? "search-suggestions" : "search-results";
    place.append(count, list);

    async function answer() {
      try {
        await load();
      } catch {
        count.textContent = "The search index could not be loaded.";
        return;
      }
      const question = input.value.trim();
      const found = find(question);
      draw(found, list);
      const number = found.length === MOST ? `the ${MOST} best` : String(found.length);
      count.textContent = question && `${number} result${found.length === 1 ? "" : "s"}`;
    }

    input.addEventListener("focus", () => load().catch(() => {}));
    input.addEventListener("input", answer);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      await answer();
      list.querySelector("a")?.click();
    });
    place.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      const stops = [input, ...list.querySelectorAll("a")];
      const next = stops[stops.indexOf(document.activeElement) + step];
      if (next) {
        event.preventDefault();
        next.focus();
      }
    });
    // A result on this very page only scrolls: the dialog must make way.
    list.addEventListener("click", (event) => {
      if (event.target.closest("a")) form.closest("dialog")?.close();
    });
    return answer;
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const form of document.querySelectorAll("form.bd-search")) {
      const answer = furnish(form, form.closest("dialog") ?? form.parentElement);
      if (form.closest("dialog")) continue;
      const question = new URLSearchParams(location.search).get("q");
      if (question) {
        form.querySelector("input").value = question;
        answer();
      }
    }
  });
})();
