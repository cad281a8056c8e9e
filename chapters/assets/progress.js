// SPDX-License-Identifier: MIT
// What this browser remembers of the reading: pages read to their end, and the last page opened.
//
// Read pages carry a mark in the sidebar. An element <a data-continue hidden> is shown and leads to
// the last page that was not read to its end. Nothing leaves the browser.
(() => {
  const KEY = "reading"; // {read: [page, …], last: {page, title}}
  const page = DOCUMENTATION_OPTIONS.pagename;
  const root = document.documentElement.dataset.content_root ?? "";

  /** What is remembered; nothing where the browser keeps nothing. */
  function remembered() {
    try {
      const { read = [], last = null } = JSON.parse(localStorage.getItem(KEY)) ?? {};
      return { read, last };
    } catch {
      return { read: [], last: null };
    }
  }

  function remember(state) {
    try {
      localStorage.setItem(KEY, JSON.stringify(state));
    } catch {
      // The page works all the same.
    }
  }

  /** Mark the read pages in the sidebar. */
  function mark() {
    const read = new Set(remembered().read.map((one) => new URL(`${root}${one}.html`, document.baseURI).pathname));
    for (const link of document.querySelectorAll(".bd-links a.internal")) {
      const isRead = read.has(new URL(link.href).pathname);
      if (!isRead || link.querySelector(".is-read")) continue;
      const note = Object.assign(document.createElement("span"), { className: "is-read" });
      note.append(Object.assign(document.createElement("span"), { className: "visually-hidden", textContent: " (read)" }));
      link.append(note);
    }
  }

  /** Show where to go on. */
  function offer() {
    const { last } = remembered();
    if (!last || last.page === page) return;
    for (const link of document.querySelectorAll("a[data-continue]")) {
      link.href = `${root}${last.page}.html`;
      link.textContent = `Continue where you left: ${last.title}`;
      link.hidden = false;
    }
  }

  /** Note that the page was read when its end comes into view after some scrolling. */
  function watchEnd() {
    const end = document.querySelector(".prev-next-footer");
    if (!end) return;
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((one) => one.isIntersecting) || scrollY < 100) return;
      observer.disconnect();
      const { read, last } = remembered();
      const next = document.querySelector("a.right-next");
      const isLast = last?.page === page && next;
      remember({
        read: [...new Set([...read, page])],
        last: isLast
          ? { page: pageOf(next), title: next.querySelector(".prev-next-title").textContent }
          : last,
      });
      mark();
    });
    observer.observe(end);
  }

  /** The name of the page that a link leads to, as DOCUMENTATION_OPTIONS writes it. */
  function pageOf(link) {
    const base = new URL(root || "./", document.baseURI).pathname;
    return new URL(link.href).pathname.slice(base.length).replace(/\.html$/, "");
  }

  document.addEventListener("DOMContentLoaded", () => {
    offer();
    mark();
    const title = document.querySelector("article h1")?.firstChild?.textContent;
    const isText = document.querySelector(".prev-next-footer a.left-prev"); // not the front page
    if (isText && title) remember({ ...remembered(), last: { page, title } });
    watchEnd();
  });
})();
