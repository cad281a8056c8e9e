// SPDX-License-Identifier: MIT
/** The compute-optimal calculator: a budget, a machine, or a model and its text. */
import { machineFlops, readNumber, ScalingRules, short, written } from "./engine/scaling.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { choice, field, h, slider } from "./ui/controls.mjs";
import { getJson } from "./ui/files.mjs";
import { PLOT_STYLE, scalingPlot } from "./ui/scaling-plot.mjs";

const DECADES = { min: 15, max: 27, step: 0.1, value: 21 };
const ASSUMED = "One assumed accelerator";
const STYLE = `${PLOT_STYLE}
.rules { width: 100%; }
.rules td, .rules th { padding: .2rem .35rem; }
.rules :is(td, th):not(:first-child) { text-align: right; }
.rules tbody th { font-weight: 400; }
.rules caption { text-align: left; }
@media (max-width: 30rem) {
  .rules { font-size: .85em; }
  .rules td, .rules th { padding: .2rem .15rem; }
}
.given, .answers { display: grid; gap: .75rem; grid-template-columns: minmax(0, 1fr); }
`;

class ComputeBudget extends Applet {
  static offer = "Divide a budget of your own";

  async build(panel) {
    const said = await getJson("scaling_rules.json");
    this.rules = new ScalingRules(said);
    this.models = said.models;
    this.names = { constant: `${this.rules.ratio} a parameter`,
      refitted: "refitted law", kaplan: `slope ${this.rules.kaplan.slope}` };
    this.given = h("div", { class: "given" });
    this.problem = h("p", { class: "error", role: "alert" });
    this.answers = h("div", { class: "answers", role: "status" });
    this.picture = h("div");
    const known = choice("What do you know?", [["budget", "a budget of operations"],
      ["machines", "machines and hours"], ["model", "a model and its text"]],
    (value) => this.ask(value), "budget");
    panel.replaceChildren(h("style", {}, STYLE), known, this.given, this.problem,
      this.answers, this.picture);
    this.ask("budget");
  }

  /** Show the fields of one question. */
  ask(what) {
    const fields = { budget: () => this.budgetFields(), machines: () => this.machineFields(),
      model: () => this.modelFields() }[what]();
    this.given.replaceChildren(...fields);
    this.answer();
  }

  budgetFields() {
    const typed = numberField("or type it", short(10 ** DECADES.value), () => {
      this.answer();
      if (!this.problem.textContent) decades.set(Math.log10(readNumber(typed.control.value)));
    });
    const decades = slider("Budget", DECADES, (power) => {
      typed.control.value = short(10 ** power);
      this.answer();
    }, (power) => `${short(10 ** power)} FLOPs`);
    this.read = () => ({ flops: readNumber(typed.control.value), speed: this.rules.speed,
      machine: ASSUMED });
    return [h("div", { class: "row" }, decades, typed)];
  }

  machineFields() {
    const share = 0.4;
    const update = () => this.answer();
    const count = numberField("Accelerators", "8", update);
    const hours = numberField("Hours", "168", update);
    const best = short(this.rules.speed / share);
    const speed = numberField("Operations a second, at best", best, update);
    const used = slider("Reached", { min: 1, max: 100, step: 1, value: 100 * share }, update,
      (percent) => `${percent} %`);
    this.read = () => {
      const machines = { count: readNumber(count.control.value),
        hours: readNumber(hours.control.value), speed: readNumber(speed.control.value),
        share: used.control.value / 100 };
      return { flops: machineFlops(machines), speed: machines.speed * machines.share,
        machine: "One of these machines" };
    };
    return [h("div", { class: "row" }, count, hours), h("div", { class: "row" }, speed, used)];
  }

  modelFields() {
    const update = () => this.answer();
    const [first] = this.models;
    const size = numberField("Parameters", "", update);
    const text = numberField("Tokens", "", update);
    const take = ({ parameters, tokens }) => {
      size.control.value = typable(parameters);
      text.control.value = typable(tokens);
    };
    take(first);
    const options = this.models.map(({ name, estimate }, i) =>
      [String(i), estimate ? `${name} (tokens: a bound)` : name]);
    const published = choice("A published model", options, (i) => {
      take(this.models[i]);
      this.answer();
    }, "0");
    this.read = () => {
      const [n, d] = [readNumber(size.control.value), readNumber(text.control.value)];
      return { n, d, ...this.rules.judge(n, d), speed: this.rules.speed, machine: ASSUMED };
    };
    return [published, h("div", { class: "row" }, size, text)];
  }

  /** Read the fields, and show what the rules say; name the field's mistake if there is one. */
  answer() {
    let asked;
    try {
      asked = this.read();
      this.problem.textContent = "";
    } catch (error) {
      this.problem.textContent = error.message;
      this.answers.replaceChildren();
      this.picture.replaceChildren();
      return;
    }
    const advice = this.rules.advise(asked.flops);
    const point = { flops: asked.flops, n: asked.n ?? advice[1].n };
    const range = this.rangeText(asked.flops);
    this.answers.replaceChildren(...(asked.n ? [this.judgement(asked)] : []),
      this.table(asked.flops, advice), this.timeText(asked), range);
    this.picture.replaceChildren(scalingPlot(this.rules, point,
      `Best parameters over training FLOPs, by three rules. You: ${short(asked.flops)} FLOPs, `
      + `${written(point.n)} parameters. ${range.textContent}`));
  }

  table(flops, advice) {
    const lines = {
      parameters: ({ n }) => written(n),
      tokens: ({ d }) => written(d),
      "tokens per parameter": ({ n, d }) => written(d / n),
      "loss (nats)": ({ n, d }) => this.rules.loss(n, d).toFixed(3),
    };
    const rows = Object.entries(lines).map(([name, write]) => h("tr", {},
      h("th", { scope: "row" }, name), ...advice.map((rule) => h("td", {}, write(rule)))));
    return h("table", { class: "rules" },
      h("caption", {}, `What three rules advise for ${short(flops)} FLOPs`),
      h("thead", {}, h("tr", {}, h("td"),
        ...advice.map(({ name }) => h("th", { scope: "col" }, this.names[name])))),
      h("tbody", {}, ...rows));
  }

  judgement({ flops, ratio, loss, lowest, share }) {
    const more = 100 * (loss / lowest - 1);
    return h("p", {}, `It cost ${short(flops)} FLOPs and read ${written(ratio)} tokens a `
      + "parameter. "
      + `By the refitted law its loss is ${loss.toFixed(3)} nats; the best division of the same `
      + `budget comes to ${lowest.toFixed(3)}. So it lies ${more.toFixed(1)} % above the lowest. `
      + `The best division would buy its loss for ${written(100 * share)} % of the budget, `
      + "counting training alone.");
  }

  timeText({ flops, speed, machine }) {
    return h("p", {}, `${machine} that does ${short(speed)} operations a second takes `
      + `${inDays(this.rules.days(flops, speed))}.`);
  }

  rangeText(flops) {
    const [low, high] = this.rules.fitted.map((value) => `1e${Math.log10(value)}`);
    const side = this.rules.side(flops);
    const range = `the fitted range, ${low} to ${high}`;
    const where = side ? `Outside ${range}, and ${side < 0 ? "below" : "above"} it: `
      + "the law is drawn on where nobody fitted it. " : `Inside ${range}. `;
    return h("p", {}, `${where}The law holds for one kind of text and one tokeniser.`);
  }
}

/** Write a time in days, and beside it in a unit that fits better. */
function inDays(days) {
  const units = [[365, "years"], [1, ""], [1 / 24, "hours"], [1 / 1440, "minutes"],
    [1 / 86_400, "seconds"]];
  const [size, unit] = units.find(([smallest]) => days >= smallest) ?? units.at(-1);
  return `${written(days)} days${unit ? `, that is ${written(days / size)} ${unit}` : ""}`;
}

/** Write a number as one would type it, with all its digits: 174.6 billion. */
function typable(number) {
  const [size, name] = number >= 1e12 ? [1e12, "trillion"] : [1e9, "billion"];
  return `${Number((number / size).toPrecision(12))} ${name}`;
}

/** A field for a number (its `control`), as text, since people write 5.76e23 and 70 billion. */
function numberField(name, value, oninput) {
  const control = h("input", { type: "text", inputmode: "text", autocomplete: "off",
    spellcheck: "false", value, oninput });
  return field(name, control);
}

define("pt-compute-budget", ComputeBudget);
