# SPDX-License-Identifier: MIT
"""What stands around the text: previews of links, the page 404, copying, printing, downloading."""

import gzip
import http.server
import json
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from axe import axe_complaints
from playwright.sync_api import Browser, Locator, Page, expect
from visiting import Visitor

pytestmark = pytest.mark.slow

CHAPTER = "chapters/05_bert.html"
CITATION = "article a.internal[href^='bibliography.html#']"
FIGURE = "article a.internal[href='#fig-brt-top8']"
EQUATION = "article a.internal[href='#equation-eq-brt-mlm']"
TABLE = "article a.internal[href='#tab-brt-six']"
TERM = "article a.glossary-link"
KIB = 1024


@pytest.fixture
def chapter(visit: Visitor) -> Page:
    """A chapter in a wide window."""
    return visit(CHAPTER).page


def card(page: Page) -> Locator:
    return page.locator("#link-preview")


def pointed(page: Page, selector: str) -> Locator:
    """Point at a link with the mouse, and wait for its card."""
    link = away_from_its_target(page, selector)
    link.hover()
    expect(card(page)).to_be_visible()
    expect(link).to_have_attribute("aria-describedby", "link-preview")
    return link


def away_from_its_target(page: Page, selector: str) -> Locator:
    """Scroll a link to an edge of the window, so that what it leads to is out of sight."""
    link = page.locator(selector).first
    link.evaluate(
        """(link) => {
          const name = decodeURIComponent(link.hash.slice(1));
          const target = document.getElementById(name);
          const isBelow = target && link.compareDocumentPosition(target) & 4;
          const bar = document.querySelector(".bd-header-article").offsetHeight;
          const wanted = isBelow ? innerHeight - 60 : bar + 12;
          scrollBy({ top: link.getBoundingClientRect().top - wanted, behavior: "instant" });
        }"""
    )
    return link


def focused(page: Page, selector: str) -> Locator:
    """Reach a link by keyboard, with the tabulator from the link's own place."""
    link = away_from_its_target(page, selector)
    link.evaluate(
        """(link) => {
          const start = document.createElement("button");
          link.before(start);
          start.focus();
        }"""
    )
    page.keyboard.press("Tab")
    expect(link).to_be_focused()
    return link


def distance(page: Page, link: Locator) -> float:
    """From the top of the link to the top of its card, in pixels."""
    here, there = link.bounding_box(), card(page).bounding_box()
    assert here is not None
    assert there is not None
    return there["y"] - here["y"]


def frames_later(page: Page) -> None:
    """Let the page draw itself twice, so that it has seen what changed."""
    page.evaluate("new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)))")


def assert_inside_window(page: Page) -> None:
    box, window = card(page).bounding_box(), page.viewport_size
    assert box is not None
    assert window is not None
    assert box["x"] >= 0
    assert box["y"] >= 0
    assert box["x"] + box["width"] <= window["width"]
    assert box["y"] + box["height"] <= window["height"]


class TestPreviews:
    @pytest.mark.parametrize(
        ("selector", "inside"),
        [
            (CITATION, "p"),
            (FIGURE, "figure :is(img, svg)"),
            (EQUATION, "math"),
            (TABLE, "table td"),
            (TERM, "dd"),
        ],
    )
    def test_the_mouse_shows_what_a_link_leads_to(self, chapter: Page, selector: str, inside: str):
        pointed(chapter, selector)
        expect(card(chapter).locator(inside).first).to_be_visible()
        assert card(chapter).get_attribute("role") == "tooltip"

    def test_nothing_is_fetched_before_a_link_is_pointed_at(self, visit: Visitor):
        page = visit("chapters/07_worldview.html").page
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        cards = page.locator("script[src*='_static/previews/']")
        expect(cards).to_have_count(0)
        pointed(page, CITATION)
        expect(cards).to_have_count(1)
        assert [url for url in asked if "/previews/" in url] != []

    def test_what_is_in_sight_needs_no_card(self, chapter: Page):
        link = chapter.locator(EQUATION).first
        chapter.locator("#equation-eq-brt-mlm").scroll_into_view_if_needed()
        link.scroll_into_view_if_needed()
        expect(chapter.locator("#equation-eq-brt-mlm")).to_be_in_viewport(ratio=1)
        link.hover()
        chapter.wait_for_timeout(800)
        expect(card(chapter)).to_be_hidden()

    def test_a_link_to_a_chapter_shows_its_beginning(self, chapter: Page):
        pointed(chapter, "article p a.internal[href='04_gpt.html']")
        expect(card(chapter)).to_contain_text("4 GPT")

    def test_the_pointer_may_move_onto_the_card(self, chapter: Page):
        pointed(chapter, CITATION)
        box = card(chapter).bounding_box()
        assert box is not None
        chapter.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
        chapter.wait_for_timeout(400)  # longer than the card stays without a pointer
        expect(card(chapter)).to_be_visible()
        chapter.mouse.move(5, 5)
        expect(card(chapter)).to_be_hidden()
        expect(chapter.locator("[aria-describedby=link-preview]")).to_have_count(0)

    def test_a_passing_pointer_shows_nothing(self, chapter: Page):
        chapter.locator(CITATION).first.evaluate(
            """(link) => {
              window.shown = 0;
              const card = document.querySelector("#link-preview");
              new MutationObserver(() => { window.shown += !card.hidden; })
                .observe(card, { attributes: true });
              const point = (target) => target.dispatchEvent(
                new PointerEvent("pointerover", { bubbles: true, pointerType: "mouse" }));
              point(link);
              point(document.body); // in the same moment, so that no clock decides
            }"""
        )
        chapter.wait_for_timeout(800)
        assert chapter.evaluate("window.shown") == 0

    def test_the_keyboard_shows_and_escape_dismisses(self, chapter: Page):
        link = focused(chapter, CITATION)
        expect(card(chapter)).to_be_visible()
        expect(link).to_have_attribute("aria-describedby", "link-preview")
        chapter.keyboard.press("Escape")
        expect(card(chapter)).to_be_hidden()
        expect(link).to_be_focused()

    def test_moving_on_takes_the_card_away(self, chapter: Page):
        focused(chapter, CITATION)
        expect(card(chapter)).to_be_visible()
        chapter.locator("article h1").evaluate("(title) => (title.tabIndex = -1, title.focus())")
        expect(card(chapter)).to_be_hidden()

    def test_the_link_still_leads_there(self, chapter: Page):
        link = pointed(chapter, EQUATION)
        link.click()
        expect(card(chapter)).to_be_hidden()
        assert chapter.url.endswith("#equation-eq-brt-mlm")

    def test_the_card_follows_when_the_text_moves(self, chapter: Page):
        link = focused(chapter, TABLE)
        expect(card(chapter)).to_be_visible()
        before = distance(chapter, link)
        chapter.locator("article h1").evaluate("""(title) => {
          const late = document.createElement("div");
          late.style.height = "90px";
          title.after(late);
        }""")
        frames_later(chapter)
        assert distance(chapter, link) == pytest.approx(before, abs=1)

    def test_a_card_that_grows_stays_in_the_window(self, visit: Visitor):
        page = visit(CHAPTER, width=390, height=780).page
        page.locator(TABLE).first.evaluate(
            "(link) => scrollBy({top: link.getBoundingClientRect().top - 700, behavior: 'instant'})"
        )
        focused(page, TABLE)
        expect(card(page)).to_be_visible()
        card(page).evaluate("""(card) => {
          const late = document.createElement("div");
          late.style.height = "2000px";
          card.append(late);
        }""")
        frames_later(page)
        assert_inside_window(page)

    @pytest.mark.parametrize("selector", [CITATION, FIGURE, TABLE, EQUATION])
    @pytest.mark.parametrize("theme", ["light", "dark"])
    def test_the_card_stays_in_a_narrow_window(self, visit: Visitor, selector: str, theme: str):
        page = visit(CHAPTER, width=390, height=780, theme=theme).page
        focused(page, selector)
        expect(card(page)).to_be_visible()
        page.wait_for_load_state("networkidle")
        frames_later(page)
        assert_inside_window(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390

    def test_what_is_in_sight_in_part_is_not_covered(self, chapter: Page):
        link = away_from_its_target(chapter, FIGURE)
        # Scroll until a fifth of the figure can be seen.
        chapter.evaluate(
            """([link, figure]) => {
              const box = figure.getBoundingClientRect();
              const edge = box.top > link.getBoundingClientRect().top
                ? box.top + box.height / 5 - innerHeight : box.bottom - box.height / 5;
              scrollBy({ top: edge, behavior: "instant" });
            }""",
            [link.element_handle(), chapter.locator("#fig-brt-top8").element_handle()],
        )
        link.hover()
        chapter.wait_for_timeout(800)
        if card(chapter).is_visible():
            upper, lower = sorted(
                (
                    one.bounding_box() or {}
                    for one in (card(chapter), chapter.locator("#fig-brt-top8"))
                ),
                key=lambda box: box["y"],
            )
            assert upper["y"] + upper["height"] <= lower["y"]

    def test_previews_work_from_a_disk(self, visit: Visitor, html: Path):
        page = visit((html / CHAPTER).as_uri()).page
        for selector, inside in ((CITATION, "p"), (FIGURE, ":is(img, svg)"), (EQUATION, "math")):
            pointed(page, selector)
            expect(card(page).locator(inside).first).to_be_visible()
            page.keyboard.press("Escape")

    def test_motion_and_paper_are_respected(self, visit: Visitor):
        name = "(card) => getComputedStyle(card).animationName"
        moving = visit(CHAPTER).page
        pointed(moving, CITATION)
        assert card(moving).evaluate(name) == "preview-appears"
        still = visit(CHAPTER, reduced_motion=True).page
        pointed(still, CITATION)
        assert card(still).evaluate(name) == "none"
        still.emulate_media(media="print")
        expect(card(still)).to_be_hidden()

    @pytest.mark.parametrize("theme", ["light", "dark"])
    def test_an_open_card_has_no_fault_of_accessibility(self, visit: Visitor, theme: str):
        page = visit(CHAPTER, theme=theme, reduced_motion=True).page
        for selector in (CITATION, FIGURE, TABLE, EQUATION, TERM):
            pointed(page, selector)
            assert axe_complaints(page, "#link-preview") == [], selector
            page.keyboard.press("Escape")
            page.mouse.move(5, 5)


@pytest.fixture
def under_a_finger(browser: Browser, address: str) -> Iterator[Page]:
    """A chapter on a telephone."""
    context = browser.new_context(viewport={"width": 390, "height": 780}, has_touch=True)
    page = context.new_page()
    page.goto(address + CHAPTER)
    yield page
    context.close()


class TestTaps:
    @pytest.mark.parametrize("selector", [CITATION, FIGURE, EQUATION, TABLE, TERM])
    def test_the_first_opens_a_card_with_a_way_there(self, under_a_finger: Page, selector: str):
        page = under_a_finger
        link = away_from_its_target(page, selector)
        target = link.evaluate("(link) => link.href")
        link.tap()
        expect(card(page)).to_be_visible()
        expect(card(page)).to_be_focused()
        expect(card(page)).to_have_attribute("role", "dialog")
        assert page.url.endswith(CHAPTER)
        assert_inside_window(page)
        assert axe_complaints(page, "#link-preview") == []
        card(page).get_by_role("link", name="Go there").tap()
        page.wait_for_url(target)
        expect(card(page)).to_be_hidden()

    def test_the_second_follows_the_link(self, under_a_finger: Page):
        link = away_from_its_target(under_a_finger, FIGURE)
        link.tap()
        expect(card(under_a_finger)).to_be_visible()
        link.tap()
        under_a_finger.wait_for_url("**/*#fig-brt-top8")
        expect(card(under_a_finger)).to_be_hidden()

    def test_one_elsewhere_takes_the_card_away(self, under_a_finger: Page):
        away_from_its_target(under_a_finger, CITATION).tap()
        expect(card(under_a_finger)).to_be_visible()
        under_a_finger.touchscreen.tap(5, 400)
        expect(card(under_a_finger)).to_be_hidden()

    def test_escape_gives_the_focus_back(self, under_a_finger: Page):
        link = away_from_its_target(under_a_finger, TERM)
        link.tap()
        expect(card(under_a_finger)).to_be_focused()
        under_a_finger.keyboard.press("Escape")
        expect(card(under_a_finger)).to_be_hidden()
        expect(link).to_be_focused()

    @pytest.mark.parametrize("href", ["04_gpt.html", "#sec-"])
    def test_chapters_and_sections_are_gone_to_at_once(self, under_a_finger: Page, href: str):
        page = under_a_finger
        link = away_from_its_target(page, f"article p a.internal[href*='{href}']")
        target = link.evaluate("(link) => link.href")
        link.tap()
        page.wait_for_url(target)

    def test_what_is_in_sight_needs_no_card(self, under_a_finger: Page):
        link = under_a_finger.locator(EQUATION).first
        under_a_finger.locator("#equation-eq-brt-mlm").scroll_into_view_if_needed()
        link.scroll_into_view_if_needed()
        expect(under_a_finger.locator("#equation-eq-brt-mlm")).to_be_in_viewport(ratio=0.6)
        link.tap()
        under_a_finger.wait_for_url("**/*#equation-eq-brt-mlm")


class Pages(http.server.SimpleHTTPRequestHandler):
    """A site as on GitHub Pages: below /book/, with 404.html for every other address."""

    def send_head(self):  # type: ignore[no-untyped-def]
        path = Path(self.directory) / self.path.split("?")[0].removeprefix("/book/")
        if self.path.startswith("/book/") and path.is_file():
            self.path = "/" + self.path.removeprefix("/book/")
            return super().send_head()
        self.path = "/404.html"
        return super().send_head()

    def log_message(self, *arguments):  # type: ignore[no-untyped-def]
        """Say nothing."""


@pytest.fixture
def comfort_site(html: Path) -> Iterator[str]:
    """The address of the book as a host shows it that knows the page 404."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, directory=str(html)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/book/"
    server.shutdown()
    server.server_close()
    thread.join()


class TestNotFound:
    @pytest.mark.parametrize("address", ["chapters/gone.html", "chapters/a/b/c.html", "gone.html"])
    def test_it_works_at_any_depth(self, browser: Browser, comfort_site: str, address: str):
        visitor = Visitor(browser, comfort_site)
        page = visitor(address).page
        expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
        links = page.locator(".not-found a").evaluate_all("(all) => all.map((one) => one.href)")
        assert f"{comfort_site}{CHAPTER}" in links
        assert all(link.startswith(f"{comfort_site}chapters/") for link in links)
        page.get_by_label("Search this book").last.fill("perplexity")
        page.get_by_role("button", name="Search", exact=True).last.click()
        expect(page.locator("#search-results a").first).to_be_visible()
        assert page.url.startswith(f"{comfort_site}search.html")
        visitor.close()  # which demands that nothing was missing on the way

    def test_the_skip_link_stays_on_the_page(self, browser: Browser, comfort_site: str):
        visitor = Visitor(browser, comfort_site)
        page = visitor("chapters/gone.html").page
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.url == f"{comfort_site}chapters/gone.html#main-content"
        visitor.close()

    def test_it_opens_from_a_disk(self, visit: Visitor, html: Path):
        page = visit((html / "404.html").as_uri()).page
        page.locator(".not-found a", has_text="5 BERT").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("5 BERT")


class TestColours:
    BORDER = "getComputedStyle(document.documentElement).getPropertyValue('--pst-color-border')"

    @pytest.mark.parametrize("system", ["light", "dark"])
    @pytest.mark.parametrize("chosen", ["auto", "light", "dark"])
    def test_they_are_there_before_the_theme_s_script(
        self, visit: Visitor, system: str, chosen: str
    ):
        page = visit(CHAPTER, theme=system, may_fail=True).page
        page.evaluate("(mode) => localStorage.setItem('mode', mode)", chosen)
        page.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
        page.reload()
        shown = page.evaluate("document.documentElement.dataset.theme")
        assert shown == (system if chosen == "auto" else chosen)
        assert page.evaluate(self.BORDER)

    def test_a_page_without_scripts_has_them(self, visit: Visitor):
        page = visit(CHAPTER, javascript=False).page
        expect(page.locator("html")).to_have_attribute("data-theme", "light")
        option = page.locator("details.quiz-option").first
        expect(option).not_to_have_css("border-left-width", "0px")


class TestTools:
    def test_the_theme_switch_says_its_state(self, chapter: Page):
        names = {"light": "light", "dark": "dark", "auto": "automatic"}
        seen = set()
        for _ in range(3):
            button = chapter.locator(".theme-switch-button").first
            button.click()
            mode = chapter.evaluate("document.documentElement.dataset.mode")
            expect(button).to_have_attribute("aria-label", f"Colour mode: {names[mode]}")
            seen.add(mode)
        assert seen == set(names)

    def test_only_code_can_be_copied_and_a_finger_sees_the_button(
        self, browser: Browser, address: str
    ):
        context = browser.new_context(has_touch=True, is_mobile=True)
        page = context.new_page()
        page.goto(address + CHAPTER)
        buttons = page.locator("button.copybtn")
        expect(buttons.first).to_be_attached()
        expect(page.locator(".cell_output button.copybtn")).to_have_count(0)
        assert float(buttons.first.evaluate("(one) => getComputedStyle(one).opacity")) > 0.5
        context.close()

    def test_code_is_copied_as_it_is(self, browser: Browser, address: str):
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.goto(address + CHAPTER)
        cell = page.locator("div.cell_input div.highlight").first
        cell.hover()
        cell.locator("button.copybtn").click()
        page.wait_for_function("() => navigator.clipboard.readText().then((text) => text !== '')")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.rstrip() == cell.locator("pre").inner_text().rstrip()
        assert copied.startswith("import json")
        context.close()

    def test_the_notebook_is_downloaded(self, chapter: Page):
        with chapter.expect_download() as waiting:
            chapter.locator("a.download-notebook").click()
        download = waiting.value
        assert download.suggested_filename == "05_bert.ipynb"
        found = json.loads(Path(download.path()).read_text(encoding="utf-8"))
        text = "\n".join("".join(cell["source"]) for cell in found["cells"])
        assert text.startswith("# 5 BERT")
        assert "{glue:text}" not in text

    @pytest.mark.parametrize("width", [1280, 390])
    def test_the_neighbours_are_one_step_away(self, visit: Visitor, width: int):
        page = visit(CHAPTER, width=width).page
        for title in ("previous", "next"):
            link = page.locator(f"a.{'left' if title == 'previous' else 'right'}-{title[:4]}")
            box = link.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        page.locator("a.right-next").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("6 T5")


class TestFoldedCode:
    def test_one_switch_opens_all_and_is_remembered(self, chapter: Page):
        folds = chapter.locator("article details.hide")
        n_folds = folds.count()
        opened = chapter.locator("article details.hide[open]")
        assert n_folds > 5
        expect(opened).to_have_count(0)
        chapter.locator("button.show-code").click()
        expect(opened).to_have_count(n_folds)
        chapter.reload()
        expect(opened).to_have_count(n_folds)
        chapter.locator("button.show-code").click()
        expect(opened).to_have_count(0)


class TestPaper:
    def test_a_page_prints_as_it_stands(self, visit: Visitor):
        page = visit(CHAPTER.replace(".html", "_exercises.html")).page
        solutions = page.locator(".solution.dropdown")
        solutions.first.locator(".admonition-title").click()
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        expect(solutions.first.locator("section, p:not(.admonition-title)").first).to_be_visible()
        expect(solutions.nth(1)).to_be_hidden()
        for screen_only in (".bd-sidebar-primary", ".bd-sidebar-secondary", ".bd-header-article",
                            ".prev-next-footer", ".toggle-button"):  # fmt: skip
            expect(page.locator(screen_only).first).to_be_hidden()
        printed = page.get_by_role("heading", level=1).filter(visible=True)
        expect(printed).to_have_count(1)
        expect(printed).to_contain_text("Exercises for chapter 5")

    def test_code_is_cut_only_where_each_page_keeps_some_of_it(self, chapter: Page):
        chapter.emulate_media(media="print")
        code = chapter.locator("div.cell:not(.tag_hide-input) div.cell_input pre").first
        for box in (code, code.locator(".."), code.locator("../..")):
            expect(box).to_have_css("break-inside", "auto")
        for lines in ("orphans", "widows"):
            expect(code).to_have_css(lines, "6")

    def test_sections_are_not_listed_beside_the_goals(self, chapter: Page):
        chapter.emulate_media(media="print")
        expect(chapter.locator("#jb-print-toc")).to_be_hidden()
        expect(chapter.locator(".chapter-pages")).to_be_hidden()

    def test_a_dark_page_prints_dark_on_light(self, visit: Visitor):
        page = visit(CHAPTER, theme="dark").page
        paragraph = page.locator("article p").first
        colour = "(text) => getComputedStyle(text).color"
        on_screen = paragraph.evaluate(colour)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print", color_scheme="dark")
        assert brightness(paragraph.evaluate(colour)) < 100 < brightness(on_screen)
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert paragraph.evaluate(colour) == on_screen


def brightness(colour: str) -> float:
    """Return the mean of a colour's three parts, such as ``rgb(1, 2, 3)``; 255 is white."""
    parts = [float(part) for part in colour.partition("(")[2].rstrip(")").split(",")]
    return sum(parts[:3]) / 3


@pytest.mark.parametrize(
    ("name", "most"),
    [("chapters/further_learning.html", 300), (CHAPTER, 350)],
    ids=["plain", "with formulas"],
)
def test_what_a_page_fetches_is_light(visit: Visitor, name: str, most: int):
    page = visit("chapters/index.html").page
    sizes: dict[str, int] = {}

    def weigh(response) -> None:  # type: ignore[no-untyped-def]
        if "_images/" not in response.url:
            sizes[response.url] = len(gzip.compress(response.body(), 6))

    fresh = page.context.browser.new_context()
    page = fresh.new_page()
    page.on("requestfinished", lambda request: weigh(request.response()))
    page.goto(visit.address + name)
    page.evaluate("document.fonts.ready")
    page.wait_for_load_state("networkidle")
    total = sum(sizes.values()) / KIB
    fresh.close()
    assert len(sizes) > 8
    assert total <= most, f"{total:.0f} KiB: {sizes}"
    print(f"{name}: {total:.0f} KiB in {len(sizes)} files")
