// SPDX-License-Identifier: MIT
/** Look of a text over whose letters stands how much one place looks at each. */
import { LOOKED_STYLE } from "./looked-row.mjs";

/** An applet that shows such a line adds this to its own style. */
export const VIEW_STYLE = `${LOOKED_STYLE}
.view { align-content: start; }
.line { display: flex; flex-wrap: wrap; font-family: var(--pst-font-family-monospace, monospace);
  row-gap: .4rem; }
.line span { background: linear-gradient(var(--ink) 0 0) left bottom 1.5em no-repeat;
  background-size: 100% calc(1.5em * var(--share, 0));
  min-width: .75em; padding-top: 1.6em; text-align: center; white-space: pre; }
.line .barred { color: var(--pst-color-text-muted); text-decoration: line-through; }
.line .query { font-weight: 700; outline: 2px solid currentColor; outline-offset: -1px; }
`;
