// SPDX-License-Identifier: MIT
/**
 * Previews: point at a link of the text, or reach it by keyboard, and a card shows what it leads to.
 *
 * A classic script without modules or fetch, so that it also works from file://. The cards of a page
 * are in a script of their own, written by extensions/book_pages/previews.py, which this one loads
 * when the first link is pointed at: `bookPreviews({link: html})`. A finger gets no card: its touch
 * follows the link.
 */
(() => {
  "use strict";
  const WAIT = 250; // milliseconds of pointing before a card appears
  const GRACE = 200; // milliseconds to move the pointer from the link to the card
  const GAP = 6; // pixels between link and card
  const MARGIN = 8; // pixels between card and window

  const root = document.documentElement.dataset.content_root ?? "";
  const text = document.querySelector("article");
  const card = Object.assign(document.createElement("div"), { className: "preview", hidden: true });
  card.id = "link-preview";
  card.setAttribute("role", "tooltip");

  let shownFor = null; // the link whose card is shown, or will be
  let pointedAt = 0; // where in the window the pointer met the link: it may go over two lines
  let timer = 0; // until the card is shown
  let leaving = 0; // until it is taken away
  let cards = null; // a promise of {link: html}

  /** Load a script of the book; resolves when it has run, also when it cannot be loaded. */
  function loadScript(path) {
    return new Promise((resolve) => {
      const script = document.createElement("script");
      script.src = root + path;
      script.onload = script.onerror = resolve;
      document.head.append(script);
    });
  }

  /** Return a promise of this page's cards, loaded once. */
  function loadCards() {
    let found = {};
    window.bookPreviews = (all) => {
      found = all;
    };
    const page = DOCUMENTATION_OPTIONS.pagename;
    cards ??= loadScript(`_static/previews/${page}.js`).then(() => found);
    return cards;
  }

  /** Put the card below its link, or above it where there is more room, inside the window. */
  function place() {
    if (!shownFor || !card.offsetParent) return; // hidden, or printed
    const lines = [...shownFor.getClientRects()];
    const line = lines.find((one) => pointedAt >= one.left && pointedAt <= one.right) ?? lines[0];
    const { clientWidth, clientHeight } = document.documentElement;
    const above = line.top - GAP - MARGIN;
    const below = clientHeight - line.bottom - GAP - MARGIN;
    card.style.maxHeight = `${Math.max(above, below)}px`;
    const isBelow = below >= card.offsetHeight || below >= above;
    const top = isBelow ? line.bottom + GAP : line.top - GAP - card.offsetHeight;
    const rightmost = clientWidth - card.offsetWidth - MARGIN;
    const left = Math.max(MARGIN, Math.min(line.left, rightmost));
    const origin = card.offsetParent.getBoundingClientRect();
    card.style.left = `${left - origin.left}px`;
    card.style.top = `${top - origin.top}px`;
  }

  /** Whether what a link leads to can be seen already. */
  function isInView(link) {
    if (link.pathname !== location.pathname || !link.hash) return false;
    const { top, bottom } = document.getElementById(decodeURIComponent(link.hash.slice(1)))?.getBoundingClientRect() ?? {};
    return top >= 0 && bottom <= document.documentElement.clientHeight;
  }

  /** Show the card of a link, if it has one and is still the one pointed at. */
  async function show(link) {
    if (isInView(link)) return;
    const html = (await loadCards())[link.getAttribute("href")];
    if (!html || shownFor !== link) return;
    card.innerHTML = html;
    card.hidden = false;
    place();
    link.removeAttribute("title"); // the browser's own card would cover ours
    link.setAttribute("aria-describedby", card.id);
  }

  /** Take the card away. */
  function hide() {
    clearTimeout(timer);
    clearTimeout(leaving);
    leaving = 0;
    shownFor?.removeAttribute("aria-describedby");
    shownFor = null;
    card.hidden = true;
  }

  /** Return the link inside the text that an event is about, if any. */
  function linkOf(event) {
    return event.target.closest?.("article a.internal:not(.headerlink)");
  }

  /** Show the card of a link after a while. */
  function showSoon(link, milliseconds, x) {
    clearTimeout(leaving);
    leaving = 0;
    if (link === shownFor) return;
    hide();
    shownFor = link;
    pointedAt = x;
    timer = setTimeout(show, milliseconds, link);
  }

  /** Take the card away a moment after the pointer left, unless the keyboard holds its link. */
  function hideSoon() {
    if (!shownFor || leaving || shownFor.matches(":focus-visible")) return;
    if (card.hidden) hide();
    else leaving = setTimeout(hide, GRACE);
  }

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const link = linkOf(event);
    if (link) {
      showSoon(link, WAIT, event.clientX);
    } else if (card.contains(event.target)) {
      clearTimeout(leaving);
      leaving = 0;
    } else {
      hideSoon();
    }
  });
  document.documentElement.addEventListener("pointerleave", hideSoon);
  document.addEventListener("focusin", (event) => {
    const link = linkOf(event);
    if (link?.matches(":focus-visible")) showSoon(link, 0, 0);
  });
  document.addEventListener("focusout", (event) => {
    if (event.target === shownFor) hide();
  });
  document.addEventListener("click", (event) => {
    if (linkOf(event)) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  text?.closest(".bd-content")?.append(card);

  // A picture that arrives late makes the card taller, and a formula of the text moves its link.
  const sizes = new ResizeObserver(place);
  sizes.observe(card);
  if (text) sizes.observe(text);
})();
