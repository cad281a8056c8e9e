# SPDX-License-Identifier: MIT
"""Every page of the built book, looked at in a browser: wide and narrow, light and dark.

A page is opened three times for all its checks (see `surveying`); `make test` looks at one page of
each kind, the nightly run at all. The root's ``index.html`` only
leads to the first page and has a test of its own.
"""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from surveying import CHECKS, Survey, one_of_each_kind, survey
from visiting import Visitor

from book_pages.links.edition import FOLDER
from tools.checks import pages, weigh_pages

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted({*pages.toc_pages(ROOT), *pages.GENERATED} - {"index.html"})


@pytest.fixture(scope="module")
def surveys() -> dict[str, Survey]:
    """What was seen, by page."""
    return {}


@pytest.fixture
def seen(
    surveys: dict[str, Survey], name: str, browser: Browser, address: str, html: Path
) -> Survey:
    """What was seen of one page; the first test that asks has it looked at."""
    if name not in surveys:
        surveys[name] = survey(Visitor(browser, address), name, html)
    return surveys[name]


def test_the_list_of_pages_is_whole(html: Path):
    built = {path.relative_to(html).as_posix() for path in html.rglob("*.html")}
    own = {name for name in built if not name.startswith(("_static/", f"{FOLDER}/"))}
    assert own == {*PAGES, "index.html"}


@pytest.mark.parametrize("name", one_of_each_kind(PAGES))
@pytest.mark.parametrize("check", CHECKS)
def test_nothing_is_wrong(seen: Survey, check: str):
    assert seen.found[check] == []


@pytest.mark.parametrize(
    "name", one_of_each_kind(name for name in PAGES if name not in pages.GENERATED)
)
def test_the_recorded_weight_is_true(seen: Survey, name: str):
    recorded = json.loads(weigh_pages.RECORD.read_text(encoding="utf-8"))["pages"]
    command = "python -m tools.checks.weigh_pages"
    assert name in recorded, command
    assert sum(seen.weight.values()) == pytest.approx(sum(recorded[name].values()), rel=0.1), (
        command
    )


def test_the_root_leads_to_the_first_page(visit: Visitor):
    page = visit("index.html", javascript=False).page
    page.wait_for_url("**/chapters/index.html")
    assert page.title().startswith("Pre-training Paradigms")
