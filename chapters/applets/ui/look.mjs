// SPDX-License-Identifier: MIT
/** The look of the applets: the theme's colours, and three for the paradigms (book.css has them). */
export const STYLE = `
:host { display: block; color: var(--pst-color-text-base); }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
/* The live panel stands for the static form, except on paper. Book.css keeps the room for it. */
:host([data-state="open"]) slot, :host([data-state="open"]) .opening { display: none; }
.opening { align-items: center; display: flex; flex-wrap: wrap; gap: .25rem .75rem; }
:host(:is([data-state="waiting"], [data-state="loading"])) .opening { display: none; }
.foot { font-size: .8em; margin: .75rem 0 0; text-align: right; }
.foot a { color: inherit; }
.panel { position: relative; }
.panel[aria-busy]::before { animation: busy 1s linear .2s infinite both; background: var(--pst-color-primary);
  content: ""; height: 3px; inset: -.75rem 0 auto; opacity: 0; position: absolute; transform-origin: left; }
@keyframes busy { from { opacity: 1; transform: scaleX(0); } to { opacity: 1; transform: scaleX(1); } }
.note { color: var(--pst-color-text-muted); font-size: .9em; margin: 0; }
.note.error, .error { color: var(--pst-color-danger); font-weight: 600; }
.panel, .stack, .block { display: grid; gap: .75rem; grid-template-columns: minmax(0, 1fr); }
.panel p { margin: 0; }
:is(h2, h3) { font-size: 1rem; margin: 0; }
button, select, input, textarea { font: inherit; color: inherit; }
button, select, input[type="text"], input[type="number"], textarea {
  background: var(--pst-color-background); border: 1px solid var(--pst-color-text-muted);
  border-radius: .3rem; min-height: 2.25rem; padding: .25rem .6rem; }
button { cursor: pointer; }
button.open, button.primary { background: var(--pst-color-primary); border-color: var(--pst-color-primary);
  color: var(--pst-color-primary-text, #fff); font-weight: 600; }
button:disabled { cursor: default; opacity: .6; }
textarea, input[type="text"] { width: 100%; }
input[type="range"] { accent-color: var(--pst-color-primary); width: 100%; }
:focus-visible { outline: 3px solid var(--pst-color-primary); outline-offset: 2px; }
.row { align-items: end; display: flex; flex-wrap: wrap; gap: .5rem .75rem; }
.columns { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr)); }
.field { align-content: start; display: grid; flex: 1 1 11rem; gap: .15rem; grid-template-columns: minmax(0, 1fr); min-width: 0; }
.field small { color: var(--pst-color-text-muted); }
output, .field b { font-variant-numeric: tabular-nums; font-weight: 600; }
.tokens { display: flex; flex-wrap: wrap; gap: 2px; font-family: var(--pst-font-family-monospace, monospace); }
.token { min-height: 2rem; min-width: 1.5rem; padding: 0 .15rem; text-align: center; white-space: pre; }
.token[aria-pressed="true"] { background: var(--pst-color-text-base); color: var(--pst-color-background); font-weight: 700; }
.scroll { max-width: 100%; overflow-x: auto; }
.bars { display: grid; gap: .2rem .5rem; grid-template-columns: minmax(2.5rem, max-content) 1fr minmax(4rem, max-content);
  list-style: none; margin: 0; padding: 0; }
.bars li { align-items: center; display: grid; grid-column: 1 / -1; grid-template-columns: subgrid; }
.bar-token { font-family: var(--pst-font-family-monospace, monospace); overflow: hidden; text-align: right;
  text-overflow: ellipsis; white-space: pre; }
.bar { background: linear-gradient(var(--ink, var(--pst-color-primary)) 0 0) 0 / calc(100% * var(--share)) 100% no-repeat;
  border-left: 1px solid var(--pst-color-text-muted); height: 1rem; }
.bar-number { font-size: .9em; font-variant-numeric: tabular-nums; }
.marked { font-weight: 700; }
summary { cursor: pointer; }
pre { background: var(--pst-color-surface); border-radius: .3rem; margin: 0; overflow-x: auto; padding: .5rem .75rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--pst-color-border); padding: .25rem .6rem; text-align: left; }
.bert { --ink: var(--book-bert); } .gpt { --ink: var(--book-gpt); } .t5 { --ink: var(--book-t5); }
.legend { border-left: .5rem solid var(--ink); padding-left: .5rem; }
@media (prefers-reduced-motion: no-preference) { .bar { transition: background-size .15s; } }
@media (prefers-reduced-motion: reduce) { .panel[aria-busy]::before { animation-timing-function: step-end; } }
/* Forced colours drop grounds: bars and pressed keys keep theirs, in the reader's own colours. */
@media (forced-colors: active) {
  .bar, .line span, .pin-line span { --ink: CanvasText; forced-color-adjust: none; }
  .line span, .pin-line span { color: CanvasText; }
  button.open, button.primary { color: ButtonText; }
  .token[aria-pressed="true"] { background: Highlight; color: HighlightText; forced-color-adjust: none; }
}
@media print {
  :host([data-state="open"]) slot { display: contents; }
  .opening, .panel, .foot { display: none !important; }
}
`;
