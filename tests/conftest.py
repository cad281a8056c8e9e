# SPDX-License-Identifier: MIT
"""Fixtures that all tests share, one strict build of the book among them."""

from pathlib import Path

import pytest
from strict_build import Build, build_book


@pytest.fixture(scope="session")
def repository() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def build(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The finished build and the folder of its pages."""
    output = tmp_path_factory.mktemp("book")
    return build_book(repository, output), output / "_build" / "html"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let an author test pages that are built already: ``pytest tests/browser --pages FOLDER``."""
    parser.addoption("--pages", type=Path, help="built pages to test, instead of a strict build")


@pytest.fixture(scope="session")
def html(request: pytest.FixtureRequest) -> Path:
    """The folder of the book's pages, once they have built without a warning."""
    if folder := request.config.getoption("--pages"):
        return folder.resolve()
    done, folder = request.getfixturevalue("build")
    if done.returncode:
        pytest.fail("the build failed, see test_builds_without_a_warning", pytrace=False)
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the browser's tests last: its event loop, once started, stays in the main thread."""
    items.sort(key=lambda item: item.path.parent.name == "browser")
