// SPDX-License-Identifier: MIT
/** The masks on a few words of the reader's: who may look at whom. */
import { Applet, define } from "./ui/applet.mjs";
import { h } from "./ui/controls.mjs";
import { GRID_STYLE, maskGrid } from "./ui/mask-grid.mjs";

class MaskExplorer extends Applet {
  static offer = "Choose a mask, and see who may look at whom";
  static room = [420, 640];

  async build(panel) {
    panel.replaceChildren(h("style", {}, GRID_STYLE), maskGrid());
  }
}

define("pt-mask-explorer", MaskExplorer);
