// SPDX-License-Identifier: MIT
/** The compute-optimal calculator: a budget, a machine, or a model and its text. */
import { checked, machineFlops, readNumber, ScalingRules, short, written } from "./engine/scaling.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { choice, field, h, slider } from "./ui/controls.mjs";
import { onDrag } from "./ui/dragging.mjs";
import { getJson } from "./ui/files.mjs";
import { lossValley, sizeAt, VALLEY_STYLE } from "./ui/loss-valley.mjs";
import { budgetAt, PLOT_STYLE, scalingPlot } from "./ui/scaling-plot.mjs";

const DECADES = { min: 15, max: 27, step: 0.1, value: 21 };
const BUDGETS = [10 ** DECADES.min, 10 ** DECADES.max];
const SIZES = [1e3, 1e15]; // parameters, and tokens
const ASSUMED = "One assumed accelerator";
const STYLE = `${PLOT_STYLE}${VALLEY_STYLE}
.rules { width: 100%; }
.rules td, .rules th { padding: .2rem .35rem; }
.rules :is(td, th):not(:first-child) { text-align: right; }
.rules tbody th { font-weight: 400; }
.rules caption { text-align: left; }
@media (max-width: 30rem) {
  .rules { font-size: .85em; }
  .rules td, .rules th { padding: .2rem .15rem; }
}
.given, .answers, .detail { display: grid; gap: .75rem; grid-template-columns: minmax(0, 1fr); }
`;

class ComputeBudget extends Applet {
  static offer = "Divide a budget of your own";
  static room = [1465, 1332];

  async build(panel) {
    const said = await getJson("scaling_rules.json");
    this.rules = new ScalingRules(said);
    this.models = said.models;
    this.names = { constant: `${this.rules.ratio} a parameter`,
      refitted: "refitted law", kaplan: `slope ${this.rules.kaplan.slope}` };
    this.given = h("div", { class: "given" });
    this.problem = h("p", { class: "error", role: "alert" });
    this.advice = h("p", { role: "status" });
    this.valley = h("div");
    this.split = h("p", { role: "status" });
    this.sizes = slider("Parameters", { min: -2, max: 2, step: 0.02, value: 0 },
      (power) => this.divide(this.rules.bestSize(this.asked.flops) * 10 ** power),
      () => written(this.n ?? 1));
    this.picture = h("div");
    this.details = h("div", { class: "detail" });
    this.answers = h("div", { class: "answers" }, this.advice, this.valley, this.sizes, this.split,
      this.details, this.picture);
    onDrag(this.valley, (x) => this.divide(sizeAt(x, this.rules.bestSize(this.asked.flops))));
    onDrag(this.picture, (x) => this.setBudget(budgetAt(x)));
    this.known = choice("What do you know?", [["budget", "a budget of operations"],
      ["machines", "machines and hours"], ["model", "a model and its text"]],
    (value) => this.ask(value), "budget");
    const known = this.state.get("know");
    panel.replaceChildren(h("style", {}, STYLE), this.known, this.given, this.problem, this.answers);
    if (["budget", "machines", "model"].includes(known)) this.known.control.value = known;
    this.ask(this.known.control.value, this.state);
  }

  /** Show the fields of one question, with what the address says of them. */
  ask(what, state = new URLSearchParams()) {
    this.setBudget = () => {};
    const fields = { budget: () => this.budgetFields(), machines: () => this.machineFields(),
      model: () => this.modelFields() }[what]();
    this.given.replaceChildren(...fields);
    for (const [name, input] of Object.entries(this.inputs)) {
      if (!state.has(name)) continue;
      input.value = state.get(name);
      input.dispatchEvent(new Event("input"));
    }
    this.answer();
  }

  /** A field was changed by the reader. */
  change() {
    this.answer();
    const values = Object.entries(this.inputs).map(([name, input]) => [name, input.value]);
    this.keep({ know: this.known.control.value, ...Object.fromEntries(values) });
  }

  budgetFields() {
    const read = () => readNumber(typed.control.value, BUDGETS, "FLOPs");
    const typed = numberField("or type it", short(10 ** DECADES.value), () => {
      this.change();
      if (!this.problem.textContent) decades.set(Math.log10(read()));
    });
    const take = (power) => {
      typed.control.value = short(10 ** power);
      this.change();
    };
    const decades = slider("Budget", DECADES, take, (power) => `${short(10 ** power)} FLOPs`);
    this.setBudget = (flops) => {
      decades.set(Math.log10(flops));
      take(Math.log10(flops));
    };
    this.inputs = { budget: typed.control };
    this.read = () => ({ flops: read(), speed: this.rules.speed, machine: ASSUMED });
    return [h("div", { class: "row" }, decades, typed)];
  }

  machineFields() {
    const share = 0.4;
    const update = () => this.change();
    const count = numberField("Accelerators", "8", update);
    const hours = numberField("Hours", "168", update);
    const best = short(this.rules.speed / share);
    const speed = numberField("Operations a second, at best", best, update);
    const used = slider("Reached", { min: 1, max: 100, step: 1, value: 100 * share }, update,
      (percent) => `${percent} %`);
    this.inputs = { count: count.control, hours: hours.control, speed: speed.control,
      reached: used.control };
    this.read = () => {
      const machines = { count: readNumber(count.control.value),
        hours: readNumber(hours.control.value), speed: readNumber(speed.control.value),
        share: used.control.value / 100 };
      return { flops: checked(machineFlops(machines), BUDGETS, "FLOPs"),
        speed: machines.speed * machines.share, machine: "One of these machines" };
    };
    return [h("div", { class: "row" }, count, hours), h("div", { class: "row" }, speed, used)];
  }

  modelFields() {
    const update = () => this.change();
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
      this.change();
    }, "0");
    this.inputs = { parameters: size.control, tokens: text.control };
    this.read = () => {
      const [n, d] = [readNumber(size.control.value, SIZES, "parameters"),
        readNumber(text.control.value, SIZES, "tokens")];
      return { n, d, ...this.rules.judge(n, d), speed: this.rules.speed, machine: ASSUMED };
    };
    return [published, h("div", { class: "row" }, size, text)];
  }

  /** Read the fields, and show what the rules say; name the field's mistake if there is one. */
  answer() {
    try {
      this.asked = this.read();
      this.problem.textContent = "";
    } catch (error) {
      this.problem.textContent = error.message;
    }
    this.answers.hidden = Boolean(this.problem.textContent);
    if (this.answers.hidden) return;
    const { flops, n } = this.asked;
    const advice = this.rules.advise(flops);
    const [, best] = advice;
    const range = this.rangeText(flops);
    this.advice.replaceChildren(...(n ? this.judgement(this.asked) : ["Best, by the refitted law: ",
      h("strong", {}, `${written(best.n)} parameters on ${written(best.d)} tokens`), ". ",
      this.timeText(this.asked)]));
    this.details.replaceChildren(this.table(flops, advice), range);
    this.picture.replaceChildren(scalingPlot(this.rules, { flops, n: n ?? best.n },
      `Best parameters over training FLOPs, by three rules. You: ${short(flops)} FLOPs, `
      + `${written(n ?? best.n)} parameters. ${range.textContent}`));
    this.divide(n ?? best.n);
  }

  /** Mark a division of the budget, and say what it comes to. */
  divide(n) {
    this.n = n;
    const { flops } = this.asked;
    const [, best, kaplan] = this.rules.advise(flops);
    const d = this.rules.tokens(n, flops);
    const [loss, lowest] = [this.rules.loss(n, d), this.rules.lowestLoss(flops)];
    this.split.textContent = `Drag along the valley: ${written(n)} parameters read ${written(d)} `
      + `tokens for this budget, and the loss is ${loss.toFixed(3)} nats, `
      + `${(100 * (loss / lowest - 1)).toFixed(1)} % above the lowest.`;
    this.sizes.set(Math.log10(n / best.n));
    this.valley.replaceChildren(lossValley(this.rules, flops, n,
      [{ name: this.names.kaplan, n: kaplan.n }], this.split.textContent));
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

  judgement({ flops, ratio, loss, lowest, share, ...rest }) {
    const more = 100 * (loss / lowest - 1);
    return [`It cost ${short(flops)} FLOPs and read ${written(ratio)} tokens a parameter. `
      + `By the refitted law its loss is ${loss.toFixed(3)} nats; the best division of the same `
      + `budget comes to ${lowest.toFixed(3)}. So it lies ${more.toFixed(1)} % above the lowest. `
      + `The best division would buy its loss for ${written(100 * share)} % of the budget, `
      + "counting training alone. ", this.timeText({ flops, ...rest })];
  }

  timeText({ flops, speed, machine }) {
    return `${machine} that does ${short(speed)} operations a second takes `
      + `${inDays(this.rules.days(flops, speed))}.`;
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
