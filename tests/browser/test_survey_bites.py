# SPDX-License-Identifier: MIT
"""The survey of a page complains of each planted fault, and of nothing else."""

import random
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from surveying import CHECKS, look, survey
from visiting import Visitor

from tools.editions import browsing

PAGE = """<!doctype html><html lang="en"><head><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>A page</title>
<style>:root {{ color-scheme: light dark }} body {{ background: Canvas; color: CanvasText }}
{style}</style></head>
<body><main><h1>A page of its own</h1><p>It holds a few words, enough to read.</p>
{body}</main></body></html>"""
PIXEL = (
    "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"  # one pixel
)
LATE = """<script>addEventListener("load", () => requestAnimationFrame(() => {
document.querySelector("h1").style.marginTop = "700px"; }));</script>"""


def shadow(host: str, inside: str) -> str:
    """Return an element with an open shadow root, and the script that fills it."""
    script = f'{host}.attachShadow({{ mode: "open" }}).innerHTML = `{inside}`;'
    return f'<div id="{host}"></div><script>{script}</script>'


# what is wrong → check, style, body, words of the complaint; one page holds them all
FAULTS = {
    "another host": (
        "requests and console", "", '<img alt="A falling curve" src="https://example.org/a.png">',
        "asks another host: https://example.org/a.png",
    ),
    "an error": ("requests and console", "", "<script>undefinedName()</script>", "undefinedName"),
    "a missing file": ("requests and console", "", '<script src="a.js"></script>', "a.js: status"),
    "a heavy script": (
        "weight", "", '<script src="heavy.js"></script>', "KiB, more than 380: html"
    ),
    "a model that nobody asked for": (
        "weight", "", '<script>fetch("tiny.safetensors")</script>', "of models that nobody"
    ),
    "a button without a name": ("axe, light", "", '<button id="b1"></button>', "-name at #b1"),
    "a name that is missing in the dark": (
        "axe, dark", "", """<button id="b2">Go</button><script>
        if (matchMedia("(prefers-color-scheme: dark)").matches) b2.textContent = "";</script>""",
        "button-name at #b2",
    ),
    "grey on white": (
        "axe, light", "#c1 { color: light-dark(#bbb, #fff) }", '<p id="c1">pale</p>',
        "color-contrast at #c1",
    ),
    "grey on black": (
        "axe, dark", "#c2 { color: light-dark(#000, #444) }", '<p id="c2">dim</p>',
        "color-contrast at #c2",
    ),
    "grey in a fold": (
        "axe, light", "#c3 { color: light-dark(#bbb, #fff) }",
        '<details><summary>More</summary><p id="c3">folded</p></details>',
        "color-contrast at #c3",
    ),
    "grey in a shadow root": (
        "axe, light", "",
        shadow("s1", "<style>p { color: light-dark(#bbb, #fff) }</style><p>inside</p>"),
        "color-contrast at #s1 p",
    ),
    "an unreachable box": (
        "axe, dark", "pre { overflow: auto; max-width: 100% }",
        f'<pre id="box" tabindex="-1">{"a long line of code " * 8}</pre>',
        "scrollable-region-focusable at #box",
    ),
    "no alt": ("images", "", f'<img src="{PIXEL}" role="presentation">', 'text ""'),
    "a path as alt": (
        "images", "", f'<img src="{PIXEL}" alt="../_images/a figure.png">', "a figure.png"
    ),
    "a broken image": ("images", "", '<img src="data:," alt="A falling curve">', "data:, does not"),
    "a jump": ("layout shift", "", LATE, "layout shift"),
    "a wide box": (
        "overflow at 390 px", "", '<div id="w1" style="width: 500px">wide</div>', "#w1"
    ),
    "a wide box in a fold": (
        "overflow at 390 px", "",
        '<details><summary>More</summary><div id="w2" style="width: 500px">in</div></details>',
        "#w2",
    ),
    "a wide box in a shadow root": (
        "overflow at 390 px", "",
        shadow("s2", '<b id="w3" style="display: block; width: 500px">in</b>'), "#w3",
    ),
    "an animation": (
        "motion", "@keyframes go { to { letter-spacing: 1px } } #m1 { animation: go 1s infinite }",
        '<p id="m1">restless</p>', "runs: <p#m1>",
    ),
    "a transition": (
        "motion", "#m2 { transition: color 1s }", '<p id="m2">slow</p>', "may move: <p#m2>"
    ),
    "a transition in a shadow root": (
        "motion", "", shadow("s3", '<b id="m3" style="transition: color 1s">in</b>'),
        "may move: <b#m3>",
    ),
    "smooth scrolling": ("motion", "html { scroll-behavior: smooth }", "", "scrolls smoothly"),
    "blank without scripts": (
        "without scripts", "#n1 { display: none }",
        '<p id="n1">late</p><script>n1.style.display = "block";</script>', "not to be seen: <p#n1>",
    ),
}  # fmt: skip


def plant(folder: Path, style: str = "", body: str = "") -> None:
    """Write a page into the served folder."""
    page = PAGE.format(style=style, body=body)
    (folder / "page.html").write_text(page, encoding="utf-8")


@pytest.fixture(scope="module")
def found(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The survey of a page with all faults at once."""
    folder = tmp_path_factory.mktemp("faults")
    plant(
        folder,
        "\n".join(style for _, style, _, _ in FAULTS.values()),
        "\n".join(body for _, _, body, _ in FAULTS.values()),
    )
    noise = random.Random(0).randbytes(400 * 1024)  # which nothing compresses
    (folder / "heavy.js").write_bytes(b"/*" + noise.replace(b"*/", b"  ") + b"*/")
    (folder / "tiny.safetensors").write_bytes(noise[:2048])
    with browsing.serve(folder) as address:
        return survey(Visitor(browser, address), "page.html", folder).found


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, found: dict[str, list[str]]):
    check, _, _, words = FAULTS[fault]
    assert any(words in line for line in found[check]), found[check]


@pytest.mark.parametrize("fault", ["grey on white", "grey on black"])
def test_a_theme_is_not_blamed_for_the_other(fault: str, found: dict[str, list[str]]):
    check, _, _, words = FAULTS[fault]
    other = {"axe, light": "axe, dark", "axe, dark": "axe, light"}[check]
    assert not any(words in line for line in found[other])


def test_every_check_has_a_fault():
    assert {check for check, *_ in FAULTS.values()} == set(CHECKS)


def test_a_good_page_has_no_complaint(visit_planted: Visitor, tmp_path: Path):
    style = (
        "div { overflow-x: auto } h1 { transition: color 1s } "
        "@media (prefers-reduced-motion: reduce) { h1 { transition: none } }"
    )
    body = (
        f'<img src="{PIXEL}" alt="A falling curve">'
        f'<div tabindex="0"><pre>{"a long line of code " * 9}</pre></div>'
        "<details><summary>More</summary><p>Folded words.</p></details>"
        + shadow("s", "<p>Words inside.</p>")
    )
    plant(tmp_path, style, body)
    assert survey(visit_planted, "page.html", tmp_path).found == {check: [] for check in CHECKS}


def test_contrast_is_measured_on_each_kind_of_text(visit_planted: Visitor, tmp_path: Path):
    good = '<p><b style="color: #111">fine</b></p>' * 50
    bad = '<p style="background: #ddd"><b style="color: #999">faint</b></p>'
    plant(tmp_path, "", good + bad)
    lines = look(visit_planted("page.html").page, "contrast")
    assert len(lines) == 1
    assert "#999999" in lines[0]
