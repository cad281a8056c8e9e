# SPDX-License-Identifier: MIT
"""One Chromium and one server of the built book for all tests of this folder.

Without Chromium these tests are skipped, with a line at the end of the run that says so; where
the environment variable CI is set they fail instead. A test that fails is tried once more, for a
browser on a loaded machine can be late; the end of the run names those that needed it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from stand import StandVisitor, Window
from stand import furnish as furnish_stand
from visiting import Visitor
from workshop import Workshop, furnish

from tools.chapters.store import ChapterError
from tools.editions import browsing
from tools.editions.building import find_browser

HERE = Path(__file__).parent
NOT_RUN = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def browser(pytestconfig: pytest.Config) -> Iterator[Browser]:
    """The machine's Chromium, started once; it waits long, for no test depends on a time."""
    expect.set_options(timeout=60_000)
    try:
        find_browser()
    except ChapterError as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI is set, so the browser tests must run: {error}", pytrace=False)
        pytestconfig.stash[NOT_RUN] = str(error)
        pytest.skip(str(error))
    with browsing.open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def address(html: Path) -> Iterator[str]:
    """The address of the built book."""
    with browsing.serve(html) as served:
        yield served


@pytest.fixture(scope="session")
def stand_address(html: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the pages that hold nothing but their applets, see `stand`."""
    folder = tmp_path_factory.mktemp("stand")
    furnish_stand(html, folder)
    with browsing.serve(folder) as served:
        yield served


@pytest.fixture(scope="module")
def window(browser: Browser, stand_address: str) -> Iterator[Window]:
    """The window in which one test of a module after the other opens its applet."""
    with browser.new_context(service_workers="block") as context:
        yield Window(context.new_page(), stand_address)


@pytest.fixture
def visit(request: pytest.FixtureRequest) -> Iterator[Visitor]:
    """What opens a page of the book: ``visit(path, width=…, theme=…)``, see `Visitor`.

    A test marked `applet` gets of that page nothing but the applets.
    """
    if request.node.get_closest_marker("applet"):
        visitor: Visitor = StandVisitor(request.getfixturevalue("window"))
    else:
        visitor = Visitor(request.getfixturevalue("browser"), request.getfixturevalue("address"))
    yield visitor
    visitor.close()


@pytest.fixture
def visit_planted(browser: Browser, tmp_path: Path) -> Iterator[Visitor]:
    """What opens a page that the test wrote into ``tmp_path``."""
    with browsing.serve(tmp_path) as served:
        visitor = Visitor(browser, served)
        yield visitor
        visitor.close()


@pytest.fixture(scope="module")
def workshop(
    browser: Browser, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workshop]:
    """A blank page beside the applets' modules and models, without a build of the book."""
    folder = tmp_path_factory.mktemp("workshop")
    furnish(repository, folder)
    with browsing.serve(folder) as served:
        page = browser.new_page()
        page.goto(f"{served}page.html")
        yield Workshop(page, folder)
        page.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test of this folder a second try."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say loudly which tests nobody ran, and which failed before they passed."""
    if again := terminalreporter.stats.get("rerun", []):
        terminalreporter.section("BROWSER TESTS TRIED A SECOND TIME", yellow=True, bold=True)
        for report in again:
            terminalreporter.line(report.nodeid)
            terminalreporter.line(report.longreprtext)
    if reason := config.stash.get(NOT_RUN, None):
        n_skipped = sum(
            HERE.name in Path(report.nodeid.split("::")[0]).parts
            for report in terminalreporter.stats.get("skipped", [])
        )
        terminalreporter.section("BROWSER TESTS NOT RUN", red=True, bold=True)
        terminalreporter.line(f"{n_skipped} tests of tests/browser were skipped: {reason}")
