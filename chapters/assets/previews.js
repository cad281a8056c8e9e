// SPDX-License-Identifier: MIT
/**
 * Previews: point at a link of the text, or reach it by keyboard, and a card shows what it leads to.
 *
 * A classic script without modules or fetch, so that it also works from file://. The cards of a page
 * are in a script of their own, written by extensions/book_pages/links/previews.py, which this one
 * loads when the first link is pointed at: `bookPreviews({link: html})`. A finger cannot point: its
 * first tap opens the card, with a link to go there, and its second follows the link. Links to
 * places, such as chapters, sections and exercises, are followed at once.
 */
(() => {
  "use strict";
  const WAIT = 250; // milliseconds of pointing before a card appears
  const GRACE = 200; // milliseconds to move the pointer from the link to the card
  const GAP = 6; // pixels between link and card
  const MARGIN = 8; // pixels between card and window
  const LEAST = 100; // pixels of height without which a card says nothing

  const root = document.documentElement.dataset.content_root ?? "";
  const text = document.querySelector("article");
  const card = Object.assign(document.createElement("div"), { className: "preview", hidden: true });
  card.id = "link-preview";
  card.tabIndex = -1;

  let shownFor = null; // the link whose card is shown, or will be
  let pointedAt = 0; // where in the window the pointer met the link: it may go over two lines
  let timer = 0; // until the card is shown
  let leaving = 0; // until it is taken away
  let pressedBy = ""; // the kind of pointer that was pressed last
  let isReturning = false; // whether the focus goes back from a card to its link
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
    cards ??= new Promise((resolve) => {
      window.bookPreviews = resolve;
      loadScript(`_static/previews/${DOCUMENTATION_OPTIONS.pagename}.js`).then(() => resolve({}));
    });
    return cards;
  }

  /** Where in the window a link's target stands, if it is on this page. A section is its heading. */
  function targetBox(link) {
    if (link.pathname !== location.pathname || !link.hash) return null;
    const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    const seen = target?.matches("section") ? target.querySelector(":is(h1, h2, h3, h4)") : target;
    return seen?.getBoundingClientRect() ?? null;
  }

  /** How much of a box the window shows, from 0 to 1; of one that is higher, how much it fills. */
  function shownShare({ top, bottom }) {
    const height = document.documentElement.clientHeight;
    if (bottom < 0 || top > height) return 0;
    if (bottom - top < 1) return 1;
    return (Math.min(bottom, height) - Math.max(top, 0)) / Math.min(bottom - top, height);
  }

  /**
   * The side of a link's line on which its card stands, and the height that it has there.
   *
   * A card never covers what it shows: beside a target of which a part can be seen, it goes to the
   * other side of the link. Otherwise it stands below, or above where there is more room.
   */
  function sideOf(line) {
    const above = line.top - GAP - MARGIN;
    const below = document.documentElement.clientHeight - line.bottom - GAP - MARGIN;
    const target = targetBox(shownFor);
    let isBelow = below >= card.scrollHeight || below >= above;
    if (target && shownShare(target) > 0) isBelow = target.top < line.top;
    return { isBelow, room: isBelow ? below : above };
  }

  /** The part of the link that was pointed at. */
  function lineOf(link) {
    const lines = [...link.getClientRects()];
    return lines.find((one) => pointedAt >= one.left && pointedAt <= one.right) ?? lines[0];
  }

  /** Put the card beside its link, inside the window. */
  function place() {
    if (!shownFor || !card.offsetParent) return; // hidden, or printed
    const line = lineOf(shownFor);
    const { isBelow, room } = sideOf(line);
    card.style.maxHeight = `${Math.max(room, LEAST)}px`;
    const top = isBelow ? line.bottom + GAP : line.top - GAP - card.offsetHeight;
    const rightmost = document.documentElement.clientWidth - card.offsetWidth - MARGIN;
    const left = Math.max(MARGIN, Math.min(line.left, rightmost));
    const origin = card.offsetParent.getBoundingClientRect();
    card.style.left = `${left - origin.left}px`;
    card.style.top = `${top - origin.top}px`;
  }

  /** Whether a card would show what can be seen already, or had no room. */
  function isIdle(link) {
    const target = targetBox(link);
    if (!target) return false;
    const share = shownShare(target);
    return share >= 0.5 || (share > 0 && sideOf(lineOf(link)).room < LEAST);
  }

  /** Show the card of a link, if it has one and is still the one pointed at. */
  async function show(link) {
    const html = (await loadCards())[link.getAttribute("href")];
    if (!html || shownFor !== link || isIdle(link)) return;
    card.innerHTML = html;
    card.setAttribute("role", "tooltip");
    card.removeAttribute("aria-label");
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
    const link = shownFor;
    shownFor = null;
    link?.removeAttribute("aria-describedby");
    isReturning = true;
    if (card.contains(document.activeElement)) link?.focus({ preventScroll: true });
    isReturning = false;
    card.hidden = true;
  }

  /** Answer the first tap on a link: open its card, or follow it where it has none. */
  async function openByTap(link, x) {
    hide();
    shownFor = link;
    pointedAt = x;
    const html = (await loadCards())[link.getAttribute("href")];
    if (shownFor !== link) return;
    const isPlace = html?.includes("preview-place"); // see preview_text.py
    if (html && !isPlace && !isIdle(link)) await show(link);
    if (card.hidden) {
      hide();
      location.assign(link.href);
      return;
    }
    card.setAttribute("role", "dialog"); // it holds a link now, and can be left
    card.setAttribute("aria-label", "What the link leads to");
    const go = Object.assign(document.createElement("a"), { href: link.href, textContent: "Go there" });
    go.className = "preview-go";
    go.addEventListener("click", () => {
      go.blur(); // the focus goes along
      setTimeout(hide);
    });
    card.append(go);
    place();
    card.focus({ preventScroll: true });
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
  document.addEventListener("pointerdown", (event) => {
    pressedBy = event.pointerType;
    if (pressedBy === "mouse") return;
    const link = linkOf(event);
    if (link) loadCards(); // the tap will need them
    else if (!card.contains(event.target)) hide();
  });
  document.documentElement.addEventListener("pointerleave", hideSoon);
  document.addEventListener("focusin", (event) => {
    const link = linkOf(event);
    if (!isReturning && link?.matches(":focus-visible")) showSoon(link, 0, 0);
  });
  document.addEventListener("focusout", (event) => {
    if (event.target === shownFor && event.relatedTarget !== card) hide();
  });
  document.addEventListener("click", (event) => {
    const link = linkOf(event);
    if (!link) return;
    const isTap = event.detail > 0 && !["", "mouse"].includes(pressedBy);
    if (!isTap || !link.hash || (link === shownFor && !card.hidden)) {
      hide();
      return;
    }
    event.preventDefault();
    openByTap(link, event.clientX);
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
