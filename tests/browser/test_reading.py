# SPDX-License-Identifier: MIT
"""What helps to read on: turning pages, progress, tables and formulas on a phone, few tab stops."""

import pytest
from playwright.sync_api import Page, expect
from visiting import Visitor

pytestmark = pytest.mark.slow

CHAPTER = "chapters/05_bert.html"
READ = ".bd-links a:has(.is-read)"
REACHED = """[...document.querySelectorAll("article :is(a, button, pre, math, div)")]
  .filter((one) => one.tabIndex >= 0 && one.checkVisibility())"""


def read_to_the_end(page: Page) -> None:
    page.locator(".prev-next-footer").scroll_into_view_if_needed()
    page.evaluate("scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    expect(page.locator(READ).first).to_be_attached()


class TestTurningPages:
    def test_arrow_keys_turn_pages(self, visit: Visitor):
        page = visit(CHAPTER).page
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**/05_bert_behind.html")
        page.keyboard.press("ArrowLeft")
        page.wait_for_url(f"**/{CHAPTER}")

    def test_a_focused_field_or_applet_keeps_its_arrows(self, visit: Visitor):
        page = visit(CHAPTER).page
        page.evaluate("document.querySelector('article').prepend(document.createElement('input'))")
        page.locator("article > input").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Control+k")
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(300)
        assert page.url.endswith(CHAPTER)

    @pytest.mark.parametrize("width", [1280, 390])
    def test_the_neighbours_are_at_the_top_too(self, visit: Visitor, width: int):
        page = visit(CHAPTER, width=width).page
        link = page.locator("a.turn-page[rel=next]")
        expect(link).to_be_in_viewport()
        expect(link).to_have_accessible_name("Next: Behind chapter 5: how it was judged")
        link.click()
        page.wait_for_url("**/05_bert_behind.html")


class TestProgress:
    def test_a_page_is_marked_once_it_was_read(self, visit: Visitor):
        page = visit(CHAPTER).page
        expect(page.locator(READ)).to_have_count(0)
        read_to_the_end(page)
        page.goto(page.url.replace("05_bert", "06_t5"))
        expect(page.locator(READ)).to_have_count(1)
        expect(page.locator(READ)).to_contain_text("(read)")

    def test_a_reader_who_returns_may_go_on(self, visit: Visitor):
        page = visit(CHAPTER).page
        hook = '<a data-continue hidden href="#">Go on</a>'
        page.route(
            "**/chapters/index.html",
            lambda route: route.fulfill(
                response=(answer := route.fetch()),
                body=answer.text().replace("<article", f"{hook}<article", 1),
            ),
        )
        page.goto(page.url.replace("05_bert", "index"))
        link = page.locator("a[data-continue]").first
        expect(link).to_be_visible()
        expect(link).to_contain_text("Continue where you left: 5 BERT")
        link.click()
        page.wait_for_url(f"**/{CHAPTER}")

    def test_a_first_visit_offers_nothing(self, visit: Visitor):
        page = visit("chapters/index.html").page
        expect(page.locator("a[data-continue]:not([hidden])")).to_have_count(0)


class TestTabStops:
    def test_only_what_scrolls_or_acts_is_a_stop(self, visit: Visitor):
        page = visit(CHAPTER).page
        page.wait_for_load_state("load")
        wrong = page.evaluate(
            f"""{REACHED}.filter((one) => one.matches(".headerlink, .copybtn, math") ||
              (one.matches("pre, div") && one.scrollWidth <= one.clientWidth &&
               one.scrollHeight <= one.clientHeight)).map((one) => one.outerHTML.slice(0, 80))"""
        )
        assert wrong == []
        assert page.evaluate(f"{REACHED}.length") > 20

    def test_what_scrolls_fades_at_the_edge_behind_which_there_is_more(self, visit: Visitor):
        page = visit(CHAPTER, width=390).page
        box = page.locator("article pre.more-right").first
        box.evaluate("(one) => { one.scrollLeft = one.scrollWidth; }")
        expect(page.locator("article pre.more-left:not(.more-right)").first).to_be_attached()


class TestPhone:
    @pytest.mark.parametrize(
        "name", ["02_transformer_toolkit", "05_bert", "09_fine_tuning", "13_scaling"]
    )
    def test_displays_fit_or_scroll_beside_their_number(self, visit: Visitor, name: str):
        page = visit(f"chapters/{name}.html", width=390).page
        wide = page.evaluate(
            """[...document.querySelectorAll("div.math")].filter((one) => {
              const box = one.querySelector(".formula").getBoundingClientRect();
              const number = one.querySelector(".eqno")?.getBoundingClientRect();
              return box.right > 390 || (number && (number.left < box.right || number.right > 390));
            }).map((one) => one.id)"""
        )
        assert wide == []
        cut = page.evaluate(
            """[...document.querySelectorAll(".formula")].filter(
              (one) => one.scrollWidth > one.clientWidth + 2).map((one) => one.textContent)"""
        )
        assert cut == []

    @pytest.mark.parametrize("name", ["91_specifications", "12_choosing"])
    def test_captions_stay_in_the_window(self, visit: Visitor, name: str):
        page = visit(f"chapters/{name}.html", width=390).page
        outside = page.evaluate(
            """[...document.querySelectorAll("article table > caption")].filter((one) => {
              const { left, right, width } = one.getBoundingClientRect();
              return width && (left < 0 || right > innerWidth);
            }).map((one) => one.textContent)"""
        )
        assert outside == []

    def test_a_low_window_is_left_to_the_text(self, visit: Visitor):
        style = "getComputedStyle(document.querySelector('.bd-header-article')).position"
        assert visit(CHAPTER, height=400).page.evaluate(style) == "static"
        assert visit(CHAPTER).page.evaluate(style) == "sticky"


def test_folded_code_is_not_printed(visit: Visitor):
    page = visit(CHAPTER).page
    page.emulate_media(media="print")
    folds = page.locator("article div.cell details.hide")
    expect(folds.first).to_be_hidden()
    folds.first.evaluate("(fold) => { fold.open = true; }")
    expect(folds.first).to_be_visible()
