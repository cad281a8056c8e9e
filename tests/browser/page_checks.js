// SPDX-License-Identifier: MIT
// What a test asks of an open page. Evaluated in the page; each function returns complaints.
window.pageChecks = (() => {
  const UNSEEN_BY_DESIGN =
    ".onlyprint, #jb-print-docs-body, .explore-state[hidden], summary > :is(.expanded, .collapsed), " +
    ".quiz-foot, form.answer"; // what only a script can answer

  /** All elements below a root, those in open shadow roots too. */
  function* elements(root = document) {
    for (const element of root.querySelectorAll("*")) {
      yield element;
      if (element.shadowRoot) yield* elements(element.shadowRoot);
    }
  }

  /** The element that holds another one: its parent, or the host of its shadow root. */
  const holder = (element) => element.parentElement ?? element.getRootNode().host ?? null;

  /** A short name by which a reader of the complaint finds the element. */
  function named(element) {
    const classes = [...element.classList].slice(0, 3).join(".");
    const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
    const id = element.id ? `#${element.id}` : "";
    return `<${element.localName}${id}${classes ? `.${classes}` : ""}> "${text}"`;
  }

  /** Wait for what may never come, such as a frame of a window that is not drawn. */
  const soon = (promise) => Promise.race([promise, new Promise((done) => setTimeout(done, 5000))]);

  /** Open every fold, also of sections far away, and wait until nothing moves. */
  async function unfold() {
    for (const far of document.querySelectorAll(".can-be-far")) far.classList.remove("can-be-far");
    for (const element of elements()) {
      if (element.localName === "details") element.open = true;
      if (element.matches(".toggle-hidden")) element.querySelector("button.toggle-button").click();
    }
    for (const one of document.getAnimations()) {
      if (one.effect.getComputedTiming().endTime < Infinity) await soon(one.finished.catch(() => {}));
    }
    await soon(new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return [...elements()].filter((one) => one.matches(".toggle-hidden")).map(named);
  }

  /** The grounds behind an element, from the inside out; what is known is kept. */
  function grounds(element, known) {
    if (!element) return "";
    if (!known.has(element)) {
      const { backgroundColor, backgroundImage, opacity, position } = getComputedStyle(element);
      const own = [backgroundColor, backgroundImage, opacity, position].join(" ");
      known.set(element, `${own}|${grounds(holder(element), known)}`);
    }
    return known.get(element);
  }

  /** Up to three elements of each kind of text; the others of a kind have the same contrast. */
  function samplesOfText(perKind = 3) {
    const kinds = new Map();
    const known = new Map();
    for (const element of elements()) {
      const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
      if (!texts.some((node) => node.data.trim()) || !element.checkVisibility()) continue;
      const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
      const look = [color, fontSize, fontWeight, textShadow].join(" ");
      const kind = `${look}|${grounds(element, known)}`;
      if (!kinds.has(kind)) kinds.set(kind, []);
      if (kinds.get(kind).length < perKind) kinds.get(kind).push(element);
    }
    return [...kinds.values()].flat();
  }

  /** Violations that axe finds, one line for each element. */
  async function axeLines(context, options) {
    const settings = { preload: false, resultTypes: ["violations"], ...options };
    const { violations } = await axe.run(context, settings);
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, html, any, all, none }) => {
        const { message } = [...any, ...all, ...none][0] ?? { message: "" };
        return `${id} at ${target.flat().join(" ")}: ${message} ${html.slice(0, 120)}`;
      }),
    );
  }

  /** Every rule of axe but the one of contrast, over the whole page. */
  const structure = () => axeLines(document, { rules: { "color-contrast": { enabled: false } } });

  /** The contrast of each kind of text. Measuring every word would take most of an hour. */
  function contrast() {
    return axeLines({ include: samplesOfText() }, { runOnly: ["color-contrast"] });
  }

  /** Elements that make the page wider than its window. */
  function overflow() {
    const { scrollWidth, clientWidth } = document.scrollingElement;
    if (scrollWidth <= clientWidth) return [];
    const wide = [...elements(document.body)].filter((one) => {
      const { right, width } = one.getBoundingClientRect();
      return width > 0 && right > clientWidth + 0.5 && !isClipped(one);
    });
    const inmost = wide.filter((one) => !wide.some((other) => holder(other) === one));
    return [`${scrollWidth} px wide: ${inmost.slice(0, 4).map(named).join(", ")}`];
  }

  /** Whether an element lies in one that scrolls or hides what is too wide. */
  function isClipped(element) {
    for (let one = holder(element); one && one !== document.body; one = holder(one)) {
      if (getComputedStyle(one).overflowX !== "visible") return true;
    }
    return false;
  }

  /** Images that did not load, or whose alternative text says nothing. */
  async function images() {
    const complaints = [];
    for (const image of elements()) {
      if (image.localName !== "img") continue;
      image.loading = "eager";
      const loaded = await image.decode().then(() => true, () => false);
      const alt = image.alt.trim();
      if (!loaded) complaints.push(`${image.src} does not load`);
      if (alt.length < 15 || !alt.includes(" ") || /_images\/|\.(png|svg|jpe?g|webp)$/.test(alt)) {
        complaints.push(`${image.src} has the alternative text "${alt}"`);
      }
    }
    return complaints;
  }

  /** What moves, or would move when touched. */
  function motion() {
    const complaints = document.getAnimations().map((one) => `runs: ${named(one.effect.target)}`);
    const seconds = (list) => list.split(",").map((one) => parseFloat(one));
    for (const element of elements()) {
      const style = getComputedStyle(element);
      const durations = [...seconds(style.transitionDuration)];
      if (style.animationName !== "none") durations.push(...seconds(style.animationDuration));
      if (Math.max(...durations) > 0.01) complaints.push(`may move: ${named(element)}`);
      if (style.scrollBehavior === "smooth") complaints.push(`scrolls smoothly: ${named(element)}`);
    }
    return complaints.slice(0, 20);
  }

  /** How far the page jumped while it loaded; 0.1 is what readers hardly notice. */
  function layoutShift(limit = 0.1) {
    const score = window.layoutShifts.reduce((sum, one) => sum + one.score, 0);
    const parts = window.layoutShifts.flatMap((one) => one.nodes).slice(0, 5);
    return score <= limit ? [] : [`layout shift ${score.toFixed(3)}: ${parts.join(", ")}`];
  }

  /** The element that has the focus, also inside shadow roots. */
  function focused() {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element;
  }

  /** Look at the focused element, take its focus away, and say whether that can be seen. */
  function focusIsVisible() {
    const element = focused();
    if (!element || element === document.body) return null;
    const { top, bottom, left, right, width } = element.getBoundingClientRect();
    const name = named(element);
    const before = rings(element);
    element.blur();
    const after = rings(element);
    const complaints = [];
    if (!before.some((ring, i) => ring && ring !== after[i])) complaints.push(`no ring: ${name}`);
    const inside = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
    if (!inside || !width) complaints.push(`focus out of sight: ${name}`);
    return [name, complaints];
  }

  /** The outline and shadow of an element and of what holds it; empty where there is none. */
  function rings(element) {
    return [element, holder(element)].filter(Boolean).flatMap((one) => {
      const style = getComputedStyle(one);
      const { outlineStyle, outlineWidth, outlineColor, boxShadow } = style;
      const seen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1;
      const clear = /rgba\(.*, 0\)|transparent/.test(outlineColor);
      return [
        seen && !clear ? [outlineStyle, outlineWidth, outlineColor].join(" ") : "",
        boxShadow === "none" ? "" : boxShadow,
      ];
    });
  }

  /**
   * Parts of the article that cannot be seen although they hold text. Folds and what is for paper
   * do not count, and of an exploration, which needs scripts, only the first state does.
   */
  function blank() {
    const article = document.querySelector(".bd-article, article, main");
    if (!article) return ["no article"];
    const parts = [...article.querySelectorAll("h1, h2, h3, p, li, td, figcaption, pre, img")];
    const folded = (one) => one.closest("details:not([open])") && !one.closest("summary");
    const aside = (one) => one.closest(`${UNSEEN_BY_DESIGN}, nav, .bd-toc`);
    const hidden = parts.filter((one) => !aside(one) && !folded(one) && !one.checkVisibility());
    const words = article.innerText.trim().split(/\s+/).length;
    const complaints = words < 5 ? [`${words} words to be seen`] : [];
    return [...complaints, ...hidden.slice(0, 5).map((one) => `not to be seen: ${named(one)}`)];
  }

  return {
    blank, contrast, focusIsVisible, images, layoutShift, motion, overflow, structure, unfold,
  };
})();
