# SPDX-License-Identifier: MIT
"""Who uses the Tab key sees where they are, and gets everywhere."""

from pathlib import Path

import pytest
from surveying import look
from visiting import Visit, Visitor

N_STOPS = 30
OUT_OF_REACH = """[...document.querySelectorAll("pre, .pst-scrollable-table-container")].filter(
  (box) => box.scrollWidth > box.clientWidth && box.tabIndex < 0 && !box.querySelector(
    "a[href]:not(.headerlink), button, input, select, textarea, summary, [tabindex='0']"))"""
"""Boxes that scroll, are no stop of the Tab key, and hold none."""


def walk(visit: Visit, n_stops: int = N_STOPS) -> tuple[list[str], list[str]]:
    """Press Tab again and again.

    Args:
        visit: An open page.
        n_stops: How often.

    Returns:
        The names of the stops, and the complaints about them.
    """
    stops, complaints = [], []
    for _ in range(n_stops):
        visit.page.keyboard.press("Tab")
        if (seen := look(visit.page, "focusIsVisible")) is not None:
            stops.append(seen[0])
            complaints += seen[1]
    return stops, complaints


@pytest.mark.parametrize(
    ("name", "width", "theme", "selector"),
    [
        ("chapters/04_gpt.html", 1280, "light", "body"),
        ("chapters/04_gpt.html", 390, "dark", "article"),
        ("chapters/14_efficiency.html", 1280, "dark", ".quiz"),
        ("search.html", 1280, "light", "body"),
    ],
)
def test_each_stop_of_the_tab_key_can_be_seen(
    visit: Visitor, name: str, width: int, theme: str, selector: str
):
    opened = visit(name, width=width, theme=theme, reduced_motion=True)
    start_at(opened, selector)
    stops, complaints = walk(opened)
    assert complaints == []
    assert len(set(stops)) >= 10


def start_at(visit: Visit, selector: str) -> None:
    """Let the next Tab start at the head of an element."""
    visit.page.locator(selector).first.evaluate(
        "(one) => { one.tabIndex = -1; one.focus(); one.blur(); one.removeAttribute('tabindex'); }"
    )


def test_a_box_in_a_fold_that_scrolls_can_be_reached(visit: Visitor):
    page = visit("chapters/06_t5.html", width=390, reduced_motion=True).page
    assert look(page, "unfold") == []
    page.wait_for_function(f"() => {OUT_OF_REACH}.length === 0")  # it looks when sizes change
    assert page.locator("pre[tabindex='0']").count() > 0


def test_the_search_dialog_and_the_menu_of_a_narrow_window(visit: Visitor):
    page = visit("chapters/04_gpt.html", width=390, theme="dark", reduced_motion=True).page
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog").wait_for(state="visible")
    assert look(page, "structure") + look(page, "contrast") == []
    page.keyboard.press("Escape")
    page.locator(".primary-toggle").first.click()
    page.locator("#pst-primary-sidebar-modal, .bd-sidebar-primary").first.wait_for(state="visible")
    assert look(page, "structure") + look(page, "contrast") + look(page, "overflow") == []


PLANTED = """<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Keys</title>
<style>a:focus, button:focus {{ outline: none }} {style}</style><body><p>{body}</p></body></html>"""
RING = "a:focus, button:focus { outline: 2px solid #0072b2 }"


@pytest.mark.parametrize(
    ("style", "body", "complaint"),
    [
        (RING, '<a href="#x">good</a>', ""),
        ("a:focus { box-shadow: 0 0 0 2px #0072b2 }", '<a href="#x">good</a>', ""),
        ("", '<a href="#x">bare</a>', "no ring"),
        ("a:focus { outline: 2px solid transparent }", '<a href="#x">bare</a>', "no ring"),
        ("a { box-shadow: 0 0 0 2px #0072b2 }", '<a href="#x">same</a>', "no ring"),
        (f"{RING} a {{ position: fixed; left: -999px }}", '<a href="#x">off</a>', "out of sight"),
    ],
)
def test_the_walk_complains(
    style: str, body: str, complaint: str, visit_planted: Visitor, tmp_path: Path
):
    page = PLANTED.format(style=style, body=body)
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    stops, complaints = walk(visit_planted("page.html"), 1)
    assert len(stops) == 1
    assert [complaint in line for line in complaints] == ([True] if complaint else [])


def test_the_walk_sees_into_shadow_roots(visit_planted: Visitor, tmp_path: Path):
    script = """<div id="host"></div><script>
    host.attachShadow({ mode: "open" }).innerHTML =
      "<style>button:focus { outline: none }</style><button>inside</button>";</script>"""
    page = PLANTED.format(style="", body=script)
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    stops, complaints = walk(visit_planted("page.html"), 1)
    assert stops == ['<button> "inside"']
    assert complaints == ['no ring: <button> "inside"']
