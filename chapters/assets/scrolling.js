// SPDX-License-Identifier: MIT
// The stops of the Tab key in a text, and boxes that scroll sideways.
//
// A box that really scrolls can be reached by keyboard, also one that was folded at first, and it
// fades at the edge behind which there is more. Marks beside headings and buttons that copy are for
// the mouse: they are no stops. The theme's own look at boxes is left out (`weight/theme_script.py`).
(() => {
  const BOXES =
    "pre, div.highlight, .cell_output > .output, .pst-scrollable-table-container, .formula";
  const CONTROLS = "a[href]:not(.headerlink), button:not(.copybtn), input, select, textarea, summary, [tabindex='0']";
  const FOR_THE_MOUSE = ".headerlink, .copybtn";
  const SLACK = 2; // pixels that are no reason to scroll

  /** Whether a box holds more than it shows, in a direction in which it scrolls. */
  function scrolls(box) {
    if (box.scrollWidth > box.clientWidth + SLACK) return true;
    const isTall = box.scrollHeight > box.clientHeight + SLACK;
    return isTall && getComputedStyle(box).overflowY !== "hidden";
  }

  /** At which edges of a box there is more. */
  function edges(box) {
    const hidden = box.scrollWidth - box.clientWidth;
    return {
      left: hidden > SLACK && box.scrollLeft > SLACK,
      right: hidden > SLACK && box.scrollLeft < hidden - SLACK,
    };
  }

  function showEdges(box, { left, right }) {
    box.classList.toggle("more-left", left);
    box.classList.toggle("more-right", right);
  }

  /**
   * Put boxes among the stops of the Tab key that scroll and hold no stop of their own. All are
   * measured before one is changed: each measure after a change lays the page out anew. A box in a
   * section far away (far-away.js) stays as it is; it is looked at when the section comes near.
   */
  function update(boxes) {
    const seen = [...boxes].filter((box) => box.checkVisibility?.({ contentVisibilityAuto: true }) ?? true);
    const found = seen.map((box) => ({ box, hasMore: scrolls(box), ends: edges(box) }));
    for (const { box, hasMore, ends } of found) {
      if (hasMore && !box.querySelector(CONTROLS)) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
      showEdges(box, ends);
    }
  }

  const observer = new ResizeObserver((entries) => {
    const touched = entries.flatMap(({ target }) => [target, target.parentElement]);
    update(new Set(touched.filter((box) => box?.matches(BOXES))));
  });
  document.addEventListener("DOMContentLoaded", () => {
    for (const box of document.querySelectorAll(`article :is(${BOXES})`)) {
      observer.observe(box);
      if (box.firstElementChild) observer.observe(box.firstElementChild);
      box.addEventListener("scroll", () => showEdges(box, edges(box)), { passive: true });
    }
  });
  addEventListener("load", () => {
    for (const one of document.querySelectorAll(FOR_THE_MOUSE)) one.tabIndex = -1;
  });
})();
