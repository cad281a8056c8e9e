// SPDX-License-Identifier: MIT
// The fields below an exercise: check what was written, name a common mistake, offer the hint and
// then the solution. `answer-rules.js` judges; what was written is kept (`practice-memory.js`).
(() => {
  "use strict";
  const memory = globalThis.practiceMemory;

  /** The solution that follows a form, before the next exercise; nothing where it was left out. */
  function solutionAfter(form) {
    let next = form.nextElementSibling;
    while (next && !next.matches(".exercise, .solution")) next = next.nextElementSibling;
    return next?.matches(".solution") ? next : null;
  }

  function start(form) {
    const id = form.dataset.exercise;
    const rule = JSON.parse(form.dataset.rule);
    const verdict = form.querySelector(".answer-verdict");
    const help = form.querySelector(".answer-help");
    const hint = document.getElementById(`${id}-hint`);
    const solution = solutionAfter(form);
    const fields = form.querySelectorAll("input, select, textarea"); // in the order of the parts

    /** What stands in the fields, by the names of the parts. */
    const written = () => Object.fromEntries(rule.parts.map(({ name }, n) => [name, fields[n].value]));

    function button(words, act) {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = words;
      made.addEventListener("click", () => {
        act();
        offerHelp(true);
      });
      return made;
    }

    function openHint() {
      hint.open = true;
      hint.querySelector("summary").focus();
    }

    function openSolution() {
      const toggle = solution.querySelector("button.toggle-button");
      if (solution.classList.contains("toggle-hidden")) toggle?.click();
      solution.scrollIntoView({ block: "nearest" });
      toggle?.focus({ preventScroll: true });
    }

    /** After a wrong answer, offer the hint; to a reader who has it, the solution. */
    function offerHelp(isWrong) {
      const offers = [];
      if (isWrong && hint && !hint.open) offers.push(button("Show the hint", openHint));
      else if (isWrong && solution?.classList.contains("toggle-hidden")) {
        offers.push(button("Show the solution", openSolution));
      }
      help.replaceChildren(...offers);
      help.hidden = !offers.length;
    }

    function show({ state, line }) {
      form.dataset.state = state;
      verdict.textContent = line;
      offerHelp(state === "wrong");
    }

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const answer = written();
      const judged = answerRules.judge(rule, answer);
      if (judged.state !== "open") memory.keep(id, answer, judged.state === "right");
      show(judged);
    });
    form.addEventListener("input", () => {
      delete form.dataset.state;
      verdict.textContent = "";
    });

    const kept = memory.given(id);
    if (kept) {
      for (const [n, { name }] of rule.parts.entries()) fields[n].value = kept.answer?.[name] ?? "";
      show(answerRules.judge(rule, written()));
    }
  }

  const forms = [...document.querySelectorAll("form.answer")];
  memory.expect(forms.length);
  for (const form of forms) start(form);
})();
