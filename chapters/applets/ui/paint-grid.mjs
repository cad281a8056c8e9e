// SPDX-License-Identifier: MIT
/** A mask to paint: a table of cells, rows are queries, columns are keys; at the right, each row's answer. */
import { answer, PLACES, wordsOf } from "../engine/painted.mjs";
import { button, h, roving } from "./controls.mjs";
import { GRID_STYLE } from "./mask-grid.mjs";

const SIGNS = { read: "●", passed: "○", blank: "□", asked: "?", leak: "!" };
const MEANINGS = { read: "reads", passed: "reads through other places", blank: "reads a blank",
  asked: "is asked", leak: "is asked what it reads" };

/** Look of the grid; an applet that shows one adds it to its own. */
export const PAINT_STYLE = `${GRID_STYLE}
.grid :is(th, td) { padding: 0; }
.grid th { font-weight: 400; }
.grid tbody th { padding-inline: .4rem; }
.grid thead th { line-height: 1.2; vertical-align: middle; }
.grid .token { font-family: inherit; min-height: 2.25rem; min-width: 2.6rem; padding: 0 .2rem; }
.grid .cell { align-content: center; border-radius: 0; display: block; min-height: 2.25rem; min-width: 2.6rem;
  padding: 0; touch-action: none; user-select: none; }
.grid .cell.open { background: color-mix(in srgb, var(--pst-color-text-base) 18%, var(--pst-color-background));
  color: var(--pst-color-text-base); }
.grid .cell.leak { color: var(--pst-color-danger); font-weight: 700; outline: 2px solid; outline-offset: -3px; }
.grid .cell:focus-visible { outline: 3px solid var(--pst-color-primary); outline-offset: -3px; }
.grid td.said { padding-inline: .4rem; text-align: left; white-space: nowrap; }
`;

/** Write a probability of the tiny language: up to three digits. */
export function written(p) {
  return String(Number(p.toFixed(3)));
}

/**
 * Make the grid. Nothing of it is made anew while a pointer paints; `show` sets what it says.
 * @param {(t: number, s: number, isOpen: boolean) => void} onpaint A cell was painted.
 * @param {(s: number) => void} onask The head of a column was pressed.
 * @returns {HTMLElement} With the method `show({mask, asks, asked, text, questions})`, and its `legend`.
 */
export function paintGrid(onpaint, onask) {
  const heads = PLACES.map((s) => button("", () => onask(s), { class: "token" }));
  const cells = PLACES.map((t) => PLACES.map((s) => h(t === s ? "span" : "button",
    t === s ? { class: "cell" } : { type: "button", class: "cell", "data-at": `${t}${s}` })));
  const first = PLACES.map(() => h("td"));
  const rows = [first, ...cells.map((row) => row.map((one) => h("td", {}, one)))].map((row) => {
    const [name, said] = [h("th", { scope: "row" }), h("td", { class: "said" })];
    return { name, said, line: h("tr", {}, name, ...row, said) };
  });
  const head = h("tr", {}, h("th", { scope: "col" }, "query\u00a0↓ key\u00a0→"),
    ...heads.map((one) => h("th", { scope: "col" }, one)), h("th", { scope: "col" }, "answer"));
  const body = h("tbody", {}, ...rows.map(({ line }) => line));
  roving(head, heads);
  roving(body, cells.flat().filter((one) => one.matches("button")));
  paintable(body, onpaint);
  const legend = h("p", { class: "note" });
  const show = (now) => {
    const used = new Set();
    const words = wordsOf(now.text);
    const input = words.map((word, s) => (now.asks === "hidden" && now.asked.includes(s) ? "▢" : word));
    heads.forEach((one, s) => {
      one.textContent = input[s];
      one.setAttribute("aria-pressed", now.asked.includes(s));
      one.setAttribute("aria-label", `Word ${s + 1}, ${words[s]}: ask for it`);
    });
    rows[0].line.hidden = now.asks !== "next";
    rows.forEach(({ name, said }, r) => {
      const question = now.questions.find(({ row }) => row === r - 1);
      name.textContent = r ? input[r - 1] : "start";
      said.textContent = question ? `${words[question.word]} ${written(answer(now.text, question))}` : "–";
      if (!r) first.forEach((one, s) => { one.textContent = question && !s ? SIGNS.asked : ""; });
      else PLACES.forEach((s) => used.add(showCell(cells[r - 1][s], r - 1, s, now, question, words)));
    });
    legend.textContent = Object.keys(SIGNS).filter((one) => used.has(one))
      .map((one) => `${SIGNS[one]} ${MEANINGS[one]}`).join(" · ");
  };
  const table = h("table", { class: "grid", "aria-label": "Which word may read which" }, h("thead", {}, head), body);
  return Object.assign(h("div", { class: "scroll" }, table), { legend, show });
}

function showCell(one, t, s, { mask, asks, asked }, question, words) {
  const isOpen = mask[t][s] || t === s;
  const reads = question?.uses.includes(s) ?? isOpen;
  const isBlank = isOpen && ((asks === "hidden" && asked.includes(s)) || (asks === "turn" && t === s && question));
  const kind = question?.word === s ? (reads ? "leak" : "asked")
    : isBlank ? "blank" : isOpen ? "read" : reads ? "passed" : "";
  one.className = `cell ${isOpen ? "open" : ""} ${kind}`;
  one.textContent = SIGNS[kind] ?? "";
  if (t === s) return kind;
  one.setAttribute("aria-pressed", isOpen);
  one.setAttribute("aria-label", `Word ${t + 1}, ${words[t]}, reads word ${s + 1}, ${words[s]}`
    + (kind && kind !== "read" ? ` (${MEANINGS[kind]})` : ""));
  return kind;
}

/** Paint by pressing and dragging, or with Enter and the space bar. */
function paintable(body, onpaint) {
  const at = (one) => one?.closest?.("[data-at]");
  const isOpen = (cell) => cell.getAttribute("aria-pressed") === "true";
  const put = (cell, value) => {
    if (value !== isOpen(cell)) onpaint(...[...cell.dataset.at].map(Number), value);
  };
  let brush; // what the pointer paints: open, or closed
  body.addEventListener("pointerdown", (event) => {
    const cell = at(event.target);
    brush = undefined;
    if (!cell || event.button) return;
    if (cell.hasPointerCapture(event.pointerId)) cell.releasePointerCapture(event.pointerId); // on to the next cell
    brush = !isOpen(cell);
    put(cell, brush);
  });
  body.addEventListener("pointermove", (event) => {
    if (!(event.buttons & 1)) brush = undefined;
    const cell = at(body.getRootNode().elementFromPoint(event.clientX, event.clientY));
    if (brush !== undefined && cell) put(cell, brush);
  });
  body.addEventListener("click", (event) => { // of the keyboard: a pointer's was painted when it pressed
    const cell = at(event.target);
    if (cell && event.detail === 0) put(cell, !isOpen(cell));
  });
}
