// SPDX-License-Identifier: MIT
/** The pieces that the applets are put together from: native controls, rows of tokens, bars. */

/**
 * Make an element.
 * @param {string} tag Name of the element.
 * @param {object} [attributes] Attributes; true sets one without a value, false and undefined leave
 *   it out, a function under `onNAME` listens to an event, an object under `style` sets properties.
 * @param {...(Node|string)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (name === "style") setStyle(node, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function setStyle(node, properties) {
  for (const [name, value] of Object.entries(properties)) node.style.setProperty(name, value);
}

/** Write a character so that it can be seen: a space as ␣, the end of a line as ↵. */
export function visible(text) {
  return text.replaceAll(" ", "␣").replaceAll("\n", "↵");
}

/** Say a character, as a screen reader should. */
export function spoken(token) {
  const names = { " ": "space", "\n": "line end", ",": "comma", ".": "full stop", "'": "apostrophe",
    "-": "hyphen", "!": "exclamation mark", "?": "question mark", ":": "colon", ";": "semicolon" };
  if (token in names) return names[token];
  return /^[A-Z]$/.test(token) ? `capital ${token}` : token;
}

/** Write a probability as a percentage: 42 %, 3.1 %, under 0.1 %. */
export function percent(p) {
  if (p > 0 && p < 0.001) return "< 0.1 %";
  return `${(100 * p).toFixed(p < 0.0995 ? 1 : 0)} %`;
}

/** A button with a text. */
export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

/** A control under its name, and a hint after it. */
export function field(name, control, hint = "") {
  const label = h("label", { class: "field" }, h("span", {}, name), control);
  if (hint) label.append(h("small", {}, hint));
  return label;
}

/** A choice from pairs of value and text: a label whose `control` is the `<select>`. */
export function choice(name, options, onchange, chosen) {
  const items = options.map(([value, text]) =>
    h("option", { value, selected: value === chosen }, text));
  const control = h("select", { onchange: () => onchange(control.value) }, ...items);
  return field(name, control);
}

/**
 * A slider that shows its value.
 * @param {string} name Its label.
 * @param {{min: number, max: number, step: number, value: number}} range
 * @param {(value: number) => void} oninput Called with the new value.
 * @param {(value: number) => string} [write] Writes the value.
 * @returns {HTMLElement} A label whose `control` is the `<input>`; its method `set(value)` moves
 *   the slider without a call of `oninput`.
 */
export function slider(name, range, oninput, write = String) {
  const shown = h("b", {}, write(range.value)); // an <output> would take the label from the slider
  const control = h("input", { type: "range", ...range, "aria-valuetext": write(range.value) });
  const set = (value) => {
    control.value = value;
    shown.textContent = write(value);
    control.setAttribute("aria-valuetext", shown.textContent);
  };
  control.addEventListener("input", () => {
    set(Number(control.value));
    oninput(Number(control.value));
  });
  const label = h("label", { class: "field" }, h("span", {}, name, " ", shown), control);
  return Object.assign(label, { set });
}

/**
 * A row of tokens that are buttons, among which the arrows, Home and End move.
 * @param {string} name What the row is, for screen readers.
 * @param {string[]} texts What stands on the buttons.
 * @param {(index: number, button: HTMLElement) => void} onpress Called when one is pressed.
 * @param {(index: number) => object} [attributes] Attributes of each button, such as aria-label,
 *   aria-pressed or class.
 * @returns {HTMLElement} With the buttons as its property `buttons`.
 */
export function tokenRow(name, texts, onpress, attributes = () => ({})) {
  const buttons = texts.map((text, i) =>
    button(text, () => onpress(i, buttons[i]), { class: "token", ...attributes(i) }));
  const group = h("div", { class: "tokens", role: "group", "aria-label": name }, ...buttons);
  roving(group, buttons);
  return Object.assign(group, { buttons });
}

/** Give a group of buttons one place in the order of the tab key; arrows move inside. */
export function roving(group, buttons) {
  const go = (index) => {
    const next = buttons[(index + buttons.length) % buttons.length];
    buttons.forEach((one) => { one.tabIndex = one === next ? 0 : -1; });
    return next;
  };
  buttons.forEach((one, i) => {
    one.tabIndex = i ? -1 : 0;
    one.addEventListener("focus", () => go(i));
  });
  group.onkeydown = (event) => { // one for the group, however often its buttons change
    const at = buttons.indexOf(event.target);
    if (at < 0) return;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: lineBelow(buttons, at, 1),
      ArrowUp: lineBelow(buttons, at, -1), Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to).focus();
  };
}

/**
 * Draw again what holds buttons: a reader who stood on one stands on the one that took its place.
 * @param {HTMLElement} box
 * @param {() => void} draw Puts new buttons into the box.
 */
export function keepFocus(box, draw) {
  const stops = () => [...box.querySelectorAll("button, input")];
  const held = stops().indexOf(box.getRootNode().activeElement);
  draw();
  if (held >= 0) stops().slice(0, held + 1).at(-1)?.focus();
}

/** The button that stands nearest below (1) or above (-1), or the one itself. */
function lineBelow(buttons, at, direction) {
  const here = buttons[at].getBoundingClientRect();
  let found = at;
  let least = Infinity;
  buttons.forEach((one, i) => {
    const box = one.getBoundingClientRect();
    const down = (box.top - here.top) * direction;
    const distance = down * 1e4 + Math.abs(box.left - here.left);
    if (down > here.height / 2 && distance < least) [found, least] = [i, distance];
  });
  return found;
}

/**
 * Draw a distribution as bars with their numbers.
 * @param {{text: string, share: number, mark?: string, number?: string}[]} rows The text, the
 *   length of its bar from 0 to 1, a word after it ("true"), and the number if not the percentage.
 * @param {string} name What is shown, for screen readers.
 * @param {string} [colour] A CSS colour, by default that of the paradigm.
 * @returns {HTMLElement}
 */
export function bars(rows, name, colour) {
  const items = rows.map(({ text, share, mark, number }) =>
    h("li", { class: mark ? "marked" : undefined },
      h("span", { class: "bar-token", "aria-label": spoken(text) }, visible(text)),
      h("span", { class: "bar", "aria-hidden": "true",
        style: { "--share": Math.min(1, share), ...(colour ? { "--ink": colour } : {}) } }),
      h("span", { class: "bar-number" }, number ?? percent(share), mark ? ` ${mark}` : "")));
  return h("ol", { class: "bars", "aria-label": name }, ...items);
}
