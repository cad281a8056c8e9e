# SPDX-License-Identifier: MIT
"""A visit notes what a page asks for and what goes wrong, and forgives only what it is told to."""

from pathlib import Path
from typing import cast

import pytest
from playwright.sync_api import Page
from visiting import Failure, Visit, Visitor

GOOD = "<!doctype html><html lang=en><title>Good</title><body><p id=here>A page.</p></html>"


def plant(folder: Path, body: str, name: str = "page.html") -> None:
    """Write a page into the served folder."""
    (folder / name).write_text(GOOD.replace("<p ", f"{body}<p "), encoding="utf-8")


def test_a_good_page_opens_without_complaint(visit_planted: Visitor, tmp_path: Path):
    plant(tmp_path, "<link rel=icon href=data:,>")
    visit = visit_planted("page.html", width=390, theme="dark")
    assert visit.problems() == []
    assert visit.page.inner_text("#here") == "A page."
    size = visit.page.evaluate("[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]")
    assert size == [390, True]


@pytest.mark.parametrize(
    "body",
    [
        '<img src="https://cdn.example.org/a.png" alt="">',
        '<script>fetch("https://api.example.org/").catch(() => {})</script>',
        '<script type="module">await import("https://cdn.example.org/a.mjs")</script>',
        '<link rel="stylesheet" href="//fonts.example.org/a.css">',
        '<script>navigator.sendBeacon("https://count.example.org/hit")</script>',
    ],
)
def test_a_request_to_another_host_is_never_forgiven(
    body: str, visit_planted: Visitor, tmp_path: Path
):
    plant(tmp_path, body)
    visit = visit_planted("page.html", may_fail=True)
    visit.page.wait_for_timeout(100)
    assert len(visit.foreign) == 1
    assert "example.org" in visit.foreign[0]
    with pytest.raises(AssertionError, match="asks another host"):
        visit_planted.close()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('<script>console.error("so it goes")</script>', "so it goes"),
        ('<script>throw new Error("not caught")</script>', "not caught"),
        ('<script>Promise.reject(new Error("no answer"))</script>', "no answer"),
        ('<img src="gone.png" alt="">', "gone.png: status 404"),
    ],
)
def test_errors_are_noted(body: str, complaint: str, visit_planted: Visitor, tmp_path: Path):
    plant(tmp_path, f"<link rel=icon href=data:,>{body}")
    assert any(complaint in line for line in visit_planted("page.html").problems())
    with pytest.raises(AssertionError, match=complaint):
        visit_planted.close()
    visit_planted("page.html", may_fail=True)
    visit_planted.close()


def test_a_file_can_be_taken_away(visit_planted: Visitor, tmp_path: Path):
    plant(tmp_path, '<link rel=icon href=data:,><script src="model.js"></script>')
    (tmp_path / "model.js").write_text("window.model = 1;", encoding="utf-8")
    assert visit_planted("page.html").page.evaluate("window.model") == 1
    visit = visit_planted("page.html", missing=["**/model.js"])
    assert visit.page.evaluate("window.model === undefined")
    assert visit.failed == ["model.js: status 404"]


@pytest.fixture
def asking(visit_planted: Visitor, tmp_path: Path) -> Visit:
    """A page that waits for a file which never comes; ``stop()`` gives it up."""
    plant(tmp_path, "<link rel=icon href=data:,>")
    visit = visit_planted("page.html")
    visit.page.route("**/endless.js", lambda route: None)
    with visit.page.expect_request("**/endless.js"):
        visit.page.evaluate(
            """() => {
              const controller = new AbortController();
              fetch("endless.js", { signal: controller.signal }).catch(() => {});
              window.stop = () => controller.abort();
            }"""
        )
    return visit


def test_who_leaves_a_page_cuts_off_what_it_asks_for(asking: Visit):
    with asking.page.expect_event("requestfailed"):
        asking.page.reload()
    assert [(one.document, one.aborted) for one in asking.failures] == [(1, True)]
    assert asking.failed == []
    assert asking.n_documents == 2


def test_a_page_asks_until_the_next_one_arrives(visit_planted: Visitor, tmp_path: Path):
    plant(tmp_path, "<link rel=icon href=data:,>")
    visit = visit_planted("page.html")
    visit.page.route("**/endless.js", lambda route: None)
    with visit.page.expect_event("requestfailed"):
        visit.page.evaluate(
            """() => {
              location.search = "again";
              fetch("endless.js").catch(() => {});
            }"""
        )
    visit.page.wait_for_url("**/page.html?again")
    assert [(one.document, one.aborted) for one in visit.failures] == [(1, True)]
    assert visit.failed == []


def test_a_page_that_gives_up_a_request_of_its_own_is_told_of(
    asking: Visit, visit_planted: Visitor
):
    with asking.page.expect_event("requestfailed"):
        asking.page.evaluate("stop()")
    assert asking.failed == ["endless.js: net::ERR_ABORTED"]
    with pytest.raises(AssertionError, match=r"endless\.js: net::ERR_ABORTED"):
        visit_planted.close()


def test_a_browser_may_drop_the_icon_of_a_page():
    dropped = "favicon.svg: net::ERR_ABORTED"
    visit = Visit(cast(Page, None), failures=[Failure(dropped, 1, aborted=True, is_icon=True)])
    assert visit.failed == []
    visit.failures.append(Failure("favicon.svg: status 404", 1, aborted=False, is_icon=True))
    assert visit.failed == ["favicon.svg: status 404"]


def test_a_page_from_a_file_may_not_ask_a_host(visit_planted: Visitor, tmp_path: Path):
    plant(tmp_path, '<img src="http://192.0.2.1/a.png" alt="">')
    visit = visit_planted((tmp_path / "page.html").as_uri(), may_fail=True)
    assert visit.foreign == ["http://192.0.2.1/a.png"]
    with pytest.raises(AssertionError, match=r"192\.0\.2\.1"):
        visit_planted.close()


def test_a_page_that_is_never_drawn_is_not_waited_for_for_ever(
    visit_planted: Visitor, tmp_path: Path
):
    plant(tmp_path, "<link rel=icon href=data:,><script>requestAnimationFrame = () => 0</script>")
    assert visit_planted("page.html").page.inner_text("#here") == "A page."


def test_without_scripts_nothing_runs(visit_planted: Visitor, tmp_path: Path):
    plant(tmp_path, "<link rel=icon href=data:,><noscript>plain</noscript>")
    assert visit_planted("page.html", javascript=False).page.inner_text("noscript") == "plain"
