// SPDX-License-Identifier: MIT
/**
 * What all applets have in common, and what each of them has to bring.
 *
 * An applet is a custom element around its static form, a figure and a sentence, which is what is
 * printed and what a reader without scripts sees. On screen the live panel takes its place, by
 * itself, when the reader comes near or when the address names the applet or its section. Nothing is
 * fetched before. Only a reader who asked the browser to save data gets a button instead.
 *
 * A subclass has
 *
 * - `static offer`: what a reader can do, the name of the panel and the text of that button;
 * - `static room = [wide, narrow];`: height of its first view in px, at 1280 and at 390 px, with the
 *   frame. The page keeps that room from the start, so that nothing moves when the panel comes. The
 *   build reads the numbers from this line; a test compares them with the panel;
 * - `async build(panel)`: load and fill the panel. It may use `this.state`, what the address says
 *   (a URLSearchParams, empty for a new reader). It must not move the focus.
 *
 * and may call
 *
 * - `this.keep({name: value})` after a change by the reader: the state goes into the address
 *   (`#applet-NAME&name=value`) and into the link below the panel. Leave out what is as at the start;
 * - `await this.waitFor(promise)`: the panel shows that it is busy until the promise is settled;
 * - `this.more(name)`: what a file weighs that a control may fetch later.
 *
 * Its own names must not be those of an element (`title`, `hidden`) nor of this class (`panel`, `note`,
 * `link`, `foot`, `opener`, `copied`, `state`, and the methods below).
 *
 * Heavy work belongs into the worker: see `openModel` of `open-model.mjs`. `sentence-row.mjs` has the row
 * of words or letters that can be hidden, which strikes out what a model cannot read.
 */
import { addressOf, readAddress } from "./address.mjs";
import { h, button } from "./controls.mjs";
import { STYLE } from "./look.mjs";

const NEAR = "800px 0px"; // how far from the window an applet opens

export class Applet extends HTMLElement {
  static offer = "Try it";

  connectedCallback() {
    if (this.shadowRoot) return;
    const { offer } = this.constructor;
    this.panel = h("section", { class: "panel", "aria-label": offer, hidden: true });
    this.opener = button(offer, () => this.openByHand(), { class: "open" });
    this.note = h("p", { class: "note", role: "status" });
    this.link = h("a", { href: `#${this.id}`, onclick: (event) => this.copyLink(event) }, "Link to what you see");
    this.copied = h("span", { role: "status" });
    this.foot = h("p", { class: "foot", hidden: true }, this.link, this.copied);
    this.attachShadow({ mode: "open" }).append(h("style", {}, STYLE), h("slot"),
      h("div", { class: "opening" }, this.opener, this.note), this.panel, this.foot);
    this.dataset.state = "waiting";
    addEventListener("hashchange", () => this.followAddress());
    this.followAddress();
    if (navigator.connection?.saveData) this.showOffer(this.dataset.size ?? "");
    else this.openWhenNear();
  }

  /** Open when the reader comes near. */
  openWhenNear() {
    const watcher = new IntersectionObserver((seen) => {
      if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
      watcher.disconnect();
      this.open();
    }, { rootMargin: NEAR });
    watcher.observe(this);
  }

  /** Show the static form and a button. */
  showOffer(words) {
    if (this.dataset.state !== "waiting") return;
    this.dataset.state = "asks";
    this.note.textContent = words;
  }

  /** Open at once, and come into view, when the address means this applet; see `isMeant`. */
  async followAddress() {
    const { id } = readAddress();
    if (!this.isMeant(id)) return;
    const wasOpen = this.dataset.state === "open";
    await this.open();
    if (id !== this.id) return;
    this.scrollIntoView();
    if (wasOpen && this.state.size) await this.build(this.panel); // a link to another state of it
  }

  /** Does an id of the address mean this applet, or the section in which it stands? */
  isMeant(id) {
    if (!id || id === this.id) return Boolean(id);
    const section = this.closest("section");
    const target = document.getElementById(id);
    return Boolean(section && target) && (target === section || target.closest("section") === section);
  }

  /** Open for a press of the button, which goes: the first control gets its focus. */
  async openByHand() {
    await this.open();
    this.panel.querySelector("textarea, input, select, button")?.focus();
  }

  /** Fetch what is needed and show the panel; say what went wrong when that fails. */
  async open() {
    if (["loading", "open"].includes(this.dataset.state)) return;
    this.dataset.state = "loading";
    this.note.textContent = "Loading …";
    this.note.classList.remove("error");
    try {
      await this.build(this.panel);
      this.dataset.state = "open";
      this.note.textContent = "";
      this.panel.hidden = this.foot.hidden = false;
      this.dispatchEvent(new CustomEvent("applet-open", { bubbles: true }));
    } catch (error) {
      this.panel.replaceChildren();
      this.dataset.state = "failed";
      this.opener.textContent = "Try again";
      this.note.classList.add("error");
      this.note.textContent = `${error.message} What stands above needs no file.`;
    }
  }

  /** What the address says of this applet; empty for a new reader. */
  get state() {
    const { id, state } = readAddress();
    return id === this.id ? state : new URLSearchParams();
  }

  /** Put a state into the address, which a reload or a shared link brings back. */
  keep(state) {
    this.link.href = addressOf(this.id, state);
    this.copied.textContent = "";
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => history.replaceState(history.state, "", this.link.href), 300);
  }

  /** Copy the link where the browser lets a page do so; it is a link in any case. */
  async copyLink(event) {
    event.preventDefault();
    history.replaceState(history.state, "", this.link.href);
    try {
      await navigator.clipboard.writeText(this.link.href);
      this.copied.textContent = " copied";
    } catch {
      this.copied.textContent = " is now in the address bar";
    }
  }

  /** Show that a model is at work until a promise is settled, and pass its result on. */
  async waitFor(work) {
    this.nWaiting = (this.nWaiting ?? 0) + 1;
    this.panel.setAttribute("aria-busy", "true");
    try {
      return await work;
    } finally {
      this.nWaiting -= 1;
      if (!this.nWaiting) this.panel.removeAttribute("aria-busy");
    }
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
