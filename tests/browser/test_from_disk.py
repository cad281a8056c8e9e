# SPDX-License-Identifier: MIT
"""The offline pack opens from a disk without a network: pages, formulas, search, applets."""

import zipfile
from pathlib import Path

import pytest
from applets import MILLISECONDS, open_applet
from playwright.sync_api import expect
from stand import APPLET
from surveying import one_of_each_kind
from visiting import Visitor

from tools.checks import pages
from tools.editions import offline as make_offline

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def unpacked(html: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pack of the built pages, unpacked where nothing else is."""
    folder = tmp_path_factory.mktemp("offline")
    make_offline.pack(html, folder / "book.zip")
    with zipfile.ZipFile(folder / "book.zip") as packed:
        packed.extractall(folder)
    return folder / make_offline.NAME


@pytest.fixture
def visit_disk(visit: Visitor, unpacked: Path):
    """What opens a page of the pack from the disk, with the network off."""

    def opened(name: str, **options):
        page, _, query = name.partition("?")
        address = (unpacked / page).as_uri() + (f"?{query}" if query else "")
        found = visit(address, **options)
        found.page.context.set_offline(True)
        return found

    return opened


def applets_of(unpacked: Path) -> dict[str, list[str]]:
    """List the applets of the pack by page."""
    found = {}
    for path in sorted((unpacked / "chapters").glob("*.html")):
        if names := [match[1] for match in APPLET.finditer(path.read_text(encoding="utf-8"))]:
            found[f"chapters/{path.name}"] = [name.removeprefix("pt-") for name in names]
    return found


@pytest.mark.parametrize("name", one_of_each_kind(sorted(pages.toc_pages(ROOT))))
def test_every_page_opens(visit_disk, name: str):
    assert visit_disk(name).problems() == []


def test_formulas_are_drawn(visit_disk):
    opened = visit_disk("chapters/02_transformer_toolkit.html")
    assert opened.page.locator("math").count() > 20


def test_search_finds_pages(visit_disk):
    opened = visit_disk("search.html?q=perplexity")
    found = opened.page.locator("#search-results li a")
    expect(found.first).to_be_visible(timeout=MILLISECONDS)
    assert any("04_gpt" in (one.get_attribute("href") or "") for one in found.all())


def test_every_applet_opens(visit: Visitor, visit_disk, unpacked: Path):
    found = applets_of(unpacked)
    assert found
    for page, names in found.items():
        opened = visit_disk(page)
        for name in names:
            if name == "three-questions":  # the first page's, which has no panel
                word = opened.page.get_by_role("button", name="Hide").first
                expect(word).to_be_visible(timeout=MILLISECONDS)
                continue
            panel = open_applet(opened, name)
            assert panel.inner_text().strip(), (page, name)
        visit.close()
