// SPDX-License-Identifier: MIT
// A quiz question: choose an answer, check it, and be told why. Without this script its options
// are folds (`book_pages.directives.quizzes`); here each becomes a radio button, in the same order.
(() => {
  "use strict";
  const memory = globalThis.practiceMemory;

  function element(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  /** Turn one fold into a radio button with its explanation below, hidden for now. */
  function option(fold, group) {
    const letter = fold.dataset.letter;
    const radio = element("input", { type: "radio", name: group, value: letter });
    const label = element("label", { className: "quiz-choice" }, radio, ...fold.querySelector("summary").childNodes);
    const why = fold.querySelector(".quiz-why");
    why.hidden = true;
    const box = element("div", { className: "quiz-option" }, label, why);
    return { letter, radio, box, why, isRight: fold.classList.contains("quiz-right") };
  }

  function start(quiz) {
    const folds = [...quiz.querySelectorAll("details.quiz-option")];
    const title = quiz.querySelector(".quiz-title");
    const options = folds.map((fold) => option(fold, quiz.id));
    const legend = element("legend", { className: "quiz-legend", textContent: `Answers to ${title.firstChild.textContent.trim()}` });
    const fields = element("fieldset", { className: "quiz-options" }, legend, ...options.map(({ box }) => box));
    folds[0].before(fields);
    for (const fold of folds) fold.remove();

    const check = element("button", { type: "button", textContent: "Check" });
    const others = element("button", { type: "button", textContent: "Why not the others?", hidden: true });
    const again = element("button", { type: "button", textContent: "Try again", hidden: true });
    const verdict = element("span", { className: "quiz-verdict" });
    verdict.setAttribute("role", "status");
    quiz.querySelector(".quiz-foot").append(check, others, again, verdict);

    const chosen = () => options.find(({ radio }) => radio.checked);

    /** Show what follows from an answer. */
    function show({ letter, box, why, isRight }) {
      box.dataset.state = isRight ? "right" : "wrong";
      why.hidden = false;
      check.hidden = isRight;
      others.hidden = !isRight;
      again.hidden = !isRight;
      verdict.textContent = isRight ? `${letter} is right.` : `${letter} is not right: read why, and choose again.`;
    }

    /** Begin as if nothing had been answered. */
    function clear() {
      for (const { radio, box, why } of options) {
        radio.checked = false;
        why.hidden = true;
        delete box.dataset.state;
      }
      check.hidden = false;
      others.hidden = again.hidden = true;
      verdict.textContent = "";
    }

    check.addEventListener("click", () => {
      const answer = chosen();
      if (!answer) {
        verdict.textContent = "Choose an answer first.";
        return;
      }
      const hadFocus = document.activeElement === check;
      memory.keep(quiz.id, answer.letter, answer.isRight);
      show(answer);
      if (hadFocus && check.hidden) others.focus();
    });
    others.addEventListener("click", () => {
      for (const { why } of options) why.hidden = false;
      others.hidden = true;
      again.focus();
    });
    again.addEventListener("click", () => {
      memory.forget(quiz.id);
      clear();
      options[0].radio.focus();
    });
    fields.addEventListener("change", () => {
      if (chosen().isRight && chosen().box.dataset.state) return;
      check.hidden = false;
      others.hidden = again.hidden = true;
      verdict.textContent = "";
    });

    const kept = options.find(({ letter }) => letter === memory.given(quiz.id)?.answer);
    if (kept) {
      kept.radio.checked = true;
      show(kept);
    }
  }

  const quizzes = [...document.querySelectorAll(".quiz")];
  memory.expect(quizzes.length);
  for (const quiz of quizzes) start(quiz);
})();
