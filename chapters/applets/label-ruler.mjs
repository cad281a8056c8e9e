// SPDX-License-Identifier: MIT
/** Worth k times the labels: move a number of labels, and read a distance between two curves. */
import { count, curvesOf, factor, nearest, stopsOf, whole, worth } from "./engine/label-worth.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { choice, h, slider } from "./ui/controls.mjs";
import { onDrag } from "./ui/dragging.mjs";
import { getJson } from "./ui/files.mjs";
import { AXIS, LABEL_PLOT_STYLE, labelPlot, labelsAt } from "./ui/label-plot.mjs";

const START = { method: "minilm", reference: "random_minilm", n: 128 };
const METHODS = {
  minilm: { option: "MiniLM, all weights trained", subject: "MiniLM", name: "MiniLM" },
  frozen_minilm: { option: "MiniLM, frozen", subject: "frozen MiniLM", name: "MiniLM, frozen" },
  mlm: { option: "our masked mini model", subject: "our masked mini model", name: "masked mini model",
    paradigm: "bert" },
};
const REFERENCES = {
  random_minilm: { option: "MiniLM’s twin from random weights", name: "random twin" },
  bow: { option: "the bag of words", name: "bag of words" },
  scratch: { option: "a mini BERT from random weights", name: "random mini BERT" },
};
const STYLE = `${LABEL_PLOT_STYLE}
.said { min-height: 3.3em; }
.ruler { max-width: 27rem; }
.ruler input { margin: 0 0 0 calc(${AXIS.left}% - 8px); width: calc(${100 - AXIS.left - AXIS.right}% + 16px); }
@media (max-width: 30rem) { .said { min-height: 6.2em; } }
`;

class LabelRuler extends Applet {
  static offer = "Measure what pre-training is worth in labels";
  static room = [604, 640];

  async build(panel) {
    this.study = await getJson("label_ruler.json");
    this.stops = stopsOf(this.study.n_labels);
    this.chosen = this.readState();
    const options = (all) => Object.entries(all).map(([key, { option }]) => [key, option]);
    const choices = [
      choice("Method", options(METHODS), (method) => this.set({ method }), this.chosen.method),
      choice("Reference", options(REFERENCES), (reference) => this.set({ reference }),
        this.chosen.reference),
    ];
    this.said = h("p", { class: "said", role: "status" });
    this.interval = h("p", { class: "note" });
    this.picture = h("div");
    const at = nearest(this.stops, this.chosen.n);
    this.labels = slider("Labels", { min: 0, max: this.stops.length - 1, step: 1, value: at },
      (place) => this.set({ n: this.stops[place] }), (place) => whole(this.stops[place]));
    this.labels.classList.add("ruler");
    onDrag(this.picture, (x) => this.drag(labelsAt(x, this.study.n_labels)));
    panel.replaceChildren(h("style", {}, STYLE), h("div", { class: "row" }, ...choices),
      this.said, this.labels, this.picture, this.interval);
    this.show();
  }

  /** What the address says, or the beginning where it says nothing that there is. */
  readState() {
    const { state } = this;
    const known = (name, all) => (Object.hasOwn(all, state.get(name) ?? "") ? state.get(name) : START[name]);
    const n = Number(state.get("n"));
    return { method: known("method", METHODS), reference: known("reference", REFERENCES),
      n: this.stops[nearest(this.stops, n > 0 ? n : START.n)] };
  }

  /** Follow a pointer, on the stops of the slider. */
  drag(n) {
    const place = nearest(this.stops, n);
    this.labels.set(place);
    this.set({ n: this.stops[place] });
  }

  set(change) {
    Object.assign(this.chosen, change);
    this.show();
    this.keep(this.chosen);
  }

  show() {
    const { method, reference, n } = this.chosen;
    const { study } = this;
    const found = worth(study, method, reference, n);
    const { own, other } = curvesOf(study, method, reference);
    this.said.replaceChildren(...this.sentence(found));
    this.interval.textContent = this.intervalText();
    const [{ name, paradigm = "" }, rival] = [METHODS[method], REFERENCES[reference]];
    const curve = (kind, key, values, called) =>
      ({ kind, name: called, values, low: study.arms[key].low, high: study.arms[key].high });
    this.picture.replaceChildren(labelPlot(study.n_labels, {
      own: curve(`own ${paradigm}`, method, own, name),
      other: curve("other", reference, other, rival.name),
    }, { n, ...found }, study.majority, { times: timesOf(found), all: this.said.textContent }));
  }

  /** The reference, as the subject of a sentence. */
  rival() {
    const { method, reference } = this.chosen;
    return { random_minilm: method === "mlm" ? "MiniLM’s twin from random weights" : "Its twin from random weights",
      bow: "The bag of words",
      scratch: method === "mlm" ? "The same network from random weights" : "A mini BERT from random weights",
    }[reference];
  }

  sentence({ accuracy, labels, where, k }) {
    const { method, n } = this.chosen;
    const all = this.study.n_labels.at(-1);
    const start = `With ${whole(n)} labels, ${METHODS[method].subject} is right in ${Math.round(100 * accuracy)}\u00a0%. `;
    const rival = this.rival();
    const times = (words) => h("strong", {}, words);
    if (where === "more" && n === all) return [start, `${rival} does not get there with as many.`];
    if (where === "more") {
      return [start, `${rival} needs more than all ${whole(all)} for that: `,
        times(`more than ${factor(k)} times as many`), "."];
    }
    if (where === "fewer") {
      return [start, `${rival} reaches that with ${whole(labels)}, the fewest that were tried: `,
        times(`less than ${factor(k)} times as many`), "."];
    }
    return [start, `${rival} needs ${count(labels)} for that: `, times(`${factor(k)} times as many`), "."];
  }

  /** The interval of the factor at a measured number of labels; elsewhere, that there is none. */
  intervalText() {
    const { method, reference, n } = this.chosen;
    const { n_labels: nLabels, intervals } = this.study;
    const at = nLabels.indexOf(n);
    if (at < 0) {
      return "Between the dots, where nothing was measured, the curves are straight lines.";
    }
    const [low, high] = intervals[method][reference][at];
    const words = { less: "less than ", more: "more than ", "": "" };
    const said = low[1] && low[1] === high[1] ? `all ${words[low[1]]}${factor(low[0])}`
      : `${words[low[1]]}${factor(low[0])} to ${words[high[1]]}${factor(high[0])}`;
    return `95 % interval of the factor: ${said}.`;
  }
}

/** The factor in short, for the arrow: 15×, > 18×. */
function timesOf({ k, where }) {
  return `${{ more: "> ", fewer: "< ", inside: "" }[where]}${factor(k)}×`;
}

define("pt-label-ruler", LabelRuler);
