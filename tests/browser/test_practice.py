# SPDX-License-Identifier: MIT
"""Quizzes and exercises are answered in the page: by mouse, by keys, kept, printed, without
scripts."""

import json
from pathlib import Path

import pytest
from axe import axe_complaints
from playwright.sync_api import Locator, Page, expect
from visiting import Visitor

QUIZZES, EXERCISES = "chapters/14_efficiency.html", "chapters/04_gpt_exercises.html"
OBJECTIVE = {"text": "1/16", "bits": "4", "loss": "1.4", "contexts": "4/3 1.5", "best": "0.951"}
FORBID_STORAGE = """Object.defineProperty(window, "localStorage", {
  get() { throw new DOMException("The operation is insecure.", "SecurityError"); } });"""
FILL_STORAGE = """Storage.prototype.setItem = () => {
  throw new DOMException("It is full.", "QuotaExceededError"); };"""


def options(quiz: Locator) -> tuple[list[Locator], Locator]:
    """Return the radio buttons of the wrong options, and that of the right one."""
    boxes = quiz.locator("div.quiz-option").all()
    is_right = ["Right." in box.locator(".quiz-why").text_content() for box in boxes]
    assert is_right.count(True) == 1
    radios = [box.locator("input") for box in boxes]
    wrong = [radio for radio, right in zip(radios, is_right, strict=True) if not right]
    return wrong, radios[is_right.index(True)]


def answer(quiz: Locator, radio: Locator) -> None:
    """Choose an option and check it."""
    radio.check()
    quiz.get_by_role("button", name="Check").click()


def fill(form: Locator, values: dict[str, str]) -> None:
    """Write into the fields of an exercise, by the names of its parts."""
    for name, value in values.items():
        form.get_by_label(name, exact=False).first.fill(value)


def form_of(page: Page, label: str) -> Locator:
    """Find the form of an exercise."""
    return page.locator(f'form.answer[data-exercise="{label}"]')


class TestQuiz:
    def test_one_chooses_and_is_then_told_why(self, visit: Visitor):
        page = visit(QUIZZES).page
        quiz = page.locator(".quiz").first
        n_quizzes = page.locator(".quiz").count()
        wrong, right = options(quiz)
        expect(quiz.locator(".quiz-why:visible")).to_have_count(0)
        wrong[0].check()
        expect(quiz.locator(".quiz-why:visible")).to_have_count(0)
        answer(quiz, wrong[0])
        expect(quiz.locator(".quiz-why:visible")).to_have_count(1)
        expect(quiz.get_by_role("status")).to_contain_text("is not right")
        expect(quiz.locator(".practice-score")).to_have_text(f"0 of {n_quizzes} right on this page")
        answer(quiz, right)
        expect(quiz.get_by_role("status")).to_contain_text("is right.")
        expect(quiz.locator(".practice-score")).to_have_text(f"1 of {n_quizzes} right on this page")
        quiz.get_by_role("button", name="Why not the others?").click()
        expect(quiz.locator(".quiz-why:visible")).to_have_count(len(wrong) + 1)

    def test_the_options_keep_their_order(self, visit: Visitor):
        letters = visit(QUIZZES).page.locator(".quiz").first.locator(".quiz-letter")
        assert letters.all_text_contents() == ["A.", "B.", "C.", "D."][: letters.count()]

    def test_an_answer_is_kept_until_one_tries_again(self, visit: Visitor):
        page = visit(QUIZZES).page
        quiz = page.locator(".quiz").first
        _, right = options(quiz)
        answer(quiz, right)
        page.reload()
        expect(options(quiz)[1]).to_be_checked()
        expect(quiz.get_by_role("status")).to_contain_text("is right.")
        quiz.get_by_role("button", name="Try again").click()
        expect(quiz.locator("input:checked")).to_have_count(0)
        expect(quiz.locator(".quiz-why:visible")).to_have_count(0)
        expect(quiz.locator(".practice-score")).to_have_text("")
        page.reload()
        expect(quiz.locator("input:checked")).to_have_count(0)
        assert page.evaluate("localStorage.getItem('pretrain-book:practice:14_efficiency')") is None

    def test_keys_alone_do(self, visit: Visitor):
        page = visit(QUIZZES).page
        quiz = page.locator(".quiz").first
        quiz.locator("input").first.focus()
        page.keyboard.press("Space")
        page.keyboard.press("ArrowDown")
        expect(quiz.locator("input").nth(1)).to_be_checked()
        expect(quiz.get_by_role("status")).to_have_text("")  # an arrow is no answer
        page.keyboard.press("Tab")
        expect(quiz.get_by_role("button", name="Check")).to_be_focused()
        page.keyboard.press("Enter")
        expect(quiz.get_by_role("status")).not_to_have_text("")
        assert page.evaluate("document.activeElement.checkVisibility()")

    def test_a_check_without_a_choice_says_so(self, visit: Visitor):
        quiz = visit(QUIZZES).page.locator(".quiz").first
        quiz.get_by_role("button", name="Check").click()
        expect(quiz.get_by_role("status")).to_have_text("Choose an answer first.")

    def test_paper_shows_what_is_said_of_each_option(self, visit: Visitor):
        page = visit(QUIZZES).page
        page.emulate_media(media="print")
        quiz = page.locator(".quiz").first
        expect(quiz.locator(".quiz-why:visible")).to_have_count(quiz.locator(".quiz-why").count())
        expect(quiz.locator("button:visible, input:visible")).to_have_count(0)


class TestExercise:
    def test_hint_then_solution_then_right(self, visit: Visitor):
        page = visit(EXERCISES).page
        form = form_of(page, "ex-gpt-objective")
        check, status = form.get_by_role("button", name="Check"), form.get_by_role("status")
        check.click()
        expect(status).to_have_text("Write your answer first.")
        fill(form, {"bits": "-4"})
        check.click()
        expect(status).to_contain_text("Not yet: (bits) the logarithm of a probability")
        form.get_by_role("button", name="Show the hint").click()
        expect(page.locator("#ex-gpt-objective-hint")).to_have_attribute("open", "")
        check.click()
        form.get_by_role("button", name="Show the solution").click()
        expect(page.locator(".solution").first).not_to_have_class("toggle-hidden")
        expect(form.get_by_role("button", name="Show the solution")).to_have_count(0)
        fill(form, OBJECTIVE)
        check.click()
        expect(status).to_contain_text("Right. The loss is the cross-entropy")
        expect(form.locator(".answer-help")).to_be_hidden()

    def test_enter_checks_and_what_was_written_is_kept(self, visit: Visitor):
        page = visit(EXERCISES).page
        form = form_of(page, "ex-gpt-objective")
        fill(form, {"text": "0.0625"})
        page.keyboard.press("Enter")
        expect(form.get_by_role("status")).to_contain_text("So far right: (text).")
        page.reload()
        expect(form.get_by_label("text").first).to_have_value("0.0625")
        expect(form.get_by_role("status")).to_contain_text("So far right: (text).")

    def test_an_exercise_of_one_part_is_kept_too(self, visit: Visitor):
        page = visit("chapters/02_transformer_toolkit_exercises.html").page
        form = form_of(page, "ex-trf-count")
        form.get_by_label("Your answer").fill("116,534,784")
        page.keyboard.press("Enter")
        expect(form.get_by_role("status")).to_contain_text("Right.")
        page.reload()
        expect(form.get_by_role("status")).to_contain_text("Right.")

    def test_typing_takes_an_old_verdict_away(self, visit: Visitor):
        form = form_of(visit(EXERCISES).page, "ex-gpt-objective")
        fill(form, {"text": "7"})
        form.get_by_role("button", name="Check").click()
        expect(form).to_have_attribute("data-state", "wrong")
        fill(form, {"text": "8"})
        expect(form.get_by_role("status")).to_have_text("")

    def test_paper_has_no_fields(self, visit: Visitor):
        page = visit(EXERCISES).page
        page.emulate_media(media="print")
        expect(page.locator("form.answer:visible")).to_have_count(0)


class TestMemory:
    def test_counts_and_event(self, visit: Visitor):
        page = visit(EXERCISES).page
        page.evaluate("document.addEventListener('practice', (e) => (window.told = e.detail))")
        form = form_of(page, "ex-gpt-objective")
        fill(form, OBJECTIVE)
        form.get_by_role("button", name="Check").click()
        total = page.locator("form.answer").count()
        told = {"page": "04_gpt_exercises", "total": total, "answered": 1, "right": 1}
        assert page.evaluate("window.told") == told
        assert page.evaluate("practiceMemory.counts('04_gpt_exercises')") == told
        assert page.evaluate("practiceMemory.pages()") == ["04_gpt_exercises"]
        record = page.evaluate("localStorage.getItem('pretrain-book:practice:04_gpt_exercises')")
        given = {"ex-gpt-objective": {"answer": OBJECTIVE, "right": True}}
        assert json.loads(record) == {"total": total, "given": given}

    def test_another_page_reads_the_counts(self, visit: Visitor):
        page = visit(EXERCISES).page
        form = form_of(page, "ex-gpt-objective")
        fill(form, {"text": "9"})
        form.get_by_role("button", name="Check").click()
        total = page.locator("form.answer").count()
        page.goto(page.url.replace(EXERCISES, QUIZZES))
        counts = page.evaluate("practiceMemory.counts('04_gpt_exercises')")
        assert counts == {"page": "04_gpt_exercises", "total": total, "answered": 1, "right": 0}

    @pytest.mark.parametrize("script", [FORBID_STORAGE, FILL_STORAGE])
    def test_a_browser_that_keeps_nothing(self, script: str, visit: Visitor):
        page = visit(QUIZZES, may_fail=True).page  # the theme does not mind its errors
        page.add_init_script(script)
        page.reload()
        quiz = page.locator(".quiz").first
        answer(quiz, options(quiz)[1])
        expect(quiz.get_by_role("status")).to_contain_text("is right.")
        expect(quiz.locator(".practice-score")).to_contain_text("1 of ")

    @pytest.mark.parametrize("text", ["no JSON", "null", "7", '{"given": 3}', "[]"])
    def test_a_spoiled_record_is_as_none(self, text: str, visit: Visitor):
        page = visit(QUIZZES).page
        page.evaluate(
            "(text) => localStorage.setItem('pretrain-book:practice:14_efficiency', text)", text
        )
        page.reload()
        quiz = page.locator(".quiz").first
        expect(quiz.locator("input:checked")).to_have_count(0)
        answer(quiz, options(quiz)[1])
        expect(quiz.get_by_role("status")).to_contain_text("is right.")

    def test_a_page_from_the_disk(self, visit: Visitor, html: Path):
        page = visit((html / EXERCISES).as_uri()).page
        form = form_of(page, "ex-gpt-objective")
        fill(form, OBJECTIVE)
        form.get_by_role("button", name="Check").click()
        expect(form.get_by_role("status")).to_contain_text("Right.")


class TestEveryReader:
    def test_without_scripts_options_are_folds_and_fields_lead_to_the_notebook(
        self, visit: Visitor
    ):
        page = visit(QUIZZES, javascript=False).page
        expect(page.locator("details.quiz-option").first).to_be_visible()
        expect(page.locator(".quiz-foot:visible")).to_have_count(0)
        page = visit(EXERCISES, javascript=False).page
        expect(page.locator("form.answer:visible")).to_have_count(0)
        n_exercises = page.locator(".admonition.exercise, .exercise.admonition").count()
        expect(page.locator(".answer-elsewhere:visible")).to_have_count(n_exercises)

    @pytest.mark.parametrize("width", [1280, 390])
    @pytest.mark.parametrize("forced", ["none", "active"])
    def test_axe_finds_nothing_in_what_was_answered(self, width: int, forced: str, visit: Visitor):
        page = visit(QUIZZES, width=width).page
        page.emulate_media(forced_colors=forced)
        quiz = page.locator(".quiz").first
        wrong, right = options(quiz)
        answer(quiz, wrong[0])
        answer(quiz, right)
        assert axe_complaints(page, ".quiz") == []
        page.goto(page.url.replace(QUIZZES, EXERCISES))
        form = form_of(page, "ex-gpt-objective")
        fill(form, {"bits": "-4"})
        form.get_by_role("button", name="Check").click()
        assert axe_complaints(page, "form.answer") == []
        assert axe_complaints(page, "details.hint") == []

    @pytest.mark.parametrize("width", [1280, 390])
    def test_a_question_keeps_its_size_when_the_script_comes(self, width: int, visit: Visitor):
        heights = []
        for missing in (["**/quiz.js*"], []):
            page = visit(QUIZZES, width=width, missing=missing, may_fail=True).page
            boxes = page.locator(".quiz").all()
            heights.append([box.bounding_box()["height"] for box in boxes])
            assert page.locator("details.quiz-option").count() == 0 or missing
        assert heights[0] == pytest.approx(heights[1], abs=1)
