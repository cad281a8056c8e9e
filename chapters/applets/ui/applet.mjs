// SPDX-License-Identifier: MIT
/**
 * What all applets have in common.
 *
 * An applet is a custom element around its static form: a figure and a sentence, which stay in the
 * page, and are what is printed. Below them it puts a button. Nothing is fetched before a reader
 * presses it; then the applet loads its models and builds its panel.
 */
import { h, button } from "./controls.mjs";
import { STYLE } from "./look.mjs";

export class Applet extends HTMLElement {
  /** What the button offers, such as "Fill the blanks of your own sentence". */
  static offer = "Try it";

  connectedCallback() {
    if (this.shadowRoot) return;
    this.panel = h("section", { class: "panel", "aria-label": this.constructor.offer });
    this.opener = button(this.constructor.offer, () => this.open(), { class: "open" });
    this.note = h("p", { class: "note", role: "status" }, this.dataset.size ?? "");
    const bar = h("div", { class: "opening" }, this.opener, this.note);
    this.attachShadow({ mode: "open" }).append(
      h("style", {}, STYLE), h("slot"), bar, this.panel);
    this.panel.hidden = true;
  }

  /** Fetch what is needed and show the panel; say what went wrong when that fails. */
  async open() {
    if (this.isOpening) return;
    this.isOpening = true;
    this.note.textContent = "Loading …";
    this.note.classList.remove("error");
    try {
      await this.build(this.panel);
      this.panel.hidden = false;
      this.opener.parentElement.hidden = true;
      this.panel.querySelector("textarea, input, select, button")?.focus();
      this.dispatchEvent(new CustomEvent("applet-open", { bubbles: true }));
    } catch (error) {
      this.panel.replaceChildren();
      this.note.classList.add("error");
      this.note.textContent = `${error.message} What stands above needs no file; press again to retry.`;
    }
    this.isOpening = false;
  }

  /** What a model weighs that a control of the panel may fetch later, such as "2.1 MB". */
  more(name) {
    return JSON.parse(this.dataset.more)[name];
  }

  /** Load models and fill the empty panel. Each applet has its own. */
  async build(panel) {
    throw new Error(`${this.localName} builds nothing in ${panel.localName}`);
  }
}

/** Make an applet known to the page under its name, once. */
export function define(name, applet) {
  if (!customElements.get(name)) customElements.define(name, applet);
}
